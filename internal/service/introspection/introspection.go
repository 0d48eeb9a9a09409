// Package introspection serves an owner's own view of the host as resources: the
// apps, the grants, the budgets, the newest calls and the capsules, as JSON. It is what the
// shipped capsule introspect answers with (bus page, section 7).
//
// Nothing in it is a secret: tokens, arguments and results are left out. Who may
// read it is decided by grants on that capsule. Every answer is live; the package
// keeps nothing and is safe for concurrent use.
package introspection

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Ports read what there is to tell; all are required.
type Ports struct {
	Apps     func(ctx context.Context, owner id.Owner) ([]view.App, error)
	Grants   func(ctx context.Context, owner id.Owner) ([]view.Grant, error)
	Calls    func(ctx context.Context, owner id.Owner) ([]view.Invocation, error)
	Capsules func() []Capsule
}

// Capsule is an installed capsule, as it is told.
type Capsule struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	State    string `json:"state"`
	Restarts int    `json:"restarts"`
}

// Subject is one thing to read.
type Subject struct {
	URI, Name, Description string
}

// Subjects are all of them.
func Subjects() []Subject {
	return []Subject{
		{apps, "Apps", "The applications that this owner connected."},
		{grants, "Grants", "Which app may call what, and what each row comes to now."},
		{budgets, "Budgets", "What each app may use of what it was granted, and what it has used today."},
		{calls, "Newest calls", "The newest page of the journal, without arguments and results."},
		{capsules, "Capsules", "The installed capsules and how they stand."},
	}
}

const (
	apps     = "introspect:apps"
	grants   = "introspect:grants"
	budgets  = "introspect:budgets"
	calls    = "introspect:calls"
	capsules = "introspect:capsules"
)

type app struct {
	Name      string    `json:"name"`
	Connected bool      `json:"connected"`
	Since     time.Time `json:"since"`
	Grants    int       `json:"grants"`
}

type row struct {
	App      string `json:"app"`
	Resource string `json:"resource"`
	Method   string `json:"method"`
	State    string `json:"state"`
	Today    int64  `json:"calls_today"`
}

// allowance is the budget of one grant that is good now. Money is in minor units.
type allowance struct {
	App      string       `json:"app"`
	Resource string       `json:"resource"`
	Method   string       `json:"method"`
	Limit    budget.Limit `json:"limit"`
	Today    int64        `json:"calls_today"`
	Spent    int64        `json:"spent_today,omitzero"`
}

type call struct {
	At       time.Time `json:"at"`
	App      string    `json:"app"`
	Resource string    `json:"resource"`
	Method   string    `json:"method"`
	State    string    `json:"state"`
}

// Read gives what a subject holds, as JSON, and whether there is such a subject.
func (p Ports) Read(ctx context.Context, owner id.Owner, uri string) (text []byte, known bool, err error) {
	var out any
	switch uri {
	case apps:
		list, bad := p.Apps(ctx, owner)
		out, err = each(list, func(a view.App) app { return app{a.Name, a.Connected, a.CreatedAt, a.Grants} }), bad
	case grants:
		list, bad := p.Grants(ctx, owner)
		out, err = each(list, func(g view.Grant) row {
			return row{g.App, g.Resource, g.Row.Key.Method, string(g.State), g.Today}
		}), bad
	case budgets:
		list, bad := p.Grants(ctx, owner)
		out, err = allowances(list), bad
	case calls:
		list, bad := p.Calls(ctx, owner)
		out, err = each(list, func(c view.Invocation) call {
			return call{c.Row.ReservedAt, c.App, c.Resource, c.Row.Target.Method, string(c.Row.State)}
		}), bad
	case capsules:
		out = p.Capsules()
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	text, err = strictjson.Encode(out)
	return text, true, err
}

func allowances(list []view.Grant) []allowance {
	out := []allowance{}
	for _, g := range list {
		if l := g.Row.Limit; g.State == grant.Active && !l.IsZero() {
			out = append(out, allowance{g.App, g.Resource, g.Row.Key.Method, l, g.Today, g.Today * l.Price})
		}
	}
	return out
}

func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = f(a)
	}
	return out
}
