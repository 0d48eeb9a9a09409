package authority_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

var now = time.UnixMilli(1_800_000_000_000).UTC()

func set(t *testing.T, text string) effect.Set {
	t.Helper()
	s, err := effect.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// scene is a call that is allowed; each case spoils one thing.
type scene struct {
	facts authority.CallFacts
	call  authority.Call
}

func allowed(t *testing.T) *scene {
	method := resource.Method{
		Contract:   "https://x.invalid/contracts/c/v1",
		Document:   digest.Of(digest.Contract, []byte("document")),
		Definition: contract.Method{ID: "m", Input: strictjson.Raw(`{"type":"object"}`), Effects: set(t, "write")},
		State:      resource.Live,
	}
	res := resource.Row{ID: id.New[id.Resource](), State: resource.Active, Revision: id.New[id.Revision]()}
	s := &scene{}
	s.call = authority.Call{
		Caller: authority.Caller{Owner: id.New[id.Owner](), Client: id.New[id.Client](), Audience: authority.ForRPC},
		Tx:     id.NewTx(now), Target: invocation.Target{Resource: res.ID, Contract: method.Contract, Method: "m"},
		Request: digest.Of(digest.Request, []byte("r")), Input: digest.Of(digest.Input, []byte("r")),
		Deadline: time.Second, CheckedAgainst: method.Definition.Digest(), Ready: true,
		NewInvocation: id.New[id.Invocation](), NewConfirmation: id.New[id.Confirmation](),
	}
	s.facts.Standing = authority.Standing{
		Client: &authority.Client{Kind: authority.Application, Connected: true}, Token: &authority.Token{Audience: authority.ForRPC},
		Resource: &res, AdapterLive: true, Method: &method, Assigned: true,
		Grant: &grant.Row{ID: id.New[id.Grant](), Pin: method.Pin(), Effects: method.Definition.Effects, Confirm: grant.ByEffect, State: grant.Active},
	}
	return s
}

// A no is told with its end and asks nothing more, whichever question the caller names.
// A yes to another question for the same call is good beside it.
func TestANoIsNotAskedAgain(t *testing.T) {
	day := 24 * time.Hour
	for _, c := range []struct {
		name  string
		spoil func(*scene)
		asked bool
		told  string // until when it is refused
		sent  bool
	}{
		{"just denied", func(s *scene) { s.ask(confirmation.Denied, 0) }, false, now.Add(day).UTC().Format(time.RFC3339), false},
		{"about to end", func(s *scene) { s.ask(confirmation.Denied, day-time.Millisecond) }, false, now.Add(time.Millisecond).UTC().Format(time.RFC3339), false},
		{"over", func(s *scene) { s.ask(confirmation.Denied, day) }, true, "", false},
		{"another question is named", func(s *scene) {
			s.ask(confirmation.Denied, 0)
			s.call.Confirm = id.New[id.Confirmation]()
		}, false, now.Add(day).UTC().Format(time.RFC3339), false},
		{"of another input", func(s *scene) { s.ask(confirmation.Denied, 0); s.facts.Confirmations[0].Input = digest.Digest{} }, true, "", false},
		{"of another grant", func(s *scene) {
			s.ask(confirmation.Denied, 0)
			s.facts.Confirmations[0].Grant = id.New[id.Grant]()
		}, true, "", false},
		{"no room for questions", func(s *scene) { s.ask(confirmation.Denied, 0); s.facts.OpenQuestions = 32 }, false, now.Add(day).UTC().Format(time.RFC3339), false},
		{"and a yes", func(s *scene) {
			s.ask(confirmation.Denied, 0)
			yes := s.facts.Confirmations[0]
			yes.ID, yes.State = id.New[id.Confirmation](), confirmation.Approved
			s.facts.Confirmations = append(s.facts.Confirmations, yes)
		}, false, "", true},
	} {
		s := allowed(t)
		c.spoil(s)
		got, f := authority.DecideCall(s.facts, s.call, now)
		told := ""
		if f != nil {
			told, _ = f.Details["refused_until"].(string)
		}
		if (got.Ask != nil) != c.asked || told != c.told || (got.Action == authority.Dispatch) != c.sent || (f == nil) != c.sent ||
			f != nil && f.Code != fault.ConfirmationRequired || told != "" && !strings.Contains(f.Text, told) {
			t.Errorf("%s: %+v, %v", c.name, got, f)
		}
	}
}

// An app that goes on naming a question that is over makes no other: the one that is
// open is told, and a yes to it counts. Of two, the one that is named is used.
func TestANamedQuestionIsPreferredOnly(t *testing.T) {
	for name, c := range map[string]struct {
		states []confirmation.State
		named  int // of states; -1 for one that is not there
		used   int // -1 for none
		asked  bool
	}{
		"one that is over, beside an open one":   {[]confirmation.State{confirmation.Used, confirmation.Open}, 0, -1, false},
		"one that is over, beside a good one":    {[]confirmation.State{confirmation.Used, confirmation.Approved}, 0, 1, false},
		"one that is open, beside a good one":    {[]confirmation.State{confirmation.Open, confirmation.Approved}, 0, 1, false},
		"one that is not there, beside a good":   {[]confirmation.State{confirmation.Approved}, -1, 0, false},
		"the second of two good ones":            {[]confirmation.State{confirmation.Approved, confirmation.Approved}, 1, 1, false},
		"the first of two good ones":             {[]confirmation.State{confirmation.Approved, confirmation.Approved}, 0, 0, false},
		"one that is over, and nothing beside":   {[]confirmation.State{confirmation.Used}, 0, -1, true},
		"one that is not there, and none beside": {nil, -1, -1, true},
	} {
		s := allowed(t)
		s.ask(confirmation.Open, 0)
		like := s.facts.Confirmations[0]
		s.facts.Confirmations = nil
		for _, state := range c.states {
			like.ID, like.State, like.AskedAt = id.New[id.Confirmation](), state, now
			s.facts.Confirmations = append(s.facts.Confirmations, like)
		}
		s.call.Confirm = id.New[id.Confirmation]()
		if c.named >= 0 {
			s.call.Confirm = s.facts.Confirmations[c.named].ID
		}
		got, f := authority.DecideCall(s.facts, s.call, now)
		used := -1
		for i, r := range s.facts.Confirmations {
			if got.Action == authority.Dispatch && got.Use == r.ID {
				used = i
			}
		}
		if used != c.used || (got.Ask != nil) != c.asked || (f == nil) != (c.used >= 0) {
			t.Errorf("%s: used %d, asks %v, %v", name, used, got.Ask != nil, f)
		}
	}
}

// doubt is an equal call of unknown outcome.
func (s *scene) doubt(t *testing.T, classes string, age time.Duration) *invocation.Row {
	return &invocation.Row{ID: id.New[id.Invocation](), Tx: id.NewTx(now.Add(-time.Hour)), State: invocation.Indeterminate,
		Classes: set(t, classes), SettledAt: now.Add(-age), Input: s.call.Input}
}

func (s *scene) ask(state confirmation.State, age time.Duration) {
	s.facts.Standing.Grant.Confirm = grant.Always
	s.facts.Confirmations = []confirmation.Row{{ID: id.New[id.Confirmation](), Grant: s.facts.Standing.Grant.ID,
		Pin: s.facts.Standing.Method.Pin(), Input: s.call.Input, State: state, DecidedAt: now.Add(-age)}}
}

func (s *scene) row(state invocation.State) *invocation.Row {
	return &invocation.Row{ID: id.New[id.Invocation](), Tx: s.call.Tx, Request: s.call.Request, State: state, Attempt: 1}
}

func TestACallIsAllowedOnlyIfEverythingHolds(t *testing.T) {
	fiveMinutes := 5 * time.Minute
	cases := []struct {
		name   string
		spoil  func(*scene)
		code   fault.Code
		action authority.Action
	}{
		{"nothing", func(s *scene) {}, "", authority.Dispatch},
		{"executor not ready", func(s *scene) { s.call.Ready = false }, "", authority.Wait},
		{"no client", func(s *scene) { s.facts.Standing.Client = nil }, fault.Unauthenticated, ""},
		{"client disconnected", func(s *scene) { s.facts.Standing.Client.Connected = false }, fault.Unauthenticated, ""},
		{"no token", func(s *scene) { s.facts.Standing.Token = nil }, fault.Unauthenticated, ""},
		{"token revoked", func(s *scene) { s.facts.Standing.Token.Revoked = true }, fault.Unauthenticated, ""},
		{"token of another door", func(s *scene) { s.call.Caller.Audience = authority.ForMCP }, fault.Unauthenticated, ""},
		{"token expires now", func(s *scene) { s.facts.Standing.Token.ExpiresAt = now }, fault.Unauthenticated, ""},
		{"token expires later", func(s *scene) { s.facts.Standing.Token.ExpiresAt = now.Add(1) }, "", authority.Dispatch},
		{"no resource", func(s *scene) { s.facts.Standing.Resource = nil }, fault.NotFound, ""},
		{"resource removed", func(s *scene) { s.facts.Standing.Resource.State = resource.Removed }, fault.NotFound, ""},
		{"resource off", func(s *scene) { s.facts.Standing.Resource.State = resource.Disabled }, fault.NeedsConsent, ""},
		{"adapter off", func(s *scene) { s.facts.Standing.AdapterLive = false }, fault.Unavailable, ""},
		{"no grant at all", func(s *scene) { s.facts.Standing.Grant = nil }, fault.NotFound, ""},
		{"a grant for another method", func(s *scene) { s.facts.Standing.Grant, s.facts.Standing.HoldsOther = nil, true }, fault.GrantRequired, ""},
		{"no method, other grant", func(s *scene) { s.facts.Standing.Method, s.facts.Standing.HoldsOther = nil, true }, fault.GrantRequired, ""},
		{"grant revoked", func(s *scene) { s.facts.Standing.Grant.State = grant.Revoked }, fault.NotFound, ""},
		{"grant expires now", func(s *scene) { s.facts.Standing.Grant.ExpiresAt = now }, fault.NotFound, ""},
		{"grant suspended", func(s *scene) { s.facts.Standing.Grant.State = grant.Suspended }, fault.NeedsConsent, ""},
		{"binding drifted", func(s *scene) { s.facts.Standing.Method.Binding.Tool = "other" }, fault.NeedsConsent, ""},
		{"method not live", func(s *scene) { s.facts.Standing.Method.State = resource.NeedsConsent }, fault.NeedsConsent, ""},
		{"not assigned", func(s *scene) { s.facts.Standing.Assigned = false }, fault.NeedsConsent, ""},
		{"effects unknown", func(s *scene) {
			s.facts.Standing.Method.Definition.Effects = effect.Set{}
			s.facts.Standing.Grant.Pin = s.facts.Standing.Method.Pin()
		}, fault.NeedsConsent, ""},
		{"another contract in mind", func(s *scene) { s.call.Contract = digest.Of(digest.Contract, []byte("x")) }, fault.NeedsConsent, ""},
		{"checked against an old definition", func(s *scene) { s.call.CheckedAgainst = digest.Digest{} }, fault.NeedsConsent, ""},
		{"bad arguments", func(s *scene) { s.call.ArgsFault = fault.New(fault.InvalidArgs, "") }, fault.InvalidArgs, ""},
		{"bad arguments without a grant", func(s *scene) {
			s.call.ArgsFault, s.facts.Standing.Grant = fault.New(fault.InvalidArgs, ""), nil
		}, fault.NotFound, ""},
		{"tx 24 h old", func(s *scene) { s.call.Tx = id.NewTx(now.Add(-24 * time.Hour)) }, fault.TxExpired, ""},
		{"tx a little younger", func(s *scene) { s.call.Tx = id.NewTx(now.Add(time.Millisecond - 24*time.Hour)) }, "", authority.Dispatch},
		{"tx 5 min ahead", func(s *scene) { s.call.Tx = id.NewTx(now.Add(fiveMinutes)) }, "", authority.Dispatch},
		{"tx over 5 min ahead", func(s *scene) { s.call.Tx = id.NewTx(now.Add(fiveMinutes + time.Millisecond)) }, fault.TxExpired, ""},
		{"precondition wanting", func(s *scene) {
			s.facts.Standing.Method.Definition.Precondition = true
			s.facts.Standing.Grant.Pin = s.facts.Standing.Method.Pin()
			s.call.CheckedAgainst = s.facts.Standing.Method.Definition.Digest()
		}, fault.PreconditionRequired, ""},
		{"tx known, other request", func(s *scene) {
			s.facts.Row = s.row(invocation.Succeeded)
			s.facts.Row.Request = digest.Digest{}
		}, fault.TxMismatch, ""},
		{"tx reserved", func(s *scene) { s.facts.Row = s.row(invocation.Reserved) }, fault.TxInProgress, ""},
		{"tx dispatching", func(s *scene) { s.facts.Row = s.row(invocation.Dispatching) }, fault.TxInProgress, ""},
		{"tx settled", func(s *scene) { s.facts.Row = s.row(invocation.Succeeded) }, "", authority.Replay},
		{"tx settled, very old", func(s *scene) {
			s.call.Tx = id.NewTx(now.Add(-240 * time.Hour))
			s.facts.Row = s.row(invocation.Indeterminate)
		}, "", authority.Replay},
		{"tx settled, authority gone", func(s *scene) {
			s.facts.Row, s.facts.Standing.Grant.State = s.row(invocation.Succeeded), grant.Suspended
		}, fault.NeedsConsent, ""},
		{"tx not dispatched", func(s *scene) { s.facts.Row = s.row(invocation.NotDispatched) }, "", authority.Dispatch},
		{"equal call in doubt", func(s *scene) { s.facts.Held = s.doubt(t, "write", 0) }, fault.Conflict, ""},
		{"equal call in doubt, acknowledged", func(s *scene) { s.facts.Held = s.doubt(t, "write", 0); s.call.Ack = s.facts.Held.Tx }, "", authority.Dispatch},
		{"equal call in doubt for 10 min", func(s *scene) { s.facts.Held = s.doubt(t, "write", 10*time.Minute) }, "", authority.Dispatch},
		{"a message in doubt, acknowledged", func(s *scene) {
			s.facts.Held = s.doubt(t, "communicate", time.Hour)
			s.call.Ack = s.facts.Held.Tx
		}, fault.Conflict, ""},
		{"must be confirmed", func(s *scene) { s.facts.Standing.Grant.Confirm = grant.Always }, fault.ConfirmationRequired, ""},
		{"asked already", func(s *scene) { s.ask(confirmation.Open, 0) }, fault.ConfirmationRequired, ""},
		{"confirmed", func(s *scene) { s.ask(confirmation.Approved, 0) }, "", authority.Dispatch},
		{"confirmed 5 min ago", func(s *scene) { s.ask(confirmation.Approved, fiveMinutes) }, fault.ConfirmationRequired, ""},
		{"confirmed and used", func(s *scene) { s.ask(confirmation.Used, 0) }, fault.ConfirmationRequired, ""},
		{"confirmed, used and not sent", func(s *scene) {
			s.ask(confirmation.Used, 0)
			s.facts.Confirmations[0].UsedBy, s.facts.Row = s.call.Tx, s.row(invocation.NotDispatched)
		}, "", authority.Dispatch},
		{"confirmed, used by another and not sent", func(s *scene) {
			s.ask(confirmation.Used, 0)
			s.facts.Confirmations[0].UsedBy, s.facts.Row = id.NewTx(now), s.row(invocation.NotDispatched)
		}, fault.ConfirmationRequired, ""},
		{"another input confirmed", func(s *scene) { s.ask(confirmation.Approved, 0); s.facts.Confirmations[0].Input = digest.Digest{} }, fault.ConfirmationRequired, ""},
		{"asked 24 h ago", func(s *scene) {
			s.ask(confirmation.Open, 0)
			s.facts.Confirmations[0].AskedAt = now.Add(-24 * time.Hour)
		}, fault.ConfirmationRequired, ""},
		{"too many open questions of this app", func(s *scene) { s.facts.Standing.Grant.Confirm, s.facts.AppQuestions = grant.Always, 8 }, fault.RateLimited, ""},
		{"nearly too many open questions", func(s *scene) {
			s.facts.Standing.Grant.Confirm, s.facts.AppQuestions, s.facts.OpenQuestions = grant.Always, 7, 31
		}, fault.ConfirmationRequired, ""},
		{"too many open questions", func(s *scene) { s.facts.Standing.Grant.Confirm, s.facts.OpenQuestions = grant.Always, 32 }, fault.RateLimited, ""},
		{"the owner needs no grant", func(s *scene) {
			s.facts.Standing.Client.Kind, s.facts.Standing.Token, s.facts.Standing.Grant = authority.OwnersHand, nil, nil
		}, "", authority.Dispatch},
		{"nor may the owner call what is not approved", func(s *scene) {
			s.facts.Standing.Client.Kind, s.facts.Standing.Method.State = authority.OwnersHand, resource.Proposed
		}, fault.NeedsConsent, ""},
	}
	for _, c := range cases {
		s := allowed(t)
		c.spoil(s)
		got, f := authority.DecideCall(s.facts, s.call, now)
		code := fault.Code("")
		if f != nil {
			code = f.Code
		}
		if code != c.code || got.Action != c.action {
			t.Errorf("%s: %q %q, want %q %q", c.name, code, got.Action, c.code, c.action)
		}
		if f != nil && got.Row.ID != (id.Invocation{}) {
			t.Errorf("%s: a refusal writes a row", c.name)
		}
		if got.Action == authority.Dispatch && (got.Row.State != invocation.Dispatching || got.Row.DispatchedAt.IsZero()) {
			t.Errorf("%s: dispatched without the mark", c.name)
		}
		if st := s.facts.Standing; st.Grant != nil && authority.Authenticate(st, s.call.Caller, now) == nil {
			allowed := authority.Authorize(st, s.call.Caller, now) == nil
			if state := authority.StateOf(st, now); allowed != (state == grant.Active) {
				t.Errorf("%s: a list says %s, and the call is allowed: %v", c.name, state, allowed)
			}
		}
	}
}

// No refusal of a tx that was sent says that it had no effects, and none that is
// `unavailable` is about one (invariants I59, I64; pool page, section 5).
func TestARefusalIsTrueOfWhatWasSent(t *testing.T) {
	effects := map[invocation.State]effect.Outcome{invocation.Reserved: effect.None, invocation.NotDispatched: effect.NotDispatched,
		invocation.Dispatching: effect.Uncertain, invocation.Indeterminate: effect.Uncertain, invocation.Succeeded: effect.Reported}
	for state, known := range effects {
		for name, spoil := range map[string]func(*scene){
			"nothing is wrong":      func(*scene) {},
			"the connection is off": func(s *scene) { s.facts.Standing.AdapterLive = false },
			"the resource is off":   func(s *scene) { s.facts.Standing.Resource.State = resource.Disabled },
			"the owner's connection": func(s *scene) {
				s.facts.Standing.Client.Kind, s.facts.Standing.AdapterLive = authority.OwnersHand, false
			},
			"the grant is suspended": func(s *scene) { s.facts.Standing.Grant.State = grant.Suspended },
		} {
			s := allowed(t)
			s.facts.Row = s.row(state)
			s.facts.Row.Outcome = invocation.Outcome{Effects: known}
			spoil(s)
			ch, bad := authority.DecideCall(s.facts, s.call, now)
			if bad != nil && (ch.Known != known || bad.Code == fault.Unavailable && known != effect.NotDispatched) {
				t.Errorf("%s, %s: sent again: %v, effects %q, want %s", state, name, bad, ch.Known, known)
			}
			got, over := authority.Recall(s.facts, s.call, now)
			if want := state != invocation.NotDispatched || bad != nil; over != want || over && got.Effects != known {
				t.Errorf("%s, %s: recalled: %v %+v, want %v with %s", state, name, over, got, want, known)
			}
			found := authority.Reply(s.facts.Standing, *s.facts.Row, s.call.Caller, now)
			if f := found.Fault; found.Effects != known || f != nil && f.Code == fault.Unavailable && known != effect.NotDispatched {
				t.Errorf("%s, %s: looked up: %+v, want effects %s", state, name, found, known)
			}
		}
	}
}

// A tx without a row was not sent, but where the store is a copy that does not know.
func TestATxFromBeforeARestoreIsUncertain(t *testing.T) {
	s := allowed(t)
	if got, told := authority.Recall(s.facts, s.call, now); told {
		t.Errorf("a tx that nobody sent: %+v", got)
	}
	s.facts.Restored = now
	ch, bad := authority.DecideCall(s.facts, s.call, now)
	if bad == nil || bad.Code != fault.TxExpired || ch.Known != effect.Uncertain {
		t.Errorf("sent: %v, effects %q", bad, ch.Known)
	}
	if got, told := authority.Recall(s.facts, s.call, now); !told || got.Fault.Code != fault.TxExpired || got.Effects != effect.Uncertain {
		t.Errorf("recalled: %v %+v", told, got)
	}
	own := s.row(invocation.Dispatching)
	s.facts.Row, s.facts.Restored, s.call.NewInvocation = own, time.Time{}, own.ID
	if got, told := authority.Recall(s.facts, s.call, now); told {
		t.Errorf("what this very call reserved and will not send: %+v", got)
	}
}

// What does not exist and what is not the caller's to see are one fault.
func TestAbsentAndForeignAreTheSame(t *testing.T) {
	absent, foreign := allowed(t), allowed(t)
	absent.facts.Standing.Resource, absent.facts.Standing.Method, absent.facts.Standing.Grant = nil, nil, nil
	foreign.facts.Standing.Grant = nil
	_, a := authority.DecideCall(absent.facts, absent.call, now)
	_, b := authority.DecideCall(foreign.facts, foreign.call, now)
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(fault.Fault{})); diff != "" {
		t.Error(diff)
	}
}

// Only the attempt that a row is in may move it, and only along the table.
func TestEveryStateMeetsEveryCommand(t *testing.T) {
	verdicts := []invocation.EventKind{invocation.Answered, invocation.ToolError, invocation.Broken, invocation.Unreached}
	for _, state := range invocation.States() {
		row := invocation.Row{Tx: id.NewTx(now), State: state, Attempt: 2, DeadlineAt: now.Add(time.Minute)}
		for _, kind := range verdicts {
			for _, late := range []bool{false, true} {
				c := authority.Settle{Attempt: authority.AttemptOf(row), Verdict: invocation.Classify(invocation.Event{Kind: kind}), Late: late}
				after, f := authority.DecideSettle(row, c, now)
				if moved := after.State != state; moved != (f == nil) || moved && !invocation.CanMove(state, after.State) {
					t.Errorf("%s + %s (late %v) = %s, %v", state, kind, late, after.State, f)
				}
				if late && f == nil && (state != invocation.Indeterminate || kind != invocation.Answered || after.Reconciled.By != "late_answer") {
					t.Errorf("a late %s moved %s: %+v", kind, state, after.Reconciled)
				}
				c.Attempt.Number--
				if old, f := authority.DecideSettle(row, c, now); f == nil || old.State != state {
					t.Errorf("an old attempt moved %s to %s", state, old.State)
				}
			}
		}
		for _, say := range []authority.Statement{authority.Happened, authority.DidNot, authority.CannotTell, "maybe"} {
			after, f := authority.DecideReconcile(row, say, now)
			if f == nil && after.State != state && state != invocation.Indeterminate {
				t.Errorf("the owner's word moved %s to %s", state, after.State)
			}
			if again, f2 := authority.DecideReconcile(after, say, now.Add(1)); f == nil && (f2 != nil || !cmp.Equal(again.Reconciled, after.Reconciled)) {
				t.Errorf("saying %s twice: %v", say, f2)
			}
		}
		if after := authority.Classify(row, now); after.State.Unresolved() || state.Settled() && after.State != state {
			t.Errorf("after a restart %s is %s", state, after.State)
		}
		s := allowed(t)
		marked, f := authority.DecideMark(s.facts.Standing, row, s.call.Caller, authority.AttemptOf(row), now)
		if (f == nil) != (state == invocation.Reserved) || f == nil && marked.State != invocation.Dispatching {
			t.Errorf("marking %s: %s, %v", state, marked.State, f)
		}
		old := authority.AttemptOf(row)
		old.Number--
		if marked, f := authority.DecideMark(s.facts.Standing, row, s.call.Caller, old, now); f == nil || marked.State != state {
			t.Errorf("an old attempt marked %s as %s", state, marked.State)
		}
	}
}

func TestAReservedRowIsNotMarkedOnceAuthorityIsGone(t *testing.T) {
	s := allowed(t)
	row := invocation.Row{Tx: s.call.Tx, State: invocation.Reserved, Attempt: 1, DeadlineAt: now.Add(time.Minute)}
	s.facts.Standing.Grant.State = grant.Revoked
	after, f := authority.DecideMark(s.facts.Standing, row, s.call.Caller, authority.AttemptOf(row), now)
	if f == nil || after.State != invocation.NotDispatched || after.Outcome.Effects != effect.NotDispatched {
		t.Errorf("%s, %v", after.State, f)
	}
	late, f := authority.DecideMark(allowed(t).facts.Standing, row, s.call.Caller, authority.AttemptOf(row), row.DeadlineAt)
	if f == nil || late.State != invocation.NotDispatched {
		t.Errorf("at the deadline: %s, %v", late.State, f)
	}
}

func TestARecordedAnswerNeedsLiveAuthority(t *testing.T) {
	s := allowed(t)
	row := *s.row(invocation.Succeeded)
	row.Outcome = invocation.Outcome{Result: []byte(`{}`), Effects: effect.Reported}
	if a := authority.Reply(s.facts.Standing, row, s.call.Caller, now); a.Status != invocation.OK || a.Result == nil {
		t.Errorf("%+v", a)
	}
	s.facts.Standing.Grant.State = grant.Suspended
	a := authority.Reply(s.facts.Standing, row, s.call.Caller, now)
	if a.Result != nil || a.Fault.Code != fault.NeedsConsent || a.Effects != effect.Reported || a.Fault.Details["settled"] != true {
		t.Errorf("suspended: %+v", a)
	}
	s.facts.Standing.Grant = nil
	a = authority.Reply(s.facts.Standing, row, s.call.Caller, now)
	if diff := cmp.Diff(invocation.Refusal(row.Tx, authority.NotFound(), effect.None), a, cmp.AllowUnexported(fault.Fault{}, id.Tx{}, id.Invocation{}, id.Revision{})); diff != "" {
		t.Errorf("no grant: %s", diff)
	}
	// The request that was executed is not told that it had no effect.
	a = authority.Deliver(s.facts.Standing, row, s.call.Caller, now)
	if a.Fault.Code != fault.NotFound || a.Effects != effect.Reported || a.Result != nil {
		t.Errorf("the executed request itself: %+v", a)
	}
}
