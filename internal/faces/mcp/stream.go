package mcp

import (
	"context"
	"net/http"
	"sync"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/feed"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// stream is one open response on which a client waits for changes. It ends with
// the request, with the token that it came with, or with the app.
type stream struct {
	caller authority.Caller
	cancel context.CancelFunc
}

// openStream answers the GET of an older revision.
func (x *exchange) openStream() {
	if !x.sit() {
		return
	}
	defer x.rise()
	attached := false
	x.hold(x.door.stateful, func() []byte {
		attached = true
		return x.door.attach(x.seat)
	})
	if attached {
		x.door.detach(x.seat)
	}
}

// listen answers a subscription of the revision without sessions.
func (x *exchange) listen(p frame.Params) {
	if x.handOver(p) {
		x.hold(x.door.stateless, nil)
	}
}

// hold lets the SDK keep the response open, within the bounds. opened, if any, is
// called once the stream takes what is announced; it returns what comes first.
func (x *exchange) hold(handler http.Handler, opened func() []byte) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	s := &stream{x.caller, cancel}
	if full := x.door.open(x.app, s); full != nil {
		x.turnAway(full.Row().HTTP, full)
		return
	}
	defer x.door.drop(x.app, s)
	x.door.remember(ctx, x.app, x.caller)
	defer x.door.ports.Library.Tell(x.caller, x.door.serverFor(x.app))()
	w := feed.Open(x.w, opened)
	over := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() { w.Beat(over, cancel) })
	x.toSDK(ctx, handler, w)
	close(over)
	beating.Wait()
	w.Rest()
}

// attach makes a session's stream one that is told of changes, and gives the news
// that it missed.
func (d *Door) attach(s *seat) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.streaming = true
	if !s.missed {
		return nil
	}
	s.missed = false
	return feed.ToolsChanged()
}

func (d *Door) detach(s *seat) {
	d.mu.Lock()
	s.streaming = false
	d.mu.Unlock()
}

func (d *Door) open(a *app, s *stream) *fault.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return fault.New(fault.Unavailable, "the host is stopping")
	case len(a.streams) >= bound.MCPStreams.Int():
		return bound.MCPStreams.Exceeded()
	case d.held >= bound.MCPHeld.Int():
		return bound.MCPHeld.Exceeded()
	}
	a.streams[s] = struct{}{}
	d.held++
	return nil
}

func (d *Door) drop(a *app, s *stream) {
	d.mu.Lock()
	delete(a.streams, s)
	d.held--
	d.mu.Unlock()
}
