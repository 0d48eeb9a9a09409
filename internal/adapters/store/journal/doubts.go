package journal

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
)

// All rows of the index are in doubt, and somebody has to end each by hand.
const doubts = "SELECT COUNT(*), COALESCE(MIN(i.settled_at), 0) FROM invocations i WHERE i.state = 'indeterminate'"

// Doubts counts the calls in doubt of all owners, and says since when the oldest is.
func (j *Journal) Doubts(ctx context.Context) (n int64, oldest time.Time, err error) {
	var at int64
	err = j.ledger.Read(ctx, func(tx *ledger.Tx) error {
		_, err := tx.One(doubts, nil, &n, &at)
		return err
	})
	return n, time.UnixMilli(at).UTC(), err
}
