package owner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// GrantStore keeps rows of authority. A zero client selects all of them.
type GrantStore interface {
	App(ctx context.Context, owner id.Owner, ref string) (view.App, error)
	Resource(ctx context.Context, owner id.Owner, ref string) (view.Resource, error)
	Grants(ctx context.Context, owner id.Owner, client id.Client) ([]view.Grant, error)
	Grant(ctx context.Context, which id.Resource, c authority.GrantMethods) (authority.GrantChanges, error)
	Revoke(ctx context.Context, owner id.Owner, which id.Grant) (ended bool, err error)
	RevokeAll(ctx context.Context, owner id.Owner, client id.Client, which id.Resource) (int, error)
}

// Grants are who may call what.
type Grants struct{ store GrantStore }

// NewGrants returns the commands about grants.
func NewGrants(store GrantStore) *Grants { return &Grants{store} }

// NewRows asks for a row for each method, all of them or none. App and Resource
// are refs; a zero ExpiresAt means no expiry.
type NewRows struct {
	App       string
	Resource  string
	Methods   []string
	Confirm   grant.Confirm
	ExpiresAt time.Time
	Limit     budget.Limit // of each row
}

// List tells of the rows of one app, or of all rows where ref is empty, in the
// order of their names.
func (g *Grants) List(ctx context.Context, owner id.Owner, ref string) ([]view.Grant, error) {
	var client id.Client
	if ref != "" {
		app, err := g.store.App(ctx, owner, ref)
		if err != nil {
			return nil, unknown(err, anApp, ref, listApps)
		}
		client = app.Client
	}
	rows, err := g.store.Grants(ctx, owner, client)
	slices.SortFunc(rows, func(a, b view.Grant) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Row.Key.Method, b.Row.Key.Method), cmp.Compare(a.Row.ID.String(), b.Row.ID.String()))
	})
	return rows, err
}

// Add makes the rows and tells of them. A row that stood for the same method is
// replaced.
func (g *Grants) Add(ctx context.Context, owner id.Owner, n NewRows) ([]view.Grant, error) {
	app, res, err := g.resolve(ctx, owner, n.App, n.Resource)
	if err != nil {
		return nil, err
	}
	if err := checkNamed(n.Methods, res); err != nil {
		return nil, err
	}
	c := authority.GrantMethods{
		Owner: owner, Client: app.Client, Methods: n.Methods, Confirm: n.Confirm, ExpiresAt: n.ExpiresAt, Limit: n.Limit,
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](),
	}
	for range n.Methods {
		c.NewGrants = append(c.NewGrants, id.New[id.Grant]())
	}
	changes, err := g.store.Grant(ctx, res.Row.ID, c)
	if err != nil {
		return nil, err
	}
	rows := shown(changes.Rows, app, res)
	for i := range rows {
		rows[i].Replaces = changes.Replaced[i].ID
	}
	return rows, nil
}

// checkNamed names the first method that the resource has not, or that stands
// twice.
func checkNamed(methods []string, res view.Resource) error {
	named := map[string]bool{}
	for _, kept := range res.Methods {
		named[kept.Method.Definition.ID] = false
	}
	for _, m := range methods {
		switch twice, known := named[m]; {
		case !known:
			return fault.Newf(fault.NotFound, "the resource has no method %s", resource.Visible(m))
		case twice:
			return fault.Newf(fault.InvalidRequest, "method %s is named twice", m)
		}
		named[m] = true
	}
	return nil
}

// shown gives fresh rows the names that their app and resource were found by.
func shown(rows []grant.Row, app view.App, res view.Resource) []view.Grant {
	out := make([]view.Grant, len(rows))
	for i, row := range rows {
		k := row.Key
		out[i] = view.Grant{Row: row, State: row.State, App: app.Name, Resource: res.Row.Label,
			Title: titleOf(res, k.Method), Tool: projection.Name(k.Owner, k.Resource, k.Contract, k.Method)}
	}
	return out
}

func titleOf(res view.Resource, method string) string {
	for _, kept := range res.Methods {
		if kept.Method.Definition.ID == method {
			return kept.Method.Definition.Title
		}
	}
	return ""
}

// Revoke ends one row and tells how many ended now: ending it again is no fault.
func (g *Grants) Revoke(ctx context.Context, owner id.Owner, which id.Grant) (int, error) {
	ended, err := g.store.Revoke(ctx, owner, which)
	if err != nil || !ended {
		return 0, err
	}
	return 1, nil
}

// RevokeAll ends every row of an app on a resource and tells how many ended now.
func (g *Grants) RevokeAll(ctx context.Context, owner id.Owner, appRef, resourceRef string) (int, error) {
	app, res, err := g.resolve(ctx, owner, appRef, resourceRef)
	if err != nil {
		return 0, err
	}
	return g.store.RevokeAll(ctx, owner, app.Client, res.Row.ID)
}

func (g *Grants) resolve(ctx context.Context, owner id.Owner, appRef, resourceRef string) (view.App, view.Resource, error) {
	app, err := g.store.App(ctx, owner, appRef)
	if err != nil {
		return view.App{}, view.Resource{}, unknown(err, anApp, appRef, listApps)
	}
	res, err := g.store.Resource(ctx, owner, resourceRef)
	return app, res, unknown(err, aResource, resourceRef, listThings)
}
