package holdings

import (
	"context"
	"fmt"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	resourceRows = "SELECT " + record.ResourceColumns + ", " + record.AdapterColumns + " FROM resources r " +
		"LEFT JOIN adapters a ON a.owner = r.owner AND a.adapter = r.adapter WHERE r.owner = $1 AND r.state <> 'removed'"
	allResources   = resourceRows + " ORDER BY r.created_at, r.resource"
	namedResources = resourceRows + " AND (r.alias = $2 OR r.label = $2 OR a.name = $2) ORDER BY r.resource LIMIT 4"
)

// Resources lists what the owner has, with all methods, but for what was removed.
func (h *Holdings) Resources(ctx context.Context, owner id.Owner) (list []view.Resource, err error) {
	err = h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		list, err = resources(tx, owner, allResources, owner.String())
		return err
	})
	return list, err
}

// Resource finds a resource by its id, alias or label or by the name of its
// entry. A label that two of them have is a Conflict, which names them.
func (h *Holdings) Resource(ctx context.Context, owner id.Owner, ref string) (out view.Resource, err error) {
	err = h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		if which, err := id.Parse[id.Resource](ref); err == nil {
			found, err := resourceOf(tx, owner, which)
			if err != nil {
				return err
			}
			out = *found
			out.Deferred, err = deferralsOf(tx, owner, which)
			return err
		}
		if ref == "" || !resource.Readable(ref) {
			return authority.NotFound()
		}
		list, err := resources(tx, owner, namedResources, owner.String(), ref)
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return authority.NotFound()
		case len(list) > 1:
			return ambiguous(list)
		}
		out = list[0]
		return nil
	})
	return out, err
}

// resourceOf reads a resource of the owner's with its methods.
func resourceOf(tx *ledger.Tx, owner id.Owner, which id.Resource) (*view.Resource, error) {
	r, err := record.ResourceByID(tx.Tx, owner, which)
	if err == nil && r == nil {
		err = authority.NotFound()
	}
	return r, err
}

// ambiguous names each of several resources as only it is named.
func ambiguous(list []view.Resource) *fault.Fault {
	var names []string
	for _, r := range list {
		if r.Row.Alias != "" {
			names = append(names, r.Row.Alias)
		} else {
			names = append(names, r.Row.ID.String())
		}
	}
	return fault.Newf(fault.Conflict, "more than one resource has this name; say which: %s", strings.Join(names, ", ")).
		With("fix", "steward resources show "+names[0])
}

func resources(tx *ledger.Tx, owner id.Owner, query string, args ...any) ([]view.Resource, error) {
	rows, err := tx.Query(query, args...)
	list, err := sqldb.Collect(rows, err, record.ScanResource)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Methods, err = record.MethodsOf(tx.Tx, owner, list[i].Row.ID); err != nil {
			return nil, err
		}
		if list[i].Deferred, err = deferralsOf(tx, owner, list[i].Row.ID); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Approve turns methods live as they are defined now, if they are what the owner
// was shown (invariant I34).
func (h *Holdings) Approve(ctx context.Context, owner id.Owner, which id.Resource, c authority.Approve) (authority.ApproveChanges, error) {
	c.Owner = owner
	var out authority.ApproveChanges
	err := h.change(ctx, owner, id.Client{}, func(tx *ledger.Tx) (bool, error) {
		r, err := resourceOf(tx, owner, which)
		if err != nil {
			return false, err
		}
		methods := make([]resource.Method, len(r.Methods))
		kept := map[string]resource.Kept{}
		for i, k := range r.Methods {
			methods[i] = k.Method
			kept[k.Method.Definition.ID] = k
		}
		ch, bad := authority.DecideApprove(r.Row, methods, c, tx.Now)
		if bad != nil {
			return false, bad
		}
		out = ch
		return true, h.writeApproval(tx, owner, ch, kept)
	})
	if err != nil {
		return authority.ApproveChanges{}, err
	}
	return out, nil
}

func (h *Holdings) writeApproval(tx *ledger.Tx, owner id.Owner, ch authority.ApproveChanges, kept map[string]resource.Kept) error {
	if err := record.ChangeResource(tx.Tx, ch.Resource); err != nil {
		return err
	}
	for _, m := range ch.Methods {
		k := kept[m.Definition.ID]
		k.Method, k.Approved = m, resource.Approved{}
		if err := record.PutMethod(tx.Tx, owner, ch.Resource.ID, k); err != nil {
			return err
		}
	}
	for _, d := range ch.Documents {
		if err := record.AddContract(tx.Tx, owner, d, tx.Now.UnixMilli()); err != nil {
			return err
		}
	}
	if err := record.AddConsent(tx.Tx, ch.Record); err != nil {
		return err
	}
	_, err := tx.Audit(said(owner, audit.Approved, ch.Resource.ID.String(), fmt.Sprintf("%d methods %s %s", len(ch.Methods), ch.Record.ID, ch.Record.Digest)))
	return err
}
