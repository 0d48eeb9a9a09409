package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// countTakes is how long the oracle keeps its answer back after the effect, so that
// who breaks a program off does so there too.
const countTakes = 20 * time.Millisecond

// Target is what a request names.
type Target struct {
	Resource string `json:"resource"`
	Contract string `json:"contract"`
}

// Access is how a program calls steward, and what there is to call.
type Access struct {
	Base   string `json:"base"`
	Token  string `json:"token"`
	Oracle Target `json:"oracle"`
	Items  Target `json:"items"`
	Self   Target `json:"self"`
}

// Runner executes programs, one step after the other. Safe for concurrent use.
type Runner struct {
	Access
	// Mend is asked about a step that is no ok, and says whether to try it anew. Who
	// has none gives a program up there, and also where steward does not answer.
	Mend func(ctx context.Context, job Job, s Step, a *rpcwire.Response) (again bool, err error)
	http http.Client
}

// Job is a place of a program, and the attempt at it.
type Job struct {
	Born    int64
	Place   string
	Attempt int
}

// Tx is the tx of the job.
func (j Job) Tx() string { return Tx(j.Born, j.Place, j.Attempt) }

// Nonce is what the oracle notes for the job.
func (j Job) Nonce() string { return fmt.Sprintf("%s#%d", j.Place, j.Attempt) }

// Run executes a program.
func (r *Runner) Run(ctx context.Context, born int64, path string, steps []Step) error {
	for i, s := range steps {
		if err := r.step(ctx, Job{Born: born, Place: Place(path, i)}, s); err != nil {
			return fmt.Errorf("%s: %w", Place(path, i), err)
		}
	}
	return nil
}

func (r *Runner) step(ctx context.Context, job Job, s Step) error {
	for {
		a, err := r.try(ctx, job, s)
		if err != nil || a.Status == rpcwire.OK {
			return err
		}
		if r.Mend == nil {
			return fmt.Errorf("%s %+v", a.Status, a.Error)
		}
		again, err := r.Mend(ctx, job, s, a)
		if err != nil || !again {
			return err
		}
		job.Attempt++
	}
}

// try makes one attempt at a step.
func (r *Runner) try(ctx context.Context, job Job, s Step) (*rpcwire.Response, error) {
	switch s.Do {
	case Count:
		return r.call(ctx, job.Tx(), r.Oracle, "effect", map[string]any{"nonce": job.Nonce(), "pause_ms": countTakes.Milliseconds()}, nil)
	case Run:
		steps, err := json.Marshal(s.Steps)
		if err != nil {
			return nil, err
		}
		return r.call(ctx, job.Tx(), r.Self, "run", map[string]any{"born": job.Born, "path": job.Place, "program": string(steps)}, nil)
	}
	// A put that was recorded is over, whatever the item is by now.
	if a, err := r.Lookup(ctx, job.Tx()); err != nil || a.Status == rpcwire.OK {
		return a, err
	}
	value := s.Value
	if s.Do == Copy {
		from, _, err := r.Get(ctx, s.From)
		if err != nil {
			return nil, err
		}
		if value = nothing; from != nil {
			value = *from
		}
	}
	_, version, err := r.Get(ctx, s.Key)
	if err != nil {
		return nil, err
	}
	condition := map[string]any{"absent": true}
	if version != "" {
		condition = map[string]any{"version": version}
	}
	return r.call(ctx, job.Tx(), r.Items, "put", map[string]any{"key": s.Key, "value": value}, condition)
}

// Get reads an item, nil if there is none, and its version.
func (r *Runner) Get(ctx context.Context, key string) (value *string, version string, err error) {
	a, err := r.call(ctx, "", r.Items, "get", map[string]any{"key": key}, nil)
	switch {
	case err != nil:
		return nil, "", err
	case a.Status == rpcwire.OK:
		var got struct {
			Value *string `json:"value"`
		}
		err := json.Unmarshal(a.Result, &got)
		return got.Value, a.Version, err
	case a.Error.Code == "not_found":
		return nil, "", nil
	}
	return nil, "", fmt.Errorf("get %s: %s %+v", key, a.Status, a.Error)
}

// Lookup tells what is recorded of a tx.
func (r *Runner) Lookup(ctx context.Context, tx string) (*rpcwire.Response, error) {
	return r.settled(ctx, rpcwire.Lookup.Path, func() any { return rpcwire.LookupRequest{V: rpcwire.Version, Tx: tx} })
}

// call makes one call; one that reads has no tx of its own.
func (r *Runner) call(ctx context.Context, tx string, to Target, method string, args, condition map[string]any) (*rpcwire.Response, error) {
	q := rpcwire.Request{V: rpcwire.Version, Tx: tx, Resource: to.Resource, Contract: to.Contract, Method: method}
	var err error
	if q.Args, err = strictjson.Encode(args); err != nil {
		return nil, err
	}
	if condition != nil {
		if q.If, err = strictjson.Encode(condition); err != nil {
			return nil, err
		}
	}
	return r.settled(ctx, rpcwire.Call.Path, func() any {
		if tx == "" {
			q.Tx = id.NewTx(time.Now()).String()
		}
		return q
	})
}

// settled asks until there is an answer that stays. Who gives up easily takes the
// first.
func (r *Runner) settled(ctx context.Context, path string, question func() any) (*rpcwire.Response, error) {
	for {
		a, err := r.post(ctx, path, question())
		if err == nil && !passing(a) || r.Mend == nil || ctx.Err() != nil {
			return a, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(3 * time.Millisecond):
		}
	}
}

// passing reports an answer that another will follow.
func passing(a *rpcwire.Response) bool {
	if a.Status == rpcwire.Pending {
		return true
	}
	if a.Error == nil {
		return false
	}
	switch a.Error.Code {
	case "tx_in_progress", "unavailable", "rate_limited", "upstream_unavailable":
		return a.Status == rpcwire.Failed
	}
	return false
}

func (r *Runner) post(ctx context.Context, path string, question any) (*rpcwire.Response, error) {
	body, err := strictjson.Encode(question)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.Token)
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var out rpcwire.Response
	return &out, strictjson.Decode(raw, strictjson.Limits{}, &out)
}
