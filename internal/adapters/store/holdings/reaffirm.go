package holdings

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/id"
)

const grantsOfResource = "SELECT " + record.GrantColumns + " FROM grants g WHERE g.owner = $1 AND g.resource = $2 AND g.state <> 'revoked'"

// Reaffirm turns methods live again of which the upstream has changed nothing but
// words, with the rows that rested on them, if they are what the owner was shown.
func (h *Holdings) Reaffirm(ctx context.Context, owner id.Owner, which id.Resource, c authority.Approve) (authority.ReaffirmChanges, error) {
	c.Owner = owner
	var out authority.ReaffirmChanges
	err := h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		r, err := resourceOf(tx, owner, which)
		if err != nil {
			return false, err
		}
		grants, err := grantRows(tx, grantsOfResource, owner.String(), which.String())
		if err != nil {
			return false, err
		}
		ch, bad := authority.DecideReaffirm(r.Row, r.Methods, grants, c, tx.Now)
		if bad != nil {
			return false, bad
		}
		out = ch
		kept := map[string]resource.Kept{}
		for _, k := range r.Methods {
			kept[k.Method.Definition.ID] = k
		}
		if err := h.writeApproval(tx, owner, ch.ApproveChanges, kept); err != nil {
			return false, err
		}
		for _, g := range ch.Grants {
			if err := record.PutGrant(tx.Tx, g); err != nil {
				return false, err
			}
			if err := auditGrant(tx, audit.Granted, g, " "+ch.Record.ID.String()+" "+ch.Record.Digest.String()); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return authority.ReaffirmChanges{}, err
	}
	return out, nil
}
