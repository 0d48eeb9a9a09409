// Package invocation holds the life of one journalled call: its states, the
// legal moves between them, what an executor's event means, and the answer that
// a settled row gives for ever.
//
// The promise that the whole product rests on is in the table of moves: of all
// attempts of a row at most one is ever sent, since a mark is taken back only by
// the process that knows that no byte went out; and a doubt ends only by the
// owner's statement or a late answer of the same attempt, never by age, restart or
// a new tx (pool page, section 6). Everything here is a plain value; the store keeps
// the rows and the dispatch service moves them.
package invocation

import "slices"

// State is where a journal row stands.
type State string

// The states of a row (pool page, section 6).
const (
	Reserved            State = "reserved"       // durable, nothing sent, waits for its executor
	Dispatching         State = "dispatching"    // the mark is durable; bytes may be out
	Succeeded           State = "succeeded"      // the executor answered
	Failed              State = "failed"         // the executor answered with a failure
	NotDispatched       State = "not_dispatched" // no byte went out; the same tx may take it up again
	Indeterminate       State = "indeterminate"  // it may have happened
	ReconciledSucceeded State = "reconciled_succeeded"
	ReconciledFailed    State = "reconciled_failed"
	Abandoned           State = "abandoned" // the owner gave up finding out
)

// moves is the table of legal moves; what is absent is illegal.
var moves = map[State][]State{
	Reserved:      {Dispatching, NotDispatched},
	NotDispatched: {Reserved, Dispatching},
	Dispatching:   {Succeeded, Failed, Indeterminate, NotDispatched},
	Indeterminate: {ReconciledSucceeded, ReconciledFailed, Abandoned},
}

// CanMove reports whether a row may go from one state to another.
func CanMove(from, to State) bool { return slices.Contains(moves[from], to) }

// States lists every state, for tables and tests. The caller owns the slice.
func States() []State {
	return []State{Reserved, Dispatching, Succeeded, Failed, NotDispatched, Indeterminate,
		ReconciledSucceeded, ReconciledFailed, Abandoned}
}

// Unresolved reports whether a process that dies now leaves the row in doubt.
func (s State) Unresolved() bool { return s == Reserved || s == Dispatching }

// Settled reports whether the row has its outcome.
func (s State) Settled() bool { return !s.Unresolved() && s != NotDispatched }
