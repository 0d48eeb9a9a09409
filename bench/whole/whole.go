// Package whole puts the parts of a host together inside the calling process,
// wired as the program wires them: what can only be counted from inside, such as
// statements and allocations of a call, and where its time goes, is measured
// here. Times and memory are the real program's affair.
//
// A Host serves /mcp and /rpc/v1 on a free loopback port. It is safe for
// concurrent use, as its parts are.
package whole

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/fleet"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/remote"
	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/httpguard"
	"github.com/stewardhost/steward/internal/faces/mcp"
	"github.com/stewardhost/steward/internal/faces/rpc"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/childprocess"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/service/access"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/recovery"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

const ownerName = "owner" // as the program names it

// Host is a running host.
type Host struct {
	Addr string // host:port of the doors

	store    *store.Store
	fleet    *connections
	importer *importer.Importer
	port     *dispatch.Port
	owner    id.Owner
	web      *http.Server
	end      context.CancelFunc
	ended    chan struct{}
}

// Ceiling is what the bench raises each resource's ceiling to, since it asks how
// fast calls are and not how many are let through.
var Ceiling = budget.Ceiling{PerMinute: 1_000_000_000, AtOnce: 1_000_000}

// Open starts a host on a folder.
func Open(ctx context.Context, dir string) (*Host, error) {
	s, err := store.Open(ctx, dir, store.Options{Ceiling: Ceiling})
	if err != nil {
		return nil, err
	}
	h := &Host{store: s, fleet: &connections{fleet.New(fleet.Listener{
		Changed: func(id.Adapter) {}, Opened: func(context.Context, id.Adapter, mcpupstream.Listing) error { return nil },
	})}, ended: make(chan struct{})}
	if err := h.serve(ctx); err != nil {
		h.fleet.Close()
		s.Close()
		return nil, err
	}
	return h, nil
}

func (h *Host) serve(ctx context.Context) error {
	log := slog.New(slog.DiscardHandler)
	if _, err := recovery.Run(ctx, h.store.Recover, log); err != nil {
		return err
	}
	seeds, err := builtins.Seeds()
	if err != nil {
		return err
	}
	if h.owner, _, err = h.store.EnsureOwner(ctx, ownerName, seeds); err != nil {
		return err
	}
	h.importer = importer.New(h.store, h.fleet, log)
	if err := h.importer.Start(ctx); err != nil {
		return err
	}
	h.port = dispatch.New(h.store, h.fleet.executor, h.store.Node(), h.store.Epoch(), log)
	tools := mcp.New(mcp.Ports{Find: h.store.FindToken, Catalog: h.store.Catalog, Call: h.port.Call, Denied: h.store.Denied}, mcp.Options{Log: log})
	h.store.OnChange(tools.Changed)
	mux := http.NewServeMux()
	mux.Handle("/mcp", tools)
	mux.Handle(rpcwire.Call.Path, rpc.New(access.New(h.store.FindToken, h.store.Denied, authority.ForRPC), h.port, log))
	guard, err := httpguard.New(mux, log, httpguard.Options{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.Addr, h.web = listener.Addr().String(), httpguard.NewServer(guard, log)
	streams, end := context.WithCancel(context.WithoutCancel(ctx))
	h.end = end
	go func() { defer close(h.ended); tools.Run(streams) }()
	go h.web.Serve(listener)
	return nil
}

// Stats are the store's counts.
func (h *Host) Stats() sqldb.Stats { return h.store.Stats() }

// Close stops everything and waits for it.
func (h *Host) Close() error {
	h.end()
	<-h.ended
	err := h.web.Close()
	h.fleet.Close()
	if cerr := h.store.Close(); err == nil {
		err = cerr
	}
	return err
}

// fleet gives the connections the shapes that services know them by.
type connections struct{ *fleet.Fleet }

func (f *connections) Reach(context.Context, importer.Entry) error { return nil }

func (f *connections) Use(adapter id.Adapter, _ id.Owner, e importer.Entry) error {
	if e.Remote() {
		gate, err := egress.New(egress.Options{}).Also(e.Exception)
		if err != nil {
			return err
		}
		target, err := egress.Parse(e.URL)
		f.Fleet.Use(adapter, func() *mcpupstream.Client {
			return mcpupstream.NewRemote(e.Name, remote.Spec{Gate: gate, Target: target}, mcpupstream.Options{})
		})
		return err
	}
	f.Fleet.Use(adapter, func() *mcpupstream.Client {
		return mcpupstream.NewStdio(e.Name, childprocess.Spec{Command: e.Command, Args: e.Args, Env: childprocess.BaseEnv()}, mcpupstream.Options{})
	})
	return nil
}

func (f *connections) List(ctx context.Context, adapter id.Adapter) (importer.Listed, error) {
	client, ok := f.Client(adapter)
	if !ok {
		return importer.Listed{}, fault.New(fault.NotFound, "there is no such connection")
	}
	l, err := client.List(ctx)
	if err != nil {
		return importer.Listed{}, err
	}
	out := importer.Listed{Server: l.Server, Protocol: l.Protocol}
	for _, t := range l.Tools {
		out.Tools = append(out.Tools, importer.Tool{Name: t.Name, Raw: t.Raw})
	}
	return out, nil
}

func (f *connections) Connection(id.Adapter) (view.Connection, bool) { return view.Connection{}, false }

func (f *connections) executor(adapter id.Adapter) (dispatch.Executor, bool) {
	client, ok := f.Client(adapter)
	return client, ok
}
