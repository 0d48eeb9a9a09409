package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// bounded is a pool with one upstream, two apps and the ceiling of an ordinary
// host.
type bounded struct {
	*pool
	server
	apps []authority.Caller
	next int
}

func newBounded(t testing.TB, l budget.Limit, apps int) *bounded {
	t.Helper()
	p := newPool(t)
	p.ceiling = budget.Usual()
	p.restart(t)
	b := &bounded{pool: p, server: p.upstream(t, p.owner, "notes", "add")}
	p.approve(t, p.owner, b.resource, "add")
	for range apps {
		app := p.app(t, p.owner, string(rune('a'+len(b.apps))))
		p.grantWithin(t, app, b.resource, l, "add")
		b.apps = append(b.apps, app)
	}
	return b
}

// grantWithin gives a row with a budget.
func (p *pool) grantWithin(t tester, c authority.Caller, which id.Resource, l budget.Limit, method string) id.Grant {
	t.Helper()
	g := authority.GrantMethods{Owner: c.Owner, Client: c.Client, Methods: []string{method}, Confirm: grant.Never, Limit: l,
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](), NewGrants: []id.Grant{id.New[id.Grant]()}}
	_, err := p.Grant(t.Context(), which, g)
	must(t, err)
	return g.NewGrants[0]
}

// reserve asks for one more call, with arguments of its own.
func (b *bounded) reserve(t tester, c authority.Caller) (invocation.Row, error) {
	t.Helper()
	b.next++
	ch, err := b.Reserve(t.Context(), b.command(t, c, b.tx(), b.resource.String(), "add", `{"text":"`+id.New[id.Invocation]().String()+`"}`))
	return ch.Row, err
}

// end settles a call with an event.
func (b *bounded) end(t tester, c authority.Caller, r invocation.Row, ev invocation.Event) {
	t.Helper()
	_, err := b.Settle(t.Context(), c, outcome(r, ev, false))
	must(t, err)
}

// done makes a whole call, or says why not.
func (b *bounded) done(t tester, c authority.Caller, ev invocation.Event) error {
	t.Helper()
	r, err := b.reserve(t, c)
	if err == nil {
		b.end(t, c, r, ev)
	}
	return err
}

// refused fails unless the error is the code, about the scope, with room again
// after a time.
func refused(t tester, err error, code fault.Code, scope string, after time.Duration) {
	t.Helper()
	wantFault(t, err, code)
	d := fault.From(err).Details
	if d["scope"] != scope || d["retry_after_ms"] != after.Milliseconds() || d["resets_at"] == "" {
		t.Fatalf("refused with %v, want scope %s and %s", d, scope, after)
	}
}

// crowded fails unless the error says that no place is free in the scope for a
// time at most, and that it may be one soon.
func (b *bounded) crowded(t tester, err error, scope string, most time.Duration) {
	t.Helper()
	wantFault(t, err, fault.RateLimited)
	d := fault.From(err).Details
	if at := b.clock.now().Add(most).UTC().Format("2006-01-02T15:04:05.000Z"); d["scope"] != scope || d["resets_at"] != at || d["retry_after_ms"] != min(most, time.Second).Milliseconds() {
		t.Fatalf("refused with %v, want scope %s and %s", d, scope, at)
	}
}

// A minute slides: what is over its bound has room again when the oldest call is
// a minute old, to the millisecond, also in a process that began in between. What
// is refused takes nothing.
func TestTheMinuteSlides(t *testing.T) {
	b := newBounded(t, budget.Limit{}, 1)
	app := b.apps[0]
	for range 60 {
		must(t, b.done(t, app, answered))
		b.clock.step(500 * time.Millisecond)
	}
	for range 3 {
		refused(t, b.done(t, app, answered), fault.RateLimited, "resource", 30*time.Second)
	}
	b.restart(t)
	b.clock.step(30*time.Second - time.Millisecond)
	refused(t, b.done(t, app, answered), fault.RateLimited, "resource", time.Millisecond)
	b.clock.step(time.Millisecond)
	must(t, b.done(t, app, answered))
	refused(t, b.done(t, app, answered), fault.RateLimited, "resource", 500*time.Millisecond)
	b.holds(t)
}

// The places of a resource are the apps' but for one, which is the owner's. A
// place is free when its call is over, or when its deadline and the grace have
// passed, whatever came of it.
func TestOnePlaceIsTheOwners(t *testing.T) {
	b := newBounded(t, budget.Limit{}, 1)
	app := b.apps[0]
	var open []invocation.Row
	for range 3 {
		r, err := b.reserve(t, app)
		must(t, err)
		open = append(open, r)
		b.clock.step(time.Second)
	}
	_, err := b.reserve(t, app)
	b.crowded(t, err, "resource", 27500*time.Millisecond)
	hand, err := b.reserve(t, b.hand)
	must(t, err)
	_, err = b.reserve(t, b.hand)
	b.crowded(t, err, "resource", 27500*time.Millisecond)
	b.end(t, b.hand, hand, answered)
	_, err = b.reserve(t, app)
	b.crowded(t, err, "resource", 27500*time.Millisecond)
	b.end(t, app, open[1], invocation.Event{Kind: invocation.TimedOut})
	fourth, err := b.reserve(t, app)
	must(t, err)
	b.end(t, app, fourth, answered)
	b.clock.step(27500*time.Millisecond - time.Millisecond)
	_, err = b.reserve(t, app)
	must(t, err)
	_, err = b.reserve(t, app)
	b.crowded(t, err, "resource", time.Millisecond)
	b.clock.step(time.Millisecond) // the first one's place, which is still open
	_, err = b.reserve(t, app)
	must(t, err)
}

// No app takes another one's part of a resource (decision 9).
func TestEachAppHasItsShare(t *testing.T) {
	b := newBounded(t, budget.Limit{}, 3)
	first, second := b.apps[0], b.apps[1]
	for range 20 {
		must(t, b.done(t, first, answered))
	}
	refused(t, b.done(t, first, answered), fault.RateLimited, "share", time.Minute)
	r, err := b.reserve(t, second)
	must(t, err)
	beyond, err := b.reserve(t, second) // what nobody else uses
	must(t, err)
	_, err = b.reserve(t, second)
	b.crowded(t, err, "share", 30500*time.Millisecond)
	last, err := b.reserve(t, b.apps[2]) // the place that waited for who has none
	must(t, err)
	b.end(t, b.apps[2], last, answered)
	b.end(t, second, beyond, answered)
	b.end(t, second, r, answered)
	for range 18 {
		must(t, b.done(t, second, answered))
	}
	refused(t, b.done(t, second, answered), fault.RateLimited, "share", time.Minute)
}

// Twenty calls in doubt are a day's budget of twenty, over a restart and for as
// long as the day lasts; what the owner knows not to have happened is given back,
// and so is what was never sent (threats, A29; invariants I50, I64).
func TestADoubtKeepsItsPartOfTheDay(t *testing.T) {
	b := newBounded(t, budget.Limit{PerDay: 20}, 1)
	app := b.apps[0]
	var last invocation.Row
	for range 20 {
		r, err := b.reserve(t, app)
		must(t, err)
		b.end(t, app, r, invocation.Event{Kind: invocation.TimedOut})
		b.clock.step(4 * time.Second)
		last = r
	}
	until := budget.Today(b.clock.now()).AddDate(0, 0, 1)
	over := func() {
		t.Helper()
		refused(t, b.done(t, app, answered), fault.BudgetExhausted, "grant", until.Sub(b.clock.now()))
	}
	over()
	b.restart(t)
	over()
	b.clock.step(time.Hour)
	over()
	_, err := b.Reconcile(t.Context(), b.owner, last.ID, authority.DidNot)
	must(t, err)
	_, err = b.Reconcile(t.Context(), b.owner, last.ID, authority.DidNot) // says the same, gives nothing
	must(t, err)
	must(t, b.done(t, app, invocation.Event{Kind: invocation.Unreached}))
	must(t, b.done(t, app, answered))
	over()
	list, err := b.Grants(t.Context(), b.owner, app.Client)
	must(t, err)
	if len(list) != 1 || list[0].Today != 20 {
		t.Fatalf("the owner is shown %+v", list)
	}
	b.clock.set(until)
	must(t, b.done(t, app, answered))
	b.holds(t)
}

// Money is counted by what a call may cost at most.
func TestMoneyIsReservedByTheCall(t *testing.T) {
	b := newBounded(t, budget.Limit{Price: 250, SpendPerDay: 700, Currency: "EUR"}, 1)
	must(t, b.done(t, b.apps[0], answered))
	must(t, b.done(t, b.apps[0], invocation.Event{Kind: invocation.TimedOut}))
	refused(t, b.done(t, b.apps[0], answered), fault.BudgetExhausted, "grant", 12*time.Hour)
	wantFault(t, func() error {
		_, err := b.Grant(t.Context(), b.resource, authority.GrantMethods{Owner: b.owner, Client: b.apps[0].Client, Methods: []string{"add"},
			Limit: budget.Limit{Price: 1}, NewGrants: []id.Grant{id.New[id.Grant]()}})
		return err
	}(), fault.InvalidRequest)
}

// Many at once get no more than the budget, since the reservation is made in the
// transaction that counts (threats, A30).
func TestParallelCallsStayWithinTheBudget(t *testing.T) {
	for name, l := range map[string]budget.Limit{"day": {PerDay: 10}, "minute": {PerMinute: 10}, "at once": {AtOnce: 10}} {
		b := newBounded(t, l, 1)
		b.ceiling = wide
		b.restart(t)
		var sent atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				c := b.command(t, b.apps[0], b.tx(), b.resource.String(), "add", `{"text":"`+id.New[id.Invocation]().String()+`"}`)
				if _, err := b.Reserve(t.Context(), c); err == nil {
					sent.Add(1)
				} else if !fault.Is(err, fault.RateLimited) && !fault.Is(err, fault.BudgetExhausted) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if sent.Load() != 10 {
			t.Errorf("%s: %d calls went out", name, sent.Load())
		}
	}
}

// A loop of an agent that has gone astray costs the day's budget and no more, and
// what it is refused costs nothing and is counted in the trail (field faults,
// FF111).
func TestALoopingAgentIsStopped(t *testing.T) {
	b := newBounded(t, budget.Limit{PerMinute: 5, PerDay: 12, AtOnce: 1}, 1)
	app, sent := b.apps[0], 0
	for range 300 {
		err := b.done(t, app, answered)
		if err == nil {
			sent++
		} else if d := fault.From(err).Details; d["resets_at"] == nil || d["retry_after_ms"].(int64) <= 0 {
			t.Fatalf("a refusal without the time of a reset: %v", err)
		}
		b.clock.step(time.Second)
	}
	if sent != 12 {
		t.Errorf("%d calls went out", sent)
	}
	if v := b.holds(t); v.Invocations != 12 {
		t.Errorf("%d rows of the journal", v.Invocations)
	}
}

// What was opened while the rows of dead processes were still being settled is counted
// like all else.
func TestWhatOpenedBeforeTheRecoveryHoldsItsPlace(t *testing.T) {
	b := newBounded(t, budget.Limit{}, 1)
	must(t, b.Close())
	b.open(t)
	var open []invocation.Row
	for range 3 {
		r, err := b.reserve(t, b.apps[0])
		must(t, err)
		open = append(open, r)
	}
	_, err := b.Recover(t.Context())
	must(t, err)
	for range 2 {
		_, err = b.reserve(t, b.apps[0])
		b.crowded(t, err, "resource", 30500*time.Millisecond)
	}
	_, err = b.Settle(t.Context(), b.apps[0], outcome(open[0], answered, true)) // late, and before the doubt
	wantFault(t, err, fault.Conflict)
	_, err = b.reserve(t, b.apps[0])
	b.crowded(t, err, "resource", 30500*time.Millisecond)
	b.end(t, b.apps[0], open[0], answered)
	_, err = b.reserve(t, b.apps[0])
	must(t, err)
}

// A call far below its bounds costs the same statements as if there were none, however
// many were made before it.
func TestACallFarBelowItsBoundsCountsNoRows(t *testing.T) {
	b := newBounded(t, budget.Limit{PerMinute: 50}, 1)
	for i := range 100 {
		before := b.Stats().WriteStatements
		must(t, b.done(t, b.apps[0], []invocation.Event{answered, {Kind: invocation.TimedOut}, {Kind: invocation.Unreached}}[i%3]))
		if n := b.Stats().WriteStatements - before; i > 0 && n != int64(5+i%3/2) { // what was not sent is given back
			t.Fatalf("call %d takes %d statements", i, n)
		}
		b.clock.step(2 * time.Second)
	}
}

// What is used up asks the owner nothing and uses no confirmation, and a refused tx
// is not consumed.
func TestARefusalForTheBudgetConsumesNothing(t *testing.T) {
	b := newBounded(t, budget.Limit{PerMinute: 1}, 1)
	app := b.apps[0]
	must(t, b.done(t, app, answered))
	c := b.command(t, app, b.tx(), b.resource.String(), "add", `{"text":"again"}`)
	_, err := b.Reserve(t.Context(), c)
	refused(t, err, fault.RateLimited, "grant", time.Minute)
	b.clock.step(time.Minute)
	ch, err := b.Reserve(t.Context(), c)
	must(t, err)
	if ch.Taken || ch.Row.Attempt != 1 {
		t.Errorf("the tx was consumed: %+v", ch.Row)
	}
}

// Giving a grant again gives no day again, nor what a doubt holds of it (invariant
// I50); a grant that was revoked is another thing.
func TestAGrantGivenAgainKeepsItsDay(t *testing.T) {
	money := func(price int64) budget.Limit { return budget.Limit{Price: price, SpendPerDay: 20, Currency: "EUR"} }
	for name, limits := range map[string][2]budget.Limit{
		"calls":         {{PerDay: 2}, {PerDay: 2, PerMinute: 50}},
		"money":         {money(10), money(10)},
		"a lower price": {money(10), money(1)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBounded(t, limits[0], 1)
			app := b.apps[0]
			must(t, b.done(t, app, invocation.Event{Kind: invocation.Broken}))
			must(t, b.done(t, app, answered))
			again := b.grantWithin(t, app, b.resource, limits[1], "add")
			wantFault(t, b.done(t, app, answered), fault.BudgetExhausted)
			_, err := b.Revoke(t.Context(), b.owner, again)
			must(t, err)
			b.grantWithin(t, app, b.resource, limits[1], "add")
			must(t, b.done(t, app, answered))
			b.holds(t)
		})
	}
}
