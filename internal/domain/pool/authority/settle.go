package authority

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Attempt names one take-up of one row by one process. Whoever moves a row must
// name the attempt that it is about, so that nothing old can move it.
type Attempt struct {
	Owner  id.Owner
	Client id.Client
	Tx     id.Tx
	Number int64
	Node   id.Node
	Epoch  int64
}

// AttemptOf names the attempt that a row is in.
func AttemptOf(r invocation.Row) Attempt {
	return Attempt{r.Owner, r.Client, r.Tx, r.Attempt, r.Node, r.Epoch}
}

// DecideMark sets the dispatch mark on a reserved row, after a look at live
// authority in the same transaction (invariants I38, I53, I54). Where authority
// is gone the row becomes not_dispatched and the fault says why.
func DecideMark(s Standing, row invocation.Row, c Caller, a Attempt, now time.Time) (invocation.Row, *fault.Fault) {
	if row.State != invocation.Reserved || AttemptOf(row) != a {
		return row, fault.New(fault.Conflict, "the call is no longer waiting to be dispatched")
	}
	bad := Authorize(s, c, now)
	if bad != nil {
		bad = mended(bad, c, row.Target)
	}
	if bad == nil && !now.Before(row.DeadlineAt) {
		bad = fault.New(fault.Unavailable, "the deadline passed before the call could be sent")
	}
	if bad != nil {
		return notSent(row, bad, now), bad
	}
	row.State, row.DispatchedAt = invocation.Dispatching, now
	return row, nil
}

// Settle carries what an executor did with one attempt.
type Settle struct {
	Attempt Attempt
	Verdict invocation.Verdict
	Outcome invocation.Outcome
	Late    bool // the attempt was settled as in doubt before
}

// DecideSettle writes the outcome of an attempt. A late clean answer of the same
// attempt ends a doubt; anything else that comes twice changes nothing
// (invariants I56, I64; proof, "Late answers").
func DecideSettle(row invocation.Row, c Settle, now time.Time) (invocation.Row, *fault.Fault) {
	stale := fault.New(fault.Conflict, "the call was settled before")
	if AttemptOf(row) != c.Attempt {
		return row, stale
	}
	if c.Late {
		return reconcileLate(row, c, now)
	}
	if !row.State.Unresolved() || !invocation.CanMove(row.State, c.Verdict.State) {
		return row, stale
	}
	if c.Verdict.State == invocation.NotDispatched {
		row = notSent(row, fault.New(c.Outcome.Code, c.Outcome.Text), now)
		row.Outcome.Detail = c.Outcome.Detail
		return row, nil
	}
	row.State, row.SettledAt, row.Outcome = c.Verdict.State, now, c.Outcome
	return row, nil
}

func notSent(row invocation.Row, why *fault.Fault, now time.Time) invocation.Row {
	row.State, row.SettledAt, row.DispatchedAt = invocation.NotDispatched, now, time.Time{}
	row.Outcome = invocation.Outcome{Code: why.Code, Text: why.Text, Effects: effect.NotDispatched}
	return row
}

// Contradicts reports whether a late clean answer says of a call that the owner ended
// the doubt about that it did happen after all, where the owner has said otherwise or
// nothing. The row stays as the owner has left it; the trail tells of the answer.
func Contradicts(row invocation.Row, c Settle) bool {
	return c.Late && AttemptOf(row) == c.Attempt && c.Verdict.State == invocation.Succeeded &&
		(row.State == invocation.ReconciledFailed || row.State == invocation.Abandoned)
}

// reconcileLate takes only a clean result for an end of the doubt. A late error
// may be no more than the upstream's word for our own cancellation, and says
// nothing about what was done before it.
func reconcileLate(row invocation.Row, c Settle, now time.Time) (invocation.Row, *fault.Fault) {
	if c.Verdict.State != invocation.Succeeded || !invocation.CanMove(row.State, invocation.ReconciledSucceeded) {
		return row, fault.New(fault.Conflict, "a late answer changes nothing here")
	}
	row.State, row.Outcome = invocation.ReconciledSucceeded, c.Outcome
	row.Reconciled = invocation.Reconciliation{By: "late_answer", At: now}
	return row, nil
}

// Statement is what the owner says about a call in doubt.
type Statement string

// The statements.
const (
	Happened   Statement = "happened"
	DidNot     Statement = "did-not"
	CannotTell Statement = "give-up"
)

// DecideReconcile ends a doubt by the owner's statement; only a row in doubt can
// be reconciled, and saying the same twice is no fault (pool page, section 6).
func DecideReconcile(row invocation.Row, say Statement, now time.Time) (invocation.Row, *fault.Fault) {
	var to invocation.State
	outcome := row.Outcome
	switch say {
	case Happened:
		to = invocation.ReconciledSucceeded
		outcome.Code, outcome.Text, outcome.Effects = "", "", effect.Reported
	case DidNot:
		to = invocation.ReconciledFailed
		outcome.Code, outcome.Text, outcome.Effects = fault.UpstreamFailed, "the owner found that it did not happen", effect.None
	case CannotTell:
		to = invocation.Abandoned
	default:
		return row, fault.Newf(fault.InvalidRequest, "say %s, %s or %s", Happened, DidNot, CannotTell)
	}
	if row.State == to {
		return row, nil
	}
	if !invocation.CanMove(row.State, to) {
		return row, fault.Newf(fault.Conflict, "the call is %s; only a call in doubt can be reconciled", row.State)
	}
	row.State, row.Outcome = to, outcome
	row.Reconciled = invocation.Reconciliation{By: "owner", At: now}
	return row, nil
}

// Classify settles a row that a dead process left behind: what was never marked
// was never sent, what was marked may have happened (invariant I57).
func Classify(row invocation.Row, now time.Time) invocation.Row {
	switch row.State {
	case invocation.Reserved:
		return notSent(row, fault.New(fault.Unavailable, "the host stopped before the call was sent"), now)
	case invocation.Dispatching:
		row.State, row.SettledAt = invocation.Indeterminate, now
		row.Outcome = invocation.Doubt(invocation.Restart)
	}
	return row
}

// Restored settles a row of a store that is a copy of an older time. What had no
// last word there may have got one since: it may have been sent, and what was not
// sent may have been taken up again. All of that is in doubt now (threats, A32).
func Restored(row invocation.Row, now time.Time) invocation.Row {
	if row.State.Settled() {
		return row
	}
	row.SettledAt, row.State = now, invocation.Indeterminate
	row.Outcome = invocation.Doubt(invocation.StoreRestored)
	return row
}

// Deliver is Reply for the very request that was executed. It was allowed to know
// the method when it was sent, so whatever it may not be told now, what it is told
// of effects is true (invariant I59).
func Deliver(s Standing, row invocation.Row, c Caller, now time.Time) invocation.Answer {
	a := Reply(s, row, c, now)
	if a.Invocation.IsZero() { // a refusal does not name the row
		a.Effects = row.Outcome.Effects
	}
	return a
}

// Reply gives the answer of a row to a caller whose authority is looked at now:
// without live authority the caller learns only whether it is over, and that it
// had an effect if it did (invariant I47; decisions 7 and 8).
func Reply(s Standing, row invocation.Row, c Caller, now time.Time) invocation.Answer {
	if bad := Authorize(s, c, now); bad != nil {
		effects := effectsTold(bad, &row)
		if effects == "" {
			effects = effect.None
		}
		return invocation.Refusal(row.Tx, withSettled(mended(bad, c, row.Target), &row), effects)
	}
	return row.Answer()
}
