package store_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// notes is a pool with an app that may call one tool of one upstream.
type notes struct {
	*pool
	app authority.Caller
	server
	grants []id.Grant
}

func newNotes(t testing.TB) *notes {
	t.Helper()
	p := newPool(t)
	n := &notes{pool: p, app: p.app(t, p.owner, "editor"), server: p.upstream(t, p.owner, "notes", "add", "drop")}
	p.approve(t, p.owner, n.resource, "add", "drop")
	n.grants = p.grant(t, n.app, n.resource, grant.ByEffect, "add")
	return n
}

func (n *notes) call(t testing.TB, tx id.Tx, args string) authority.Call {
	t.Helper()
	return n.command(t, n.app, tx, n.resource.String(), "add", args)
}

// dispatch reserves a call and fails unless it is to be sent.
func (n *notes) dispatch(t testing.TB, c authority.Call) invocation.Row {
	t.Helper()
	ch, err := n.Reserve(t.Context(), c)
	must(t, err)
	if ch.Action != authority.Dispatch || ch.Row.State != invocation.Dispatching || ch.Row.DispatchedAt.IsZero() {
		t.Fatalf("not dispatched: %+v", ch)
	}
	return ch.Row
}

func (n *notes) settle(t testing.TB, r invocation.Row, ev invocation.Event) invocation.Answer {
	t.Helper()
	answer, err := n.Settle(t.Context(), n.app, outcome(r, ev, false))
	must(t, err)
	return answer
}

// stored reads a call as the owner sees it.
func (n *notes) stored(t testing.TB, which id.Invocation) invocation.Row {
	t.Helper()
	v, err := n.Invocation(t.Context(), n.owner, which.String())
	must(t, err)
	return v.Row
}

var byEqual = cmpopts.EquateComparable(id.Tx{}, id.Invocation{}, id.Owner{}, id.Client{}, id.Resource{}, id.Grant{}, id.Revision{},
	id.Node{}, id.Adapter{}, id.Consent{}, id.Assignment{}, id.Confirmation{}, digest.Digest{}, effect.Set{})

func same(t testing.TB, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, byEqual, cmpopts.IgnoreUnexported(fault.Fault{})); d != "" {
		t.Fatalf("(-want +got)\n%s", d)
	}
}

func TestACallIsDispatchedOnceAndThenReplayed(t *testing.T) {
	n := newNotes(t)
	call := n.call(t, n.tx(), `{"text":"x"}`)
	row := n.dispatch(t, call)

	_, err := n.Reserve(t.Context(), call)
	wantFault(t, err, fault.TxInProgress)

	n.clock.step(40 * time.Millisecond)
	answer := n.settle(t, row, answered)
	want := invocation.Answer{Tx: call.Tx, Invocation: row.ID, Status: invocation.OK, Result: answered.Result, Effects: effect.Reported,
		Revision: row.Revision, Millis: 40}
	same(t, answer, want)

	n.clock.step(23 * time.Hour)
	n.restart(t)
	call.NewInvocation = id.New[id.Invocation]()
	ch, err := n.Reserve(t.Context(), call)
	must(t, err)
	if ch.Action != authority.Replay {
		t.Fatalf("the same tx was not replayed: %+v", ch)
	}
	same(t, ch.Row.Answer(), want)
	looked, err := n.Lookup(t.Context(), n.app, call.Tx)
	must(t, err)
	want.Replayed = true
	same(t, looked, want)

	other := n.call(t, call.Tx, `{"text":"y"}`)
	_, err = n.Reserve(t.Context(), other)
	wantFault(t, err, fault.TxMismatch)
	n.holds(t)
}

func TestAWaitingCallIsMarkedUnderLiveAuthority(t *testing.T) {
	n := newNotes(t)
	call := n.call(t, n.tx(), `{}`)
	call.Ready = false
	ch, err := n.Reserve(t.Context(), call)
	must(t, err)
	if ch.Action != authority.Wait || ch.Row.State != invocation.Reserved {
		t.Fatalf("%+v", ch)
	}
	attempt := authority.AttemptOf(ch.Row)
	_, err = n.Revoke(t.Context(), n.owner, n.grants[0])
	must(t, err)
	_, err = n.Mark(t.Context(), n.app, attempt)
	wantFault(t, err, fault.NotFound)
	if got := n.stored(t, ch.Row.ID); got.State != invocation.NotDispatched || got.Outcome.Effects != effect.NotDispatched {
		t.Fatalf("%+v", got)
	}
	// A row of which nothing was sent may be taken up by the same tx, and an older
	// attempt has no say any more.
	n.grants = n.grant(t, n.app, n.resource, grant.ByEffect, "add")
	ch, err = n.Reserve(t.Context(), call)
	must(t, err)
	if ch.Action != authority.Wait || ch.Row.Attempt != 2 {
		t.Fatalf("%+v", ch)
	}
	_, err = n.Mark(t.Context(), n.app, attempt)
	wantFault(t, err, fault.Conflict)
	marked, err := n.Mark(t.Context(), n.app, authority.AttemptOf(ch.Row))
	must(t, err)
	_, err = n.Mark(t.Context(), n.app, authority.AttemptOf(ch.Row))
	wantFault(t, err, fault.Conflict)
	if got := n.settle(t, marked, answered); got.Status != invocation.OK {
		t.Fatalf("%+v", got)
	}
	n.holds(t)
}

func TestAnAttemptIsSettledOnce(t *testing.T) {
	n := newNotes(t)
	row := n.dispatch(t, n.call(t, n.tx(), `{}`))
	n.settle(t, row, invocation.Event{Kind: invocation.TimedOut, Detail: "no answer\x00 \xff"})
	before := n.stored(t, row.ID)

	for name, change := range map[string]func(*authority.Settle){
		"the same again": func(*authority.Settle) {},
		"late, another attempt": func(s *authority.Settle) {
			s.Late = true
			s.Attempt.Number++
		},
		"late, another process": func(s *authority.Settle) {
			s.Late = true
			s.Attempt.Epoch--
		},
		"late and unclean": func(s *authority.Settle) {
			s.Late = true
			s.Verdict = invocation.Classify(invocation.Event{Kind: invocation.Broken})
		},
		"of another client": func(s *authority.Settle) { s.Attempt.Client = id.New[id.Client]() },
	} {
		s := outcome(row, answered, false)
		change(&s)
		_, err := n.Settle(t.Context(), n.app, s)
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	same(t, n.stored(t, row.ID), before)

	answer, err := n.Settle(t.Context(), n.app, outcome(row, answered, true))
	must(t, err)
	if answer.Status != invocation.OK || answer.Reconciled == nil || answer.Reconciled.By != "late_answer" {
		t.Fatalf("a late clean answer gave %+v", answer)
	}
	_, err = n.Settle(t.Context(), n.app, outcome(row, answered, true))
	wantFault(t, err, fault.Conflict)
	n.holds(t)
}

func TestAuthorityIsLookedAtAgainWhenTheAnswerIsGiven(t *testing.T) {
	n := newNotes(t)
	call := n.call(t, n.tx(), `{}`)
	row := n.dispatch(t, call)
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "2", effect.Write), offer(n.adapter, "drop", "1", effect.Write))
	answer := n.settle(t, row, answered)
	want := invocation.Answer{Tx: call.Tx, Status: invocation.Error, Effects: effect.Reported,
		Fault: fault.New(fault.NeedsConsent, "what the grant pinned has changed or was suspended").With("settled", true)}
	same(t, answer, want)
	looked, err := n.Lookup(t.Context(), n.app, call.Tx)
	must(t, err)
	same(t, looked, want)
	if got := n.stored(t, row.ID); got.State != invocation.Succeeded || string(got.Outcome.Result) != string(answered.Result) {
		t.Fatalf("the owner sees %+v", got)
	}
	n.holds(t)
}

// What is not there, what is another owner's, what was removed and what was never
// granted give the same bytes after the same statements (invariant I51).
func TestAbsentAndInvisibleLookAlike(t *testing.T) {
	n := newNotes(t)
	_, foreign := n.newOwner(t, "somebody else")
	theirs := n.upstream(t, foreign.Owner, "theirs", "add")
	n.approve(t, foreign.Owner, theirs.resource, "add")
	hidden := n.upstream(t, n.owner, "hidden", "add")
	n.approve(t, n.owner, hidden.resource, "add")
	removed := n.upstream(t, n.owner, "removed", "add")
	must(t, n.SetAdapterState(t.Context(), n.owner, removed.adapter, view.Removed))

	known := n.call(t, n.tx(), `{}`)
	type look struct {
		fault      *fault.Fault
		statements int64
	}
	looks := map[string]look{}
	for name, which := range map[string]id.Resource{"absent": id.New[id.Resource](), "another owner's": theirs.resource,
		"not granted": hidden.resource, "removed": removed.resource} {
		c := known
		c.Tx, c.Target.Resource = n.tx(), which
		before := n.Stats().WriteStatements
		_, err := n.Reserve(t.Context(), c)
		must(t, n.flushed(t))
		looks[name] = look{fault.From(err), n.Stats().WriteStatements - before}
		if _, found, err := n.Resolve(t.Context(), n.owner, invocation.Reference{Resource: theirs.resource.String(), Method: "add"}); found || err != nil {
			t.Fatal("another owner's method was resolved", err)
		}
	}
	for name, l := range looks {
		if d := cmp.Diff(looks["absent"], l, cmp.AllowUnexported(look{}), cmpopts.IgnoreUnexported(fault.Fault{})); d != "" {
			t.Errorf("absent and %s differ:\n%s", name, d)
		}
	}
	if looks["absent"].fault.Code != fault.NotFound {
		t.Fatalf("%+v", looks["absent"])
	}
}

// Whoever holds one row on a resource learns of its other methods neither which
// there are nor which there are not (invariant I51).
func TestAnUnknownMethodLooksLikeOneThatWasNotGranted(t *testing.T) {
	n := newNotes(t)
	more := n.upstream(t, n.owner, "more", "add", "hidden")
	n.approve(t, n.owner, more.resource, "add", "hidden")
	n.grant(t, n.app, more.resource, grant.ByEffect, "add")
	type look struct {
		fault             *fault.Fault
		reads, statements int64
	}
	looks := map[string]look{}
	for _, method := range []string{"hidden", "nothing"} {
		before := n.Stats()
		c := n.command(t, n.app, n.tx(), more.resource.String(), method, `{}`)
		_, err := n.Reserve(t.Context(), c)
		must(t, n.flushed(t))
		after := n.Stats()
		bad := fault.From(err)
		want := "steward grants add " + n.app.Client.String() + " " + more.resource.String() + " "
		if bad.Details["fix"] != want+method { // what the caller itself named, in both
			t.Errorf("%v", bad.Details)
		}
		looks[method] = look{bad.With("fix", want), after.ReadStatements - before.ReadStatements, after.WriteStatements - before.WriteStatements}
	}
	if d := cmp.Diff(looks["hidden"], looks["nothing"], cmp.AllowUnexported(look{}), cmpopts.IgnoreUnexported(fault.Fault{})); d != "" {
		t.Error(d)
	}
	if looks["nothing"].fault.Code != fault.GrantRequired {
		t.Errorf("%+v", looks["nothing"])
	}
}

func TestAnEqualCallIsHeldBackWhileOneIsInDoubt(t *testing.T) {
	n := newNotes(t)
	first := n.call(t, n.tx(), `{"text":"a"}`)
	n.settle(t, n.dispatch(t, first), invocation.Event{Kind: invocation.Broken})

	n.dispatch(t, n.call(t, n.tx(), `{"text":"b"}`))
	second := n.call(t, n.tx(), `{"text":"a"}`)
	_, err := n.Reserve(t.Context(), second)
	wantFault(t, err, fault.Conflict)
	if held := fault.From(err).Details["held_by"]; held != first.Tx.String() {
		t.Fatalf("held by %v", held)
	}
	if _, err := n.Lookup(t.Context(), n.app, second.Tx); !fault.Is(err, fault.NotFound) {
		t.Fatalf("the held tx was consumed: %v", err)
	}
	second.Ack = first.Tx
	n.settle(t, n.dispatch(t, second), invocation.Event{Kind: invocation.Broken})

	third := n.call(t, n.tx(), `{"text":"a"}`)
	third.Ack = first.Tx // the newest doubt is another one now
	_, err = n.Reserve(t.Context(), third)
	wantFault(t, err, fault.Conflict)
	n.clock.step(10 * time.Minute)
	n.dispatch(t, third)
	n.holds(t)
}

func TestADoubtAboutCommunicationIsReleasedByTheOwnerOnly(t *testing.T) {
	n := newNotes(t)
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "2", effect.Communicate))
	n.approve(t, n.owner, n.resource, "add")
	n.grant(t, n.app, n.resource, grant.Never, "add")
	first := n.call(t, n.tx(), `{}`)
	row := n.dispatch(t, first)
	n.settle(t, row, invocation.Event{Kind: invocation.TimedOut})
	n.clock.step(time.Hour)
	second := n.call(t, n.tx(), `{}`)
	second.Ack = first.Tx
	_, err := n.Reserve(t.Context(), second)
	wantFault(t, err, fault.Conflict)
	_, err = n.Reconcile(t.Context(), n.owner, row.ID, authority.DidNot)
	must(t, err)
	n.dispatch(t, second)

	answer, err := n.Lookup(t.Context(), n.app, first.Tx)
	must(t, err)
	if answer.Status != invocation.Error || answer.Fault.Code != fault.UpstreamFailed || answer.Fault.Details["reconciled"] == nil {
		t.Fatalf("%+v", answer)
	}
	_, err = n.Reconcile(t.Context(), n.owner, row.ID, authority.Happened)
	wantFault(t, err, fault.Conflict)
	n.holds(t)
}

func TestAConfirmationIsForOneExactCallAndUsedOnce(t *testing.T) {
	n := newNotes(t)
	n.grant(t, n.app, n.resource, grant.Always, "add")
	call := n.call(t, n.tx(), `{"text":"a"}`)
	ask := func(c authority.Call) string {
		t.Helper()
		c.NewConfirmation = id.New[id.Confirmation]()
		_, err := n.Reserve(t.Context(), c)
		wantFault(t, err, fault.ConfirmationRequired)
		return fault.From(err).Details["confirmation"].(string)
	}
	question, err := id.Parse[id.Confirmation](ask(call))
	must(t, err)
	if again := ask(call); again != question.String() {
		t.Fatalf("the same call asked twice: %s and %s", question, again)
	}
	open, err := n.Confirmations(t.Context(), n.owner, false)
	must(t, err)
	if len(open) != 1 || open[0].Row.ID != question || string(open[0].Row.Args) != `{"text":"a"}` || open[0].App != "editor" || open[0].Resource != "notes" {
		t.Fatalf("%+v", open)
	}
	_, err = n.DecideConfirmation(t.Context(), n.owner, question, true)
	must(t, err)
	n.restart(t) // an approval survives

	call.Node, call.Epoch = n.Node(), n.Epoch()
	other := n.call(t, n.tx(), `{"text":"b"}`)
	if ask(other) == question.String() {
		t.Fatal("the approval let another input through, or its question was taken for another's")
	}
	n.settle(t, n.dispatch(t, call), answered)
	equal := n.call(t, n.tx(), `{"text":"a"}`)
	if ask(equal) == question.String() {
		t.Fatal("an approval was used twice")
	}
	all, err := n.Confirmations(t.Context(), n.owner, true)
	must(t, err)
	used := 0
	for _, q := range all {
		if q.Row.State == confirmation.Used && q.Row.UsedBy == call.Tx && q.Row.ID == question {
			used++
		}
	}
	if len(all) != 3 || used != 1 {
		t.Fatalf("%+v", all)
	}
	// An approval lives five minutes, and a denied one never lets anything through.
	for _, q := range all {
		if q.Row.State == confirmation.Open {
			_, err := n.DecideConfirmation(t.Context(), n.owner, q.Row.ID, true)
			must(t, err)
		}
	}
	_, err = n.DecideConfirmation(t.Context(), n.owner, question, false)
	wantFault(t, err, fault.Conflict)
	n.clock.step(5 * time.Minute)
	ask(equal)
	ask(other)
	n.holds(t)
}

// The owner's no outlives a restart and is told with its end; the same call is asked
// again after that, or under a grant that the owner has given since, and another one
// at once.
func TestANoHoldsForTheExactCall(t *testing.T) {
	n := newNotes(t)
	n.grant(t, n.app, n.resource, grant.Always, "add")
	ask := func(text string) map[string]any {
		t.Helper()
		_, err := n.Reserve(t.Context(), n.command(t, n.app, n.tx(), n.resource.String(), "add", `{"text":"`+text+`"}`))
		wantFault(t, err, fault.ConfirmationRequired)
		return fault.From(err).Details
	}
	deny := func() string {
		t.Helper()
		which, err := id.Parse[id.Confirmation](ask("a")["confirmation"].(string))
		must(t, err)
		_, err = n.DecideConfirmation(t.Context(), n.owner, which, false)
		must(t, err)
		return which.String()
	}
	first := deny()
	n.restart(t)
	until := began.Add(bound.QuestionLife.Duration()).Format(time.RFC3339)
	same(t, ask("a"), map[string]any{"confirmation": first, "refused_until": until})
	if ask("b")["refused_until"] != nil {
		t.Error("a no to one call refused another")
	}
	n.clock.step(bound.QuestionLife.Duration())
	second := deny()
	if second == first || ask("a")["refused_until"] == nil {
		t.Errorf("%s, then %s", first, second)
	}
	n.grant(t, n.app, n.resource, grant.Always, "add")
	if again := ask("a"); again["refused_until"] != nil || again["confirmation"] == second {
		t.Errorf("under a new grant: %v", again)
	}
	n.holds(t)
}

// The owner's yes is not lost by a call of which nothing was sent: the same tx may
// take it up again, and no other (pool page, section 3).
func TestAConfirmationOfACallThatWasNotSentIsGoodForItsTx(t *testing.T) {
	n := newNotes(t)
	n.grant(t, n.app, n.resource, grant.Always, "add")
	call := n.call(t, n.tx(), `{"text":"a"}`)
	_, err := n.Reserve(t.Context(), call)
	wantFault(t, err, fault.ConfirmationRequired)
	question, err := id.Parse[id.Confirmation](fault.From(err).Details["confirmation"].(string))
	must(t, err)
	_, err = n.DecideConfirmation(t.Context(), n.owner, question, true)
	must(t, err)
	for range 2 {
		n.settle(t, n.dispatch(t, call), invocation.Event{Kind: invocation.Unreached})
	}
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{"text":"a"}`))
	wantFault(t, err, fault.ConfirmationRequired)
	n.settle(t, n.dispatch(t, call), answered)
	n.holds(t)
}

// No app can use up what may wait for the owner, and what nobody answers stops
// waiting by itself.
func TestOneAppsQuestionsLeaveRoomForOthers(t *testing.T) {
	n := newNotes(t)
	n.grant(t, n.app, n.resource, grant.Always, "add")
	other := n.pool.app(t, n.owner, "other")
	n.grant(t, other, n.resource, grant.Always, "add")
	ask := func(c authority.Caller, text string, want fault.Code) *fault.Fault {
		t.Helper()
		_, err := n.Reserve(t.Context(), n.command(t, c, n.tx(), n.resource.String(), "add", `{"text":"`+text+`"}`))
		wantFault(t, err, want)
		return fault.From(err)
	}
	waiting := func() int {
		t.Helper()
		list, err := n.Confirmations(t.Context(), n.owner, false)
		must(t, err)
		return len(list)
	}
	for i := range bound.AppConfirmations.Int() {
		ask(n.app, fmt.Sprint(i), fault.ConfirmationRequired)
	}
	refused := ask(n.app, "one more", fault.RateLimited)
	if refused.Details["fix"] != "steward confirm list" || refused.Details["bound"] != bound.AppConfirmations.Key {
		t.Fatalf("%+v", refused.Details)
	}
	ask(n.app, "0", fault.ConfirmationRequired) // it waits already
	late := ask(other, "0", fault.ConfirmationRequired)
	if got := waiting(); got != bound.AppConfirmations.Int()+1 {
		t.Fatalf("%d questions wait", got)
	}
	n.clock.step(bound.QuestionLife.Duration())
	if got := waiting(); got != 0 {
		t.Fatalf("%d questions wait for ever", got)
	}
	which, err := id.Parse[id.Confirmation](late.Details["confirmation"].(string))
	must(t, err)
	_, err = n.DecideConfirmation(t.Context(), n.owner, which, true)
	wantFault(t, err, fault.Conflict)
	if again := ask(other, "0", fault.ConfirmationRequired); again.Details["confirmation"] == which.String() {
		t.Fatal("a question that nobody can answer is asked again")
	}
	ask(n.app, "one more", fault.ConfirmationRequired)
	all, err := n.Confirmations(t.Context(), n.owner, true)
	must(t, err)
	states := map[confirmation.State]int{}
	for _, q := range all {
		states[q.Row.State]++
	}
	same(t, states, map[confirmation.State]int{confirmation.Expired: bound.AppConfirmations.Int() + 1, confirmation.Open: 2})
}

func TestTheAgeOfATxIsBounded(t *testing.T) {
	n := newNotes(t)
	for name, c := range map[string]struct {
		minted time.Duration
		want   fault.Code
	}{
		"a day old":                  {-24 * time.Hour, fault.TxExpired},
		"almost a day old":           {-24*time.Hour + time.Millisecond, ""},
		"five minutes ahead":         {5 * time.Minute, ""},
		"a bit over five minutes":    {5*time.Minute + time.Millisecond, fault.TxExpired},
		"minted at the year's start": {began.AddDate(-1, 0, 0).Sub(began), fault.TxExpired},
	} {
		_, err := n.Reserve(t.Context(), n.call(t, id.NewTx(began.Add(c.minted)), `{"text":"`+name+`"}`))
		if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheClockNeverGoesBehindWhatIsStored(t *testing.T) {
	n := newNotes(t)
	row := n.dispatch(t, n.call(t, n.tx(), `{}`))
	n.clock.step(2 * time.Hour)
	n.settle(t, row, answered)
	n.clock.step(-10 * 365 * 24 * time.Hour)
	old := n.call(t, id.NewTx(n.clock.now()), `{"text":"old"}`)
	_, err := n.Reserve(t.Context(), old)
	wantFault(t, err, fault.TxExpired)
	n.restart(t)
	_, err = n.Reserve(t.Context(), old)
	wantFault(t, err, fault.TxExpired)
	fresh := n.dispatch(t, n.call(t, id.NewTx(began.Add(2*time.Hour)), `{"text":"new"}`))
	if fresh.ReservedAt.Before(began.Add(2 * time.Hour)) {
		t.Fatalf("reserved at %v", fresh.ReservedAt)
	}
	n.holds(t)
}

// Behind a wall clock that was set back time does not stand still: what is to end
// in five minutes ends in five minutes.
func TestTimeGoesOnWhileTheWallClockIsBehind(t *testing.T) {
	n := newNotes(t)
	must(t, n.Close())
	var passed atomic.Int64
	n.passed = func() time.Duration { return time.Duration(passed.Load()) }
	n.open(t)
	n.grant(t, n.app, n.resource, grant.Always, "add")
	ask := n.call(t, n.tx(), `{}`)
	_, err := n.Reserve(t.Context(), ask)
	wantFault(t, err, fault.ConfirmationRequired)
	question, err := id.Parse[id.Confirmation](fault.From(err).Details["confirmation"].(string))
	must(t, err)
	_, err = n.DecideConfirmation(t.Context(), n.owner, question, true)
	must(t, err)
	if n.ClockBehind() != 0 {
		t.Fatalf("behind by %v", n.ClockBehind())
	}
	n.clock.step(-2 * time.Hour)
	passed.Store(int64(bound.ConfirmationLife.Duration()))
	if want := 2*time.Hour + bound.ConfirmationLife.Duration(); n.ClockBehind() != want {
		t.Fatalf("behind by %v, want %v", n.ClockBehind(), want)
	}
	ask.NewConfirmation = id.New[id.Confirmation]()
	_, err = n.Reserve(t.Context(), ask)
	wantFault(t, err, fault.ConfirmationRequired)
	// And it is stored, so that the next process goes on from there.
	n.passed = nil
	n.restart(t)
	row := n.dispatch(t, n.command(t, n.hand, id.NewTx(began), n.resource.String(), "add", `{}`))
	if want := began.Add(bound.ConfirmationLife.Duration()); !row.ReservedAt.Equal(want) {
		t.Fatalf("reserved at %v, want %v", row.ReservedAt, want)
	}
	n.holds(t)
}

func TestADefinitionThatChangedOnTheWayIsRefused(t *testing.T) {
	n := newNotes(t)
	c := n.call(t, n.tx(), `{}`)
	c.CheckedAgainst = digest.Of(digest.Method, []byte("another"))
	_, err := n.Reserve(t.Context(), c)
	wantFault(t, err, fault.NeedsConsent)
	c = n.call(t, n.tx(), `{}`)
	c.Contract = digest.Of(digest.Contract, []byte("another"))
	_, err = n.Reserve(t.Context(), c)
	wantFault(t, err, fault.NeedsConsent)
	c = n.call(t, n.tx(), `{}`)
	c.ArgsFault = fault.New(fault.InvalidArgs, "no")
	_, err = n.Reserve(t.Context(), c)
	wantFault(t, err, fault.InvalidArgs)
	if _, err := n.Lookup(t.Context(), n.app, c.Tx); !fault.Is(err, fault.NotFound) {
		t.Fatalf("a refusal consumed the tx: %v", err)
	}
}

func TestAClientSeesItsOwnTxOnly(t *testing.T) {
	n := newNotes(t)
	other := n.app2(t)
	tx := n.tx()
	n.settle(t, n.dispatch(t, n.call(t, tx, `{}`)), answered)
	_, err := n.Lookup(t.Context(), other, tx)
	wantFault(t, err, fault.NotFound)
	// The same tx of another client is a call of its own.
	c := n.command(t, other, tx, n.resource.String(), "add", `{}`)
	ch, err := n.Reserve(t.Context(), c)
	must(t, err)
	if ch.Action != authority.Dispatch {
		t.Fatalf("%+v", ch)
	}
	_, err = n.Invocation(t.Context(), n.owner, tx.String())
	wantFault(t, err, fault.Conflict)
}

// app2 is a second app with the same grant.
func (n *notes) app2(t testing.TB) authority.Caller {
	t.Helper()
	other := n.pool.app(t, n.owner, "browser")
	n.grant(t, other, n.resource, grant.ByEffect, "add")
	return other
}

// stranger is an app with no grant.
func (n *notes) stranger(t testing.TB) authority.Caller { return n.pool.app(t, n.owner, "stranger") }

func TestARevokedTokenOpensNothing(t *testing.T) {
	n := newNotes(t)
	tx := n.tx()
	call := n.call(t, tx, `{}`)
	row := n.dispatch(t, call)
	must(t, n.Disconnect(t.Context(), n.owner, n.app.Client))
	answer := n.settle(t, row, answered)
	if answer.Fault == nil || answer.Fault.Code != fault.Unauthenticated || answer.Result != nil || len(answer.Fault.Details) > 0 {
		t.Fatalf("%+v", answer)
	}
	_, err := n.Reserve(t.Context(), call)
	wantFault(t, err, fault.Unauthenticated)
	if answer, err := n.Lookup(t.Context(), n.app, tx); err != nil || answer.Fault.Code != fault.Unauthenticated {
		t.Fatal(answer, err)
	}
	if _, err := n.Catalog(t.Context(), n.app); !fault.Is(err, fault.Unauthenticated) {
		t.Fatal(err)
	}
	if _, found, err := n.FindToken(t.Context(), n.app.Token); found || err != nil {
		t.Fatal("a revoked token is found", err)
	}
	other := n.app2(t)
	for _, forge := range []func(*authority.Caller){
		func(c *authority.Caller) { c.Audience = authority.ForMCP },
		func(c *authority.Caller) { c.Client = n.stranger(t).Client },
		func(c *authority.Caller) { c.Token = secret.Hash{} },
	} {
		c := n.command(t, other, n.tx(), n.resource.String(), "add", `{}`)
		forge(&c.Caller)
		_, err = n.Reserve(t.Context(), c)
		wantFault(t, err, fault.Unauthenticated)
	}
}

// A call is two commits and five statements, a built-in one commit and one
// statement less: what it does comes on top.
func TestACallTakesFewStatements(t *testing.T) {
	n := newNotes(t)
	call := func() {
		n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"`+n.tx().String()+`"}`)), answered)
	}
	get := func() { n.ok(t, n.hand, "@items", "list", `{}`, "") }
	call()
	get()
	for name, c := range map[string]struct {
		do                  func()
		commits, statements int64
	}{"call": {call, 2, 5}, "built-in": {get, 1, 4}} {
		before := n.Stats()
		c.do()
		after := n.Stats()
		if got := after.WriteStatements - before.WriteStatements; got != c.statements {
			t.Errorf("a %s takes %d statements", name, got)
		}
		if got := after.Commits - before.Commits; got != c.commits {
			t.Errorf("a %s takes %d commits", name, got)
		}
	}
}

func TestASwitchedOffEntryIsUnavailable(t *testing.T) {
	n := newNotes(t)
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Disabled))
	_, err := n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.Unavailable)
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Enabled))
	n.dispatch(t, n.call(t, n.tx(), `{}`))
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Removed))
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{"text":"z"}`))
	wantFault(t, err, fault.NotFound)
	if err := n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Enabled); !fault.Is(err, fault.NotFound) {
		t.Fatalf("a removed entry came back: %v", err)
	}
}

// 100 goroutines send one tx at once: one of them dispatches (figure R8).
func TestParallelSendsOfOneTxDispatchOnce(t *testing.T) {
	n := newNotes(t)
	for range 20 {
		call := n.call(t, n.tx(), `{"text":"`+n.tx().String()+`"}`)
		var mu sync.Mutex
		var rows []invocation.Row
		var wg sync.WaitGroup
		for range 100 {
			c := call
			c.NewInvocation = id.New[id.Invocation]()
			wg.Go(func() {
				ch, err := n.Reserve(t.Context(), c)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && ch.Action == authority.Dispatch:
					rows = append(rows, ch.Row)
				case !fault.Is(err, fault.TxInProgress):
					t.Errorf("%+v %v", ch, err)
				}
			})
		}
		wg.Wait()
		if len(rows) != 1 {
			t.Fatalf("%d dispatches", len(rows))
		}
		n.settle(t, rows[0], answered)
	}
	n.holds(t)
}

// Revocations and calls race; no call is dispatched after the revocation of its
// grant has returned (invariants I38, I46).
func TestNoDispatchAfterARevocation(t *testing.T) {
	n := newNotes(t)
	for range 30 {
		n.grants = n.grant(t, n.app, n.resource, grant.ByEffect, "add")
		calls := make([]authority.Call, 8)
		for i := range calls {
			calls[i] = n.call(t, n.tx(), `{"text":"`+n.tx().String()+`"}`)
		}
		revoked := make(chan struct{})
		var wg sync.WaitGroup
		for _, c := range calls {
			wg.Go(func() {
				var late bool
				select {
				case <-revoked:
					late = true
				default:
				}
				_, err := n.Reserve(t.Context(), c)
				if late && err == nil {
					t.Error("dispatched after the revocation")
				}
				if err != nil && !fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			defer close(revoked)
			if _, err := n.Revoke(t.Context(), n.owner, n.grants[0]); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		_, err := n.Reserve(t.Context(), n.call(t, n.tx(), `{"text":"after"}`))
		wantFault(t, err, fault.NotFound)
	}
}

func TestAResourceIsFoundByNamesOfItsOwner(t *testing.T) {
	n := newNotes(t)
	for _, ref := range []string{n.resource.String(), "notes"} {
		r, err := n.Resource(t.Context(), n.owner, ref)
		must(t, err)
		if r.Row.ID != n.resource || r.Adapter.Name != "notes" || len(r.Methods) != 2 {
			t.Fatalf("%s: %+v", ref, r)
		}
	}
	items, err := n.Resource(t.Context(), n.owner, resource.AliasItems)
	must(t, err)
	got, found, err := n.Resolve(t.Context(), n.owner, invocation.Reference{Resource: resource.AliasItems, Method: "put"})
	if err != nil || !found || got.Target.Resource != items.Row.ID || got.Method.Binding.Kind != resource.ByHost {
		t.Fatal(got, found, err)
	}
	for _, bad := range []string{"", "nothing", "@nothing", "a\x00b", strings.Repeat("x", 4096)} {
		if _, err := n.Resource(t.Context(), n.owner, bad); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, found, err := n.Resolve(t.Context(), n.owner, invocation.Reference{Resource: bad, Contract: bad, Method: bad}); found || err != nil {
			t.Errorf("%q: %v %v", bad, found, err)
		}
	}
}
