// Package budget says how much may be used: how many calls a minute and at once,
// how many a day, how much money a day. Ceilings protect a resource from
// everybody, shares protect apps from each other, and a grant's own budget
// protects the owner from one app (pool page, section 7; decision 9).
//
// What is used is counted inside the transaction of each call, so a decision is
// never older than what it counts. A call in doubt keeps what it took of a day;
// one of which nothing was sent gives it back; a refused call takes nothing. A
// minute counts each call that was admitted, whatever came of it; one of which
// nothing was sent and that is admitted again counts where it was last. A place among
// the calls at once is free when the call is over, or when its deadline and the
// grace have passed. A grant that takes a standing one's place goes on with its day.
// Everything here is a plain value.
package budget

import (
	"math/bits"
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

// Check refuses a ceiling that lets nothing through or that nobody means.
func (c Ceiling) Check() error {
	for _, n := range []int64{c.PerMinute, c.AtOnce} {
		if n < 1 || n > bound.BudgetMost.Max {
			return fault.Newf(fault.InvalidRequest, "a ceiling is a number from 1 to %d", bound.BudgetMost.Max)
		}
	}
	return nil
}

// Limit is the budget of one grant. A zero number is no bound of that kind.
// Price is what one call costs at most, in minor units of Currency (ISO 4217);
// SpendPerDay bounds the sum. Days end at midnight UTC.
type Limit struct {
	PerMinute   int64  `json:"per_minute,omitzero"`
	AtOnce      int64  `json:"at_once,omitzero"`
	PerDay      int64  `json:"per_day,omitzero"`
	Price       int64  `json:"price,omitzero"`
	SpendPerDay int64  `json:"spend_per_day,omitzero"`
	Currency    string `json:"currency,omitzero"`
}

// IsZero reports whether the limit bounds nothing.
func (l Limit) IsZero() bool { return l == Limit{} }

// Daily reports whether the calls of a day have to be counted.
func (l Limit) Daily() bool { return l.PerDay > 0 || l.SpendPerDay > 0 }

// Check refuses limits that mean nothing.
func (l Limit) Check() error {
	for _, n := range []int64{l.PerMinute, l.AtOnce, l.PerDay, l.Price, l.SpendPerDay} {
		if n < 0 || n > bound.BudgetMost.Max {
			return fault.Newf(fault.InvalidRequest, "a budget is a number from 0 to %d", bound.BudgetMost.Max)
		}
	}
	money := l.Price > 0 || l.SpendPerDay > 0
	if money != isCurrency(l.Currency) || !money && l.Currency != "" || money && (l.Price == 0 || l.SpendPerDay == 0) {
		return fault.New(fault.InvalidRequest, "money needs a price a call, a sum a day and a currency of three capital letters")
	}
	return nil
}

func isCurrency(text string) bool {
	for _, c := range []byte(text) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return len(text) == 3
}

// Window is what was used lately. Minute counts the calls that were admitted in
// the last sixty seconds, as far as anybody asks; First is the oldest of those
// counted, with whose minute there is room again. AtOnce counts the calls that
// hold a place now, the first of which is free at Free at the latest.
type Window struct {
	Minute int64
	First  time.Time
	AtOnce int64
	Free   time.Time
}

// Usage is everything that a decision counts.
type Usage struct {
	Apps     int64  // apps that the resource is assigned to
	Account  Window // of the owner's whole pool; its minute is not bounded
	Resource Window // of everybody on the resource
	Client   Window // of the caller on the resource
	Grant    Window // under the grant
	Today    int64  // calls under the grant that the current day holds
}

// Need is what bounds one call: the numbers at which each window is full, zero
// where none is, and the grant's limits of a day.
type Need struct {
	Account  Ceiling
	Resource Ceiling
	Client   Ceiling
	Grant    Ceiling
	Limit    Limit
}

// Needs derives the bounds of a call. Of the ceiling's places at once one is kept
// for the owner's own hand, and each app has its part of the rest to count on, so
// that none of them can take it all: at least one at once and ten a minute.
func Needs(c Ceiling, l Limit, apps int64, owner bool) Need {
	n := Need{
		Account:  Ceiling{AtOnce: bound.AccountAtOnce.Max},
		Resource: c, Limit: l,
		Grant: Ceiling{PerMinute: l.PerMinute, AtOnce: l.AtOnce},
	}
	if owner {
		return n
	}
	if c.AtOnce > 1 {
		n.Resource.AtOnce--
	}
	n.Client = Ceiling{PerMinute: share(c.PerMinute, apps, leastPerMinute), AtOnce: share(n.Resource.AtOnce, apps, leastAtOnce)}
	return n
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

// borrows reports whether an app may have more places than its share: what the
// others leave, but for a quarter, and one at least, which waits for who has less.
func borrows(places, used int64) bool { return used < places-max(1, places/4) }

// soon is when a call that found no place is worth another try.
const soon = time.Second

// Metered reports whether a minute of the call has to be found again.
func (n Need) Metered() bool { return n.Resource.PerMinute > 0 || n.Grant.PerMinute > 0 }

// Admit says whether one more call fits. The fault says which bound it would be
// over and when it is worth another try. Where it admits a use, it admits every
// smaller one.
func Admit(n Need, u Usage, now time.Time) *fault.Fault {
	for _, w := range []struct {
		scope string
		most  Ceiling
		used  Window
	}{
		{"account", n.Account, u.Account}, {"resource", n.Resource, u.Resource}, {"share", n.Client, u.Client}, {"grant", n.Grant, u.Grant},
	} {
		if w.most.AtOnce > 0 && w.used.AtOnce >= w.most.AtOnce && !(w.scope == "share" && borrows(n.Resource.AtOnce, u.Resource.AtOnce)) {
			f := limited(fault.RateLimited, "too many calls at once; try again when one has ended", w.scope, w.most.AtOnce, w.used.Free, now)
			return f.RetryAfter(min(soon, w.used.Free.Sub(now))) // most calls end long before they must
		}
		if w.most.PerMinute > 0 && w.used.Minute >= w.most.PerMinute {
			return limited(fault.RateLimited, "too many calls in a minute", w.scope, w.most.PerMinute, w.used.First.Add(time.Minute), now)
		}
	}
	return admitDay(n.Limit, u.Today, now)
}

func admitDay(l Limit, today int64, now time.Time) *fault.Fault {
	midnight := Today(now).AddDate(0, 0, 1)
	if l.PerDay > 0 && today >= l.PerDay {
		return limited(fault.BudgetExhausted, "the day's calls are used up", "grant", l.PerDay, midnight, now)
	}
	// By division, since the product of two numbers may be none.
	if l.SpendPerDay > 0 && today >= l.SpendPerDay/l.Price {
		return limited(fault.BudgetExhausted, "the day's money is used up", "grant", l.SpendPerDay, midnight, now).
			With("currency", l.Currency)
	}
	return nil
}

// Carried is how many calls of the day a grant begins with that takes the place of one
// with another limit, so that neither the calls nor the money of the day are given
// twice. Money is counted in calls at the new price, rounded up; sums in two
// currencies are not compared.
func Carried(calls int64, was, now Limit) int64 {
	if was.Price <= now.Price || now.Price == 0 || was.Currency != now.Currency {
		return calls
	}
	high, low := bits.Mul64(uint64(max(calls, 0)), uint64(was.Price))
	most := uint64(bound.BudgetMost.Max)
	if high >= uint64(now.Price) {
		return bound.BudgetMost.Max
	}
	n, rest := bits.Div64(high, low, uint64(now.Price))
	if rest > 0 {
		n++
	}
	return int64(min(n, most))
}

func limited(code fault.Code, text, scope string, most int64, resets, now time.Time) *fault.Fault {
	if !resets.After(now) {
		resets = now.Add(time.Millisecond)
	}
	return fault.New(code, text).With("scope", scope).With("limit", most).
		With("resets_at", resets.UTC().Format("2006-01-02T15:04:05.000Z")).
		RetryAfter(resets.Sub(now))
}

// Today is the start of the day that a time lies in, in UTC.
func Today(now time.Time) time.Time { return now.UTC().Truncate(24 * time.Hour) }

// Since is the moment behind which a minute's calls count now: a call admitted
// just then counts no more.
func Since(now time.Time) time.Time { return now.Add(-time.Minute) }
