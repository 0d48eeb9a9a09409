package admin

import (
	"context"
	"runtime"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const wireVersion = 1

func (d *Door) version(context.Context, adminwire.Empty) (adminwire.Version, error) {
	return adminwire.Version{Version: d.host.Version, Go: runtime.Version(), Wire: wireVersion}, nil
}

func (d *Door) status(ctx context.Context, _ adminwire.Empty) (adminwire.Status, error) {
	h := d.host
	out := adminwire.Status{
		Version: h.Version, Owner: h.Name, Node: h.Node.String(), Epoch: h.Epoch, StartedAt: h.StartedAt,
		Data: h.Data, Listen: h.Listen, Store: "ok", Ceiling: d.ceiling(), Metrics: h.Metrics, Restored: h.Restored, Exceptions: h.Exempt(),
	}
	for _, a := range h.Alarms(ctx) {
		out.Alarms = append(out.Alarms, adminwire.Alarm{Kind: string(a.Kind), Text: a.Text, Fix: a.Fix})
	}
	if err := h.Fenced(); err != nil {
		out.Store = fault.From(err).Text
	}
	var err error
	out.Count, err = d.count(ctx)
	return out, err
}

// ceiling tells what bounds each resource behind an outside executor.
func (d *Door) ceiling() adminwire.Ceiling {
	c, usual := d.host.Ceiling, budget.Usual()
	return adminwire.Ceiling{PerMinute: c.PerMinute, AtOnce: c.AtOnce, Raised: c.PerMinute > usual.PerMinute || c.AtOnce > usual.AtOnce}
}

func (d *Door) count(ctx context.Context) (adminwire.Count, error) {
	var n adminwire.Count
	apps, err := d.Apps.List(ctx, d.host.Owner)
	if err != nil {
		return n, err
	}
	for _, a := range apps {
		n.Apps += one(a.Connected)
	}
	resources, err := d.Reviews.List(ctx, d.host.Owner)
	if err != nil {
		return n, err
	}
	for _, r := range resources {
		n.Resources += one(r.Row.State == resource.Active)
		if now, used := d.Importer.Connection(r.Adapter.ID); used {
			n.Down += one(now.State == view.ConnectionFailed)
		}
		for _, kept := range r.Methods {
			n.Review += one(waits(kept) && !isDeclined(r, kept))
		}
	}
	grants, err := d.Grants.List(ctx, d.host.Owner, "")
	if err != nil {
		return n, err
	}
	for _, g := range grants {
		n.Grants += one(g.State == grant.Active)
	}
	open, err := d.Confirmations.List(ctx, d.host.Owner, false)
	if err != nil {
		return n, err
	}
	doubts, next, err := d.Ledger.List(ctx, d.host.Owner, "", view.JournalFilter{State: invocation.Indeterminate})
	n.Confirmations, n.Indeterminate, n.More = len(open), len(doubts), next != ""
	return n, err
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
