package mcp

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/faces/mcp/feed"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// seat is a session of an older revision, found only within its own app: a
// session id is worth nothing to another client. Its fields are under the door's
// lock.
type seat struct {
	id        string
	session   *sdk.ServerSession
	busy      int // requests within it, the stream included
	seen      time.Time
	streaming bool // its stream is open
	missed    bool // a change was announced while it was not
	calls     map[frame.ID]context.CancelFunc
}

// inSession finds the session of a legacy message and answers within it.
func (x *exchange) inSession(p frame.Params) {
	if x.msg.Method == frame.Initialize && x.r.Header.Get(frame.SessionHeader) == "" {
		x.dispatch(p)
		return
	}
	if !x.sit() {
		return
	}
	defer x.rise()
	x.dispatch(p)
}

// sit takes the request's place in its session, or says that there is none: not
// this one, not this app's, or not any more.
func (x *exchange) sit() bool {
	sid := x.r.Header.Get(frame.SessionHeader)
	if sid == "" {
		x.turnAway(http.StatusBadRequest, fault.New(fault.InvalidRequest, "the Mcp-Session-Id header is missing; initialize first"))
		return false
	}
	d := x.door
	d.mu.Lock()
	s := x.app.seats[sid]
	if s != nil {
		s.busy++
	}
	d.mu.Unlock()
	if x.seat = s; s == nil {
		x.turnAway(http.StatusNotFound, fault.New(fault.NotFound, "there is no such session; initialize again"))
	}
	return s != nil
}

func (x *exchange) rise() {
	d := x.door
	d.mu.Lock()
	x.seat.busy--
	x.seat.seen = d.now()
	d.mu.Unlock()
}

// initialize opens a session. The SDK's answer is held back until the session
// has its seat, since the client may use it at once.
func (x *exchange) initialize(p frame.Params) {
	if x.seat != nil {
		x.fail(&frame.Problem{Code: frame.BadRequest, Message: "this session is initialized"})
		return
	}
	if !x.handOver(p) {
		return
	}
	d := x.door
	if full := d.reserveSeat(x.app); full != nil {
		x.fail(frame.ProblemOf(full))
		return
	}
	answer := feed.Hold()
	x.toSDK(context.WithoutCancel(x.r.Context()), d.stateful, answer)
	d.takeSeat(x.app, answer.Header().Get(frame.SessionHeader))
	answer.Release(x.w)
}

func (d *Door) reserveSeat(a *app) *fault.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return fault.New(fault.Unavailable, "the host is stopping")
	case len(a.seats)+a.opening >= bound.MCPSessions.Int():
		return bound.MCPSessions.Exceeded()
	case d.held >= bound.MCPHeld.Int():
		return bound.MCPHeld.Exceeded()
	}
	a.opening++
	d.held++
	return nil
}

// takeSeat turns a reservation into the seat of the session that the SDK made;
// without one the reservation is given back.
func (d *Door) takeSeat(a *app, sid string) {
	d.mu.Lock()
	server := a.server
	d.mu.Unlock()
	var session *sdk.ServerSession
	if sid != "" && server != nil {
		for s := range server.Sessions() {
			if s.ID() == sid {
				session = s
			}
		}
	}
	d.mu.Lock()
	a.opening--
	if session != nil && !d.closed {
		a.seats[sid] = &seat{id: sid, session: session, seen: d.now(), calls: make(map[frame.ID]context.CancelFunc)}
		session = nil
	} else {
		d.held--
	}
	d.mu.Unlock()
	if session != nil {
		d.hangUp(session)
	}
}

// endSession answers a client that is done.
func (x *exchange) endSession() {
	if !x.sit() {
		return
	}
	x.rise()
	x.door.close(x.app, x.seat)
	x.w.WriteHeader(http.StatusNoContent)
}

// close ends a session, once. Calls that run in it go on; their outcome is in
// the journal.
func (d *Door) close(a *app, s *seat) {
	d.mu.Lock()
	there := a.seats[s.id] == s
	if there {
		delete(a.seats, s.id)
		d.held--
	}
	d.mu.Unlock()
	if there {
		d.hangUp(s.session)
	}
}

// hangUp ends the SDK's side of a session. No lock is held, since it waits for
// what is being answered.
func (d *Door) hangUp(s *sdk.ServerSession) {
	if err := s.Close(); err != nil {
		d.log.Debug("a session did not close in order", "err", err)
	}
}

// join notes a running call, so that the client can cancel it by its id.
func (d *Door) join(s *seat, key frame.ID, cancel context.CancelFunc) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, taken := s.calls[key]; taken {
		return false
	}
	s.calls[key] = cancel
	return true
}

func (d *Door) part(s *seat, key frame.ID) {
	d.mu.Lock()
	delete(s.calls, key)
	d.mu.Unlock()
}

func (d *Door) cancel(s *seat, key frame.ID) {
	d.mu.Lock()
	cancel := s.calls[key]
	d.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
