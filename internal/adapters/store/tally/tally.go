// Package tally counts what calls use: how many a resource, a client on it and a
// grant had in the last minute, how many hold a place now, and how many a grant
// had today.
//
// The journal's rows are the truth: a minute is counted over an index of what was
// admitted, places over an index of the rows without an outcome, days in rows of
// their own, all in the transaction that admits the call (pool page, section 7;
// threats, A30). So that a call far below its bounds reads none of that, a Tally
// also keeps numbers in memory that are never less than the true ones; only where
// such a number is at a bound are the rows counted. It relies on being the only
// process of its database, and on the transactions of calls being run one after
// the other, which both hold for the store.
//
// A Tally holds at most gaugesMax gauges and lets go of those that are idle; where
// it has no room for one more, the rows are counted each time. One lock guards it;
// no statement runs under it.
package tally

import (
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Scope is what one call is counted under. Place is the number of its resource,
// and Grant is zero for the owner's own hand.
type Scope struct {
	Owner    id.Owner
	Client   id.Client
	Resource id.Resource
	Grant    id.Grant
	Place    int64
}

// Attempt names one take-up of a tx.
type Attempt struct {
	Client id.Client
	Tx     id.Tx
	Number int64
}

// Tally keeps the numbers of one process.
type Tally struct {
	mu     sync.Mutex
	gauges map[gaugeKey]*gauge
	open   map[Attempt]held
	blind  int       // open attempts that a gauge has not counted
	ready  bool      // no row of another process is open any more
	began  time.Time // of the first call since which all are counted; what was before is in the rows only
}

// New returns a tally that counts rows until Ready.
func New() *Tally { return &Tally{gauges: map[gaugeKey]*gauge{}, open: map[Attempt]held{}} }

// Ready says that every row of a dead process is settled, so that what is open
// from now on is known here.
func (t *Tally) Ready() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = true
}

// gaugeKey names an account by its owner alone, a resource by owner and resource, a
// client on it with the client, and a grant by owner and grant.
type gaugeKey struct {
	owner    id.Owner
	resource id.Resource
	client   id.Client
	grant    id.Grant
}

// gauge is never less than what the rows say. A minute is kept in periods, of
// which the oldest may be partly over.
type gauge struct {
	open    int64
	periods [periodsKept]period
	last    int64 // period of the newest call
}

type period struct{ number, calls int64 }

// held is where an open attempt is counted.
type held struct {
	gauges [4]*gauge
	blind  bool // not everywhere
}

const (
	gaugesMax   = 1 << 14
	periodTime  = 10 * time.Second
	periodsKept = 8 // a minute may touch seven
)

func periodOf(at time.Time) int64 { return at.UnixMilli() / periodTime.Milliseconds() }

func (g *gauge) add(p, calls int64) {
	at := &g.periods[p%periodsKept]
	if at.number != p {
		*at = period{number: p}
	}
	at.calls += calls
	g.last = max(g.last, p)
}

func (g *gauge) minute(now time.Time) (calls int64) {
	oldest := periodOf(budget.Since(now))
	for _, p := range g.periods {
		if p.number >= oldest {
			calls += p.calls
		}
	}
	return calls
}

func (g *gauge) idle(now time.Time) bool {
	return g.open == 0 && g.last < periodOf(budget.Since(now))
}

// Use tells what the call's bounds are held against: numbers that are at least the
// true ones where those fit, and else the true ones. Only the writer calls it.
func (t *Tally) Use(tx *sqldb.Tx, s Scope, n budget.Need, now time.Time) (budget.Usage, error) {
	var u budget.Usage
	var err error
	if n.Limit.Daily() {
		if u.Today, err = today(tx, s, now); err != nil {
			return u, err
		}
	}
	known, err := t.prepare(tx, s, n, now)
	if err != nil {
		return u, err
	}
	if known {
		t.read(s, &u, now)
		if budget.Admit(n, u, now) == nil {
			return u, nil
		}
	}
	return u, count(tx, s, n, &u, now)
}

func (s Scope) keys() [4]gaugeKey {
	grant := gaugeKey{owner: s.Owner, client: s.Client} // of the hand, which no grant bounds
	if !s.Grant.IsZero() {
		grant = gaugeKey{owner: s.Owner, grant: s.Grant}
	}
	return [4]gaugeKey{{owner: s.Owner}, {owner: s.Owner, resource: s.Resource}, {owner: s.Owner, resource: s.Resource, client: s.Client}, grant}
}

// prepare makes the gauges of a scope that are missing. What was admitted before
// this process began to count is read once for each of them.
func (t *Tally) prepare(tx *sqldb.Tx, s Scope, n budget.Need, now time.Time) (known bool, err error) {
	var fresh [4]*gauge
	t.mu.Lock()
	if t.began.IsZero() {
		t.began = now
	}
	missing := false
	for i, key := range s.keys() {
		if t.gauges[key] == nil {
			fresh[i], missing = &gauge{}, true
		}
	}
	before := budget.Since(now).Before(t.began)
	known = t.ready && t.blind == 0
	t.mu.Unlock()
	if !missing || !known {
		return known, nil
	}
	if before && n.Metered() {
		if err := seed(tx, s, fresh, now); err != nil {
			return false, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.gauges)+len(fresh) > gaugesMax {
		for key, g := range t.gauges {
			if g.idle(now) {
				delete(t.gauges, key)
			}
		}
	}
	if len(t.gauges)+len(fresh) > gaugesMax {
		return false, nil
	}
	for i, key := range s.keys() {
		if t.gauges[key] == nil {
			if fresh[i] == nil { // it was idle, and is not in the rows of the last minute
				fresh[i] = &gauge{}
			}
			t.gauges[key] = fresh[i]
		}
	}
	return true, nil
}

func (t *Tally) read(s Scope, u *budget.Usage, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	into := [4]*budget.Window{&u.Account, &u.Resource, &u.Client, &u.Grant}
	for i, key := range s.keys() {
		g := t.gauges[key]
		into[i].Minute, into[i].AtOnce = g.minute(now), g.open
	}
}

// Enter counts an admitted attempt, once however often its transaction is run. It
// holds a place until Leave, if it is open.
func (t *Tally) Enter(a Attempt, s Scope, open bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.open[a]; known {
		return
	}
	var h held
	for i, key := range s.keys() {
		g := t.gauges[key]
		if g == nil {
			h.blind, t.began = true, now // until it is over and a minute old, only the rows know of it
			continue
		}
		g.add(periodOf(now), 1)
		if open {
			g.open++
			h.gauges[i] = g
		}
	}
	if !open {
		return
	}
	if h.blind {
		t.blind++
	}
	t.open[a] = h
}

// Leave frees the place of an attempt that is over, or that was never written. One
// that is not known changes nothing.
func (t *Tally) Leave(a Attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.open[a]
	for _, g := range h.gauges {
		if g != nil {
			g.open--
		}
	}
	if h.blind {
		t.blind--
	}
	delete(t.open, a)
}

// Admitted is how a call of the place is found again in its minute; zero for one
// that is not looked for. Places are numbers below 2^19, times below 2^44.
func Admitted(s Scope, n budget.Need, at time.Time) int64 {
	if !n.Metered() {
		return 0
	}
	return s.Place<<timeBits | at.UnixMilli()
}

const timeBits = 44

// since are the numbers between which a place's calls of the last minute lie, the
// first of them excluded.
func since(s Scope, now time.Time) (after, last int64) {
	return s.Place<<timeBits | budget.Since(now).UnixMilli(), s.Place<<timeBits | (1<<timeBits - 1)
}

// free is when the place of a call with this deadline is free at the latest.
func free(deadline int64) time.Time {
	if deadline == 0 {
		return time.Time{}
	}
	return time.UnixMilli(deadline).Add(bound.CallGrace.Duration()).UTC()
}
