package journal

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/tally"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Of a whole journal, once in the life of a copy.
const unended = "SELECT " + record.InvocationColumns + ", i.number FROM invocations i WHERE i.number > $1 " +
	"AND i.state IN ('reserved', 'dispatching', 'not_dispatched') ORDER BY i.number LIMIT $2"

// Restore puts every row of a copied store in doubt that had no last word when the
// copy was made, and says how many. It is run on a copy that nobody else has open,
// before Recover.
func (j *Journal) Restore(ctx context.Context) (int, error) {
	total, last := 0, int64(0)
	for {
		n, reached := 0, last
		err := j.ledger.Write(ctx, func(tx *ledger.Tx) error {
			reached = last
			rows, err := tx.Query(unended, last, recoverBatch)
			list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (invocation.Row, error) {
				return record.ScanInvocation(rows, &reached)
			})
			n = len(list)
			for _, row := range list {
				if err == nil && row.State == invocation.NotDispatched {
					err = tally.Hold(tx.Tx, row.Owner, row.Grant, row.ReservedAt)
				}
				if err == nil {
					err = j.settle(tx, audit.Interrupted, authority.Restored(row, tx.Now), "")
				}
			}
			return err
		})
		if err != nil || n == 0 {
			return total, err
		}
		total, last = total+n, reached
	}
}
