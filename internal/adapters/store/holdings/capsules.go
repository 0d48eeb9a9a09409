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

const clearAlias = "UPDATE resources SET alias = '' WHERE owner = $1 AND resource = $2"

// EnsureCapsule puts the resource of an installed capsule into the pool, if it is
// not there. Installing is the owner's yes: its methods can be granted at once.
func (h *Holdings) EnsureCapsule(ctx context.Context, owner id.Owner, seed view.Seed) error {
	fresh := seeding{owner: owner, seeds: []view.Seed{seed}, resources: []id.Resource{id.New[id.Resource]()}, revisions: []id.Revision{id.New[id.Revision]()}}
	return h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		s := fresh
		return true, s.ensure(tx, 0)
	})
}

// RemoveCapsule takes the resource of a capsule away for good; what rested on it
// ends with it. A later installation under the same name is another resource.
func (h *Holdings) RemoveCapsule(ctx context.Context, owner id.Owner, alias string) error {
	return h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		var which id.Resource
		found, err := tx.One(byAlias, []any{owner.String(), alias}, record.Text(&which))
		if err != nil {
			return false, err
		}
		if !found {
			return false, fault.New(fault.NotFound, "no capsule of this name is in the pool")
		}
		if err := removeResource(tx, owner, which); err != nil {
			return false, err
		}
		if _, err := tx.Exec(clearAlias, owner.String(), which.String()); err != nil {
			return false, err
		}
		_, err = tx.Audit(said(owner, audit.Revoked, which.String(), "capsule removed"))
		return true, err
	})
}
