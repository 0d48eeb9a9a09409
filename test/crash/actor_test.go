package crash_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// entry is a line of an actor's log. ledgercheck, which reads it, has its own
// form of it on purpose.
type entry struct {
	At     time.Time `json:"at"`
	N      int       `json:"n"`
	Do     string    `json:"do"`
	Client string    `json:"client"`
	Path   string    `json:"path,omitempty"`
	Tx     string    `json:"tx,omitempty"`
	Digest string    `json:"digest,omitempty"`
	Nonce  string    `json:"nonce,omitempty"`
	Key    string    `json:"key,omitempty"`
	If     string    `json:"if,omitempty"`
	Never  bool      `json:"never,omitempty"`
	Body   string    `json:"body,omitempty"`
	Error  string    `json:"error,omitempty"`
}

// actor is an app as its user sees it: it has its token, writes down what it
// asks before it asks, and what it is told when it is told. Its log is on the
// disk before it goes on, for as long as sync says so. Safe for concurrent use.
type actor struct {
	*hosttest.App
	t     *testing.T
	stage *stage
	http  *http.Client
	sync  bool
	waits time.Duration // for one answer

	mu  sync.Mutex
	log *os.File
	n   int
}

func newActor(t *testing.T, s *stage, dir string, app *hosttest.App) *actor {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, app.Name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(func() { transport.CloseIdleConnections(); log.Close() })
	return &actor{App: app, t: t, stage: s, sync: true, waits: time.Minute, log: log, http: &http.Client{Transport: transport}}
}

// write adds a line; a log that cannot be written ends the run, since what comes
// after could not be judged.
func (a *actor) write(e entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.At = time.Now().UTC()
	raw, err := json.Marshal(e)
	if err == nil {
		_, err = a.log.Write(append(raw, '\n'))
	}
	if err == nil && a.sync {
		err = a.log.Sync()
	}
	if err != nil {
		panic(fmt.Sprintf("the log of %s: %v", a.Name, err))
	}
}

func (a *actor) number() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	return a.n
}

// ask is one thing that an actor wants, whatever it takes to get an answer.
type ask struct {
	tx            string
	nonce         string // of an effect
	key, replaces string
	never         bool
	body          []byte
	digest        string
}

func (a *actor) newTx() string { return id.NewTx(time.Now()).String() }

// effect asks the oracle to note a nonce, and to take its time.
func (a *actor) effect(tx, nonce string, pause, deadline time.Duration, ack string) ask {
	args := map[string]any{"nonce": nonce}
	if pause > 0 {
		args["pause_ms"] = pause.Milliseconds()
	}
	r := rpcwire.Request{Resource: a.stage.oracle.Resource, Contract: a.stage.oracle.Contract, Method: "effect"}
	if deadline > 0 {
		ms := deadline.Milliseconds()
		r.DeadlineMS = &ms
	}
	if ack != "" {
		r.Ack = &ack
	}
	return a.ask(ask{tx: tx, nonce: nonce}, r, args)
}

// put stores an item anew, or in place of a version.
func (a *actor) put(tx, key, value, version string) ask {
	condition := map[string]any{"absent": true}
	if version != "" {
		condition = map[string]any{"version": version}
	}
	raw, err := strictjson.Encode(condition)
	if err != nil {
		panic(err)
	}
	r := rpcwire.Request{Resource: a.stage.items.Resource, Contract: a.stage.items.Contract, Method: "put", If: raw}
	return a.ask(ask{tx: tx, key: key, replaces: version}, r, map[string]any{"key": key, "value": value})
}

func (a *actor) ask(q ask, r rpcwire.Request, args map[string]any) ask {
	r.V, r.Tx = rpcwire.Version, q.tx
	raw, err := strictjson.Encode(args)
	if err == nil {
		r.Args = raw
		q.body, err = strictjson.Encode(r)
	}
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(append(append([]byte(r.Method+"\n"), r.Args...), r.If...))
	q.digest = hex.EncodeToString(sum[:8])
	return q
}

// send asks once. The answer is nil where none came, and the error says why.
func (a *actor) send(ctx context.Context, q ask) (*rpcwire.Response, error) {
	return a.exchange(ctx, rpcwire.Call.Path, entry{Tx: q.tx, Digest: q.digest, Nonce: q.nonce, Key: q.key, If: q.replaces, Never: q.never}, q.body)
}

// lookup asks what is recorded.
func (a *actor) lookup(ctx context.Context, tx string) (*rpcwire.Response, error) {
	body, err := strictjson.Encode(rpcwire.LookupRequest{V: rpcwire.Version, Tx: tx})
	if err != nil {
		panic(err)
	}
	return a.exchange(ctx, rpcwire.Lookup.Path, entry{Tx: tx}, body)
}

func (a *actor) exchange(ctx context.Context, path string, e entry, body []byte) (*rpcwire.Response, error) {
	e.N, e.Client, e.Path, e.Do = a.number(), a.ID, path, "send"
	a.write(e)
	raw, err := a.post(ctx, path, body)
	told := entry{N: e.N, Client: a.ID, Tx: e.Tx, Do: "answer", Body: string(raw)}
	if err != nil {
		told.Do, told.Body, told.Error = "lost", "", err.Error()
	}
	a.write(told)
	if err != nil {
		return nil, err
	}
	var out rpcwire.Response
	return &out, strictjson.Decode(raw, strictjson.Limits{}, &out)
}

// post gives the whole body of an answer, or an error.
func (a *actor) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, a.waits)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.stage.base()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.RPC)
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
