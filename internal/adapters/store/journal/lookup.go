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
			var told bool
			f := authority.CallFacts{Standing: s, Restored: j.ledger.Restored()}
			if answer, told = authority.Unknown(f, c, which, false, tx.Now); !told {
				return authority.NotFound()
			}
			return nil
		}
		answer = authority.Reply(s, *row, c, tx.Now)
		return nil
	})
	if err != nil {
		j.deny(c, which, invocation.Target{}, err, nil)
		return invocation.Answer{}, err
	}
	if answer.Invocation.IsZero() {
		j.deny(c, which, invocation.Target{}, answer.Fault, nil) // a refusal does not name the row
		return answer, nil
	}
	answer.Replayed = answer.Status != invocation.Underway
	j.replayed(c, *row)
	return answer, nil
}

// Recall answers a call that could not be decided, because nothing can be written
// now, from what is recorded of its tx; false where nothing of it was sent. It writes
// nothing, into the trail neither.
func (j *Journal) Recall(ctx context.Context, c authority.Call) (answer invocation.Answer, known bool, err error) {
	err = j.ledger.Read(ctx, func(tx *ledger.Tx) error {
		row, s, err := j.memory.AttemptStanding(tx.Tx, c.Caller, c.Tx, tx.Now)
		if err != nil {
			return err
		}
		f := authority.CallFacts{Standing: s, Row: row, Restored: j.ledger.Restored()}
		answer, known = authority.Recall(f, c, tx.Now)
		return nil
	})
	if err != nil {
		return invocation.Answer{}, false, err
	}
	return answer, known, nil
}
