package holdings

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// catalog is what a client may call while the owner's count of changes stands and
// no row of it has expired.
type catalog struct {
	changes int64
	until   time.Time // zero: no row expires
	list    []view.Callable
}

type catalogKey struct {
	owner  id.Owner
	client id.Client
}

const catalogsMax = 64

// Catalog lists what the caller may call now, by tool name: the same check as for
// a call, method by method. The caller must not change the definitions in it.
func (h *Holdings) Catalog(ctx context.Context, c authority.Caller) ([]view.Callable, error) {
	var list []view.Callable
	err := h.ledger.Read(ctx, func(tx *ledger.Tx) error {
		who, changes, err := record.Presence(tx.Tx, c)
		if err != nil {
			return err
		}
		if bad := authority.Authenticate(who, c, tx.Now); bad != nil {
			return bad
		}
		if known, ok := h.listed(c, changes, tx.Now); ok {
			list = known
			return nil
		}
		fresh, err := h.list(tx, c, who)
		if err != nil {
			return err
		}
		fresh.changes, list = changes, fresh.list
		h.remember(c, fresh)
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
	return slices.Clone(list), nil
}

func (h *Holdings) list(tx *ledger.Tx, c authority.Caller, who authority.Standing) (out catalog, err error) {
	all, err := h.memory.Listing(tx.Tx, c, who)
	if err != nil {
		return out, err
	}
	for _, l := range all {
		if authority.Authorize(l.Standing, c, tx.Now) != nil {
			continue
		}
		if g := l.Standing.Grant; g != nil && !g.ExpiresAt.IsZero() && (out.until.IsZero() || g.ExpiresAt.Before(out.until)) {
			out.until = g.ExpiresAt
		}
		out.list = append(out.list, view.Callable{Target: l.Target, Method: l.Standing.Method.Definition, Resource: l.Label,
			Tool: projection.Name(c.Owner, l.Target.Resource, l.Target.Contract, l.Target.Method)})
	}
	slices.SortStableFunc(out.list, func(a, b view.Callable) int { return strings.Compare(a.Tool, b.Tool) })
	return out, nil
}

// listed gives a remembered catalog that is as good as a fresh one.
func (h *Holdings) listed(c authority.Caller, changes int64, now time.Time) ([]view.Callable, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	known, ok := h.catalogs[catalogKey{c.Owner, c.Client}]
	if !ok || known.changes != changes || !known.until.IsZero() && !now.Before(known.until) {
		return nil, false
	}
	return known.list, true
}

func (h *Holdings) remember(c authority.Caller, fresh catalog) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.catalogs) >= catalogsMax {
		clear(h.catalogs)
	}
	h.catalogs[catalogKey{c.Owner, c.Client}] = fresh
}
