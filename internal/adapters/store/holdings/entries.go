package holdings

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/vault"
)

const (
	allEntries = "SELECT " + record.AdapterColumns + ", r.resource FROM adapters a " +
		"JOIN resources r ON r.owner = a.owner AND r.adapter = a.adapter WHERE a.state <> 'removed' ORDER BY a.owner, a.created_at, a.adapter"
	entryByID = "SELECT " + record.AdapterColumns + ", r.resource FROM adapters a " +
		"JOIN resources r ON r.owner = a.owner AND r.adapter = a.adapter WHERE a.owner = $1 AND a.adapter = $2"
	entryName = "SELECT a.adapter FROM adapters a WHERE a.owner = $1 AND a.name = $2 AND a.state <> 'removed'"
	addEntry  = "INSERT INTO adapters (owner, adapter, name, kind, configuration, server, protocol, state, listed_at, created_at) " +
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9)"
	removeGrants      = "UPDATE grants SET state = 'revoked', revoked_at = $3 WHERE owner = $1 AND resource = $2 AND state <> 'revoked'"
	removeAssignments = "UPDATE assignments SET ended_at = $3 WHERE owner = $1 AND resource = $2 AND ended_at = 0"
	denyQuestionsOn   = "UPDATE confirmations SET state = 'denied', decided_at = $3 WHERE owner = $1 AND resource = $2 AND state = 'open'"

	removeCredential = "DELETE FROM credentials WHERE owner = $1 AND name = $2"

	replaceEntry = "UPDATE adapters SET configuration = $3, state = $4 WHERE owner = $1 AND adapter = $2"
	moveEntry    = "UPDATE adapters SET state = $3 WHERE owner = $1 AND adapter = $2"
	listedEntry  = "UPDATE adapters SET server = $3, protocol = $4, listed_at = $5 WHERE owner = $1 AND adapter = $2"
)

// configured is where an entry's configuration lies, which may hold secrets.
func configured(owner id.Owner, which id.Adapter) vault.Place {
	return vault.Place{Table: "adapters", Row: owner.String() + " " + which.String(), Column: "configuration"}
}

// Adapters lists the upstream entries of all owners that were not removed, with
// what they are configured with.
func (h *Holdings) Adapters(ctx context.Context) (list []view.Adapter, err error) {
	err = h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(allEntries)
		list, err = sqldb.Collect(rows, err, record.ScanAdapter)
		return err
	})
	for i, a := range list {
		if err == nil {
			list[i].Configuration, err = h.vault.Open(configured(a.Owner, a.ID), a.Configuration)
		}
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// entry reads an entry that is still in use or may be again.
func entry(tx *ledger.Tx, owner id.Owner, which id.Adapter) (view.Adapter, error) {
	rows, err := tx.Query(entryByID, owner.String(), which.String())
	list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (view.Adapter, error) { return record.ScanAdapter(rows) })
	if err == nil && (len(list) == 0 || list[0].State == view.Removed) {
		err = authority.NotFound()
	}
	if err != nil {
		return view.Adapter{}, err
	}
	return list[0], nil
}

// AddAdapter makes an upstream entry and the resource that it serves. A name that
// the owner has in use, also for a capsule, is a Conflict.
func (h *Holdings) AddAdapter(ctx context.Context, a view.Adapter, r resource.Row) error {
	if err := resource.CheckLabel(a.Name); err != nil {
		return err
	}
	if err := resource.CheckLabel(r.Label); err != nil {
		return err
	}
	if r.Owner != a.Owner || r.Adapter != a.ID {
		return fault.New(fault.InvalidRequest, "the resource is not the entry's")
	}
	sealed := h.vault.Seal(configured(a.Owner, a.ID), a.Configuration)
	return h.change(ctx, a.Owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		var other string
		found, err := tx.One(entryName, []any{a.Owner.String(), a.Name}, &other)
		if err != nil {
			return false, err
		}
		if found {
			return false, fault.New(fault.Conflict, "an entry with this name is there")
		}
		found, err = tx.One(byAlias, []any{a.Owner.String(), resource.AliasCapsule + a.Name}, &other)
		if err != nil {
			return false, err
		}
		if found {
			return false, fault.Newf(fault.Conflict, "a capsule has the name %s already", a.Name).
				With("fix", "import the server under another name: change it in the file, or give another --name")
		}
		if _, err := tx.Exec(addEntry, a.Owner.String(), a.ID.String(), a.Name, string(a.Kind), record.Bytes(sealed),
			resource.Visible(a.Server), resource.Visible(a.Protocol), string(a.State), tx.Now.UnixMilli()); err != nil {
			return false, err
		}
		r.CreatedAt = tx.Now
		if err := record.AddResource(tx.Tx, r); err != nil {
			return false, err
		}
		_, err = tx.Audit(said(a.Owner, audit.Imported, r.ID.String(), "entry added"))
		return false, err
	})
}

// ReplaceAdapter configures an entry that is switched off anew, and switches it on. Its
// methods stay as they are: a listing holds what it offers now against them. Conflict
// where it is not off.
func (h *Holdings) ReplaceAdapter(ctx context.Context, owner id.Owner, which id.Adapter, configuration []byte) error {
	sealed := h.vault.Seal(configured(owner, which), configuration)
	return h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		a, err := entry(tx, owner, which)
		if err == nil && a.State != view.Disabled {
			err = fault.New(fault.Conflict, "an entry that is in use is not replaced")
		}
		if err != nil {
			return false, err
		}
		if _, err := tx.Exec(replaceEntry, owner.String(), which.String(), record.Bytes(sealed), string(view.Enabled)); err != nil {
			return false, err
		}
		_, err = tx.Audit(said(owner, audit.Imported, a.Resource.String(), "entry replaced"))
		return true, err
	})
}

// SetAdapterState switches an entry on or off, or removes it for good together
// with its resource. What rested on a removed one ends in the same commit: its
// grants, which stay as evidence, its assignments, and its open questions, which are
// denied.
func (h *Holdings) SetAdapterState(ctx context.Context, owner id.Owner, which id.Adapter, state view.AdapterState) error {
	kind := audit.Revoked
	switch state {
	case view.Enabled:
		kind = audit.Imported
	case view.Disabled, view.Removed:
	default:
		return fault.New(fault.InvalidRequest, "an entry is enabled, disabled or removed")
	}
	return h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		a, err := entry(tx, owner, which)
		if err != nil || a.State == state {
			return false, err
		}
		if _, err := tx.Exec(moveEntry, owner.String(), which.String(), string(state)); err != nil {
			return false, err
		}
		if state == view.Removed {
			if err := removeResource(tx, owner, a.Resource); err != nil {
				return false, err
			}
			if _, err := tx.Exec(removeCredential, owner.String(), a.Name); err != nil {
				return false, err
			}
		}
		_, err = tx.Audit(said(owner, kind, a.Resource.String(), "entry "+string(state)))
		return true, err
	})
}

func removeResource(tx *ledger.Tx, owner id.Owner, which id.Resource) error {
	r, err := resourceOf(tx, owner, which)
	if err != nil {
		return err
	}
	r.Row.State = resource.Removed
	if err := record.ChangeResource(tx.Tx, r.Row); err != nil {
		return err
	}
	for _, query := range []string{removeGrants, removeAssignments, denyQuestionsOn} {
		if _, err := tx.Exec(query, owner.String(), which.String(), tx.Now.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// ApplyListing merges what an upstream offers now into what is stored, in one
// commit, so that a method that drifted is off from the moment it was seen.
func (h *Holdings) ApplyListing(ctx context.Context, owner id.Owner, which id.Adapter, server, protocol string, offers []resource.Offer) (view.Listing, error) {
	readable := make([]resource.Offer, len(offers))
	for i, o := range offers {
		o.Refusal = resource.Visible(o.Refusal)
		readable[i] = o
	}
	var out view.Listing
	err := h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		a, err := entry(tx, owner, which)
		if err != nil {
			return false, err
		}
		if _, err := tx.Exec(listedEntry, owner.String(), which.String(), resource.Visible(server), resource.Visible(protocol), tx.Now.UnixMilli()); err != nil {
			return false, err
		}
		stored, err := record.MethodsOf(tx.Tx, owner, a.Resource)
		if err != nil {
			return false, err
		}
		after, changed := resource.Merge(stored, readable, h.contractOf(which))
		out = view.Listing{Resource: a.Resource, Methods: after, Changed: changed}
		tx.RightsStand = a.Server == resource.Visible(server) && a.Protocol == resource.Visible(protocol)
		for i, k := range after {
			if i < len(stored) && same(stored[i], k) {
				continue
			}
			tx.RightsStand = false
			if err := record.PutMethod(tx.Tx, owner, a.Resource, k); err != nil {
				return false, err
			}
		}
		if len(changed) == 0 {
			return false, nil
		}
		_, err = tx.Audit(said(owner, kindOfListing(stored, after), a.Resource.String(), fmt.Sprintf("%d of %d methods changed", len(changed), len(after))))
		return true, err
	})
	if err != nil {
		return view.Listing{}, err
	}
	return out, nil
}

// contractOf names the contracts of an entry by its identity and a number, never
// by content. The host's name in it is the node's.
func (h *Holdings) contractOf(which id.Adapter) func(group int) string {
	_, installation, _ := strings.Cut(h.ledger.Node().String(), "_")
	return func(group int) string {
		_, name, _ := strings.Cut(digest.Join("imported", which.String(), strconv.Itoa(group)).Sum(digest.Binding).String(), ":")
		return contract.ImportedURL(installation, name)
	}
}

// same reports whether a method needs no new row.
func same(a, b resource.Kept) bool {
	return a.Method.State == b.Method.State && a.Method.Reason == b.Method.Reason && a.Method.Document == b.Method.Document &&
		a.Method.Pin() == b.Method.Pin() && bytes.Equal(a.Raw, b.Raw) && bytes.Equal(a.Review, b.Review) &&
		bytes.Equal(a.Approved.Raw, b.Approved.Raw)
}

// kindOfListing tells a listing that took something live out of use from others.
func kindOfListing(stored, after []resource.Kept) audit.Kind {
	for i, k := range stored {
		if k.Method.State == resource.Live && after[i].Method.State != resource.Live {
			return audit.Drifted
		}
	}
	return audit.Imported
}
