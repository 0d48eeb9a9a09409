package admin

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *Door) importPlan(ctx context.Context, req adminwire.Import) (adminwire.Plan, error) {
	var out adminwire.Plan
	failed, err := d.eachServer(req, func(e importer.Entry) error {
		proposals, err := d.Importer.Plan(ctx, d.host.Owner, e)
		out.Tools = append(out.Tools, each(proposals, plannedOf)...)
		return err
	})
	out.Failed = failed
	return out, err
}

func (d *Door) importAdd(ctx context.Context, req adminwire.Import) (adminwire.Imported, error) {
	var out adminwire.Imported
	failed, err := d.eachServer(req, func(e importer.Entry) error {
		stands, ref, err := d.add(ctx, e)
		if err != nil {
			return err
		}
		if stands != importer.IsNew {
			out.Known = append(out.Known, e.Name)
		}
		review, err := d.Reviews.Show(ctx, d.host.Owner, ref)
		if err == nil {
			out.Reviews = append(out.Reviews, d.reviewOf(review))
		}
		return err
	})
	out.Failed = failed
	return out, err
}

// add imports an entry, or switches the one on that it is. Another one of its name is a
// conflict, which is found before the new one is started.
func (d *Door) add(ctx context.Context, e importer.Entry) (stands importer.Standing, ref string, err error) {
	if stands, err = d.Importer.Stands(ctx, d.host.Owner, e); err != nil {
		return stands, "", err
	}
	switch stands {
	case importer.IsNew:
		listing, err := d.Importer.Add(ctx, d.host.Owner, e)
		return stands, listing.Resource.String(), err
	case importer.IsSame:
		return stands, e.Name, d.Importer.Enable(ctx, d.host.Owner, e.Name)
	case importer.Replaces:
		return stands, e.Name, d.Importer.Replace(ctx, d.host.Owner, e)
	}
	return stands, "", fault.Newf(fault.Conflict, "%s was imported before, with another command, environment or address", resource.Visible(e.Name)).
		With("fix", "rename it in the file, or take the old one out with steward import --remove")
}

// eachServer goes on after a server that fails, since a pile of servers has
// always one that is broken.
func (d *Door) eachServer(req adminwire.Import, run func(importer.Entry) error) ([]adminwire.FailedServer, error) {
	if len(req.Servers) == 0 {
		return nil, at(fault.New(fault.InvalidRequest, "name a server"), "/servers")
	}
	var failed []adminwire.FailedServer
	for _, s := range req.Servers {
		err := run(entryOf(s))
		if err != nil {
			f := fault.From(err)
			d.log.Warn("a server cannot be imported", "server", resource.Visible(s.Name), "code", string(f.Code), "err", err)
			failed = append(failed, adminwire.FailedServer{Server: resource.Visible(s.Name), Error: errorOf(f)})
		}
	}
	return failed, nil
}

func entryOf(s adminwire.Server) importer.Entry {
	if s.URL != "" {
		return importer.Entry{Name: s.Name, URL: s.URL, Headers: s.Headers, Exception: s.Exception, Written: s.Written}
	}
	return importer.Entry{Written: s.Written, Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Cwd, Base: s.Base, Headers: s.Headers, Exception: s.Exception}
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
	e, found, err := d.named(ctx, req.Server)
	if err == nil && found {
		err = d.Importer.Enable(ctx, d.host.Owner, e.Name)
	}
	if err != nil {
		return adminwire.Review{}, err
	}
	listing, err := d.Importer.Refresh(ctx, d.host.Owner, adapter)
	if err != nil {
		return adminwire.Review{}, err
	}
	return d.resourcesShow(ctx, adminwire.ResourceRef{Resource: listing.Resource.String()})
}

// importExport tells the entries without their secrets, which do not leave the
// process (field faults, L).
func (d *Door) importExport(ctx context.Context, _ adminwire.Empty) (adminwire.Exported, error) {
	entries, err := d.Importer.Entries(ctx, d.host.Owner)
	return adminwire.Exported{Servers: each(entries, exportedOf)}, err
}

func exportedOf(e importer.Entry) adminwire.Server {
	whole := clientconfig.Server{Name: e.Name, Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Folder(), URL: e.URL, Headers: e.Headers}
	s := whole.WithReferences(e.Written).Redacted()
	return adminwire.Server{Name: s.Name, Command: s.Command, Args: append([]string{}, s.Args...), Env: s.Env, Cwd: s.Cwd,
		URL: s.URL, Headers: s.Headers, Exception: e.Exception}
}

func (d *Door) importRemove(ctx context.Context, req adminwire.ServerRef) (adminwire.Empty, error) {
	adapter, err := d.entry(ctx, req.Server)
	if err == nil {
		err = d.noCapsule(ctx, req.Server)
	}
	if err != nil {
		return adminwire.Empty{}, err
	}
	e, found, err := d.named(ctx, req.Server)
	if err == nil && found && d.SignIn != nil {
		d.SignIn.Stop(d.host.Owner, e.Name) // or it would bring a credential back
	}
	if err == nil {
		err = d.Importer.Remove(ctx, d.host.Owner, adapter)
	}
	if err == nil && found && d.SignIn != nil {
		d.SignIn.Forget(d.host.Owner, e.Name)
	}
	return adminwire.Empty{}, err
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

// noCapsule refuses to remove what goes with its capsule.
func (d *Door) noCapsule(ctx context.Context, ref string) error {
	got, err := d.Reviews.Show(ctx, d.host.Owner, ref)
	if err == nil && got.Adapter.Kind == view.InCapsule {
		err = fault.New(fault.InvalidRequest, "this is a capsule, whose tools go with it").With("fix", "steward capsule remove "+got.Row.Label)
	}
	return err
}
