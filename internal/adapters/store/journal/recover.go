package journal

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// All rows of the index are unresolved, so that walking it is no walk of the
// journal. Every process but this one is dead, see ledger.Begin.
const leftBehind = "SELECT " + record.InvocationColumns + " FROM invocations i WHERE i.state IN ('reserved', 'dispatching') " +
	"AND NOT (i.node = $1 AND i.epoch = $2) LIMIT $3"

const recoverBatch = 500

// Recover settles every row that a dead process left unresolved. It is run
// before any door opens (invariant I57).
func (j *Journal) Recover(ctx context.Context) (view.Recovery, error) {
	var total view.Recovery
	for {
		var batch view.Recovery
		err := j.ledger.Write(ctx, func(tx *ledger.Tx) error {
			batch = view.Recovery{}
			rows, err := tx.Query(leftBehind, j.ledger.Node().String(), j.ledger.Epoch(), recoverBatch)
			list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (invocation.Row, error) { return record.ScanInvocation(rows) })
			if err != nil {
				return err
			}
			for _, row := range list {
				row = authority.Classify(row, tx.Now)
				if row.State == invocation.Indeterminate {
					batch.Indeterminate++
				} else {
					batch.NotDispatched++
				}
				if err := j.settle(tx, audit.Interrupted, row, ""); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		if batch == (view.Recovery{}) {
			j.tally.Ready()
			return total, nil
		}
		total.NotDispatched += batch.NotDispatched
		total.Indeterminate += batch.Indeterminate
	}
}
