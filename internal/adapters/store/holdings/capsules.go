package holdings

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

const (
	clearAlias = "UPDATE resources SET alias = '' WHERE owner = $1 AND resource = $2"
	setAdapter = "UPDATE resources SET adapter = $3 WHERE owner = $1 AND resource = $2"
)

// EnsureCapsule puts the resource of an installed capsule into the pool, if it is
// not there. Installing is the owner's yes: its methods can be granted at once.
func (h *Holdings) EnsureCapsule(ctx context.Context, owner id.Owner, seed view.Seed) error {
	fresh := seeding{owner: owner, seeds: []view.Seed{seed}, resources: []id.Resource{id.New[id.Resource]()}, revisions: []id.Revision{id.New[id.Revision]()}}
	return h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		s := fresh
		return true, s.ensure(tx, 0)
	})
}

// capsuleOf reads the resource of a capsule.
func capsuleOf(tx *ledger.Tx, owner id.Owner, alias string) (*view.Resource, error) {
	var which id.Resource
	found, err := tx.One(byAlias, []any{owner.String(), alias}, record.Text(&which))
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fault.New(fault.NotFound, "no capsule of this name is in the pool")
	}
	return resourceOf(tx, owner, which)
}

// RemoveCapsule takes the resource of a capsule away for good; what rested on it
// ends with it. A later installation under the same name is another resource.
func (h *Holdings) RemoveCapsule(ctx context.Context, owner id.Owner, alias string) error {
	return h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		r, err := capsuleOf(tx, owner, alias)
		if err != nil {
			return false, err
		}
		which := r.Row.ID
		if err = removeResource(tx, owner, which); err == nil && !r.Adapter.ID.IsZero() {
			_, err = tx.Exec(moveEntry, owner.String(), r.Adapter.ID.String(), string(view.Removed))
		}
		if err != nil {
			return false, err
		}
		if _, err := tx.Exec(clearAlias, owner.String(), which.String()); err != nil {
			return false, err
		}
		_, err = tx.Audit(said(owner, audit.Revoked, which.String(), "capsule removed"))
		return true, err
	})
}

// ServeTools gives the adapter of a capsule's tools, switched on. One that is not
// there is made if wanted; else it is zero.
func (h *Holdings) ServeTools(ctx context.Context, owner id.Owner, alias string, wanted bool) (out id.Adapter, err error) {
	fresh := id.New[id.Adapter]()
	sealed := h.vault.Seal(configured(owner, fresh), []byte("{}"))
	err = h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		r, err := capsuleOf(tx, owner, alias)
		if err != nil {
			return false, err
		}
		if out = r.Adapter.ID; !out.IsZero() || !wanted {
			tx.RightsStand = r.Adapter.State == view.Enabled || out.IsZero()
			if !tx.RightsStand {
				_, err = tx.Exec(moveEntry, owner.String(), out.String(), string(view.Enabled))
			}
			return false, err
		}
		out = fresh
		if _, err := tx.Exec(addEntry, owner.String(), fresh.String(), alias, string(view.InCapsule), record.Bytes(sealed), "", "",
			string(view.Enabled), tx.Now.UnixMilli()); err != nil {
			return false, err
		}
		_, err = tx.Exec(setAdapter, owner.String(), r.Row.ID.String(), fresh.String())
		return false, err
	})
	return out, err
}
