// Package port_test holds the dispatch port against a store that fails at the
// worst moments.
package port_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// journal is the real store behind switches that make settling fail, or everything.
type journal struct {
	*store.Store
	mu      sync.Mutex
	full    bool
	blind   bool
	first   func() // called by the next settling
	doubted func() // called with a doubt about a built-in
	aged    bool   // what is resolved is never what is stored
}

func (j *journal) fill(full bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.full = full
}

func (j *journal) close(blind bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.blind = blind
}

func (j *journal) trouble() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.blind {
		return fault.New(fault.Unavailable, "the database cannot be read now").Because(errors.New("i/o error"))
	}
	return nil
}

func (j *journal) Resolve(ctx context.Context, owner id.Owner, ref dispatch.Reference) (dispatch.Resolved, bool, error) {
	got, found, err := j.Store.Resolve(ctx, owner, ref)
	if j.aged {
		got.Method.Definition.Description = "of before"
	}
	return got, found, err
}

// RunBuiltin keeps a doubt to itself for as long as a test wants.
func (j *journal) RunBuiltin(ctx context.Context, c authority.Call, condition []byte) (invocation.Answer, error) {
	a, err := j.Store.RunBuiltin(ctx, c, condition)
	if err == nil && a.Status == invocation.InDoubt && j.doubted != nil {
		j.doubted()
	}
	return a, err
}

func (j *journal) Reserve(ctx context.Context, c authority.Call) (authority.CallChanges, error) {
	if err := j.trouble(); err != nil {
		return authority.CallChanges{}, err
	}
	return j.Store.Reserve(ctx, c)
}

func (j *journal) Lookup(ctx context.Context, c authority.Caller, tx id.Tx) (invocation.Answer, error) {
	if err := j.trouble(); err != nil {
		return invocation.Answer{}, err
	}
	return j.Store.Lookup(ctx, c, tx)
}

func (j *journal) Recall(ctx context.Context, c authority.Call) (invocation.Answer, bool, error) {
	if err := j.trouble(); err != nil {
		return invocation.Answer{}, false, err
	}
	return j.Store.Recall(ctx, c)
}

func (j *journal) Settle(ctx context.Context, c authority.Caller, s authority.Settle) (invocation.Answer, error) {
	j.mu.Lock()
	full := j.full
	j.mu.Unlock()
	j.held()
	if full {
		return invocation.Answer{}, fault.New(fault.Unavailable, "no room").Because(errors.New("disk full"))
	}
	return j.Store.Settle(ctx, c, s)
}

// executor counts its calls and answers each the same way.
type executor struct {
	mu     sync.Mutex
	calls  int
	event  invocation.Event
	during func() // called while a call is under way
	after  func(late func(invocation.Event))
}

func (e *executor) Ready() bool                { return true }
func (e *executor) Open(context.Context) error { return nil }
func (e *executor) Call(_ context.Context, _ string, _ []byte, late func(invocation.Event)) invocation.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
	if e.during != nil {
		e.during()
	}
	if e.after != nil {
		e.after(late)
	}
	return e.event
}

type scene struct {
	dir     string
	journal *journal
	exec    *executor
	port    *dispatch.Port
	hand    authority.Caller
	ref     dispatch.Reference
}

func newScene(t *testing.T, ev invocation.Event) *scene {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	s, err := store.Open(t.Context(), dir, store.Options{Ceiling: budget.Ceiling{PerMinute: 1 << 30, AtOnce: 1 << 20}})
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil && s.Fenced() == nil {
			t.Error(err)
		}
	})
	seeds, err := builtins.Seeds()
	must(t, err)
	owner, hand, err := s.EnsureOwner(t.Context(), "owner", seeds)
	must(t, err)
	adapter, which := id.New[id.Adapter](), id.New[id.Resource]()
	must(t, s.AddAdapter(t.Context(), view.Adapter{Owner: owner, ID: adapter, Name: "up", Kind: "test", Configuration: []byte("{}"), State: view.Enabled},
		resource.Row{ID: which, Owner: owner, Kind: resource.Connection, Label: "up", Adapter: adapter, Storage: resource.AtThirdParty,
			Revision: id.New[id.Revision](), State: resource.Active}))
	write, err := effect.SetOf(effect.Write)
	must(t, err)
	_, err = s.ApplyListing(t.Context(), owner, adapter, "up 1", "2025-11-25", []resource.Offer{{Tool: "act", Raw: []byte("{}"), Review: []byte("{}"),
		Definition: contract.Method{Input: strictjson.Raw(`{"additionalProperties":false,"properties":{},"type":"object"}`), Effects: write, Errors: []fault.Code{}},
		Binding:    resource.Binding{Kind: resource.ByMCP, Adapter: adapter, Tool: "act", Tooldef: digest.Of(digest.Definition, []byte("act"))}}})
	must(t, err)
	r, err := s.Resource(t.Context(), owner, which.String())
	must(t, err)
	_, err = s.Approve(t.Context(), owner, which, authority.Approve{Owner: owner, Shown: authority.ReviewDigest(r.Row, []resource.Method{r.Methods[0].Method}),
		Choices: []authority.Choice{{Method: "act"}}, NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()})
	must(t, err)
	sc := &scene{dir: dir, journal: &journal{Store: s}, exec: &executor{event: ev}, hand: authority.Caller{Owner: owner, Client: hand},
		ref: dispatch.Reference{Resource: which.String(), Contract: r.Methods[0].Method.Contract, Method: "act"}}
	sc.port = dispatch.New(sc.journal, func(id.Adapter) (dispatch.Executor, bool) { return sc.exec, true }, s.Node(), s.Epoch(), slog.New(slog.DiscardHandler))
	return sc
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *scene) call(t *testing.T, tx id.Tx) invocation.Answer {
	return s.port.Call(t.Context(), s.hand, dispatch.Request{Tx: tx, Ref: s.ref})
}

var answered = invocation.Event{Kind: invocation.Answered, Result: []byte(`{"content":[]}`)}

// While the journal cannot take an outcome, the caller is told a doubt, nothing
// equal runs, and afterwards the journal says what was told and then what was
// true.
func TestAnOutcomeThatCannotBeWrittenIsOwed(t *testing.T) {
	for name, c := range map[string]struct {
		event invocation.Event
		after invocation.State
	}{
		"a clean answer ends the doubt":    {answered, invocation.ReconciledSucceeded},
		"a failure leaves it to the owner": {invocation.Event{Kind: invocation.Rejected}, invocation.Indeterminate},
		"a doubt stays one":                {invocation.Event{Kind: invocation.Broken}, invocation.Indeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, c.event)
			s.journal.fill(true)
			tx := id.NewTx(time.Now())
			told := s.call(t, tx)
			if told.Status != invocation.InDoubt || told.Fault.Details["reason"] != "journal_unknown" || told.Effects != effect.Uncertain {
				t.Fatalf("the caller is told %+v", told)
			}
			if again := s.call(t, id.NewTx(time.Now())); again.Fault == nil || again.Fault.Code != fault.Unavailable || s.exec.calls != 1 {
				t.Errorf("an equal call meanwhile: %+v, %d dispatched", again, s.exec.calls)
			}
			if again := s.call(t, tx); !alike(again, told) || s.exec.calls != 1 {
				t.Errorf("the same call meanwhile: %+v %+v, %d dispatched", again, again.Fault, s.exec.calls)
			}
			if found := s.port.Lookup(t.Context(), s.hand, tx); !alike(found, told) {
				t.Errorf("looked up meanwhile: %+v %+v", found, found.Fault)
			}
			s.journal.fill(false)
			equal := s.call(t, id.NewTx(time.Now()))
			row, err := s.journal.Invocation(t.Context(), s.hand.Owner, tx.String())
			must(t, err)
			if row.Row.State != c.after {
				t.Errorf("the row is %s, want %s", row.Row.State, c.after)
			}
			held := equal.Fault != nil && equal.Fault.Code == fault.Conflict
			if wantHeld := c.after == invocation.Indeterminate; held != wantHeld {
				t.Errorf("afterwards an equal call gives %+v, held back is to be %v", equal, wantHeld)
			}
			if v, err := s.journal.Verify(t.Context(), nil); err != nil || v.Break != nil || len(v.Mismatches) > 0 {
				t.Errorf("the trail: %+v, %v", v, err)
			}
		})
	}
}

// An answer that comes in the moment in which the call ends in doubt finds the doubt,
// however long that takes to write.
func TestALateAnswerWaitsForTheDoubt(t *testing.T) {
	s := newScene(t, invocation.Event{Kind: invocation.TimedOut})
	var late sync.WaitGroup
	s.exec.after = func(offer func(invocation.Event)) { late.Go(func() { offer(answered) }) }
	s.journal.first = func() { <-time.After(200 * time.Millisecond) } // the answer is there meanwhile
	tx := id.NewTx(time.Now())
	if told := s.call(t, tx); told.Status != invocation.InDoubt {
		t.Errorf("the caller is told %+v", told)
	}
	late.Wait()
	row, err := s.journal.Invocation(t.Context(), s.hand.Owner, tx.String())
	must(t, err)
	if row.Row.State != invocation.ReconciledSucceeded || row.Row.Reconciled.By != "late_answer" {
		t.Errorf("the row is %s by %q", row.Row.State, row.Row.Reconciled.By)
	}
}
