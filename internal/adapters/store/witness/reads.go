package witness

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const reads = "SELECT e.at, e.client, COALESCE(c.name, ''), COALESCE(r.label, ''), e.detail, e.count FROM audit e " +
	"LEFT JOIN clients c ON c.owner = e.owner AND c.client = e.client " +
	"LEFT JOIN resources r ON r.owner = e.owner AND r.resource = e.subject WHERE e.kind = 'read' AND e.owner = $1 ORDER BY e.entry DESC LIMIT $2"

// Reads lists the newest reads of resources, as the trail has them.
func (w *Witness) Reads(ctx context.Context, owner id.Owner, limit int) (list []view.Reading, err error) {
	_ = w.ledger.Flush(ctx) // what cannot be written now is not seen yet
	err = w.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(reads, owner.String(), limit)
		list, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (r view.Reading, err error) {
			err = rows.Scan(record.Moment(&r.At), record.Claimed(&r.Client), record.Word(&r.App), record.Word(&r.Resource), record.Word(&r.Outcome), record.Number(&r.Count))
			return r, err
		})
		return err
	})
	return list, err
}
