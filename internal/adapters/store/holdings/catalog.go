package holdings

import (
	"context"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Catalog lists what the caller may call now, by tool name: the same check as for
// a call, method by method.
func (h *Holdings) Catalog(ctx context.Context, c authority.Caller) ([]view.Callable, error) {
	var out []view.Callable
	err := h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		own, list, err := h.definitions.Standings(tx.Tx, c)
		if err != nil {
			return err
		}
		if bad := authority.Authenticate(own, c, tx.Now); bad != nil {
			return bad
		}
		for _, l := range list {
			if authority.Authorize(l.Standing, c, tx.Now) != nil {
				continue
			}
			out = append(out, view.Callable{Target: l.Target, Method: l.Standing.Method.Definition, Resource: l.Label,
				Tool: projection.Name(c.Owner, l.Target.Resource, l.Target.Contract, l.Target.Method)})
		}
		return nil
	})
	e := audit.Entry{Owner: c.Owner, Client: c.Client, Kind: audit.Listed, Detail: "methods"}
	if err != nil {
		e.Kind, e.Detail = audit.Denied, string(fault.From(err).Code)
	}
	h.ledger.Later(e)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(out, func(a, b view.Callable) int { return strings.Compare(a.Tool, b.Tool) })
	return out, nil
}
