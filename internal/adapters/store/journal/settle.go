package journal

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
)

// Settle writes the outcome of an attempt, once, and gives the answer that the
// caller may have now. An attempt that is over is a Conflict and changes nothing.
func (j *Journal) Settle(ctx context.Context, c authority.Caller, s authority.Settle) (invocation.Answer, error) {
	var answer invocation.Answer
	s.Outcome.Detail = resource.Visible(s.Outcome.Detail) // an upstream's words may hold what no text column does
	err := j.ledger.Write(ctx, func(tx *ledger.Tx) error {
		row, standing, err := j.attempted(tx, c, s.Attempt)
		if err != nil {
			return err
		}
		before := row
		row, bad := authority.DecideSettle(row, s, tx.Now)
		if bad != nil && authority.Contradicts(before, s) {
			if _, err := tx.Audit(audit.Entry{Owner: before.Owner, Client: before.Client, Kind: audit.Alarm, Subject: before.ID.String(), Detail: record.LateAnswer}); err != nil {
				return err
			}
			return tx.Refuse(bad)
		}
		if bad != nil {
			return bad
		}
		answer = authority.Deliver(standing, row, c, tx.Now)
		kind, withheld := audit.Called, ""
		if s.Late {
			kind = audit.Reconciled
		} else if answer.Invocation.IsZero() { // a refusal does not name the row
			withheld = string(answer.Fault.Code)
		}
		return j.settle(tx, kind, row, withheld)
	})
	if err != nil {
		return invocation.Answer{}, err // a refused move leaves the attempt as open as it was
	}
	j.ended(s.Attempt)
	return answer, nil
}

// settle writes a row's outcome and the row of the trail that pins it.
func (j *Journal) settle(tx *ledger.Tx, kind audit.Kind, row invocation.Row, withheld string) error {
	if err := refund(tx, row); err != nil {
		return err
	}
	told, err := tx.Audit(record.Telling(kind, row, withheld))
	if err != nil {
		return err
	}
	return j.memory.SettleInvocation(tx.Tx, row, told)
}
