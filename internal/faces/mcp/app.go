package mcp

import (
	"context"
	"net/http"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/toolset"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// key names a grant set: what one client of one owner may call.
type key struct {
	owner  id.Owner
	client id.Client
}

// app is what the door remembers of one grant set. Everything is under the
// door's lock; catalogs do not change once made.
type app struct {
	key     key
	used    uint64           // the door's clock when it was last entered
	inside  int              // requests that are being answered; such an app is not evicted
	calls   int              // of those, calls
	last    authority.Caller // who came last
	catalog *toolset.Set     // as last read; a hint for calls, never a list's answer
	told    *toolset.Set     // what its streams were last told of; nil before the first
	changed bool             // Changed was called since
	server  *sdk.Server      // nil until the SDK is needed
	opening int              // sessions that are being opened
	seats   map[string]*seat
	streams map[*stream]struct{}
}

// Stats tells what the door holds.
type Stats struct{ Apps, Sessions, Streams, Calls int }

// Stats counts at this moment.
func (d *Door) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := Stats{Apps: len(d.apps)}
	for _, a := range d.apps {
		s.Sessions += len(a.seats)
		s.Streams += len(a.streams)
		s.Calls += a.calls
	}
	return s
}

// enter finds or makes the app of a caller and keeps it until leave.
func (d *Door) enter(c authority.Caller) (*app, *fault.Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := key{c.Owner, c.Client}
	a := d.apps[k]
	if a == nil {
		if len(d.apps) >= bound.MCPApps.Int() && !d.evict() {
			return nil, bound.MCPApps.Exceeded()
		}
		a = &app{key: k, seats: make(map[string]*seat), streams: make(map[*stream]struct{})}
		d.apps[k] = a
	}
	d.clock++
	a.used, a.last = d.clock, c
	a.inside++
	return a, nil
}

func (d *Door) leave(a *app) {
	d.mu.Lock()
	a.inside--
	d.mu.Unlock()
}

// evict forgets the app that was idle longest. An app with a session or an open
// request stays.
func (d *Door) evict() bool {
	var oldest *app
	for _, a := range d.apps {
		if a.inside == 0 && len(a.seats) == 0 && (oldest == nil || a.used < oldest.used) {
			oldest = a
		}
	}
	if oldest != nil {
		delete(d.apps, oldest.key)
	}
	return oldest != nil
}

// callers lists who came last and, for each other token that the app's streams
// came with, its caller. The lock is held.
func (a *app) callers() []authority.Caller {
	known := map[secret.Hash]authority.Caller{a.last.Token: a.last}
	for s := range a.streams {
		known[s.caller.Token] = s.caller
	}
	out := make([]authority.Caller, 0, len(known))
	for _, c := range known {
		out = append(out, c)
	}
	return out
}

type serverKey struct{}

// serverOf gives the SDK the server that toSDK put into the context.
func serverOf(r *http.Request) *sdk.Server {
	s, _ := r.Context().Value(serverKey{}).(*sdk.Server)
	return s
}

// instructions are the same for every app.
const instructions = "These tools act on an owner's applications and data under the owner's control. " +
	"A result may say that a call may have happened: do not repeat that call; ask the owner."

// serverFor gives the app's one SDK server. It knows no tool of the app: its
// registry holds a marker, whose renewal is how a change is announced.
func (d *Door) serverFor(a *app) *sdk.Server {
	d.mu.Lock()
	s := a.server
	d.mu.Unlock()
	if s != nil {
		return s
	}
	s = sdk.NewServer(d.impl, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}, Resources: &sdk.ResourceCapabilities{ListChanged: true}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.TTLMs, c.CacheScope = 0, "private" },
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.server == nil {
		a.server = s
	}
	return a.server
}

// announce makes the SDK tell every session and subscription of one server that
// its list changed.
func announce(s *sdk.Server) {
	marker := &sdk.Tool{Name: "changed", InputSchema: map[string]any{"type": "object"}}
	s.AddTool(marker, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, authority.NotFound()
	})
}
