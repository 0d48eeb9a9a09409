package budget_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/test/modelsize"
)

var now = time.Date(2026, 3, 1, 23, 59, 30, 0, time.UTC)

func TestEachBoundHoldsAtItsEdge(t *testing.T) {
	usual := budget.Usual()
	minute := func(n int64) budget.Window { return budget.Window{Minute: n, First: now.Add(-20 * time.Second)} }
	once := func(n int64) budget.Window { return budget.Window{AtOnce: n, Free: now.Add(7 * time.Second)} }
	cases := []struct {
		name    string
		ceiling budget.Ceiling
		limit   budget.Limit
		usage   budget.Usage
		owner   bool
		code    fault.Code
		scope   string
		wait    int64 // milliseconds
	}{
		{name: "nothing used", ceiling: usual},
		{name: "60th call of the minute", ceiling: usual, usage: budget.Usage{Resource: minute(59)}},
		{name: "61st", ceiling: usual, usage: budget.Usage{Resource: minute(60)}, code: fault.RateLimited, scope: "resource", wait: 40_000},
		{name: "third at once", ceiling: usual, usage: budget.Usage{Resource: once(2)}},
		{name: "the fourth is the owner's", ceiling: usual, usage: budget.Usage{Resource: once(3)}, code: fault.RateLimited, scope: "resource", wait: 1000},
		{name: "the owner takes it", ceiling: usual, usage: budget.Usage{Resource: once(3)}, owner: true},
		{name: "there is no fifth", ceiling: usual, usage: budget.Usage{Resource: once(4)}, owner: true, code: fault.RateLimited, scope: "resource", wait: 1000},
		{name: "one place is everybody's", ceiling: budget.Ceiling{AtOnce: 1}, usage: budget.Usage{Apps: 9}},
		{name: "three apps, one at once each and what the others leave", ceiling: usual, usage: budget.Usage{Apps: 3, Client: once(1), Resource: once(1)}},
		{name: "but the last, which waits for who has none", ceiling: usual, usage: budget.Usage{Apps: 3, Client: once(1), Resource: once(2)}, code: fault.RateLimited, scope: "share", wait: 1000},
		{name: "who has none takes it", ceiling: usual, usage: budget.Usage{Apps: 3, Resource: once(2)}},
		{name: "of many places a quarter waits", ceiling: budget.Ceiling{AtOnce: 101}, usage: budget.Usage{Apps: 50, Client: once(60), Resource: once(74)}},
		{name: "and no less", ceiling: budget.Ceiling{AtOnce: 101}, usage: budget.Usage{Apps: 50, Client: once(60), Resource: once(75)}, code: fault.RateLimited, scope: "share", wait: 1000},
		{name: "three apps, twenty a minute each", ceiling: usual, usage: budget.Usage{Apps: 3, Client: minute(19)}},
		{name: "and no more", ceiling: usual, usage: budget.Usage{Apps: 3, Client: minute(20)}, code: fault.RateLimited, scope: "share", wait: 40_000},
		{name: "fifty apps, ten a minute each", ceiling: usual, usage: budget.Usage{Apps: 50, Client: minute(9)}},
		{name: "the owner has no share", ceiling: usual, usage: budget.Usage{Apps: 50, Client: minute(50)}, owner: true},
		{name: "no ceiling", usage: budget.Usage{Apps: 3, Resource: minute(1 << 20), Client: once(200)}},
		{name: "the account", usage: budget.Usage{Account: once(256)}, code: fault.RateLimited, scope: "account", wait: 1000},
		{name: "a grant's minute", limit: budget.Limit{PerMinute: 5}, usage: budget.Usage{Grant: minute(5)}, code: fault.RateLimited, scope: "grant", wait: 40_000},
		{name: "a grant at once", limit: budget.Limit{AtOnce: 1}, usage: budget.Usage{Grant: once(1)}, code: fault.RateLimited, scope: "grant", wait: 1000},
		{name: "a grant's day", limit: budget.Limit{PerDay: 20}, usage: budget.Usage{Today: 19}},
		{name: "is over at midnight", limit: budget.Limit{PerDay: 20}, usage: budget.Usage{Today: 20}, code: fault.BudgetExhausted, scope: "grant", wait: 30_000},
		{name: "money to the last cent", limit: budget.Limit{Price: 5, SpendPerDay: 20, Currency: "EUR"}, usage: budget.Usage{Today: 3}},
		{name: "and one more", limit: budget.Limit{Price: 5, SpendPerDay: 24, Currency: "EUR"}, usage: budget.Usage{Today: 4}, code: fault.BudgetExhausted, scope: "grant", wait: 30_000},
		{name: "a price over the day's sum", limit: budget.Limit{Price: 5, SpendPerDay: 4, Currency: "EUR"}, code: fault.BudgetExhausted, scope: "grant", wait: 30_000},
	}
	for _, c := range cases {
		f := budget.Admit(budget.Needs(c.ceiling, c.limit, c.usage.Apps, c.owner), c.usage, now)
		if f == nil {
			if c.code != "" {
				t.Errorf("%s: admitted, want %s", c.name, c.code)
			}
			continue
		}
		if f.Code != c.code || f.Details["scope"] != c.scope || f.Details["retry_after_ms"] != c.wait {
			t.Errorf("%s: %v %v", c.name, f, f.Details)
		}
	}
}

// Less use never turns an admission into a refusal, which the store relies on
// when it holds a number that is at least the true one against a bound first. No
// app's part of a ceiling is larger than the ceiling.
func TestUsingLessIsNeverWorse(t *testing.T) {
	modelsize.Set(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 70)
		w := func(name string) budget.Window {
			return budget.Window{Minute: n.Draw(t, name), AtOnce: n.Draw(t, name), First: now.Add(-time.Second)}
		}
		u := budget.Usage{Apps: n.Draw(t, "apps"), Account: w("account"), Resource: w("resource"), Client: w("client"), Grant: w("grant"),
			Today: n.Draw(t, "today")}
		l := budget.Limit{PerMinute: n.Draw(t, "m"), AtOnce: n.Draw(t, "a"), PerDay: n.Draw(t, "d"), Price: 1, SpendPerDay: 1 + n.Draw(t, "s"), Currency: "EUR"}
		ceiling := budget.Ceiling{PerMinute: n.Draw(t, "ceiling"), AtOnce: n.Draw(t, "places")}
		need := budget.Needs(ceiling, l, u.Apps, rapid.Bool().Draw(t, "owner"))
		part := func(of int64) int64 { return rapid.Int64Range(0, of).Draw(t, "part") }
		less := u
		for _, w := range []*budget.Window{&less.Account, &less.Resource, &less.Client, &less.Grant} {
			w.Minute, w.AtOnce = part(w.Minute), part(w.AtOnce)
		}
		less.Today = part(u.Today)
		if budget.Admit(need, u, now) == nil && budget.Admit(need, less, now) != nil {
			t.Fatalf("%+v is admitted and %+v is not", u, less)
		}
		if need.Client.PerMinute > ceiling.PerMinute || need.Client.AtOnce > ceiling.AtOnce {
			t.Fatalf("a share of %+v of %+v", need.Client, ceiling)
		}
	})
}

func TestANewLimitGivesNoDayTwice(t *testing.T) {
	euro := func(price int64) budget.Limit { return budget.Limit{Price: price, SpendPerDay: 100, Currency: "EUR"} }
	for _, c := range []struct {
		calls    int64
		was, now budget.Limit
		want     int64
	}{
		{7, budget.Limit{PerDay: 9}, budget.Limit{PerDay: 20}, 7},
		{7, euro(5), euro(5), 7},
		{7, euro(5), euro(2), 18},
		{7, euro(2), euro(5), 7},
		{7, euro(2), budget.Limit{PerDay: 9}, 7},
		{7, euro(5), budget.Limit{Price: 1, SpendPerDay: 9, Currency: "USD"}, 7},
		{1 << 40, euro(1 << 40), euro(1), 1 << 40},
	} {
		if got := budget.Carried(c.calls, c.was, c.now); got != c.want {
			t.Errorf("%d calls of %+v are %d of %+v, want %d", c.calls, c.was, got, c.now, c.want)
		}
	}
}

func TestLimitsThatMeanNothingAreRefused(t *testing.T) {
	for l, ok := range map[budget.Limit]bool{
		{}: true, {PerMinute: 1, PerDay: 2}: true, {Price: 1, SpendPerDay: 10, Currency: "EUR"}: true,
		{PerDay: -1}: false, {PerDay: 1<<40 + 1}: false, {Price: 1}: false, {Price: 1, SpendPerDay: 1}: false,
		{Currency: "EUR"}: false, {Currency: "euros"}: false, {SpendPerDay: 5, Currency: "EUR"}: false,
		{Price: 1, SpendPerDay: 1, Currency: "euro"}: false, {Price: 1, SpendPerDay: 1, Currency: "eur"}: false,
	} {
		if err := l.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for c, ok := range map[budget.Ceiling]bool{budget.Usual(): true, {}: false, {PerMinute: 1, AtOnce: 1}: true, {PerMinute: 1 << 41, AtOnce: 1}: false} {
		if err := c.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
