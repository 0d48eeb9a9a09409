package introspection_test

import (
	"context"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/introspection"
)

// Every subject is read whole, for the owner who asks, and holds no arguments, results or
// tokens.
func TestAnOwnerReadsWhatTheHostDoes(t *testing.T) {
	owner, at := id.New[id.Owner](), time.Unix(1_800_000_000, 0).UTC()
	asked := func(o id.Owner) {
		if o != owner {
			t.Errorf("asked for %s", o)
		}
	}
	row := func(method string, state grant.State, limit budget.Limit, today int64) view.Grant {
		return view.Grant{Row: grant.Row{Key: grant.Key{Method: method}, Limit: limit}, State: state, App: "shop", Resource: "bank", Today: today}
	}
	ports := introspection.Ports{
		Apps: func(_ context.Context, o id.Owner) ([]view.App, error) {
			asked(o)
			return []view.App{{Name: "shop", Connected: true, CreatedAt: at, Grants: 3}}, nil
		},
		Grants: func(_ context.Context, o id.Owner) ([]view.Grant, error) {
			asked(o)
			return []view.Grant{row("pay", grant.Active, budget.Limit{PerMinute: 5, Price: 30, SpendPerDay: 1000, Currency: "EUR"}, 4), row("look", grant.Active, budget.Limit{}, 0),
				row("old", grant.Revoked, budget.Limit{PerDay: 9}, 9)}, nil
		},
		Calls: func(_ context.Context, o id.Owner) ([]view.Invocation, error) {
			asked(o)
			return []view.Invocation{{Row: invocation.Row{ReservedAt: at, Target: invocation.Target{Method: "pay"}, State: invocation.Succeeded}, App: "shop", Resource: "bank"}}, nil
		},
		Capsules: func() []introspection.Capsule {
			return []introspection.Capsule{{Name: "files", Version: "1", State: "ready", Restarts: 2}}
		},
	}
	want := map[string]string{
		"introspect:apps": `[{"name":"shop","connected":true,"since":"2027-01-15T08:00:00Z","grants":3}]`,
		"introspect:grants": `[{"app":"shop","resource":"bank","method":"pay","state":"active","calls_today":4},` +
			`{"app":"shop","resource":"bank","method":"look","state":"active","calls_today":0},{"app":"shop","resource":"bank","method":"old","state":"revoked","calls_today":9}]`,
		"introspect:budgets": `[{"app":"shop","resource":"bank","method":"pay","limit":{"per_minute":5,"price":30,"spend_per_day":1000,"currency":"EUR"},` +
			`"calls_today":4,"spent_today":120}]`,
		"introspect:calls":    `[{"at":"2027-01-15T08:00:00Z","app":"shop","resource":"bank","method":"pay","state":"succeeded"}]`,
		"introspect:capsules": `[{"name":"files","version":"1","state":"ready","restarts":2}]`,
	}
	for _, s := range introspection.Subjects() {
		got, known, err := ports.Read(t.Context(), owner, s.URI)
		if !known || err != nil || string(got) != want[s.URI] {
			t.Errorf("%s: %s, %v, %v", s.URI, got, known, err)
		}
		delete(want, s.URI)
	}
	if len(want) > 0 {
		t.Errorf("not offered: %v", want)
	}
	if got, known, err := ports.Read(t.Context(), owner, "introspect:tokens"); got != nil || known || err != nil {
		t.Errorf("what there is not: %s, %v, %v", got, known, err)
	}
	ports.Grants = func(context.Context, id.Owner) ([]view.Grant, error) { return nil, fault.New(fault.Unavailable, "x") }
	for _, uri := range []string{"introspect:grants", "introspect:budgets"} {
		if got, known, err := ports.Read(t.Context(), owner, uri); got != nil || !known || !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s of a store that cannot be read: %s, %v, %v", uri, got, known, err)
		}
	}
}
