package admin

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/owner"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *Door) appsList(ctx context.Context, _ adminwire.Empty) (adminwire.Apps, error) {
	apps, err := d.Apps.List(ctx, d.host.Owner)
	return adminwire.Apps{Apps: each(apps, appOf)}, err
}

func (d *Door) appsAdd(ctx context.Context, req adminwire.AddApp) (adminwire.AddedApp, error) {
	added, err := d.Apps.Add(ctx, d.host.Owner, req.Name, req.ExpiresAt)
	return told(added, err)
}

func (d *Door) appsRotate(ctx context.Context, req adminwire.RotateApp) (adminwire.AddedApp, error) {
	rotated, err := d.Apps.Rotate(ctx, d.host.Owner, req.App, req.ExpiresAt)
	return told(rotated, err)
}

// told is an app with its tokens in the clear, for the owner's eyes this once.
func told(added owner.Added, err error) (adminwire.AddedApp, error) {
	if err != nil {
		return adminwire.AddedApp{}, err
	}
	return adminwire.AddedApp{ID: added.Client.String(), Name: added.Name, Tokens: []adminwire.Token{
		{Audience: string(authority.ForRPC), Token: added.RPC.Reveal()},
		{Audience: string(authority.ForMCP), Token: added.MCP.Reveal()},
	}}, nil
}

func (d *Door) appsDisconnect(ctx context.Context, req adminwire.AppRef) (adminwire.Empty, error) {
	return adminwire.Empty{}, d.Apps.Disconnect(ctx, d.host.Owner, req.App)
}

func (d *Door) resourcesList(ctx context.Context, _ adminwire.Empty) (adminwire.Resources, error) {
	rows, err := d.Reviews.List(ctx, d.host.Owner)
	return adminwire.Resources{Resources: each(rows, d.resourceOf)}, err
}

func (d *Door) resourcesShow(ctx context.Context, req adminwire.ResourceRef) (adminwire.Review, error) {
	got, err := d.Reviews.Show(ctx, d.host.Owner, req.Resource)
	if err != nil {
		return adminwire.Review{}, err
	}
	return d.reviewOf(got), nil
}

func (d *Door) reviewApprove(ctx context.Context, req adminwire.Approve) (adminwire.Approved, error) {
	shown, err := digest.Parse(req.Shown)
	if err != nil {
		return adminwire.Approved{}, at(err, "/shown")
	}
	choices := make([]authority.Choice, len(req.Methods))
	for i, m := range req.Methods {
		effects, err := effectsOf(m.Effects)
		if err != nil {
			return adminwire.Approved{}, err
		}
		choices[i] = authority.Choice{Method: m.Method, Effects: effects, Deadline: time.Duration(m.DeadlineMS) * time.Millisecond}
	}
	changes, err := d.Reviews.Approve(ctx, d.host.Owner, req.Resource, shown, choices)
	if err != nil {
		return adminwire.Approved{}, err
	}
	return adminwire.Approved{
		Resource: changes.Resource.ID.String(), Revision: changes.Resource.Revision.String(),
		Methods: each(choices, func(c authority.Choice) string { return c.Method }),
	}, nil
}

func (d *Door) reviewReaffirm(ctx context.Context, req adminwire.Reaffirm) (adminwire.Reaffirmed, error) {
	shown, err := digest.Parse(req.Shown)
	if err != nil {
		return adminwire.Reaffirmed{}, at(err, "/shown")
	}
	changes, err := d.Reviews.Reaffirm(ctx, d.host.Owner, req.Resource, shown, req.Methods)
	if err != nil {
		return adminwire.Reaffirmed{}, err
	}
	return adminwire.Reaffirmed{Resource: changes.Resource.ID.String(), Revision: changes.Resource.Revision.String(),
		Methods: req.Methods, Grants: len(changes.Grants)}, nil
}

func (d *Door) reviewDefer(ctx context.Context, req adminwire.Defer) (adminwire.Empty, error) {
	shown, err := digest.Parse(req.Shown)
	if err != nil {
		return adminwire.Empty{}, at(err, "/shown")
	}
	return adminwire.Empty{}, d.Reviews.Defer(ctx, d.host.Owner, req.Resource, shown, req.Methods, view.Say(req.Answer))
}

func effectsOf(words []string) (effect.Set, error) {
	classes := each(words, func(word string) effect.Class { return effect.Class(word) })
	return effect.SetOf(classes...)
}

func (d *Door) grantsList(ctx context.Context, req adminwire.ListGrants) (adminwire.Grants, error) {
	rows, err := d.Grants.List(ctx, d.host.Owner, req.App)
	return adminwire.Grants{Grants: each(rows, grantOf)}, err
}

func (d *Door) grantsAdd(ctx context.Context, req adminwire.AddGrants) (adminwire.Grants, error) {
	confirm, err := grant.ParseConfirm(req.Confirm)
	if err != nil {
		return adminwire.Grants{}, at(err, "/confirm")
	}
	rows, err := d.Grants.Add(ctx, d.host.Owner, owner.NewRows{
		App: req.App, Resource: req.Resource, Methods: req.Methods, Confirm: confirm, ExpiresAt: req.ExpiresAt, Limit: budget.Limit(req.Budget),
	})
	return adminwire.Grants{Grants: each(rows, grantOf)}, err
}

func (d *Door) grantsRevoke(ctx context.Context, req adminwire.RevokeGrants) (adminwire.Revoked, error) {
	byID, byPair := req.Grant != "", req.App != "" && req.Resource != ""
	if byID == byPair || byID && (req.App != "" || req.Resource != "") {
		return adminwire.Revoked{}, fault.New(fault.InvalidRequest, "name a grant, or an app and a resource")
	}
	if byPair {
		n, err := d.Grants.RevokeAll(ctx, d.host.Owner, req.App, req.Resource)
		return adminwire.Revoked{Revoked: n}, err
	}
	which, err := id.Parse[id.Grant](req.Grant)
	if err != nil {
		return adminwire.Revoked{}, at(err, "/grant")
	}
	n, err := d.Grants.Revoke(ctx, d.host.Owner, which)
	return adminwire.Revoked{Revoked: n}, err
}

func (d *Door) confirmList(ctx context.Context, req adminwire.ListConfirmations) (adminwire.Confirmations, error) {
	rows, err := d.Confirmations.List(ctx, d.host.Owner, req.All)
	return adminwire.Confirmations{Confirmations: each(rows, confirmationOf)}, err
}

func (d *Door) confirmApprove(ctx context.Context, req adminwire.ConfirmationRef) (adminwire.Confirmation, error) {
	return d.decide(ctx, req, d.Confirmations.Approve)
}

func (d *Door) confirmDeny(ctx context.Context, req adminwire.ConfirmationRef) (adminwire.Confirmation, error) {
	return d.decide(ctx, req, d.Confirmations.Deny)
}

type decision func(context.Context, id.Owner, id.Confirmation) (view.Confirmation, error)

func (d *Door) decide(ctx context.Context, req adminwire.ConfirmationRef, run decision) (adminwire.Confirmation, error) {
	which, err := id.Parse[id.Confirmation](req.Confirmation)
	if err != nil {
		return adminwire.Confirmation{}, at(err, "/confirmation")
	}
	decided, err := run(ctx, d.host.Owner, which)
	if err != nil {
		return adminwire.Confirmation{}, err
	}
	return confirmationOf(decided), nil
}

// at adds the place of a member to the fault of its value.
func at(err error, pointer string) error { return fault.From(err).With("pointer", pointer) }

func each[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}
