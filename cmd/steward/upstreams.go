package main

import (
	"context"
	"maps"
	"slices"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/fleet"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/childprocess"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
)

// upstreams gives the upstream connections the two shapes that services know them
// by: something to list, and something that executes.
type upstreams struct{ *fleet.Fleet }

func newUpstreams(changed func(id.Adapter), opened func(context.Context, id.Adapter, importer.Listed) error) *upstreams {
	return &upstreams{fleet.New(fleet.Listener{
		Changed: changed,
		Opened: func(ctx context.Context, adapter id.Adapter, l mcpupstream.Listing) error {
			return opened(ctx, adapter, listedOf(l))
		},
	})}
}

// Use makes an entry known under an adapter's id.
func (f *upstreams) Use(adapter id.Adapter, e importer.Entry) error {
	env := childprocess.BaseEnv()
	for name, value := range e.Env {
		env = append(env, name+"="+value)
	}
	f.Fleet.Use(adapter, func() *mcpupstream.Client {
		spec := childprocess.Spec{Command: e.Command, Args: e.Args, Env: env, Dir: e.Dir, Mask: slices.Collect(maps.Values(e.Env))}
		return mcpupstream.NewStdio(e.Name, spec, mcpupstream.Options{Version: version})
	})
	return nil
}

// List opens the connection if needed and reads everything that it offers.
func (f *upstreams) List(ctx context.Context, adapter id.Adapter) (importer.Listed, error) {
	client, ok := f.Client(adapter)
	if !ok {
		return importer.Listed{}, fault.New(fault.NotFound, "there is no such connection")
	}
	l, err := client.List(ctx)
	if err != nil {
		return importer.Listed{}, err
	}
	return listedOf(l), nil
}

func listedOf(l mcpupstream.Listing) importer.Listed {
	out := importer.Listed{Server: l.Server + " " + l.Version, Protocol: l.Protocol}
	for _, t := range l.Tools {
		out.Tools = append(out.Tools, importer.Tool{Name: t.Name, Raw: t.Raw, Trouble: t.Trouble})
	}
	return out
}

// Connection tells how an entry's connection stands.
func (f *upstreams) Connection(adapter id.Adapter) (view.Connection, bool) {
	client, ok := f.Client(adapter)
	if !ok {
		return view.Connection{}, false
	}
	s := client.Status()
	return view.Connection{State: string(s.State), Reason: s.Reason, PID: s.PID, Restarts: s.Restarts}, true
}

func (f *upstreams) executor(adapter id.Adapter) (dispatch.Executor, bool) {
	client, ok := f.Client(adapter)
	if !ok {
		return nil, false
	}
	return client, true
}
