package holdings

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	deferralRows = "SELECT contract, method, method_digest, binding_digest, answer, answered_at FROM deferrals WHERE owner = $1 AND resource = $2"
	putDeferral  = "INSERT INTO deferrals (owner, resource, contract, method, method_digest, binding_digest, answer, answered_at) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (owner, resource, contract, method) " +
		"DO UPDATE SET method_digest = $5, binding_digest = $6, answer = $7, answered_at = $8"
)

func deferralsOf(tx *ledger.Tx, owner id.Owner, which id.Resource) ([]view.Deferral, error) {
	rows, err := tx.Query(deferralRows, owner.String(), which.String())
	return sqldb.Collect(rows, err, func(rows *sql.Rows) (d view.Deferral, err error) {
		err = rows.Scan(record.Word(&d.Contract), record.Word(&d.Method), record.Text(&d.Pin.Method), record.Text(&d.Pin.Binding),
			record.Word(&d.Say), record.Moment(&d.At))
		return d, err
	})
}

// Defer remembers what the owner said to proposals without saying yes, as they were
// shown. It touches nobody's authority: what waits is as much off as before.
func (h *Holdings) Defer(ctx context.Context, owner id.Owner, which id.Resource, shown digest.Digest, methods []string, say view.Say) error {
	return h.ledger.Write(ctx, func(tx *ledger.Tx) error {
		r, err := resourceOf(tx, owner, which)
		if err != nil {
			return err
		}
		waits := map[string]resource.Method{}
		all := make([]resource.Method, len(r.Methods))
		for i, k := range r.Methods {
			all[i] = k.Method
			if k.Method.State == resource.Proposed || k.Method.State == resource.NeedsConsent {
				waits[k.Method.Definition.ID] = k.Method
			}
		}
		if authority.ReviewDigest(r.Row, all) != shown {
			return fault.New(fault.Conflict, "the definitions changed since they were shown; look at them again")
		}
		for _, name := range methods {
			m, ok := waits[name]
			if !ok {
				return fault.Newf(fault.Conflict, "no method %s waits for an answer", resource.Visible(name))
			}
			pin := m.Pin()
			if _, err := tx.Exec(putDeferral, owner.String(), which.String(), m.Contract, name, pin.Method.String(), pin.Binding.String(),
				string(say), record.Millis(tx.Now)); err != nil {
				return err
			}
		}
		return nil
	})
}
