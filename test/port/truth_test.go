package port_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// alike reports whether an answer is the one that was told, told again.
func alike(again, told invocation.Answer) bool {
	told.Replayed = true
	return again.Fault != nil && told.Fault != nil && again.Fault.Code == told.Fault.Code && cmp.Equal(again.Fault.Details, told.Fault.Details) &&
		again.Status == told.Status && again.Effects == told.Effects && again.Invocation == told.Invocation && again.Replayed
}

// wants holds an answer against its code, empty for none, and its effects.
func wants(t *testing.T, what string, got invocation.Answer, code fault.Code, effects effect.Outcome) {
	t.Helper()
	var is fault.Code
	if got.Fault != nil {
		is = got.Fault.Code
	}
	if is != code || got.Effects != effects {
		t.Errorf("%s: %+v %+v, want %q with effects %s", what, got, got.Fault, code, effects)
	}
}

// While nothing can be written, a tx that was sent is answered as before, and only
// of one that was not is it said that nothing was (invariants I55, I59, I64).
func TestAFencedStoreTakesBackNothing(t *testing.T) {
	for name, ev := range map[string]invocation.Event{"a success": answered, "a doubt": {Kind: invocation.Broken}, "a failure": {Kind: invocation.Rejected}} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, ev)
			tx, put := id.NewTx(time.Now()), id.NewTx(time.Now())
			first, item := s.call(t, tx), s.put(t, put, "a")
			must(t, os.Rename(filepath.Join(s.dir, "steward.db"), filepath.Join(s.dir, "moved.db")))
			for round := range 2 { // the first meets a commit of unknown fate, the next a fence
				if round == 0 {
					if again := s.put(t, put, "a"); !again.Replayed || again.Status != invocation.OK || !cmp.Equal(again.Result, item.Result) {
						t.Errorf("a stored item, asked again: %+v %+v", again, again.Fault)
					}
				}
				again := s.call(t, tx)
				first.Replayed = true
				if !cmp.Equal(again.Result, first.Result) || again.Status != first.Status || again.Effects != first.Effects || !again.Replayed ||
					again.Invocation != first.Invocation {
					t.Errorf("round %d: %+v %+v, want %+v", round, again, again.Fault, first)
				}
			}
			if s.journal.Fenced() == nil {
				t.Fatal("the store is not fenced")
			}
			s.exec.calls = 0
			wants(t, "a call that is new", s.call(t, id.NewTx(time.Now())), fault.Unavailable, effect.NotDispatched)
			wants(t, "a tx used for something else", s.put(t, tx, "b"), fault.TxMismatch, first.Effects)
			if s.exec.calls > 0 {
				t.Error("dispatched behind a fence")
			}
		})
	}
}

// A built-in whose commit is of unknown fate is in doubt for as long as this process
// lives, by whatever way it is asked for.
func TestADoubtAboutABuiltInStays(t *testing.T) {
	s := newScene(t, answered)
	must(t, os.Rename(filepath.Join(s.dir, "steward.db"), filepath.Join(s.dir, "moved.db")))
	tx := id.NewTx(time.Now())
	told := s.put(t, tx, "a")
	wants(t, "the first answer", told, fault.Indeterminate, effect.Uncertain)
	if again := s.put(t, tx, "a"); !alike(again, told) {
		t.Errorf("asked again: %+v %+v", again, again.Fault)
	}
	if found := s.port.Lookup(t.Context(), s.hand, tx); !alike(found, told) {
		t.Errorf("looked up: %+v %+v", found, found.Fault)
	}
	wants(t, "another", s.put(t, id.NewTx(time.Now()), "b"), fault.Unavailable, effect.NotDispatched)
}

// Where the store cannot even be read, nobody knows whether a tx was sent before, but
// for one that the host itself has just made.
func TestAnUnreadableStoreKnowsOfNothing(t *testing.T) {
	s := newScene(t, answered)
	tx := id.NewTx(time.Now())
	if got := s.call(t, tx); got.Fault != nil {
		t.Fatal(got.Fault)
	}
	s.journal.close(true)
	wants(t, "a resend", s.call(t, tx), fault.Unavailable, effect.Uncertain)
	wants(t, "a lookup", s.port.Lookup(t.Context(), s.hand, tx), fault.Unavailable, effect.Uncertain)
	minted := s.port.Call(t.Context(), s.hand, dispatch.Request{Tx: id.NewTx(time.Now()), Minted: true, Ref: s.ref})
	wants(t, "a minted tx", minted, fault.Unavailable, effect.NotDispatched)
	s.journal.close(false)
	if again := s.call(t, tx); !again.Replayed || again.Status != invocation.OK || s.exec.calls != 1 {
		t.Errorf("afterwards: %+v %+v", again, again.Fault)
	}
}

// Whoever sends a tx again while it is under way is not told that it has no effects.
func TestATxUnderWayIsUncertain(t *testing.T) {
	s := newScene(t, answered)
	tx := id.NewTx(time.Now())
	var again invocation.Answer
	s.exec.during = func() { again = s.call(t, tx) }
	if got := s.call(t, tx); got.Fault != nil {
		t.Fatal(got.Fault)
	}
	wants(t, "a resend meanwhile", again, fault.TxInProgress, effect.Uncertain)
}

// A caller waits for what the journal owes to others no longer than for its own call.
func TestADebtIsNotWaitedForWithoutEnd(t *testing.T) {
	s := newScene(t, answered)
	s.journal.fill(true)
	if told := s.call(t, id.NewTx(time.Now())); told.Status != invocation.InDoubt {
		t.Fatalf("%+v", told)
	}
	s.journal.fill(false)
	held, free := make(chan struct{}), make(chan struct{})
	s.journal.hold(func() { close(held); <-free })
	paying := make(chan struct{})
	go func() {
		defer close(paying)
		s.call(t, id.NewTx(time.Now()))
	}()
	<-held
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the caller is gone"))
	got := s.port.Call(ctx, s.hand, dispatch.Request{Tx: id.NewTx(time.Now()), Minted: true, Ref: s.ref})
	wants(t, "one that does not wait", got, fault.Unavailable, effect.NotDispatched)
	got = s.port.Call(t.Context(), s.hand, dispatch.Request{Tx: id.NewTx(time.Now()), Ref: s.ref, Deadline: time.Millisecond})
	wants(t, "one that waits for a moment", got, fault.Unavailable, effect.NotDispatched)
	close(free)
	<-paying
}

func (s *scene) put(t *testing.T, tx id.Tx, key string) invocation.Answer {
	t.Helper()
	return s.port.Call(t.Context(), s.hand, dispatch.Request{Tx: tx, Ref: dispatch.Reference{Resource: "@items", Method: "put"},
		Args: []byte(`{"key":"` + key + `","value":"v"}`), If: []byte(`{"absent":true}`)})
}

// hold has the next settling call what is given first.
func (j *journal) hold(first func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.first = first
}

func (j *journal) held() {
	j.mu.Lock()
	first := j.first
	j.first = nil
	j.mu.Unlock()
	if first != nil {
		first()
	}
}

// Of sends of one tx around a commit of unknown fate none is told that nothing of the tx
// was done, and none that it was: neither while the first of them has not yet had its
// answer, nor where several lie in that commit (invariants I55, I59, I65).
func TestSendsAroundACommitOfUnknownFateAgree(t *testing.T) {
	fits := func(a invocation.Answer) {
		t.Helper()
		if a.Effects != effect.Uncertain || a.Status == invocation.OK {
			t.Errorf("%+v %+v", a, a.Fault)
		}
	}
	s := newScene(t, answered)
	must(t, os.Rename(filepath.Join(s.dir, "steward.db"), filepath.Join(s.dir, "moved.db")))
	doubted, free := make(chan struct{}), make(chan struct{})
	s.journal.doubted = func() { close(doubted); <-free }
	tx, first := id.NewTx(time.Now()), make(chan invocation.Answer, 1)
	go func() { first <- s.put(t, tx, "a") }()
	<-doubted
	fits(s.put(t, tx, "a"))
	close(free)
	fits(<-first)

	s = newScene(t, answered)
	must(t, os.Rename(filepath.Join(s.dir, "steward.db"), filepath.Join(s.dir, "moved.db")))
	answers := make([]invocation.Answer, 24)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = s.put(t, tx, "a") })
	}
	all.Wait()
	for _, a := range answers {
		fits(a)
	}
}

// A request without a form, or another one under a tx, does not take back what is known
// of the effects of that tx; under a fresh one nothing was sent (invariants I59, I64).
func TestARefusalForItsFormTellsOfTheTx(t *testing.T) {
	for name, c := range map[string]struct {
		event invocation.Event
		want  effect.Outcome
	}{
		"a success": {answered, effect.Reported}, "a doubt": {invocation.Event{Kind: invocation.Broken}, effect.Uncertain}, "nothing sent": {invocation.Event{Kind: invocation.Unreached}, effect.NotDispatched},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, c.event)
			sent, fresh := id.NewTx(time.Now()), id.NewTx(time.Now())
			s.call(t, sent)
			other := dispatch.Request{Tx: sent, Ref: s.ref, Args: []byte(`{"other":1}`)}
			if got := s.port.Call(t.Context(), s.hand, other); got.Effects != c.want || got.Fault == nil {
				t.Errorf("another request: %+v %+v", got, got.Fault)
			}
			for tx, want := range map[id.Tx]effect.Outcome{sent: c.want, fresh: effect.NotDispatched} {
				bad := dispatch.Request{Tx: tx, Ref: s.ref, Args: []byte(`{"a":1,"a":2}`)}
				wants(t, "no form", s.port.Call(t.Context(), s.hand, bad), fault.InvalidArgs, want)
				wants(t, "not read", s.port.Refuse(t.Context(), s.hand, tx, fault.New(fault.InvalidRequest, "no")), fault.InvalidRequest, want)
			}
			must(t, os.Rename(filepath.Join(s.dir, "steward.db"), filepath.Join(s.dir, "moved.db")))
			s.put(t, id.NewTx(time.Now()), "a") // which fences the store
			if got := s.port.Refuse(t.Context(), s.hand, sent, fault.New(fault.InvalidRequest, "no")); got.Effects != c.want && got.Effects != effect.Uncertain {
				t.Errorf("while the store is fenced: %+v", got)
			}
		})
	}
}

// A call whose definition is another one each time that it is looked at is refused, and
// has its one row in the trail (invariant I63).
func TestACallThatStaysStaleIsOneRefusal(t *testing.T) {
	s := newScene(t, answered)
	if got := s.call(t, id.NewTx(time.Now())); got.Fault != nil { // from now on the method is resolved first
		t.Fatal(got.Fault)
	}
	s.journal.aged = true
	s.port = dispatch.New(s.journal, func(id.Adapter) (dispatch.Executor, bool) { return s.exec, true }, s.journal.Node(), s.journal.Epoch(), slog.New(slog.DiscardHandler))
	wants(t, "a stale call", s.call(t, id.NewTx(time.Now())), fault.NeedsConsent, effect.None)
	if n := s.journal.Denials(); n != 1 || s.exec.calls != 1 {
		t.Errorf("%d refusals are in the trail, %d calls were made", n, s.exec.calls)
	}
}
