package witness

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const labelled = "SELECT r.label, (SELECT COUNT(*) FROM methods m WHERE m.owner = r.owner AND m.resource = r.resource AND m.method = $3) " +
	"FROM resources r WHERE r.owner = $1 AND r.resource = $2"

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
		for i := range list {
			if err := split(tx, owner, &list[i]); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b view.Denial) int { return cmp.Compare(b.At.UnixMilli(), a.At.UnixMilli()) })
	return list[:min(len(list), limit)], err
}

// split takes apart what an attempt was about.
func split(tx *ledger.Tx, owner id.Owner, d *view.Denial) error {
	parts := strings.Fields(d.Subject)
	if len(parts) < 2 {
		return nil
	}
	d.Subject, d.ResourceID = parts[0], parts[1]
	if len(parts) > 2 {
		d.Method = parts[2]
	}
	var methods int64
	_, err := tx.One(labelled, []any{owner.String(), d.ResourceID, d.Method}, record.Word(&d.Resource), record.Number(&methods))
	d.Offered = methods > 0
	return err
}
