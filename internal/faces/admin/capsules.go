package admin

import (
	"context"
	"slices"

	"github.com/stewardhost/steward/internal/adapters/capsulehost"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func (d *Door) capsulesList(context.Context, adminwire.Empty) (adminwire.Capsules, error) {
	return adminwire.Capsules{Capsules: each(d.Capsules.List(), capsuleOf)}, nil
}

func (d *Door) capsulesInstall(ctx context.Context, req adminwire.InstallCapsule) (adminwire.Capsule, error) {
	c, err := d.Capsules.Install(ctx, req.What, req.Args)
	if err != nil {
		return adminwire.Capsule{}, err
	}
	found, err := d.capsule(c.Name)
	return capsuleOf(found), err
}

func (d *Door) capsulesLogs(_ context.Context, req adminwire.CapsuleRef) (adminwire.CapsuleLog, error) {
	found, err := d.capsule(req.Name)
	return adminwire.CapsuleLog{Log: found.Log}, err
}

func (d *Door) capsulesReads(ctx context.Context, req adminwire.ListReads) (adminwire.Readings, error) {
	limit, err := page(req.Limit)
	if err != nil {
		return adminwire.Readings{}, err
	}
	rows, err := d.Ledger.Reads(ctx, d.host.Owner, limit)
	return adminwire.Readings{Reads: each(rows, func(v view.Reading) adminwire.Reading {
		return adminwire.Reading{At: v.At, App: v.App, AppID: v.Client.String(), Resource: v.Resource, Outcome: v.Outcome, Count: max(v.Count, 1)}
	})}, err
}

func (d *Door) capsulesRemove(ctx context.Context, req adminwire.CapsuleRef) (adminwire.Empty, error) {
	return adminwire.Empty{}, d.Capsules.Remove(ctx, req.Name)
}

func (d *Door) capsule(name string) (capsulehost.Status, error) {
	all := d.Capsules.List()
	i := slices.IndexFunc(all, func(s capsulehost.Status) bool { return s.Name == name })
	if i < 0 {
		return capsulehost.Status{}, fault.New(fault.NotFound, "no capsule of this name is installed")
	}
	return all[i], nil
}

func capsuleOf(s capsulehost.Status) adminwire.Capsule {
	return adminwire.Capsule{Name: s.Name, Version: s.Version, Publisher: s.Publisher, Folder: s.Folder, Args: s.Args, Order: s.Order,
		Source: s.Source.String(), Build: s.Build.String(), InstalledAt: s.At, State: string(s.State), Reason: s.Reason, PID: s.PID, Restarts: s.Restarts, Serves: append([]string{}, s.Serves...)}
}
