package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/cmd/steward/buswing"
	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/admin"
	"github.com/stewardhost/steward/internal/faces/admin/metrics"
	"github.com/stewardhost/steward/internal/faces/cli"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
	"github.com/stewardhost/steward/internal/faces/httpguard"
	"github.com/stewardhost/steward/internal/faces/mcp"
	"github.com/stewardhost/steward/internal/faces/mcp/library"
	"github.com/stewardhost/steward/internal/faces/rpc"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/internal/service/access"
	"github.com/stewardhost/steward/internal/service/alarms"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/importer/lookout"
	"github.com/stewardhost/steward/internal/service/links"
	"github.com/stewardhost/steward/internal/service/owner"
	"github.com/stewardhost/steward/internal/service/recovery"
	"github.com/stewardhost/steward/internal/service/signin"
	"github.com/stewardhost/steward/internal/service/upkeep"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

const (
	ownerName   = "owner"
	drainSlack  = 5 * time.Second // beyond the longest call, for what came of it to be told
	adminFolder = "run"
)

// parts is one host, wired.
type parts struct {
	store    *store.Store
	gate     *egress.Gate
	desk     *signin.Desk
	fleet    *upstreams
	importer *importer.Importer
	port     *dispatch.Port
	tools    *mcp.Door
	shelves  *library.Library
	capsules *buswing.Wing
	owner    id.Owner
	hand     id.Client
	alarms   alarms.Watch
	form     upkeep.Inspection // of the database
	metrics  *metrics.Metrics
	log      *slog.Logger
}

// up runs a host until ctx ends. The doors open only when every call of a dead
// process has been classified.
func up(ctx context.Context, o cli.UpOptions) (err error) {
	log := slog.New(logging(o))
	began := time.Now()
	follow := frugal()
	if err := vacant(ctx, o); err != nil {
		return err
	}
	p, err := assemble(ctx, o, log)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, p.close()) }()
	web, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return err
	}
	base := "http://" + web.Addr().String()
	local, err := admin.Listen(filepath.Join(o.Data, adminFolder), log)
	if err != nil {
		web.Close()
		return notListening(err)
	}
	guarded, err := p.doors(log)
	if err != nil {
		return errors.Join(err, web.Close(), local.Close())
	}
	watched, err := p.watched(ctx, o.Metrics, local, log)
	if err != nil {
		return errors.Join(err, web.Close(), local.Close())
	}
	host := admin.Host{Owner: p.owner, Hand: p.hand, Name: ownerName, Version: version, Node: p.store.Node(), Epoch: p.store.Epoch(),
		StartedAt: began, Data: o.Data, Listen: []string{base}, Ceiling: o.Ceiling, Restored: p.store.RestoredAt(), Metrics: watched.where, Exempt: p.fleet.exempt, Fenced: p.store.Fenced, Alarms: p.alarms.Look}
	webServer := httpguard.NewServer(guarded, log)
	localServer := httpguard.NewServer(p.local(admin.New(host, p.services(), log)), log)
	ended := make(chan error, 3)
	go func() { ended <- webServer.Serve(httpguard.Limit(web, bound.HTTPConnections.Int())) }()
	go func() { ended <- localServer.Serve(local) }()
	if watched.server != nil {
		go func() { ended <- watched.server.Serve(watched.listener) }()
	}
	streams, endStreams := context.WithCancel(ctx)
	quiet := p.beside(streams, follow)
	settled := make(chan struct{})
	settling, endSettling := context.WithCancel(context.WithoutCancel(ctx))
	go func() { defer close(settled); p.port.Run(settling) }()
	o.Ready(cli.Doors{Listen: []string{base}})
	select {
	case <-ctx.Done():
	case err = <-ended:
	case <-p.store.FencedCh():
		err = p.store.Fenced()
	}
	endStreams()
	quiet()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound.CallDeadline.Duration()+drainSlack)
	defer cancel()
	err = errors.Join(err, webServer.Shutdown(drain), localServer.Shutdown(drain), watched.close())
	endSettling()
	<-settled
	return err
}

// vacant looks whether the doors have their address before anything is made in a folder
// that no host has run on. Of another one the host that holds it is the better reason.
func vacant(ctx context.Context, o cli.UpOptions) error {
	if _, err := os.Stat(filepath.Join(o.Data, adminFolder)); err == nil {
		return nil
	}
	web, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return err
	}
	return web.Close()
}

// beside runs what goes on beside the doors until ctx ends; wait returns when all of it
// has ended.
func (p *parts) beside(ctx context.Context, follow func(context.Context)) (wait func()) {
	var all sync.WaitGroup
	all.Go(func() { follow(ctx) })
	all.Go(func() { p.tools.Run(ctx) })
	all.Go(func() { p.shelves.Run(ctx) })
	all.Go(func() { upkeep.Run(ctx, p.store.Sweep, p.log) })
	all.Go(func() { p.form.Run(ctx, p.store.Form, p.log) })
	all.Go(func() { lookout.Run(ctx, lookout.Ports{Enabled: p.importer.Enabled, Visit: p.fleet.Visit}, p.log) })
	return all.Wait
}

// notListening gives the reasons that a person can mend an exit code of their own.
func notListening(err error) error {
	switch {
	case errors.Is(err, admin.ErrUnsafe):
		return trouble.New(trouble.Unsafe, err.Error(), "mend the folder, or name another one with --data")
	case errors.Is(err, admin.ErrBusy):
		return trouble.New(trouble.Later, err.Error(), "steward status")
	}
	return err
}

// logging writes to standard error; both forms escape what could break a line.
func logging(o cli.UpOptions) slog.Handler {
	opt := &slog.HandlerOptions{Level: slog.LevelInfo}
	switch {
	case o.Debug:
		opt.Level = slog.LevelDebug
	case o.Quiet:
		opt.Level = slog.LevelWarn
	}
	if o.JSON {
		return slog.NewJSONHandler(escaping{os.Stderr}, opt)
	}
	return slog.NewTextHandler(os.Stderr, opt)
}

// escaping writes whole lines of JSON so that nothing in them moves a terminal.
type escaping struct{ to io.Writer }

func (e escaping) Write(line []byte) (int, error) {
	text := strings.TrimSuffix(string(line), "\n")
	if _, err := io.WriteString(e.to, paper.Escaped(text)+"\n"); err != nil {
		return 0, err
	}
	return len(line), nil
}

// assemble opens the store, recovers, and builds the services.
func assemble(ctx context.Context, o cli.UpOptions, log *slog.Logger) (*parts, error) {
	gate := egress.New(egress.Options{})
	for _, text := range o.Exceptions { // each was held to its form
		gate, _ = gate.Also(text)
	}
	s, err := store.Open(ctx, o.Data, store.Options{Ceiling: o.Ceiling})
	if err != nil {
		return nil, err
	}
	p := &parts{store: s, gate: gate, log: log}
	if err := p.build(ctx, o); err != nil {
		_ = s.Close() // the failure before it is the one to tell
		return nil, err
	}
	return p, nil
}

func (p *parts) build(ctx context.Context, o cli.UpOptions) error {
	if _, err := recovery.Run(ctx, p.store.Recover, p.log); err != nil {
		return err
	}
	seeds, err := builtins.Seeds()
	if err != nil {
		return err
	}
	if p.owner, p.hand, err = p.store.EnsureOwner(ctx, ownerName, seeds); err != nil {
		return err
	}
	p.desk = newDesk(p.store, p.gate, o.Document, p.log)
	p.fleet = newUpstreams(p.gate, p.desk, p.relist, p.opened)
	p.importer = importer.New(p.store, p.fleet, p.log)
	if err := p.importer.Start(ctx); err != nil {
		return err
	}
	p.port = dispatch.New(p.store, p.fleet.executor, p.store.Node(), p.store.Epoch(), p.log)
	p.watch()
	if p.capsules, err = buswing.New(ctx, buswing.Parts{Store: p.store, Owner: p.owner, Folder: o.Data, Version: version, Log: p.log, Servers: o.Servers,
		Changed: func() { p.shelves.Changed(p.owner) }, Merge: p.opened}); err != nil {
		return err
	}
	p.fleet.wing = p.capsules
	p.shelves = library.New(library.Ports{Readable: p.store.Readable, List: p.capsules.List, Read: p.capsules.Read, WasRead: p.store.WasRead,
		Links: links.New(p.store.LinkKey(), links.Ports{Behind: p.store.Behind, Read: p.fleet.Read, WasRead: p.store.WasRead})})
	p.tools = mcp.New(mcp.Ports{Find: p.store.FindToken, Catalog: p.store.Catalog, Call: p.port.Call, Denied: p.store.Denied, Library: p.shelves},
		mcp.Options{Version: version, Log: p.log})
	p.store.OnChange(p.tools.Changed)
	return p.capsules.Start(ctx)
}

// relist merges a fresh listing of an upstream that may have changed.
func (p *parts) relist(adapter id.Adapter) {
	ctx, cancel := context.WithTimeout(context.Background(), bound.StartDeadline.Duration()) // as every listing
	defer cancel()
	if err := p.importer.Relist(ctx, adapter); err != nil {
		p.log.Warn("an upstream could not be listed again", "adapter", adapter.String(), "err", err)
	}
}

// opened merges what a new session of an upstream offers before it takes calls.
func (p *parts) opened(ctx context.Context, adapter id.Adapter, listed importer.Listed) error {
	err := p.importer.Opened(ctx, adapter, listed)
	if err != nil {
		p.log.Warn("what an upstream offers now could not be merged", "adapter", adapter.String(), "err", err)
	}
	return err
}

// doors guards every path; what the guard refuses on the RPC paths has the form
// of that wire.
func (p *parts) doors(log *slog.Logger) (http.Handler, error) {
	calls, err := httpguard.New(rpc.New(access.New(p.store.FindToken, p.store.Denied, authority.ForRPC), p.port, log), log, httpguard.Options{Refuse: rpc.Refuse})
	if err != nil {
		return nil, err
	}
	rest, err := httpguard.New(http.HandlerFunc(p.other), log, httpguard.Options{})
	if err != nil {
		return nil, err
	}
	// By the exact path and behind a guard each: a mux would answer an unclean path
	// with a redirect before anybody has looked at the request.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case rpcwire.Call.Path, rpcwire.Lookup.Path:
			calls.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	}), nil
}

// local serves the owner's socket: the owner's door, and MCP for the bridges of
// clients, which present an app's token like all others. Nobody but this user
// gets a byte through, so that no name of a host is to be checked.
func (p *parts) local(door http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			p.tools.ServeHTTP(w, r)
			return
		}
		door.ServeHTTP(w, r)
	})
}

// other serves every path but those of the RPC wire.
func (p *parts) other(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/mcp":
		p.tools.ServeHTTP(w, r)
	case "/healthz":
		w.WriteHeader(http.StatusNoContent)
	case "/readyz":
		ready(w, p.alarms.Look(r.Context()))
	default:
		http.NotFound(w, r)
	}
}

func (p *parts) services() admin.Services {
	return admin.Services{
		Apps: owner.NewApps(p.store), Reviews: owner.NewReviews(p.store), Grants: owner.NewGrants(p.store),
		Confirmations: owner.NewConfirmations(p.store), Ledger: owner.NewLedger(p.store),
		Importer: p.importer, Port: p.port, Capsules: p.capsules.Shelf, SignIn: p.desk,
	}
}

// close ends what the host is made of; what could not be made durable then is the
// host's last word.
func (p *parts) close() error {
	p.capsules.Close()
	p.desk.Close()
	p.fleet.Close()
	return p.store.Close()
}
