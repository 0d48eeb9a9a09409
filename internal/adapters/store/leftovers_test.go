package store_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// asked puts the question that a call needs an answer to.
func (n *notes) asked(t testing.TB, c authority.Call) id.Confirmation {
	t.Helper()
	c.NewConfirmation = id.New[id.Confirmation]()
	_, err := n.Reserve(t.Context(), c)
	wantFault(t, err, fault.ConfirmationRequired)
	which, err := id.Parse[id.Confirmation](fault.From(err).Details["confirmation"].(string))
	must(t, err)
	return which
}

func (n *notes) decided(t testing.TB, which id.Confirmation, yes bool) {
	t.Helper()
	_, err := n.DecideConfirmation(t.Context(), n.owner, which, yes)
	must(t, err)
}

func (p *pool) rows(t testing.TB, table string) (n int) {
	t.Helper()
	must(t, p.raw(t).QueryRow("SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

// nowhere fails where a file of the store has the text.
func (p *pool) nowhere(t testing.TB, text string) {
	t.Helper()
	must(t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			t.Errorf("%s holds %s", path, text)
		}
		return err
	}))
}

// What an app asked the owner for lies sealed, and what nobody knows the end of too;
// the owner reads both, and neither opens in another row (threats, A76).
func TestArgumentsAreSealedAndKeptForTheOwner(t *testing.T) {
	n := newNotes(t)
	const canary = "canary-51d0"
	args := `{"text":"` + canary + `"}`
	over := n.dispatch(t, n.call(t, n.tx(), args))
	n.settle(t, over, answered)
	unsent := n.dispatch(t, n.call(t, n.tx(), args))
	n.settle(t, unsent, invocation.Event{Kind: invocation.Unreached})
	n.grant(t, n.app, n.resource, grant.Always, "add")
	call := n.call(t, n.tx(), args)
	question := n.asked(t, call)
	open, err := n.Confirmations(t.Context(), n.owner, false)
	must(t, err)
	if len(open) != 1 || string(open[0].Row.Args) != args {
		t.Fatalf("the owner is asked %+v", open)
	}
	n.decided(t, question, true)
	row := n.dispatch(t, call)
	n.restart(t)
	shown, err := n.Invocation(t.Context(), n.owner, row.ID.String())
	must(t, err)
	if shown.Row.State != invocation.Indeterminate || string(shown.Args) != args || shown.Confirmation != question || shown.ConfirmedAt.IsZero() {
		t.Fatalf("of the call in doubt the owner is told %+v", shown)
	}
	for _, r := range []invocation.Row{over, unsent} {
		shown, err := n.Invocation(t.Context(), n.owner, r.ID.String())
		must(t, err)
		if shown.Args != nil {
			t.Errorf("of a call that is %s the arguments are kept", shown.Row.State)
		}
	}
	n.holds(t)
	n.nowhere(t, canary)
	_, err = n.Reconcile(t.Context(), n.owner, row.ID, authority.Happened)
	must(t, err)
	if shown, err = n.Invocation(t.Context(), n.owner, row.ID.String()); err != nil || shown.Args != nil {
		t.Errorf("after the end of the doubt: %+v, %v", shown, err)
	}
}

// Another row's arguments, or edited ones, are never shown as a call's or a question's
// own, and a check names them (threats, A76, A78).
func TestArgumentsOfAnotherRowDoNotOpen(t *testing.T) {
	for name, edit := range map[string]string{
		"exchanged": "UPDATE confirmations SET args = (SELECT o.args FROM confirmations o WHERE o.confirmation <> confirmations.confirmation)",
		"edited":    "UPDATE confirmations SET args = x'7b7d'",
	} {
		n := newNotes(t)
		n.grant(t, n.app, n.resource, grant.Always, "add")
		question := n.asked(t, n.call(t, n.tx(), `{"text":"a"}`))
		n.asked(t, n.call(t, n.tx(), `{"text":"b"}`))
		n.tamper(t, edit)
		if _, err := n.Confirmations(t.Context(), n.owner, false); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: the list of questions gives %v", name, err)
		}
		if _, err := n.DecideConfirmation(t.Context(), n.owner, question, true); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: a yes gives %v", name, err)
		}
		if v, err := n.Verify(t.Context(), nil); err != nil || len(v.Mismatches) == 0 {
			t.Errorf("%s: %v %v", name, v.Mismatches, err)
		}
	}
	for name, edit := range map[string]string{
		"edited":             "UPDATE invocations SET args = x'7b7d' WHERE state = 'indeterminate'",
		"put to one that is": "UPDATE invocations SET args = (SELECT o.args FROM invocations o WHERE o.state = 'indeterminate') WHERE state = 'succeeded'",
	} {
		n := newNotes(t)
		n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"a"}`)), invocation.Event{Kind: invocation.Broken})
		n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"b"}`)), answered)
		n.tamper(t, edit)
		if v, err := n.Verify(t.Context(), nil); err != nil || len(v.Mismatches) != 1 {
			t.Errorf("%s: %v %v", name, v.Mismatches, err)
		}
	}
}

// Of a question that is over the arguments go after a week and the rest after ninety
// days. Until then the row is whole enough to be what it was: an answer that holds, or
// was used.
func TestQuestionsGoInTheTimeOfWhatTheyLetThrough(t *testing.T) {
	k := newKeeper(t)
	k.grant(t, k.app, k.resource, grant.Always, "add")
	used, denied := k.call(t, k.tx(), `{"text":"yes"}`), k.call(t, k.tx(), `{"text":"no"}`)
	yes, no := k.asked(t, used), k.asked(t, denied)
	k.decided(t, yes, true)
	k.decided(t, no, false)
	k.settle(t, k.dispatch(t, used), answered)
	expired := k.asked(t, k.call(t, k.tx(), `{"text":"nobody answers"}`))
	k.swept(t, bound.ResultsKept.Duration(), view.Swept{})
	young := k.asked(t, k.call(t, k.tx(), `{"text":"young"}`))
	k.swept(t, slack, view.Swept{Results: 1, Arguments: 3})
	states := map[id.Confirmation]confirmation.State{yes: confirmation.Used, no: confirmation.Denied, expired: confirmation.Expired, young: confirmation.Open}
	all, err := k.Confirmations(t.Context(), k.owner, true)
	must(t, err)
	for _, q := range all {
		if q.Row.State != states[q.Row.ID] || (q.Row.Args != nil) != (q.Row.ID == young) {
			t.Errorf("after a week a question is %s with %q", q.Row.State, q.Row.Args)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d questions", len(all))
	}
	again := k.call(t, k.tx(), `{"text":"yes"}`)
	if k.asked(t, again) == yes {
		t.Error("a yes that was used lets another call through")
	}
	k.swept(t, bound.CallsKept.Duration()-bound.ResultsKept.Duration()-slack, view.Swept{Arguments: 2})
	k.swept(t, slack+time.Hour, view.Swept{Questions: 3, Consents: 1}) // and that of the grant in whose place this one is
	if all, err = k.Confirmations(t.Context(), k.owner, true); err != nil || len(all) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if k.asked(t, k.call(t, k.tx(), `{"text":"yes"}`)) == yes {
		t.Error("a question that went let a call through")
	}
}

// However far a wall clock is set, a no holds and a question keeps its arguments until
// hosts have run for so long (threats, A31).
func TestNoClockThatWasSetTakesAQuestion(t *testing.T) {
	k := newKeeper(t)
	k.grant(t, k.app, k.resource, grant.Always, "add")
	k.decided(t, k.asked(t, k.call(t, k.tx(), `{"text":"no"}`)), false)
	k.swept(t, 2*dayLong, view.Swept{})
	k.clock.step(10 * 365 * dayLong)
	k.restart(t)
	k.swept(t, 2*dayLong, view.Swept{})
	k.clock.step(-20 * 365 * dayLong)
	k.restart(t)
	k.swept(t, 2*dayLong, view.Swept{})
	k.swept(t, dayLong+slack, view.Swept{Arguments: 1})
}

// Days of a budget go when nothing can be given back to them that counts; the day that
// is counted stays.
func TestDaysOfABudgetGo(t *testing.T) {
	k := newKeeper(t)
	k.grantWithin(t, k.app, k.resource, budget.Limit{PerDay: 1}, "add")
	k.done(t, answered)
	k.swept(t, bound.ResultsKept.Duration()+slack, view.Swept{Results: 1})
	k.done(t, answered)
	if n := k.rows(t, "spending"); n != 2 {
		t.Fatalf("%d days", n)
	}
	k.swept(t, bound.CallsKept.Duration()+slack, view.Swept{Results: 1, Calls: 1, Days: 2, Consents: 1})
	k.done(t, answered)
	_, err := k.Reserve(t.Context(), k.call(t, k.tx(), `{"text":"one more"}`))
	wantFault(t, err, fault.BudgetExhausted)
}

// The record of a consent stands as long as a right rests on it, and ninety days more.
// A sweep of others hides no theft of one that stands (threats, A78).
func TestConsentsGoWhenNothingRestsOnThem(t *testing.T) {
	k := newKeeper(t)
	other := k.upstream(t, k.owner, "other", "add")
	k.approve(t, k.owner, other.resource, "add")
	k.grant(t, k.app, other.resource, grant.Never, "add")
	first := k.grant(t, k.app, k.resource, grant.Never, "drop")
	k.swept(t, bound.CallsKept.Duration()+slack, view.Swept{})
	k.grant(t, k.app, k.resource, grant.Always, "drop") // in place of the first
	if n := k.rows(t, "consents"); n != 6 {
		t.Fatalf("%d consents", n)
	}
	must(t, k.SetAdapterState(t.Context(), k.owner, other.adapter, view.Removed))
	k.swept(t, bound.CallsKept.Duration()-slack, view.Swept{})
	k.swept(t, 2*slack, view.Swept{Consents: 3}) // the first one's, the yes to other and the grant on it
	if _, err := k.Revoke(t.Context(), k.owner, first[0]); !fault.Is(err, fault.NotFound) {
		t.Fatalf("the replaced grant: %v", err)
	}
	k.restart(t)
	k.holds(t)
	k.tamper(t, "DELETE FROM consents WHERE consent = (SELECT c.consent FROM consents c ORDER BY c.at LIMIT 1)")
	if v, err := k.Verify(t.Context(), nil); err != nil || len(v.Mismatches) != 1 {
		t.Errorf("a theft: %v, %v", v.Mismatches, err)
	}
}

// What the owner said to a proposal goes when nobody makes it any more.
func TestAnswersToProposalsGoWithThem(t *testing.T) {
	k := newKeeper(t)
	k.list(t, k.owner, k.server, offer(k.adapter, "add", "1", effect.Write), offer(k.adapter, "drop", "1", effect.Write),
		offer(k.adapter, "one", "1", effect.Write), offer(k.adapter, "two", "1", effect.Write))
	r, err := k.Resource(t.Context(), k.owner, k.resource.String())
	must(t, err)
	var all []resource.Method
	for _, m := range r.Methods {
		all = append(all, m.Method)
	}
	must(t, k.Defer(t.Context(), k.owner, k.resource, authority.ReviewDigest(r.Row, all), []string{"one", "two"}, view.Say("no")))
	k.approve(t, k.owner, k.resource, "two")
	k.swept(t, bound.CallsKept.Duration(), view.Swept{})
	k.swept(t, slack, view.Swept{Deferrals: 1})
	r, err = k.Resource(t.Context(), k.owner, k.resource.String())
	must(t, err)
	if len(r.Deferred) != 1 || r.Deferred[0].Method != "one" || !slices.ContainsFunc(r.Methods, func(m resource.Kept) bool {
		return m.Method.Definition.ID == "one" && m.Method.State == resource.Proposed
	}) {
		t.Errorf("%+v", r.Deferred)
	}
}

// What the owner said of a doubt stays, and an answer that says otherwise is in the trail
// and in the story of the call.
func TestALateAnswerThatContradictsTheOwnerIsTold(t *testing.T) {
	for _, say := range []authority.Statement{authority.DidNot, authority.CannotTell, authority.Happened} {
		n := newNotes(t)
		row := n.dispatch(t, n.call(t, n.tx(), `{"text":"a"}`))
		n.settle(t, row, invocation.Event{Kind: invocation.TimedOut})
		said, err := n.Reconcile(t.Context(), n.owner, row.ID, say)
		must(t, err)
		n.clock.step(time.Second)
		for _, ev := range []invocation.Event{{Kind: invocation.Rejected}, answered} {
			_, err = n.Settle(t.Context(), n.app, outcome(row, ev, true))
			wantFault(t, err, fault.Conflict)
		}
		shown, err := n.Invocation(t.Context(), n.owner, row.ID.String())
		must(t, err)
		if shown.Row.State != said.State || shown.LateAt.IsZero() != (say == authority.Happened) {
			t.Errorf("%s: the call is %s, late at %s", say, shown.Row.State, shown.LateAt)
		}
		n.holds(t)
	}
}
