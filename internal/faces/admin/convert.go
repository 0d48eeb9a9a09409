package admin

import (
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/owner"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func appOf(a view.App) adminwire.App {
	return adminwire.App{ID: a.Client.String(), Name: a.Name, Kind: string(a.Kind), Connected: a.Connected,
		CreatedAt: a.CreatedAt, Grants: a.Grants, Tokens: a.Tokens}
}

func (d *Door) resourceOf(r view.Resource) adminwire.Resource {
	methods := make([]resource.Method, len(r.Methods))
	states, declined := map[string]int{}, 0
	for i, kept := range r.Methods {
		methods[i] = kept.Method
		states[string(kept.Method.State)]++
		declined += one(waits(kept) && isDeclined(r, kept))
	}
	out := adminwire.Resource{
		ID: r.Row.ID.String(), Kind: string(r.Row.Kind), Label: r.Row.Label, Alias: r.Row.Alias, State: string(r.Row.State),
		Storage: string(r.Row.Storage), Revision: r.Row.Revision.String(), DescriptorDigest: r.Row.Descriptor(methods).String(),
		PresentationDigest: r.Row.Presentation().String(), CreatedAt: r.Row.CreatedAt, Methods: states, Declined: declined,
	}
	if a := r.Adapter; !a.ID.IsZero() {
		if ceiling := d.ceiling(); ceiling != (adminwire.Ceiling{}) {
			out.Ceiling = &ceiling
		}
		out.Upstream = &adminwire.Upstream{ID: a.ID.String(), Name: a.Name, Kind: string(a.Kind), State: string(a.State),
			Server: a.Server, Protocol: a.Protocol, ListedAt: a.ListedAt}
		if now, ok := d.Importer.Connection(a.ID); ok {
			out.Upstream.Connection, out.Upstream.PID, out.Upstream.Restarts = string(now.State), now.PID, now.Restarts
			out.Upstream.Origin, out.Upstream.Exception, out.Upstream.Issuer = now.Origin, now.Exempt, now.Issuer
			out.Upstream.Wants = now.Wants
			out.Upstream.Trouble = resource.Visible(now.Reason)
		}
	}
	return out
}

func (d *Door) reviewOf(r owner.Review) adminwire.Review {
	out := adminwire.Review{Resource: d.resourceOf(r.Resource), Methods: each(r.Methods, definitionOf), Shown: r.Shown.String()}
	for i, kept := range r.Methods {
		if said, ok := r.Deferral(kept.Method); ok && waits(kept) {
			out.Methods[i].Answer = string(said.Say)
		}
	}
	return out
}

// waits reports whether a method waits for the owner's first or new yes.
func waits(k resource.Kept) bool {
	return k.Method.State == resource.Proposed || k.Method.State == resource.NeedsConsent
}

func isDeclined(r view.Resource, k resource.Kept) bool {
	said, ok := r.Deferral(k.Method)
	return ok && said.Say == view.No
}

func definitionOf(k resource.Kept) adminwire.Definition {
	m := k.Method
	pin := m.Pin()
	return adminwire.Definition{
		Method: m.Definition.ID, Contract: m.Contract, Title: m.Definition.Title, Description: m.Definition.Description,
		Input: m.Definition.Input, Output: m.Definition.Output, Effects: wordsOf(m.Definition.Effects),
		Precondition: m.Definition.Precondition, State: string(m.State), Reason: m.Reason, Tool: m.Binding.Tool,
		MethodDigest: pin.Method.String(), BindingDigest: pin.Binding.String(), ContractDigest: m.Document.String(),
		Upstream: raw(k.Raw), Import: raw(k.Review), Change: changeOf(k), DeadlineMS: m.Binding.DeadlineMS,
	}
}

// changeOf is the change of a drifted method, nil for any other.
func changeOf(k resource.Kept) *adminwire.Change {
	kind, all, drifted := k.ChangeOf()
	if !drifted {
		return nil
	}
	shown := all[:min(len(all), bound.DriftDifferences.Int())]
	return &adminwire.Change{Kind: string(kind), Effects: wordsOf(k.Approved.Definition.Effects), More: len(all) - len(shown),
		Differences: each(shown, func(d resource.Difference) adminwire.Difference { return adminwire.Difference(d) })}
}

// raw keeps an empty value out of a message.
func raw(text []byte) strictjson.Raw {
	if len(text) == 0 {
		return nil
	}
	return text
}

func wordsOf(s effect.Set) []string {
	return each(s.Classes(), func(c effect.Class) string { return string(c) })
}

func grantOf(g view.Grant) adminwire.Grant {
	r := g.Row
	out := adminwire.Grant{
		ID: r.ID.String(), App: g.App, AppID: r.Key.Client.String(), Resource: g.Resource, ResourceID: r.Key.Resource.String(),
		Contract: r.Key.Contract, Method: r.Key.Method, Title: g.Title, Tool: g.Tool, Effects: wordsOf(r.Effects),
		Confirm: string(r.Confirm), State: string(g.State), MethodDigest: r.Pin.Method.String(),
		BindingDigest: r.Pin.Binding.String(), CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt,
	}
	if !g.Replaces.IsZero() {
		out.Replaces = g.Replaces.String()
	}
	if l := r.Limit; !l.IsZero() {
		limit := adminwire.Budget(l)
		out.Budget = &limit
		if l.Daily() {
			out.Today = &adminwire.Today{Calls: g.Today, Spent: g.Today * l.Price}
		}
	}
	return out
}

func confirmationOf(c view.Confirmation) adminwire.Confirmation {
	r := c.Row
	out := adminwire.Confirmation{
		ID: r.ID.String(), App: c.App, AppID: r.Key.Client.String(), Resource: c.Resource, ResourceID: r.Key.Resource.String(),
		Contract: r.Key.Contract, Method: r.Key.Method, Args: raw(r.Args), State: string(r.State), AskedAt: r.AskedAt,
		DecidedAt: r.DecidedAt, UsedBy: r.UsedBy.String(),
	}
	switch r.State {
	case confirmation.Approved:
		out.GoodUntil = r.DecidedAt.Add(bound.ConfirmationLife.Duration())
	case confirmation.Denied:
		out.RefusedTo = r.RefusedUntil()
	}
	return out
}

func invocationOf(v view.Invocation) adminwire.Invocation {
	r := v.Row
	return adminwire.Invocation{
		ID: r.ID.String(), Tx: r.Tx.String(), App: v.App, AppID: r.Client.String(), Resource: v.Resource,
		ResourceID: r.Target.Resource.String(), Contract: r.Target.Contract, Method: r.Target.Method,
		Classes: wordsOf(r.Classes), Grant: r.Grant.String(), Revision: r.Revision.String(), State: string(r.State),
		Code: string(r.Outcome.Code), Message: r.Outcome.Text, Reason: r.Outcome.Reason, Effects: string(r.Answer().Effects),
		Detail: resource.Visible(r.Outcome.Detail), Version: r.Outcome.Version, Attempt: r.Attempt, Node: r.Node.String(),
		Epoch: r.Epoch, ReservedAt: r.ReservedAt, DispatchedAt: r.DispatchedAt, DeadlineAt: r.DeadlineAt,
		SettledAt: r.SettledAt, ReconciledBy: r.Reconciled.By, ReconciledAt: r.Reconciled.At,
	}
}
