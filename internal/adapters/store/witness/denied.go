package witness

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const denied = "SELECT e.at, e.client, COALESCE(c.name, ''), e.subject, e.detail, e.count FROM audit e " +
	"LEFT JOIN clients c ON c.owner = e.owner AND c.client = e.client WHERE e.kind = 'denied' AND e.owner = $1 ORDER BY e.entry DESC LIMIT $2"

// Refusals lists the newest attempts that were refused before the journal saw them,
// as the trail has them: those of an owner's apps, and those of nobody who is known.
func (w *Witness) Refusals(ctx context.Context, owner id.Owner, limit int) (list []view.Denial, err error) {
	_ = w.ledger.Flush(ctx) // what cannot be written now is not seen yet
	err = w.ledger.Read(ctx, func(tx *ledger.Tx) error {
		for _, of := range []string{owner.String(), ""} {
			rows, err := tx.Query(denied, of, limit)
			some, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (d view.Denial, err error) {
				err = rows.Scan(record.Moment(&d.At), record.Claimed(&d.Client), record.Word(&d.App), record.Word(&d.Subject), record.Word(&d.Code), record.Number(&d.Count))
				return d, err
			})
			if err != nil {
				return err
			}
			list = append(list, some...)
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b view.Denial) int { return cmp.Compare(b.At.UnixMilli(), a.At.UnixMilli()) })
	return list[:min(len(list), limit)], err
}
