// Package catalog has the verbs by which an app learns what it may do: the methods
// that it may call, the capsules that it may read, and the connection behind a
// resource that it holds.
//
// Each is the same check as for a call, method by method, at that moment: what it
// remembers of an app counts for as long as the owner's count of changes stands and
// no row of the app's has expired. Each leaves a row in the trail. One lock guards
// what is remembered, for at most catalogsMax apps. Catalogs is safe for concurrent
// use.
package catalog

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Catalogs has the verbs.
type Catalogs struct {
	ledger *ledger.Ledger
	memory *record.Memory

	mu    sync.Mutex
	known map[catalogKey]catalog
}

// New returns the verbs over a ledger.
func New(l *ledger.Ledger, m *record.Memory) *Catalogs {
	return &Catalogs{ledger: l, memory: m, known: map[catalogKey]catalog{}}
}

// catalog is what a client may call while the owner's count of changes stands and
// no row of it has expired.
type catalog struct {
	changes int64
	until   time.Time // zero: no row expires
	list    []view.Callable
	read    []view.Readable
	behind  map[id.Resource]id.Adapter // the connections of imported servers
}

type catalogKey struct {
	owner  id.Owner
	client id.Client
}

const catalogsMax = 64

// Catalog lists what the caller may call now, by tool name: the same check as for
// a call, method by method. The caller must not change the definitions in it.
func (k *Catalogs) Catalog(ctx context.Context, c authority.Caller) ([]view.Callable, error) {
	fresh, err := k.catalogOf(ctx, c, "methods")
	return slices.Clone(fresh.list), err
}

// Readable lists the capsules whose resources the caller may read now, by name:
// the same check as for a call of the method read.
func (k *Catalogs) Readable(ctx context.Context, c authority.Caller) ([]view.Readable, error) {
	fresh, err := k.catalogOf(ctx, c, "resources")
	return slices.Clone(fresh.read), err
}

// Behind gives the connection behind a resource of which the caller may call a method
// now; false where there is no such method, or no connection.
func (k *Catalogs) Behind(ctx context.Context, c authority.Caller, which id.Resource) (id.Adapter, bool, error) {
	fresh, err := k.catalogOf(ctx, c, "links")
	adapter, ok := fresh.behind[which]
	return adapter, ok, err
}

// catalogOf reads what a caller may do, and records that it was asked.
func (k *Catalogs) catalogOf(ctx context.Context, c authority.Caller, what string) (fresh catalog, err error) {
	err = k.ledger.Read(ctx, func(tx *ledger.Tx) error {
		who, changes, err := record.Presence(tx.Tx, c)
		if err != nil {
			return err
		}
		if bad := authority.Authenticate(who, c, tx.Now); bad != nil {
			return bad
		}
		if known, ok := k.listed(c, changes, tx.Now); ok {
			fresh = known
			return nil
		}
		if fresh, err = k.list(tx, c, who); err != nil {
			return err
		}
		fresh.changes = changes
		k.remember(c, fresh)
		return nil
	})
	e := audit.Entry{Owner: c.Owner, Client: c.Client, Kind: audit.Listed, Detail: what}
	if err != nil {
		e.Kind, e.Detail = audit.Denied, string(fault.From(err).Code)
	}
	k.ledger.Later(e)
	if err != nil {
		return catalog{}, err
	}
	return fresh, nil
}

func (k *Catalogs) list(tx *ledger.Tx, c authority.Caller, who authority.Standing) (out catalog, err error) {
	all, err := k.memory.Listing(tx.Tx, c, who)
	if err != nil {
		return out, err
	}
	out.behind = map[id.Resource]id.Adapter{}
	for _, l := range all {
		if authority.Authorize(l.Standing, c, tx.Now) != nil {
			continue
		}
		if g := l.Standing.Grant; g != nil && !g.ExpiresAt.IsZero() && (out.until.IsZero() || g.ExpiresAt.Before(out.until)) {
			out.until = g.ExpiresAt
		}
		if l.Target.Contract == resource.CapsuleContract {
			if l.Target.Method == methodRead {
				out.read = append(out.read, view.Readable{Resource: l.Target.Resource, Capsule: l.Label})
			}
			continue
		}
		if b := l.Standing.Method.Binding; b.Kind == resource.ByMCP {
			out.behind[l.Target.Resource] = b.Adapter
		}
		out.list = append(out.list, view.Callable{Target: l.Target, Method: l.Standing.Method.Definition, Resource: l.Label,
			Tool: projection.Name(c.Owner, l.Target.Resource, l.Target.Contract, l.Target.Method)})
	}
	slices.SortStableFunc(out.list, func(a, b view.Callable) int { return strings.Compare(a.Tool, b.Tool) })
	slices.SortStableFunc(out.read, func(a, b view.Readable) int { return strings.Compare(a.Capsule, b.Capsule) })
	return out, nil
}

// methodRead is the right to read the resources of a capsule.
const methodRead = "read"

// listed gives a remembered catalog that is as good as a fresh one.
func (k *Catalogs) listed(c authority.Caller, changes int64, now time.Time) (catalog, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.known[catalogKey{c.Owner, c.Client}]
	if !ok || known.changes != changes || !known.until.IsZero() && !now.Before(known.until) {
		return catalog{}, false
	}
	return known, true
}

func (k *Catalogs) remember(c authority.Caller, fresh catalog) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) >= catalogsMax {
		clear(k.known)
	}
	k.known[catalogKey{c.Owner, c.Client}] = fresh
}
