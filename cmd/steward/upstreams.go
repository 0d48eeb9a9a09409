package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stewardhost/steward/cmd/steward/buswing"
	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/adapters/issuer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/fleet"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/remote"
	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/egress"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/signin"
)

// upstreams gives the upstream connections the two shapes that services know them
// by: something to list, and something that executes.
type upstreams struct {
	*fleet.Fleet
	gate *egress.Gate // with the operator's exceptions
	desk *signin.Desk
	wing *buswing.Wing // of the capsules, whose tools are adapters as well; set before the first call

	mu  sync.Mutex
	web map[id.Adapter]way // of remote servers in use
}

// way is how a remote server is reached, for views.
type way struct {
	origin, exempt string
	lent           signin.Lending
}

func newUpstreams(gate *egress.Gate, desk *signin.Desk, changed func(id.Adapter), opened func(context.Context, id.Adapter, importer.Listed) error) *upstreams {
	return &upstreams{gate: gate, desk: desk, web: map[id.Adapter]way{}, Fleet: fleet.New(fleet.Listener{
		Changed: changed,
		Opened: func(ctx context.Context, adapter id.Adapter, l mcpupstream.Listing) error {
			return opened(ctx, adapter, listedOf(l))
		},
	})}
}

// exempt lists the exceptions of the operator and of the entries in use.
func (f *upstreams) exempt() []string {
	var out []string
	for _, e := range f.gate.Exceptions() {
		out = append(out, e.String())
	}
	f.mu.Lock()
	for _, w := range f.web {
		out = append(out, strings.Fields(w.exempt)...)
	}
	f.mu.Unlock()
	slices.Sort(out)
	return slices.Compact(out)
}

// Reach says whether an entry's server may be reached; a command always may.
func (f *upstreams) Reach(ctx context.Context, e importer.Entry) error {
	if !e.Remote() {
		return nil
	}
	spec, err := f.spec(e)
	if err != nil {
		return err
	}
	return spec.Gate.Look(ctx, spec.Target)
}

func (f *upstreams) spec(e importer.Entry) (remote.Spec, error) {
	target, err := egress.Parse(e.URL)
	if err != nil {
		return remote.Spec{}, err
	}
	spec := remote.Spec{Target: target, Header: http.Header{}}
	if spec.Gate, err = f.gate.Also(e.Exception); err != nil {
		return remote.Spec{}, err
	}
	for name, value := range e.Headers {
		spec.Header.Set(name, value)
	}
	return spec, nil
}

// Use makes an entry known under an adapter's id.
func (f *upstreams) Use(adapter id.Adapter, owner id.Owner, e importer.Entry) error {
	if e.Remote() {
		return f.useRemote(adapter, owner, e)
	}
	spec := clientconfig.Server{Name: e.Name, Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Folder()}.Process()
	f.Fleet.Use(adapter, func() *mcpupstream.Client {
		return mcpupstream.NewStdio(e.Name, spec, mcpupstream.Options{Version: version})
	})
	return nil
}

func (f *upstreams) useRemote(adapter id.Adapter, owner id.Owner, e importer.Entry) error {
	spec, err := f.spec(e)
	if err != nil {
		return err
	}
	lent := f.desk.Lend(owner, e.Name, e.URL, e.Exception)
	spec.Authorize, spec.NeedsOwner = lent.Token, lent.NeedsOwner
	spec.Refused = func(status int, sent secret.Secret, challenge string) string {
		if status == http.StatusUnauthorized {
			lent.Refused(sent)
			return ""
		}
		if asked, ok := issuer.Bearer(challenge); ok && asked["error"] == "insufficient_scope" {
			return lent.TooNarrow(sent, credential.Scopes(asked["scope"]))
		}
		return ""
	}
	f.mu.Lock()
	f.web[adapter] = way{spec.Target.Origin(), strings.Join(spec.Gate.ExceptionsFor(spec.Target), " "), lent}
	f.mu.Unlock()
	f.Fleet.Use(adapter, func() *mcpupstream.Client {
		return mcpupstream.NewRemote(e.Name, spec, mcpupstream.Options{Version: version})
	})
	return nil
}

// Drop ends an entry's connection and forgets it.
func (f *upstreams) Drop(adapter id.Adapter) {
	f.Fleet.Drop(adapter)
	f.mu.Lock()
	w, far := f.web[adapter]
	delete(f.web, adapter)
	f.mu.Unlock()
	if far {
		w.lent.End()
	}
}

// List opens the connection if needed and reads everything that it offers.
func (f *upstreams) List(ctx context.Context, adapter id.Adapter) (importer.Listed, error) {
	client, ok := f.Client(adapter)
	if !ok && f.wing != nil {
		if listed, mine, err := f.wing.Tools(ctx, adapter); mine {
			return listed, err
		}
	}
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
	if !ok && f.wing != nil {
		return f.wing.Connection(adapter)
	}
	if !ok {
		return view.Connection{}, false
	}
	s := client.Status()
	f.mu.Lock()
	w, far := f.web[adapter]
	f.mu.Unlock()
	out := view.Connection{State: s.State, Reason: s.Reason, PID: s.PID, Restarts: s.Restarts, Origin: w.origin, Exempt: w.exempt}
	if far {
		at := w.lent.Standing()
		if out.Issuer, out.Wants = at.Issuer, at.Wants; at.NeedsOwner {
			out.State, out.Reason = view.ConnectionFailed, fault.From(w.lent.NeedsOwner()).Text
		}
	}
	return out, true
}

func (f *upstreams) executor(adapter id.Adapter) (dispatch.Executor, bool) {
	client, ok := f.Client(adapter)
	if !ok && f.wing != nil {
		return f.wing.Executor(adapter)
	}
	if !ok {
		return nil, false
	}
	return client, true
}
