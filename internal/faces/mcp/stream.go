package mcp

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
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
	w := &shield{ResponseWriter: x.w, control: http.NewResponseController(x.w), opened: opened}
	over := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() { w.beat(over, cancel) })
	x.toSDK(ctx, handler, w)
	close(over)
	beating.Wait()
	// The connection may serve other requests; a writer without deadlines has none.
	_ = w.control.SetWriteDeadline(time.Time{})
}

// changedEvent is what the SDK sends to a session whose list changed.
var changedEvent = []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{}}\n\n")

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
	return changedEvent
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

// shield stands between the SDK and a response: answers stay private, and a
// peer that stops reading loses its stream instead of holding up those of the
// same app. A stream carries a comment each bound.MCPKeepAlive, so that nobody on the way takes it for dead (field faults, FF48).
//
// The lock is held for each write; the SDK makes one of each event.
type shield struct {
	http.ResponseWriter
	control *http.ResponseController // set for streams
	opened  func() []byte            // see hold

	mu     sync.Mutex
	status int // zero before the header
}

// Unwrap lets the SDK set deadlines.
func (s *shield) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// FlushError lets the SDK flush.
func (s *shield) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// beat keeps a stream alive until it is over; one that takes nothing any more is
// ended.
func (s *shield) beat(over <-chan struct{}, end func()) {
	tick := time.NewTicker(bound.MCPKeepAlive.Duration())
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if s.say(alive) != nil {
			end()
			return
		}
	}
}

// say writes a comment into a stream that has begun.
func (s *shield) say(comment []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != http.StatusOK || !strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream") {
		return nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(bound.MCPWrite.Duration()))
	if _, err := s.ResponseWriter.Write(comment); err != nil {
		return err
	}
	return s.control.Flush()
}

// WriteHeader replaces what the SDK says about caches.
func (s *shield) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status)
}

func (s *shield) begin(status int) {
	s.status = status
	private(s.Header())
	s.ResponseWriter.WriteHeader(status)
}

// Write gives a stream's peer a limited time to take each piece.
func (s *shield) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 {
		s.begin(http.StatusOK)
	}
	if s.control != nil {
		// A writer without deadlines has nobody to wait for.
		_ = s.control.SetWriteDeadline(time.Now().Add(bound.MCPWrite.Duration()))
	}
	n, err := s.ResponseWriter.Write(b)
	if opened := s.opened; opened != nil && s.status == http.StatusOK {
		// The SDK holds the stream's lock here, so nothing overtakes what is missed.
		s.opened = nil
		if _, err := s.ResponseWriter.Write(opened()); err != nil {
			return n, err
		}
	}
	return n, err
}
