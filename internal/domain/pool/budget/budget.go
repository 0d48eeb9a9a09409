// Package budget says how much may be used: how many calls a minute and at once,
// how many a day, how much a day. Ceilings protect a resource from everybody,
// shares protect apps from each other, and a grant's own budget protects the
// owner from one app (pool page, section 7; decision 9).
//
// What is used is counted by the store inside the transaction of each call, so a
// decision is never older than what it counts. A call in doubt keeps what it
// took; one of which nothing was sent gives it back; a refused call takes
// nothing.
package budget

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Ceiling bounds a resource, whoever calls. A zero number is no bound.
type Ceiling struct {
	PerMinute int64
	AtOnce    int64
}

// Usual is the ceiling of a resource behind an outside executor, which only an
// operator's explicit setting raises (draft, importer ceilings).
func Usual() Ceiling {
	return Ceiling{PerMinute: bound.ResourcePerMinute.Max, AtOnce: bound.ResourceAtOnce.Max}
}

// Limit is the budget of one grant. A zero number is no bound of that kind.
// Price is what one call costs at most, in minor units of Currency (ISO 4217);
// SpendPerDay bounds the sum.
type Limit struct {
	PerMinute   int64
	AtOnce      int64
	PerDay      int64
	Price       int64
	SpendPerDay int64
	Currency    string
}

// IsZero reports whether the limit bounds nothing.
func (l Limit) IsZero() bool { return l == Limit{} }

// Check refuses limits that mean nothing.
func (l Limit) Check() error {
	for _, n := range []int64{l.PerMinute, l.AtOnce, l.PerDay, l.Price, l.SpendPerDay} {
		if n < 0 || n > bound.BudgetMost.Max {
			return fault.Newf(fault.InvalidRequest, "a budget is a number from 0 to %d", bound.BudgetMost.Max)
		}
	}
	money := l.Price > 0 || l.SpendPerDay > 0
	if money != (len(l.Currency) == 3) || money && (l.Price == 0 || l.SpendPerDay == 0) {
		return fault.New(fault.InvalidRequest, "money needs a price a call, a sum a day and a currency of three letters")
	}
	return nil
}

// Window counts calls that were admitted: in the last sixty seconds, of which
// Oldest is the first, and those that have no outcome yet.
type Window struct {
	Minute int64
	Oldest time.Time
	AtOnce int64
}

// Day is what a grant has used of the current day, which ends at midnight UTC.
type Day struct {
	Calls int64
	Spent int64
}

// Usage is everything that a decision counts.
type Usage struct {
	Apps     int64  // apps that the resource is assigned to
	Resource Window // of everybody on the resource
	Client   Window // of the caller on the resource
	Account  int64  // of the owner's whole pool, without an outcome yet
	Grant    Window // under the grant
	Day      Day    // of the grant
}

// Caller says whose call is counted.
type Caller struct {
	Owner bool // the owner's own hand
}

// Admit says whether one more call fits. The fault says when it is worth another
// try.
func Admit(c Ceiling, l Limit, u Usage, who Caller, now time.Time) *fault.Fault {
	if u.Account >= bound.AccountAtOnce.Max {
		return busy("account", bound.AccountAtOnce.Max)
	}
	if f := admitCeiling(c, u, who, now); f != nil {
		return f
	}
	if f := window("grant", l.PerMinute, l.AtOnce, u.Grant, now); f != nil {
		return f
	}
	return admitDay(l, u.Day, now)
}

// admitCeiling keeps one call at once for the owner, and gives each app its part
// of the rest, so that none of them can take it all.
func admitCeiling(c Ceiling, u Usage, who Caller, now time.Time) *fault.Fault {
	if who.Owner {
		return window("resource", c.PerMinute, c.AtOnce, u.Resource, now)
	}
	forApps := c
	if c.AtOnce > 1 {
		forApps.AtOnce--
	}
	if f := window("resource", forApps.PerMinute, forApps.AtOnce, u.Resource, now); f != nil {
		return f
	}
	return window("share", share(c.PerMinute, u.Apps, leastPerMinute), share(forApps.AtOnce, u.Apps, leastAtOnce), u.Client, now)
}

const (
	leastPerMinute = 10
	leastAtOnce    = 1
)

// share is one app's part of a bound, and no less than the least.
func share(bound, apps, least int64) int64 {
	if bound == 0 || apps < 2 {
		return bound
	}
	return min(bound, max(least, bound/apps))
}

func window(scope string, perMinute, atOnce int64, w Window, now time.Time) *fault.Fault {
	if atOnce > 0 && w.AtOnce >= atOnce {
		return busy(scope, atOnce)
	}
	if perMinute > 0 && w.Minute >= perMinute {
		resets := w.Oldest.Add(time.Minute)
		return limited(fault.RateLimited, "too many calls in a minute", scope, perMinute, resets, now)
	}
	return nil
}

func busy(scope string, most int64) *fault.Fault {
	return fault.New(fault.RateLimited, "too many calls at once; try again when one has ended").
		With("scope", scope).With("limit", most).With("retry_after_ms", int64(1000))
}

func admitDay(l Limit, d Day, now time.Time) *fault.Fault {
	midnight := Today(now).AddDate(0, 0, 1)
	if l.PerDay > 0 && d.Calls >= l.PerDay {
		return limited(fault.BudgetExhausted, "the day's calls are used up", "grant", l.PerDay, midnight, now)
	}
	if l.SpendPerDay > 0 && d.Spent+l.Price > l.SpendPerDay {
		return limited(fault.BudgetExhausted, "the day's money is used up", "grant", l.SpendPerDay, midnight, now).
			With("currency", l.Currency)
	}
	return nil
}

func limited(code fault.Code, text, scope string, limit int64, resets, now time.Time) *fault.Fault {
	return fault.New(code, text).With("scope", scope).With("limit", limit).
		With("resets_at", resets.UTC().Format(time.RFC3339)).
		With("retry_after_ms", max(0, resets.Sub(now).Milliseconds()))
}

// Today is the start of the day that a time lies in, in UTC.
func Today(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour) }
