package admin

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *Door) importPlan(ctx context.Context, req adminwire.Import) (adminwire.Plan, error) {
	var out adminwire.Plan
	failed, err := d.eachServer(req, func(e importer.Entry) error {
		proposals, err := d.Importer.Plan(ctx, e)
		out.Tools = append(out.Tools, each(proposals, plannedOf)...)
		return err
	})
	out.Failed = failed
	return out, err
}

func (d *Door) importAdd(ctx context.Context, req adminwire.Import) (adminwire.Imported, error) {
	var out adminwire.Imported
	failed, err := d.eachServer(req, func(e importer.Entry) error {
		listing, err := d.Importer.Add(ctx, d.host.Owner, e)
		if err != nil {
			return err
		}
		review, err := d.Reviews.Show(ctx, d.host.Owner, listing.Resource.String())
		if err == nil {
			out.Reviews = append(out.Reviews, d.reviewOf(review))
		}
		return err
	})
	out.Failed = failed
	return out, err
}

// eachServer goes on after a server that fails, since a pile of servers has
// always one that is broken.
func (d *Door) eachServer(req adminwire.Import, run func(importer.Entry) error) ([]adminwire.FailedServer, error) {
	if len(req.Servers) == 0 {
		return nil, at(fault.New(fault.InvalidRequest, "name a server"), "/servers")
	}
	var failed []adminwire.FailedServer
	for _, s := range req.Servers {
		err := run(importer.Entry{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Cwd})
		if err != nil {
			f := fault.From(err)
			d.log.Warn("a server cannot be imported", "server", resource.Visible(s.Name), "code", string(f.Code), "err", err)
			failed = append(failed, adminwire.FailedServer{Server: resource.Visible(s.Name), Error: errorOf(f)})
		}
	}
	return failed, nil
}

func plannedOf(p importer.Proposal) adminwire.PlannedTool {
	out := adminwire.PlannedTool{Server: resource.Visible(p.Server), Name: p.Name, Outcome: string(p.Outcome),
		Decisions: each(p.Decisions, decisionOf), Lost: each(p.Lost, decisionOf)}
	if p.Reason != nil {
		out.Reason = &adminwire.Reason{Pointer: p.Reason.Pointer, Text: p.Reason.Text}
	}
	return out
}

func decisionOf(n narrowing.Decision) adminwire.Decision {
	return adminwire.Decision{Pointer: n.Pointer, Kind: n.Kind, From: n.From, To: n.To, Exception: n.Exception}
}

func (d *Door) importRefresh(ctx context.Context, req adminwire.ServerRef) (adminwire.Review, error) {
	adapter, err := d.entry(ctx, req.Server)
	if err != nil {
		return adminwire.Review{}, err
	}
	listing, err := d.Importer.Refresh(ctx, d.host.Owner, adapter)
	if err != nil {
		return adminwire.Review{}, err
	}
	return d.resourcesShow(ctx, adminwire.ResourceRef{Resource: listing.Resource.String()})
}

func (d *Door) importRemove(ctx context.Context, req adminwire.ServerRef) (adminwire.Empty, error) {
	adapter, err := d.entry(ctx, req.Server)
	if err != nil {
		return adminwire.Empty{}, err
	}
	return adminwire.Empty{}, d.Importer.Remove(ctx, d.host.Owner, adapter)
}

// entry finds the upstream entry that a resource was imported from.
func (d *Door) entry(ctx context.Context, ref string) (id.Adapter, error) {
	got, err := d.Reviews.Show(ctx, d.host.Owner, ref)
	if err != nil {
		return id.Adapter{}, err
	}
	if got.Adapter.ID.IsZero() {
		return id.Adapter{}, fault.New(fault.InvalidRequest, "a built-in resource was not imported")
	}
	return got.Adapter.ID, nil
}
