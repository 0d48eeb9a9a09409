// Package operation remembers which operation IDs were used and what became of
// them (sessions page, sections 2, 3 and 5), so that no mutation runs twice.
//
//	pending -> accepted -> settled -> expired -> (forgotten)
//	       \______________/   600 s      1,200 s after it was settled
//
// An ID that was admitted is refused ever after, until it is forgotten. A full
// table refuses new operations; nothing is forgotten early, or a duplicate would
// run again. Results hold no secret: that is for whoever settles to see to.
//
// A Table has one owner. At the exact instant, expiry wins.
package operation

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// State is where an operation stands.
type State string

// The states.
const (
	Pending  State = "pending"
	Accepted State = "accepted"
	Settled  State = "settled"
	Expired  State = "expired"
	Unknown  State = "unknown"
)

// Entry is what is remembered of one operation.
type Entry struct {
	ID      string
	Method  string
	Session string // empty where the method has none
	State   State
	Result  any          // of Accepted and of a Settled one that succeeded
	Fault   *fault.Fault // of a Settled one that failed
	settled time.Time
}

// Table holds every remembered operation. The zero value is not usable; use New.
type Table struct {
	byID  map[string]*Entry
	live  []*Entry // settled, in the order of their instants
	tombs []*Entry // expired, in the order of their instants
}

// New returns an empty table.
func New() *Table { return &Table{byID: map[string]*Entry{}} }

// Check refuses an ID that was used: operation_already_known.
func (t *Table) Check(id string) error {
	if t.byID[id] != nil {
		return fault.New(fault.OperationAlreadyKnown, "the operation is known")
	}
	return nil
}

// Begin consumes an ID. The faults are operation_already_known and, where the
// table is full, limit_exceeded. The last bound.OperationReserve places are for
// operations that end what began: results and Stop.
func (t *Table) Begin(id, method, session string, ends bool) error {
	if err := t.Check(id); err != nil {
		return err
	}
	places := len(t.byID) + 1
	if !ends {
		places += bound.OperationReserve.Int()
	}
	if err := bound.Operations.Check(places); err != nil {
		return err
	}
	t.byID[id] = &Entry{ID: id, Method: method, Session: session, State: Pending}
	return nil
}

// Accept notes that a pending operation goes on after its answer.
func (t *Table) Accept(id string, result any) {
	if e := t.byID[id]; e != nil && e.State == Pending {
		e.State, e.Result = Accepted, result
	}
}

// Settle notes how an operation ended, once; the fault is nil on success.
func (t *Table) Settle(id string, result any, f *fault.Fault, now time.Time) {
	e := t.byID[id]
	if e == nil || e.State != Pending && e.State != Accepted {
		return
	}
	e.State, e.Result, e.Fault, e.settled = Settled, result, f, now
	if f != nil {
		e.Result = nil
	}
	t.live = append(t.live, e)
}

// Lookup gives what is remembered of an ID; of one that is not, the state Unknown.
func (t *Table) Lookup(id string) Entry {
	if e := t.byID[id]; e != nil {
		return *e
	}
	return Entry{ID: id, State: Unknown}
}

// Len is how many operations are remembered.
func (t *Table) Len() int { return len(t.byID) }

// Expire drops outcomes and IDs whose time is over.
func (t *Table) Expire(now time.Time) {
	for len(t.live) > 0 && !now.Before(t.live[0].settled.Add(bound.OutcomeLife.Duration())) {
		e := t.live[0]
		t.live = t.live[1:]
		e.State, e.Result, e.Fault = Expired, nil, nil
		t.tombs = append(t.tombs, e)
	}
	for len(t.tombs) > 0 && !now.Before(t.tombs[0].settled.Add(bound.TombstoneLife.Duration())) {
		delete(t.byID, t.tombs[0].ID)
		t.tombs = t.tombs[1:]
	}
}

// Next is the next instant at which Expire has something to do.
func (t *Table) Next() (at time.Time, ok bool) {
	if len(t.tombs) > 0 {
		at, ok = t.tombs[0].settled.Add(bound.TombstoneLife.Duration()), true
	}
	if len(t.live) > 0 {
		if first := t.live[0].settled.Add(bound.OutcomeLife.Duration()); !ok || first.Before(at) {
			at, ok = first, true
		}
	}
	return at, ok
}
