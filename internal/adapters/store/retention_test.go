package store_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// keeper is a host of which a test says how long it runs.
type keeper struct {
	*notes
	ran atomic.Int64 // milliseconds
}

func newKeeper(t testing.TB) *keeper {
	n := newNotes(t)
	k := &keeper{notes: n}
	n.passed = func() time.Duration { return time.Duration(k.ran.Load()) * time.Millisecond }
	n.restart(t)
	k.clock.step(time.Second) // what comes is later than what is there
	return k
}

// run lets the host run on, with a look for what is due after less than a day and at
// the end, and says what went.
func (k *keeper) run(t testing.TB, d time.Duration) (all view.Swept) {
	t.Helper()
	first := min(20*time.Hour, d)
	for _, step := range []time.Duration{first, d - first} {
		k.ran.Add(step.Milliseconds())
		k.clock.step(step)
		got, err := k.Sweep(t.Context())
		must(t, err)
		all.Results, all.Calls, all.Arguments, all.Questions = all.Results+got.Results, all.Calls+got.Calls, all.Arguments+got.Arguments, all.Questions+got.Questions
		all.Consents, all.Days, all.Deferrals = all.Consents+got.Consents, all.Days+got.Days, all.Deferrals+got.Deferrals
	}
	return all
}

func (k *keeper) done(t testing.TB, ev invocation.Event) authority.Call {
	t.Helper()
	c := k.call(t, k.tx(), fmt.Sprintf(`{"text":%q}`, k.tx()))
	k.settle(t, k.dispatch(t, c), ev)
	return c
}

func (k *keeper) swept(t testing.TB, d time.Duration, want view.Swept) {
	t.Helper()
	if got := k.run(t, d); got != want {
		t.Fatalf("after %s more %+v went, want %+v", d, got, want)
	}
	k.holds(t)
}

const (
	dayLong = 24 * time.Hour
	slack   = 21 * time.Hour // a mark and a look
)

// A result is kept for a week, its row for ninety days and a doubt for ever. A row
// without its result still refuses its tx, and so does the clock when the row is gone
// (invariants I52, I60, I61).
func TestResultsGoAfterAWeekRowsAfterNinetyDaysAndDoubtsNever(t *testing.T) {
	k := newKeeper(t)
	answeredCall := k.done(t, answered)
	failed := k.done(t, invocation.Event{Kind: invocation.Rejected})
	doubt := k.done(t, invocation.Event{Kind: invocation.TimedOut})
	k.swept(t, bound.ResultsKept.Duration(), view.Swept{})
	ch, err := k.Reserve(t.Context(), answeredCall)
	must(t, err)
	if ch.Action != authority.Replay || len(ch.Row.Answer().Result) == 0 {
		t.Fatalf("within the week: %+v", ch)
	}
	k.swept(t, slack, view.Swept{Results: 1})
	ch, err = k.Reserve(t.Context(), answeredCall)
	must(t, err)
	if a := ch.Row.Answer(); ch.Action != authority.Replay || a.Status != invocation.Error || a.Fault.Code != fault.TxExpired || a.Effects != effect.Reported || a.Result != nil ||
		a.Fault.Details["settled"] != true {
		t.Fatalf("a row without its result: %s %+v", ch.Action, a)
	}
	other := k.call(t, answeredCall.Tx, `{"text":"other"}`)
	_, err = k.Reserve(t.Context(), other)
	wantFault(t, err, fault.TxMismatch)
	told, err := k.Lookup(t.Context(), k.app, answeredCall.Tx)
	must(t, err)
	if told.Fault.Code != fault.TxExpired || told.Effects != effect.Reported {
		t.Fatalf("looked up: %+v", told)
	}
	ch, err = k.Reserve(t.Context(), failed)
	must(t, err)
	if ch.Row.Answer().Fault.Code != fault.UpstreamFailed {
		t.Fatalf("a failure without a result: %+v", ch.Row.Answer())
	}
	newest := k.done(t, answered)
	k.swept(t, bound.CallsKept.Duration()-bound.ResultsKept.Duration()-slack, view.Swept{Results: 1})
	k.swept(t, slack+time.Hour, view.Swept{Calls: 2})
	k.restart(t)
	for _, c := range []authority.Call{answeredCall, failed} {
		_, err := k.Reserve(t.Context(), c)
		wantFault(t, err, fault.TxExpired)
		_, err = k.Lookup(t.Context(), k.app, c.Tx)
		wantFault(t, err, fault.NotFound)
	}
	ch, err = k.Reserve(t.Context(), doubt)
	must(t, err)
	if ch.Row.State != invocation.Indeterminate {
		t.Fatalf("a doubt became %s", ch.Row.State)
	}
	last, err := k.Reserve(t.Context(), newest)
	must(t, err)
	if last.Row.Answer().Fault.Code != fault.TxExpired {
		t.Fatalf("the newest row: %+v", last.Row.Answer())
	}
	_, err = k.Reconcile(t.Context(), k.owner, ch.Row.ID, authority.Happened)
	must(t, err)
	k.done(t, answered)
	k.swept(t, bound.CallsKept.Duration(), view.Swept{Results: 1, Calls: 1}) // the newest of before; the doubt is as old as its end
	k.swept(t, slack, view.Swept{Calls: 1})
}

// Nothing goes because somebody set a clock: not forward while a host runs, not
// between two of them, not backward and on again. The host has to run for as long
// as things are kept (threats, A31).
func TestNoClockThatWasSetDeletesAnything(t *testing.T) {
	k := newKeeper(t)
	c := k.done(t, answered)
	k.swept(t, 2*dayLong, view.Swept{})
	k.clock.step(10 * 365 * dayLong)
	k.swept(t, 2*dayLong, view.Swept{})
	k.restart(t)
	k.clock.step(10 * 365 * dayLong)
	k.restart(t)
	k.swept(t, 2*dayLong, view.Swept{})
	k.clock.step(-20 * 365 * dayLong)
	k.restart(t)
	k.swept(t, dayLong-time.Hour, view.Swept{})
	ch, err := k.Reserve(t.Context(), c)
	must(t, err)
	if len(ch.Row.Answer().Result) == 0 {
		t.Fatal("the result is gone")
	}
	k.swept(t, slack+2*time.Hour, view.Swept{Results: 1})
}

// A row that stayed because it was the newest goes once it is not, however long that
// takes.
func TestARowThatWasTheNewestGoesOnceItIsNot(t *testing.T) {
	k := newKeeper(t)
	k.done(t, answered)
	k.swept(t, bound.CallsKept.Duration()+2*slack, view.Swept{Results: 1})
	k.swept(t, 10*dayLong, view.Swept{})
	k.done(t, answered)
	k.swept(t, dayLong, view.Swept{Calls: 1})
}

// Many rows go in small transactions, and one that was taken up again or ended late
// is as old as its outcome, wherever it stands.
func TestASweepTakesWhatIsDueWhereverItStands(t *testing.T) {
	k := newKeeper(t)
	again := k.call(t, k.tx(), `{"text":"again"}`)
	k.settle(t, k.dispatch(t, again), invocation.Event{Kind: invocation.Unreached})
	for range 150 {
		k.done(t, answered)
	}
	k.swept(t, 3*dayLong, view.Swept{})
	row := k.dispatch(t, again)
	k.settle(t, row, answered)
	before := k.Stats().Commits
	k.swept(t, 4*dayLong+slack, view.Swept{Results: 150})
	if n := k.Stats().Commits - before; n < 3 {
		t.Errorf("all went in %d commits", n)
	}
	k.swept(t, 3*dayLong, view.Swept{Results: 1})
	k.done(t, answered)
	k.swept(t, bound.CallsKept.Duration(), view.Swept{Results: 1, Calls: 151})
}

// What a sweep took is told by the trail, and what a thief takes is not.
func TestAThiefIsNoSweep(t *testing.T) {
	for name, edit := range map[string]string{
		"a young result": "UPDATE invocations SET result = NULL WHERE number = (SELECT MAX(number) FROM invocations WHERE state = 'succeeded')",
		"a young result, with the mark of a sweep": "UPDATE invocations SET result = NULL, removed = (SELECT o.removed FROM invocations o WHERE o.removed <> '' LIMIT 1) " +
			"WHERE number = (SELECT MAX(number) FROM invocations WHERE state = 'succeeded')",
		"another old one":  "UPDATE invocations SET removed = 'sha256:" + fmt.Sprintf("%064x", 7) + "' WHERE removed <> ''",
		"the mark alone":   "UPDATE invocations SET removed = 'x' WHERE result IS NOT NULL",
		"an old row":       "DELETE FROM invocations WHERE removed <> ''",
		"a row in doubt":   "DELETE FROM invocations WHERE state = 'indeterminate'",
		"the sweep's word": "UPDATE audit SET detail = 'through 9999999999999' WHERE kind = 'swept'",
	} {
		k := newKeeper(t)
		k.done(t, answered)
		k.done(t, invocation.Event{Kind: invocation.TimedOut})
		k.swept(t, bound.ResultsKept.Duration()+slack, view.Swept{Results: 1})
		k.done(t, answered)
		k.tamper(t, edit)
		v, err := k.Verify(t.Context(), nil)
		must(t, err)
		if v.Break == nil && len(v.Mismatches) == 0 {
			t.Errorf("%s: nobody is told", name)
		}
	}
}
