package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/test/modelsize"
)

// The methods of the model's upstream: mail asks the owner before each call.
var modelTools = map[string]effect.Class{"note": effect.Write, "mail": effect.Communicate, "look": effect.Read}

// model is one owner with two apps and an upstream, as simply as it can be said.
// It holds what must be true of the store after each step.
type model struct {
	p         *pool
	owner     id.Owner
	hand      authority.Caller
	server    server
	on        bool                  // the entry is in use
	methods   map[string]*modelTool //
	apps      []*modelApp
	rows      []*modelRow // in the order of their reservation
	questions []*modelQuestion
	revisions int
	names     int
	told      map[string]int64 // rows of the trail that attempts must have left
}

type modelTool struct {
	revision string
	live     bool
}

type modelApp struct {
	caller    authority.Caller
	connected bool
	assigned  bool
	grants    map[string]*modelGrant
}

type modelGrant struct {
	id       id.Grant
	revision string // that was agreed to
	limit    budget.Limit
	expires  time.Time
	revoked  bool
	since    time.Time // when it took the place of another
	carried  int64     // calls of that day, of the one before
}

type modelRow struct {
	app          *modelApp
	tx           id.Tx
	method, args string
	attempt      authority.Attempt
	invocation   id.Invocation
	grant        id.Grant
	admitted     time.Time
	state        invocation.State
	sent         int // dispatches that may have reached the upstream
	settled      time.Time
	deadline     time.Time
	answer       string // that every replay gives
}

type modelQuestion struct {
	id           id.Confirmation
	app          *modelApp
	method, args string
	grant        id.Grant
	revision     string
	state        confirmation.State
	asked        time.Time
	decided      time.Time
	usedBy       id.Tx
}

// now is the store's time: the wall clock, or what it has shown before.
func (m *model) now() time.Time {
	if wall := m.p.clock.now(); wall.After(m.p.shown) {
		return wall
	}
	return m.p.shown
}

// denied is the code that the model refuses a method with, empty if it does not.
func (m *model) denied(a *modelApp, method string) fault.Code {
	if !a.connected {
		return fault.Unauthenticated
	}
	hidden := fault.NotFound
	for name, g := range a.grants {
		if name != method && m.lives(g) {
			hidden = fault.GrantRequired
		}
	}
	g, tool := a.grants[method], m.methods[method]
	switch {
	case g == nil || !m.lives(g):
		return hidden
	case g.revision != tool.revision || !tool.live:
		return fault.NeedsConsent
	case !m.on:
		return fault.Unavailable
	}
	return ""
}

// refused is denied for a tx with a row: what was sent is never unavailable.
func (m *model) refused(a *modelApp, method string, r *modelRow) fault.Code {
	code := m.denied(a, method)
	if r != nil && r.state != invocation.NotDispatched && code == fault.Unavailable {
		return fault.NeedsConsent
	}
	return code
}

func (m *model) lives(g *modelGrant) bool {
	return !g.revoked && (g.expires.IsZero() || m.now().Before(g.expires))
}

func (m *model) row(a *modelApp, tx id.Tx) *modelRow {
	for _, r := range m.rows {
		if r.app == a && r.tx == tx {
			return r
		}
	}
	return nil
}

// decision is what the model expects of a call.
type decision struct {
	code   fault.Code // of the refusal
	replay *modelRow
	use    *modelQuestion
	ask    bool
}

func (m *model) decide(a *modelApp, tx id.Tx, method, args string, ack id.Tx) decision {
	if !a.connected {
		return decision{code: fault.Unauthenticated}
	}
	r := m.row(a, tx)
	if r != nil && (r.method != method || r.args != args) {
		return decision{code: fault.TxMismatch}
	}
	if code := m.refused(a, method, r); code != "" {
		return decision{code: code}
	}
	if r != nil && r.state.Unresolved() {
		return decision{code: fault.TxInProgress}
	}
	if r != nil && r.state != invocation.NotDispatched {
		return decision{replay: r}
	}
	age := m.now().Sub(id.MintedAt(tx))
	if r == nil && (age >= 24*time.Hour || age < -5*time.Minute) {
		return decision{code: fault.TxExpired}
	}
	var held *modelRow
	for _, d := range m.rows {
		if d.app == a && d.method == method && d.args == args && d.state == invocation.Indeterminate && (held == nil || !d.settled.Before(held.settled)) {
			held = d
		}
	}
	if held != nil && (method == "mail" || m.now().Before(held.settled.Add(10*time.Minute)) && ack != held.tx) {
		return decision{code: fault.Conflict}
	}
	if code := m.full(a, a.grants[method]); code != "" {
		return decision{code: code}
	}
	if method != "mail" {
		return decision{}
	}
	return m.confirm(a, method, args, r)
}

// modelCeiling is so low that a sequence meets it.
var modelCeiling = budget.Ceiling{PerMinute: 14, AtOnce: 7}

// full says which budget has no room for one more call, by counting everything that
// was ever admitted (invariant I50; threats, A29).
func (m *model) full(a *modelApp, g *modelGrant) fault.Code {
	apps := 0
	for _, app := range m.apps {
		if app.assigned {
			apps++
		}
	}
	count := func(fits func(*modelRow) bool) (minute, once int64) {
		for _, r := range m.rows {
			if !fits(r) {
				continue
			}
			if m.now().Sub(r.admitted) < time.Minute {
				minute++
			}
			if r.state.Unresolved() && m.now().Before(r.deadline.Add(500*time.Millisecond)) {
				once++
			}
		}
		return minute, once
	}
	over := func(minuteMost, onceMost int64, fits func(*modelRow) bool) bool {
		minute, once := count(fits)
		return minuteMost > 0 && minute >= minuteMost || onceMost > 0 && once >= onceMost
	}
	places := modelCeiling.AtOnce - 1 // one is the owner's
	part := int64(max(apps, 1))
	all, own := func(*modelRow) bool { return true }, func(r *modelRow) bool { return r.app == a }
	_, taken := count(all)
	_, mine := count(own)
	if over(modelCeiling.PerMinute, places, all) || over(max(10, modelCeiling.PerMinute/part), 0, own) ||
		mine >= max(1, places/part) && taken >= places-max(1, places/4) || // a quarter waits for who has less
		over(g.limit.PerMinute, g.limit.AtOnce, func(r *modelRow) bool { return r.grant == g.id }) {
		return fault.RateLimited
	}
	used := m.used(g)
	if g.limit.PerDay > 0 && used >= g.limit.PerDay || g.limit.SpendPerDay > 0 && (used+1)*g.limit.Price > g.limit.SpendPerDay {
		return fault.BudgetExhausted
	}
	return ""
}

// used counts the day of a grant that has a budget of a day, with what it took over.
func (m *model) used(g *modelGrant) (calls int64) {
	day := func(at time.Time) string { return at.UTC().Format(time.DateOnly) }
	if day(g.since) == day(m.now()) {
		calls = g.carried
	}
	for _, r := range m.rows {
		if g.limit.Daily() && r.grant == g.id && day(r.admitted) == day(m.now()) && r.state != invocation.NotDispatched && r.state != invocation.ReconciledFailed {
			calls++
		}
	}
	return calls
}

// confirm looks for a yes, for a call whose row, if it has one, was not dispatched.
func (m *model) confirm(a *modelApp, method, args string, r *modelRow) decision {
	g := a.grants[method]
	open, ofApp, known, no := 0, 0, false, false
	for _, q := range m.questions {
		equal := q.app == a && q.method == method && q.args == args && q.grant == g.id && q.revision == g.revision
		mine := q.state == confirmation.Approved || q.state == confirmation.Used && r != nil && q.usedBy == r.tx
		if equal && mine && m.now().Before(q.decided.Add(5*time.Minute)) {
			return decision{use: q}
		}
		no = no || equal && q.state == confirmation.Denied && m.now().Before(q.decided.Add(24*time.Hour))
		if q.state == confirmation.Open {
			open++
			known = known || equal
		}
		if q.state == confirmation.Open && q.app == a {
			ofApp++
		}
	}
	if no {
		return decision{code: fault.ConfirmationRequired}
	}
	if !known && (open >= 32 || ofApp >= 8) {
		return decision{code: fault.RateLimited}
	}
	return decision{code: fault.ConfirmationRequired, ask: !known}
}

func TestTheStoreIsTheModel(t *testing.T) {
	modelsize.Set(t)
	p := newPool(t)
	p.ceiling = modelCeiling
	p.restart(t)
	sequences := 0
	var finished []*model
	rapid.Check(t, func(rt *rapid.T) {
		sequences++
		m := newModel(rt, p, sequences)
		rt.Repeat(m.actions())
		m.finish(rt)
		finished = append(finished, m)
	})
	p.holds(t)
	told, sum := p.attempts(t), map[string]int64{}
	for _, m := range finished {
		if !maps.Equal(m.told, told[m.owner.String()]) {
			t.Errorf("the trail of %s has %v, want %v", m.owner, told[m.owner.String()], m.told)
		}
		for kind, n := range m.told {
			sum[kind] += n
		}
		for _, r := range m.rows {
			sum[string(r.state)]++
		}
	}
	t.Logf("%d sequences: %v", len(finished), sum)
}

// actions are what a sequence is made of; what stands there more than once happens
// more often.
func (m *model) actions() map[string]func(*rapid.T) {
	out := map[string]func(*rapid.T){"": m.check}
	for _, a := range []struct {
		name  string
		often int
		do    func(*rapid.T)
	}{
		{"call", 8, m.call}, {"again", 4, m.again}, {"mark", 2, m.mark}, {"settle", 8, m.settle}, {"late", 2, m.late}, {"lookup", 2, m.lookup},
		{"reconcile", 1, m.reconcile}, {"answer", 2, m.answerQuestion}, {"grant", 3, m.grant}, {"revoke", 1, m.revoke},
		{"disconnect", 1, m.disconnect}, {"drift", 1, m.drift}, {"approve", 1, m.approve}, {"switch", 1, m.switchEntry}, {"list", 1, m.list},
		{"clock", 2, m.clock}, {"restart", 1, m.restart},
	} {
		for i := range a.often {
			out[fmt.Sprintf("%s %d", a.name, i)] = a.do
		}
	}
	return out
}

// attempts sums the rows of the trail about attempts of calls, by owner and kind.
func (p *pool) attempts(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	rows, err := p.raw(t).Query("SELECT owner, kind, SUM(count) FROM audit WHERE kind IN ('call', 'denied', 'replayed', 'interrupted', 'reconciled') GROUP BY owner, kind")
	must(t, err)
	defer rows.Close()
	out := map[string]map[string]int64{}
	for rows.Next() {
		var owner, kind string
		var n int64
		must(t, rows.Scan(&owner, &kind, &n))
		if out[owner] == nil {
			out[owner] = map[string]int64{}
		}
		out[owner][kind] = n
	}
	must(t, rows.Err())
	return out
}

func newModel(rt *rapid.T, p *pool, n int) *model {
	m := &model{p: p, on: true, revisions: 1, methods: map[string]*modelTool{}, told: map[string]int64{}}
	p.clock.set(m.now().Add(time.Second))
	p.shown = m.now()
	m.owner, m.hand = p.newOwner(rt, fmt.Sprintf("owner %d", n))
	for name := range modelTools {
		m.methods[name] = &modelTool{"1", true}
	}
	m.server = p.upstream(rt, m.owner, "tools")
	m.relist(rt)
	p.approve(rt, m.owner, m.server.resource, "look", "mail", "note")
	for range 2 {
		a := m.newApp(rt)
		m.apps = append(m.apps, a)
		a.assigned = true
		for _, method := range []string{"look", "mail", "note"} {
			a.grants[method] = &modelGrant{id: p.grant(rt, a.caller, m.server.resource, grant.ByEffect, method)[0], revision: "1"}
		}
	}
	return m
}

func (m *model) newApp(t tester) *modelApp {
	m.names++
	return &modelApp{caller: m.p.app(t, m.owner, fmt.Sprintf("app %d", m.names)), connected: true, grants: map[string]*modelGrant{}}
}

// relist shows the upstream's tools to the store as they are now.
func (m *model) relist(rt *rapid.T) {
	var offers []resource.Offer
	for _, name := range []string{"look", "mail", "note"} {
		offers = append(offers, offer(m.server.adapter, name, m.methods[name].revision, modelTools[name]))
	}
	_, err := m.p.ApplyListing(rt.Context(), m.owner, m.server.adapter, "s", "p", offers)
	ok(rt, err)
}

func ok(rt *rapid.T, err error) {
	rt.Helper()
	if err != nil {
		rt.Fatalf("%v", err)
	}
}

// expect holds an error against the code that the model gives. What is not there
// looks the same whatever the reason is (invariant I51).
func expect(rt *rapid.T, err error, code fault.Code) {
	rt.Helper()
	if code == "" && err == nil {
		return
	}
	if !fault.Is(err, code) {
		rt.Fatalf("got %v, want %q", err, code)
	}
	if f := fault.From(err); code == fault.NotFound && (f.Text != authority.NotFound().Text || len(f.Details) > 0) {
		rt.Fatalf("not found says %q %v", f.Text, f.Details)
	}
}

// drawApp picks an app, rarely one that is no longer connected.
func (m *model) drawApp(rt *rapid.T) *modelApp {
	a := pick(rt, "app", m.apps)
	if !a.connected && rapid.IntRange(0, 3).Draw(rt, "gone") > 0 {
		return m.apps[len(m.apps)-1]
	}
	return a
}

// pick draws one of a list by its place, which is short in a report.
func pick[T any](rt *rapid.T, name string, list []T) T {
	return list[rapid.IntRange(0, len(list)-1).Draw(rt, name)]
}

func (m *model) drawMethod(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"note", "note", "mail", "mail", "look"}).Draw(rt, "method")
}

func (m *model) call(rt *rapid.T) {
	skew := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 0, 0, 0, -24 * time.Hour, 5*time.Minute + time.Millisecond}).Draw(rt, "skew")
	m.send(rt, m.drawApp(rt), id.NewTx(m.now().Add(skew)), m.drawMethod(rt), rapid.SampledFrom([]string{`{}`, `{"text":"x"}`}).Draw(rt, "args"))
}

// again sends a known tx, as it was or with something else, also as the other app.
func (m *model) again(rt *rapid.T) {
	r := m.drawRow(rt)
	if r == nil {
		return
	}
	app, method := r.app, r.method
	switch rapid.SampledFrom([]string{"", "", "", "method", "app"}).Draw(rt, "other") {
	case "method":
		method = m.drawMethod(rt)
	case "app":
		app = m.drawApp(rt)
	}
	m.send(rt, app, r.tx, method, r.args)
}

func (m *model) send(rt *rapid.T, a *modelApp, tx id.Tx, method, args string) {
	got, found, err := m.p.Resolve(rt.Context(), m.owner, invocation.Reference{Resource: m.server.resource.String(), Method: method})
	ok(rt, err)
	if !found {
		rt.Fatal("a method of the upstream is not found")
	}
	c := m.p.commandOf(a.caller, tx, got, args)
	c.Ready = rapid.Bool().Draw(rt, "ready")
	if len(m.rows) > 0 && rapid.Bool().Draw(rt, "acks") {
		c.Ack = pick(rt, "ack", m.rows).tx
	}
	want := m.decide(a, tx, method, args, c.Ack)
	ch, err := m.p.Reserve(rt.Context(), c)
	expect(rt, err, want.code)
	switch {
	case want.code != "":
		m.told["denied"]++
		if want.ask {
			g := a.grants[method]
			m.questions = append(m.questions, &modelQuestion{c.NewConfirmation, a, method, args, g.id, g.revision, confirmation.Open, m.now(), time.Time{}, id.Tx{}})
		}
		if ch.Row.ID != (id.Invocation{}) {
			rt.Fatalf("a refusal tells of a row: %+v", ch)
		}
	case want.replay != nil:
		m.told["replayed"]++
		if ch.Action != authority.Replay || look(ch.Row.Answer()) != want.replay.answer {
			rt.Fatalf("replayed\n%s\nwant\n%s", look(ch.Row.Answer()), want.replay.answer)
		}
	default:
		m.reserved(rt, a, c, method, ch, want)
	}
}

func (m *model) reserved(rt *rapid.T, a *modelApp, c authority.Call, method string, ch authority.CallChanges, want decision) {
	r := m.row(a, c.Tx)
	if r == nil {
		r = &modelRow{app: a, tx: c.Tx, method: method, args: string(c.Args), invocation: ch.Row.ID}
		m.rows = append(m.rows, r)
	}
	r.attempt, r.deadline, r.state = authority.AttemptOf(ch.Row), m.now().Add(c.Deadline), invocation.Reserved
	r.grant, r.admitted = a.grants[method].id, m.now()
	if want.use != nil {
		want.use.state, want.use.usedBy = confirmation.Used, c.Tx
	}
	if c.Ready != (ch.Action == authority.Dispatch) || !c.Ready != (ch.Action == authority.Wait) {
		rt.Fatalf("ready %v gave %s", c.Ready, ch.Action)
	}
	if c.Ready {
		m.sent(rt, r)
	}
}

// sent counts a dispatch; a row has at most one that may have reached anybody
// (invariant I53).
func (m *model) sent(rt *rapid.T, r *modelRow) {
	r.state = invocation.Dispatching
	if r.sent++; r.sent > 1 {
		rt.Fatalf("%s was dispatched %d times", r.tx, r.sent)
	}
}

// drawRow picks a row in one of the states, any if there are none named; nil if
// there is no such row.
func (m *model) drawRow(rt *rapid.T, states ...invocation.State) *modelRow {
	var fit []*modelRow
	for _, r := range m.rows {
		if len(states) == 0 || slices.Contains(states, r.state) {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return pick(rt, "row", fit)
}

// drawEither picks a row in the state, or sometimes any.
func (m *model) drawEither(rt *rapid.T, state invocation.State) *modelRow {
	if rapid.IntRange(0, 3).Draw(rt, "any") == 0 {
		return m.drawRow(rt)
	}
	return m.drawRow(rt, state)
}

func (m *model) mark(rt *rapid.T) {
	r := m.drawEither(rt, invocation.Reserved)
	if r == nil {
		return
	}
	_, err := m.p.Mark(rt.Context(), r.app.caller, r.attempt)
	code := m.denied(r.app, r.method)
	switch {
	case r.state != invocation.Reserved:
		expect(rt, err, fault.Conflict)
		m.told["denied"]++
	case code == "" && m.now().Before(r.deadline):
		ok(rt, err)
		m.sent(rt, r)
	default:
		expect(rt, err, cmp.Or(code, fault.Unavailable))
		m.outcome(rt, r, invocation.NotDispatched)
		m.told["call"]++
	}
}

var modelEvents = map[invocation.EventKind]invocation.State{
	invocation.Answered: invocation.Succeeded, invocation.ToolError: invocation.Failed, invocation.Broken: invocation.Indeterminate,
	invocation.TimedOut: invocation.Indeterminate, invocation.Unreached: invocation.NotDispatched, invocation.Rejected: invocation.Failed,
}

func drawEvent(rt *rapid.T) invocation.Event {
	kinds := []invocation.EventKind{invocation.Answered, invocation.Answered, invocation.Broken, invocation.Broken, invocation.TimedOut,
		invocation.ToolError, invocation.Unreached, invocation.Rejected}
	ev := invocation.Event{Kind: rapid.SampledFrom(kinds).Draw(rt, "event"), Detail: "what was seen"}
	if ev.Kind == invocation.Answered || ev.Kind == invocation.ToolError {
		ev.Result = []byte(fmt.Sprintf(`{"content":[%d],"isError":%v,"validated":false}`, rapid.IntRange(0, 9).Draw(rt, "result"), ev.Kind == invocation.ToolError))
	}
	return ev
}

func (m *model) settle(rt *rapid.T) {
	r := m.drawEither(rt, invocation.Dispatching)
	if r == nil {
		return
	}
	m.settleAs(rt, r, drawEvent(rt))
}

func (m *model) settleAs(rt *rapid.T, r *modelRow, ev invocation.Event) {
	to := modelEvents[ev.Kind]
	answer, err := m.p.Settle(rt.Context(), r.app.caller, outcome(invocation.Row{Owner: m.owner, Client: r.app.caller.Client, Tx: r.tx,
		Attempt: r.attempt.Number, Node: r.attempt.Node, Epoch: r.attempt.Epoch}, ev, false))
	if r.state != invocation.Dispatching && (r.state != invocation.Reserved || to != invocation.NotDispatched) {
		expect(rt, err, fault.Conflict)
		return
	}
	ok(rt, err)
	if to == invocation.NotDispatched && r.state == invocation.Dispatching {
		r.sent--
	}
	m.outcome(rt, r, to)
	m.told["call"]++
	m.given(rt, r, answer)
}

// outcome notes that a row has its outcome, and what every replay must give.
func (m *model) outcome(rt *rapid.T, r *modelRow, to invocation.State) {
	r.state, r.settled = to, m.now()
	v, err := m.p.Invocation(rt.Context(), m.owner, r.invocation.String())
	ok(rt, err)
	r.answer = look(v.Row.Answer())
	if v.Row.State != to {
		rt.Fatalf("the row is %s, want %s", v.Row.State, to)
	}
}

// given holds an answer against the recorded one, or against the refusal that the
// caller has to get instead of it (invariant I47).
func (m *model) given(rt *rapid.T, r *modelRow, a invocation.Answer) {
	code := m.refused(r.app, r.method, r)
	if code == "" {
		if look(a) != r.answer {
			rt.Fatalf("answered\n%s\nwant\n%s", look(a), r.answer)
		}
		return
	}
	if a.Fault == nil || a.Fault.Code != code || a.Result != nil || !a.Invocation.IsZero() {
		rt.Fatalf("a caller without authority got %s, want %s", look(a), code)
	}
	if settled, told := a.Fault.Details["settled"]; told != (code != fault.NotFound && code != fault.Unauthenticated) || told && settled != r.state.Settled() {
		rt.Fatalf("a caller without authority learned %v", a.Fault.Details)
	}
}

func (m *model) late(rt *rapid.T) {
	r := m.drawEither(rt, invocation.Indeterminate)
	if r == nil {
		return
	}
	ev := drawEvent(rt)
	answer, err := m.p.Settle(rt.Context(), r.app.caller, outcome(invocation.Row{Owner: m.owner, Client: r.app.caller.Client, Tx: r.tx,
		Attempt: r.attempt.Number, Node: r.attempt.Node, Epoch: r.attempt.Epoch}, ev, true))
	if ev.Kind != invocation.Answered || r.state != invocation.Indeterminate {
		expect(rt, err, fault.Conflict)
		return
	}
	ok(rt, err)
	settled := r.settled
	m.outcome(rt, r, invocation.ReconciledSucceeded)
	r.settled = settled
	m.told["reconciled"]++
	m.given(rt, r, answer)
}

func (m *model) reconcile(rt *rapid.T) {
	r := m.drawEither(rt, invocation.Indeterminate)
	if r == nil {
		return
	}
	say := rapid.SampledFrom([]authority.Statement{authority.Happened, authority.DidNot, authority.CannotTell}).Draw(rt, "says")
	to := map[authority.Statement]invocation.State{authority.Happened: invocation.ReconciledSucceeded, authority.DidNot: invocation.ReconciledFailed,
		authority.CannotTell: invocation.Abandoned}[say]
	row, err := m.p.Reconcile(rt.Context(), m.owner, r.invocation, say)
	switch r.state {
	case invocation.Indeterminate:
		ok(rt, err)
		settled := r.settled
		m.outcome(rt, r, to)
		r.settled = settled
		m.told["reconciled"]++
	case to:
		ok(rt, err)
		if look(row.Answer()) != r.answer {
			rt.Fatal("saying it again changed the answer")
		}
	default:
		expect(rt, err, fault.Conflict)
	}
}

func (m *model) lookup(rt *rapid.T) {
	a, tx := m.drawApp(rt), id.NewTx(m.now())
	if len(m.rows) > 0 {
		tx = pick(rt, "row", m.rows).tx
	}
	answer, err := m.p.Lookup(rt.Context(), a.caller, tx)
	r := m.row(a, tx)
	if r == nil {
		m.told["denied"]++
		expect(rt, err, map[bool]fault.Code{true: fault.NotFound, false: fault.Unauthenticated}[a.connected])
		return
	}
	ok(rt, err)
	if m.denied(a, r.method) != "" {
		m.told["denied"]++
	} else {
		m.told["replayed"]++
	}
	if r.state.Unresolved() && m.denied(a, r.method) == "" {
		if answer.Status != invocation.Underway {
			rt.Fatalf("%s", look(answer))
		}
		return
	}
	m.given(rt, r, answer)
}

func (m *model) answerQuestion(rt *rapid.T) {
	if len(m.questions) == 0 {
		return
	}
	q := pick(rt, "question", m.questions)
	yes := rapid.Bool().Draw(rt, "yes")
	want := map[bool]confirmation.State{true: confirmation.Approved, false: confirmation.Denied}[yes]
	_, err := m.p.DecideConfirmation(rt.Context(), m.owner, q.id, yes)
	switch q.state {
	case want:
		ok(rt, err)
	case confirmation.Open:
		ok(rt, err)
		q.state, q.decided = want, m.now()
	default:
		expect(rt, err, fault.Conflict)
	}
}

func (m *model) grant(rt *rapid.T) {
	a, method := m.drawApp(rt), m.drawMethod(rt)
	g := &modelGrant{id: id.New[id.Grant](), revision: m.methods[method].revision}
	g.limit = rapid.SampledFrom([]budget.Limit{{}, {}, {PerMinute: 2}, {AtOnce: 1}, {PerDay: 2}, {PerDay: 3, PerMinute: 1},
		{Price: 5, SpendPerDay: 14, Currency: "EUR"}}).Draw(rt, "limit")
	if was := a.grants[method]; was != nil && !was.revoked {
		g.since, g.carried = m.now(), m.used(was)
	}
	if rapid.IntRange(0, 3).Draw(rt, "expires") == 0 {
		g.expires = m.now().Add(7 * time.Minute)
	}
	_, err := m.p.Grant(rt.Context(), m.server.resource, authority.GrantMethods{Owner: m.owner, Client: a.caller.Client, Methods: []string{method},
		Confirm: grant.ByEffect, ExpiresAt: g.expires, Limit: g.limit, NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](), NewGrants: []id.Grant{g.id}})
	switch {
	case !a.connected:
		expect(rt, err, fault.NotFound)
	case !m.methods[method].live:
		expect(rt, err, fault.NeedsConsent)
	default:
		ok(rt, err)
		a.grants[method], a.assigned = g, true
	}
}

func (m *model) revoke(rt *rapid.T) {
	a := m.drawApp(rt)
	if rapid.IntRange(0, 2).Draw(rt, "all") == 0 {
		live := 0
		for _, g := range a.grants {
			if !g.revoked {
				live++
			}
			g.revoked = true
		}
		n, err := m.p.RevokeAll(rt.Context(), m.owner, a.caller.Client, m.server.resource)
		ok(rt, err)
		if n != live {
			rt.Fatalf("%d rows ended, want %d", n, live)
		}
		a.assigned = false
		return
	}
	g := a.grants[m.drawMethod(rt)]
	if g == nil {
		return
	}
	_, err := m.p.Revoke(rt.Context(), m.owner, g.id)
	ok(rt, err)
	g.revoked = true
}

// disconnect ends an app; another one comes in its place at most twice.
func (m *model) disconnect(rt *rapid.T) {
	a := m.drawApp(rt)
	if len(m.apps) >= 4 || rapid.IntRange(0, 2).Draw(rt, "sure") > 0 {
		return
	}
	ok(rt, m.p.Disconnect(rt.Context(), m.owner, a.caller.Client))
	a.connected, a.assigned = false, false
	for _, g := range a.grants {
		g.revoked = true
	}
	for _, q := range m.questions {
		if q.app == a && (q.state == confirmation.Open || q.state == confirmation.Expired) {
			q.state = confirmation.Denied
		}
	}
	m.apps = append(m.apps, m.newApp(rt))
}

// drift has the upstream change a tool, or change it back.
func (m *model) drift(rt *rapid.T) {
	method := m.drawMethod(rt)
	tool := m.methods[method]
	if m.revisions++; rapid.Bool().Draw(rt, "back") {
		tool.revision, tool.live = "1", tool.live && tool.revision == "1"
	} else {
		tool.revision, tool.live = fmt.Sprint(m.revisions), false
	}
	m.relist(rt)
}

func (m *model) approve(rt *rapid.T) {
	method := m.drawMethod(rt)
	m.p.approve(rt, m.owner, m.server.resource, method)
	m.methods[method].live = true
}

// switchEntry switches the entry on if it is off, and sometimes off.
func (m *model) switchEntry(rt *rapid.T) {
	m.on = !m.on || rapid.IntRange(0, 3).Draw(rt, "on") > 0
	ok(rt, m.p.SetAdapterState(rt.Context(), m.owner, m.server.adapter, map[bool]view.AdapterState{true: view.Enabled, false: view.Disabled}[m.on]))
}

// list holds the catalog of an app against the check of each method.
func (m *model) list(rt *rapid.T) {
	a := m.drawApp(rt)
	list, err := m.p.Catalog(rt.Context(), a.caller)
	if !a.connected {
		expect(rt, err, fault.Unauthenticated)
		m.told["denied"]++
		return
	}
	ok(rt, err)
	var got, want []string
	for _, c := range list {
		got = append(got, c.Target.Method)
	}
	for _, method := range []string{"look", "mail", "note"} {
		if m.denied(a, method) == "" {
			want = append(want, method)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		rt.Fatalf("listed %v, want %v", got, want)
	}
}

// clock moves the wall clock. What it has shown once is stored, so that going
// back revives nothing (threats, A31).
func (m *model) clock(rt *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Millisecond, 20 * time.Second, 31 * time.Second, 3 * time.Minute, 6 * time.Minute,
		11 * time.Minute, 25 * time.Hour, -time.Hour, -10 * 365 * 24 * time.Hour}).Draw(rt, "step")
	if d > 0 {
		m.p.clock.set(m.now())
	}
	m.p.clock.step(d)
	m.p.shown = m.now()
	for _, q := range m.questions {
		if q.state == confirmation.Open && m.now().Sub(q.asked) >= 24*time.Hour {
			q.state = confirmation.Expired
		}
	}
	_, err := m.p.runTx(rt, m.hand, id.NewTx(m.now()), "@profile", "get", `{}`, "")
	ok(rt, err)
	m.told["call"]++
}

// restart stops the host and starts it again: whatever was underway is
// classified, and nothing is sent again (invariant I57).
func (m *model) restart(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "sure") > 0 {
		return
	}
	m.p.restart(rt)
	for _, r := range m.rows {
		switch r.state {
		case invocation.Reserved:
			m.outcome(rt, r, invocation.NotDispatched)
			m.told["interrupted"]++
		case invocation.Dispatching:
			m.outcome(rt, r, invocation.Indeterminate)
			m.told["interrupted"]++
		}
	}
}

// check holds every row and question of the store against the model.
func (m *model) check(rt *rapid.T) {
	var states []string
	for before := ""; ; {
		page, next, err := m.p.Invocations(rt.Context(), m.owner, view.JournalFilter{Before: before})
		ok(rt, err)
		for _, v := range page {
			if v.Row.Client == m.hand.Client {
				continue // of the action clock
			}
			states = append(states, fmt.Sprintf("%s %s %s", v.Row.ID, v.Row.Tx, v.Row.State))
		}
		if before = next; next == "" {
			break
		}
	}
	slices.Reverse(states)
	var want []string
	for _, r := range m.rows {
		want = append(want, fmt.Sprintf("%s %s %s", r.invocation, r.tx, r.state))
	}
	if !slices.Equal(states, want) {
		rt.Fatalf("the journal has\n%s\nwant\n%s", strings.Join(states, "\n"), strings.Join(want, "\n"))
	}
	questions, err := m.p.Confirmations(rt.Context(), m.owner, true)
	ok(rt, err)
	if len(questions) != min(len(m.questions), 100) {
		rt.Fatalf("%d questions, want %d", len(questions), len(m.questions))
	}
	for _, v := range questions {
		for _, q := range m.questions {
			if q.id == v.Row.ID && q.state != v.Row.State {
				rt.Fatalf("question %s is %s, want %s", q.id, v.Row.State, q.state)
			}
		}
	}
}

// finish looks at every answer once more (invariant I55). That each attempt has
// its row in the trail is counted at the end of all sequences (invariant I63).
func (m *model) finish(rt *rapid.T) {
	for _, r := range m.rows {
		if r.state.Unresolved() {
			m.settleAs(rt, r, invocation.Event{Kind: invocation.Unreached})
		}
		v, err := m.p.Invocation(rt.Context(), m.owner, r.invocation.String())
		ok(rt, err)
		if look(v.Row.Answer()) != r.answer {
			rt.Fatalf("at the end\n%s\nwant\n%s", look(v.Row.Answer()), r.answer)
		}
	}
}

// look is an answer as text: everything that leaves the host of it.
func look(a invocation.Answer) string {
	var f string
	if a.Fault != nil {
		keys := slices.Sorted(maps.Keys(a.Fault.Details))
		f = fmt.Sprintf("%s %q", a.Fault.Code, a.Fault.Text)
		for _, k := range keys {
			f += fmt.Sprintf(" %s=%v", k, a.Fault.Details[k])
		}
	}
	return fmt.Sprintf("%s %s %s result=%s fault=(%s) effects=%s revision=%s version=%s ms=%d reconciled=%v", a.Tx, a.Invocation, a.Status, a.Result,
		f, a.Effects, a.Revision, a.Version, a.Millis, a.Reconciled)
}
