package budget_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/ground/fault"
)

var now = time.Date(2026, 3, 1, 23, 59, 30, 0, time.UTC)

func TestEachBoundHoldsAtItsEdge(t *testing.T) {
	usual := budget.Usual()
	ago := now.Add(-20 * time.Second)
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
		{name: "60th call of the minute", ceiling: usual, usage: budget.Usage{Resource: budget.Window{Minute: 59, Oldest: ago}}},
		{name: "61st", ceiling: usual, usage: budget.Usage{Resource: budget.Window{Minute: 60, Oldest: ago}}, code: fault.RateLimited, scope: "resource", wait: 40_000},
		{name: "third at once", ceiling: usual, usage: budget.Usage{Resource: budget.Window{AtOnce: 2}}},
		{name: "the fourth is the owner's", ceiling: usual, usage: budget.Usage{Resource: budget.Window{AtOnce: 3}}, code: fault.RateLimited, scope: "resource", wait: 1000},
		{name: "the owner takes it", ceiling: usual, usage: budget.Usage{Resource: budget.Window{AtOnce: 3}}, owner: true},
		{name: "there is no fifth", ceiling: usual, usage: budget.Usage{Resource: budget.Window{AtOnce: 4}}, owner: true, code: fault.RateLimited, scope: "resource", wait: 1000},
		{name: "three apps, one at once each", ceiling: usual, usage: budget.Usage{Apps: 3, Client: budget.Window{AtOnce: 1}}, code: fault.RateLimited, scope: "share", wait: 1000},
		{name: "three apps, twenty a minute each", ceiling: usual, usage: budget.Usage{Apps: 3, Client: budget.Window{Minute: 19, Oldest: ago}}},
		{name: "and no more", ceiling: usual, usage: budget.Usage{Apps: 3, Client: budget.Window{Minute: 20, Oldest: ago}}, code: fault.RateLimited, scope: "share", wait: 40_000},
		{name: "fifty apps, ten a minute each", ceiling: usual, usage: budget.Usage{Apps: 50, Client: budget.Window{Minute: 9, Oldest: ago}}},
		{name: "no ceiling", usage: budget.Usage{Apps: 3, Resource: budget.Window{Minute: 1 << 20, AtOnce: 200}, Client: budget.Window{Minute: 1 << 20, AtOnce: 200}}},
		{name: "the account", usage: budget.Usage{Account: 256}, code: fault.RateLimited, scope: "account", wait: 1000},
		{name: "a grant's minute", limit: budget.Limit{PerMinute: 5}, usage: budget.Usage{Grant: budget.Window{Minute: 5, Oldest: ago}}, code: fault.RateLimited, scope: "grant", wait: 40_000},
		{name: "a grant at once", limit: budget.Limit{AtOnce: 1}, usage: budget.Usage{Grant: budget.Window{AtOnce: 1}}, code: fault.RateLimited, scope: "grant", wait: 1000},
		{name: "a grant's day", limit: budget.Limit{PerDay: 20}, usage: budget.Usage{Day: budget.Day{Calls: 19}}},
		{name: "is over at midnight", limit: budget.Limit{PerDay: 20}, usage: budget.Usage{Day: budget.Day{Calls: 20}}, code: fault.BudgetExhausted, scope: "grant", wait: 30_000},
		{name: "money to the last cent", limit: budget.Limit{Price: 5, SpendPerDay: 20, Currency: "EUR"}, usage: budget.Usage{Day: budget.Day{Spent: 15}}},
		{name: "and one more", limit: budget.Limit{Price: 5, SpendPerDay: 20, Currency: "EUR"}, usage: budget.Usage{Day: budget.Day{Spent: 16}}, code: fault.BudgetExhausted, scope: "grant", wait: 30_000},
	}
	for _, c := range cases {
		f := budget.Admit(c.ceiling, c.limit, c.usage, budget.Caller{Owner: c.owner}, now)
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

// Less use never turns an admission into a refusal, and no app's part of a
// ceiling is larger than the ceiling.
func TestUsingLessIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 70)
		w := func(name string) budget.Window {
			return budget.Window{Minute: n.Draw(t, name), AtOnce: n.Draw(t, name), Oldest: now.Add(-time.Second)}
		}
		u := budget.Usage{Apps: n.Draw(t, "apps"), Resource: w("resource"), Client: w("client"), Grant: w("grant"),
			Account: n.Draw(t, "account"), Day: budget.Day{Calls: n.Draw(t, "calls"), Spent: n.Draw(t, "spent")}}
		l := budget.Limit{PerMinute: n.Draw(t, "m"), AtOnce: n.Draw(t, "a"), PerDay: n.Draw(t, "d"), Price: 1, SpendPerDay: 1 + n.Draw(t, "s"), Currency: "EUR"}
		owner := budget.Caller{Owner: rapid.Bool().Draw(t, "owner")}
		less := u
		less.Resource.Minute, less.Client.AtOnce, less.Grant.Minute = u.Resource.Minute/2, u.Client.AtOnce/2, u.Grant.Minute/2
		less.Day.Calls, less.Day.Spent = u.Day.Calls/2, u.Day.Spent/2
		if budget.Admit(budget.Usual(), l, u, owner, now) == nil && budget.Admit(budget.Usual(), l, less, owner, now) != nil {
			t.Fatalf("%+v is admitted and %+v is not", u, less)
		}
	})
}

func TestLimitsThatMeanNothingAreRefused(t *testing.T) {
	for l, ok := range map[budget.Limit]bool{
		{}: true, {PerMinute: 1, PerDay: 2}: true, {Price: 1, SpendPerDay: 10, Currency: "EUR"}: true,
		{PerDay: -1}: false, {PerDay: 1<<40 + 1}: false, {Price: 1}: false, {Price: 1, SpendPerDay: 1}: false,
		{Currency: "EUR"}: false, {SpendPerDay: 5, Currency: "EUR"}: false, {Price: 1, SpendPerDay: 1, Currency: "euro"}: false,
	} {
		if err := l.Check(); (err == nil) != ok {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
