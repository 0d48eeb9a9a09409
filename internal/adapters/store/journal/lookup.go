package journal

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Lookup tells what is recorded of the caller's own tx, after the same look at
// live authority as for a call. It changes nothing but the trail.
func (j *Journal) Lookup(ctx context.Context, c authority.Caller, which id.Tx) (invocation.Answer, error) {
	var row *invocation.Row
	var answer invocation.Answer
	err := j.ledger.Read(ctx, func(tx *ledger.Tx) (err error) {
		var s authority.Standing
		if row, s, err = j.memory.AttemptStanding(tx.Tx, c, which, tx.Now); err != nil {
			return err
		}
		if row == nil {
			if bad := authority.Authenticate(s, c, tx.Now); bad != nil {
				return bad
			}
			return authority.NotFound()
		}
		answer = authority.Reply(s, *row, c, tx.Now)
		return nil
	})
	if err != nil {
		j.deny(c, which, err, nil)
		return invocation.Answer{}, err
	}
	if answer.Invocation.IsZero() {
		j.deny(c, which, answer.Fault, nil) // a refusal does not name the row
		return answer, nil
	}
	answer.Replayed = answer.Status != invocation.Underway
	j.replayed(c, *row)
	return answer, nil
}
