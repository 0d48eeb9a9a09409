package journal

import (
	"context"
	"errors"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Reserve decides about a call and writes its row. A fault means that nothing
// may be dispatched; a refusal may have put a question to the owner, and its
// changes hold no more than what is known of the call's effects.
func (j *Journal) Reserve(ctx context.Context, c authority.Call) (authority.CallChanges, error) {
	var d decided
	err := j.ledger.Write(ctx, func(tx *ledger.Tx) (err error) {
		if d, err = j.decide(tx, c); err != nil || d.refusal != nil {
			return err
		}
		if d.Action == authority.Replay {
			return nil
		}
		tx.TakenUp(d.Row.Owner, d.Row.ID, d.Row.Attempt, d.Row.State == invocation.Dispatching)
		if err := j.spend(tx, d, true); err != nil {
			return err
		}
		if d.Taken {
			return j.memory.RetakeInvocation(tx.Tx, d.admitted(), d.Row, c.Args)
		}
		return j.memory.ReserveInvocation(tx.Tx, d.number, d.admitted(), d.Row, c.Args)
	})
	if err != nil {
		if !errors.Is(err, sqldb.ErrUnknown) {
			j.ended(authority.AttemptOf(d.Row))
		}
		j.deny(c.Caller, c.Tx, d.named, err, d.refusal)
		return authority.CallChanges{Known: d.Known}, err
	}
	j.memory.Keep(d.read)
	if d.Action == authority.Replay {
		j.replayed(c.Caller, d.Row)
	}
	return d.CallChanges, nil
}

// Mark sets the dispatch mark on a reserved row after another look at live
// authority. Without it the row becomes not_dispatched.
func (j *Journal) Mark(ctx context.Context, c authority.Caller, a authority.Attempt) (invocation.Row, error) {
	var row invocation.Row
	var refusal *fault.Fault
	err := j.ledger.Write(ctx, func(tx *ledger.Tx) error {
		refusal = nil
		before, s, err := j.attempted(tx, c, a)
		if err != nil {
			return err
		}
		after, bad := authority.DecideMark(s, before, c, a, tx.Now)
		row = after
		switch {
		case bad == nil:
			tx.TakenUp(row.Owner, row.ID, row.Attempt, true)
			return record.MarkInvocation(tx.Tx, row)
		case after.State == before.State:
			return bad
		}
		refusal = bad
		if err := j.settle(tx, audit.Called, row, ""); err != nil {
			return err
		}
		return tx.Refuse(bad)
	})
	if err != nil {
		if refusal != nil && errors.Is(err, refusal) {
			j.ended(a)
		}
		j.deny(c, a.Tx, invocation.Target{}, err, refusal)
		return invocation.Row{}, err
	}
	return row, nil
}

// attempted loads the row that an attempt is about, and the standing for it.
// Where there is no row, no decision about the zero row can succeed.
func (j *Journal) attempted(tx *ledger.Tx, c authority.Caller, a authority.Attempt) (invocation.Row, authority.Standing, error) {
	if a.Owner != c.Owner || a.Client != c.Client {
		return invocation.Row{}, authority.Standing{}, fault.New(fault.Conflict, "the attempt is another caller's")
	}
	r, s, err := j.memory.AttemptStanding(tx.Tx, c, a.Tx, tx.Now)
	if err != nil || r == nil {
		return invocation.Row{}, s, err
	}
	return *r, s, nil
}
