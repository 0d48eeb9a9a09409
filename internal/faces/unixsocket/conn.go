package unixsocket

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/sessions"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// conn is one accepted connection. Its reader goroutine checks and dispatches, its
// queue's goroutine writes; open is shared by both under a lock.
type conn struct {
	server *Server
	id     string
	net    net.Conn
	out    *queue
	log    *slog.Logger

	initialized bool // the reader's
	view        view // set before the coordinator knows of the connection, then fixed

	mu   sync.Mutex
	open map[string]bool // requests that are not answered yet
}

// serve reads until the connection is over. It returns once nothing of the
// connection runs any more.
func (c *conn) serve() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.out.run()
	}()
	flush := c.read()
	if c.initialized {
		c.server.service.Disconnect(c.id)
	}
	c.out.close(flush)
	<-written
	_ = c.net.Close() // the queue has closed it; this is for one that never ran
}

// read takes records until one is the last; true means that the peer is still to
// be told why.
func (c *conn) read() bool {
	r := newReader(c.net)
	r.until = time.Now().Add(bound.InitializeTime.Duration())
	for {
		record, err := r.next()
		if err != nil {
			var f *fault.Fault
			if errors.As(err, &f) {
				c.refuse(sessionwire.Request{}, f)
				return true
			}
			return false
		}
		c.take(parseEnvelope(record))
		if c.initialized {
			r.until = time.Time{}
		}
	}
}

// take checks one record in the order of the sessions page, section 2, as far as
// a door can, and hands it on.
func (c *conn) take(p parsed) {
	if p.fault != nil {
		c.refuse(p.Request, p.fault)
		return
	}
	r := p.Request
	if err := c.admit(r); err != nil {
		c.refuse(r, fault.From(err))
		return
	}
	command, err := c.command(r)
	switch {
	case err != nil:
		c.settle(r, nil, fault.From(err))
	case command != nil:
		c.server.service.Submit(c.request(r), command)
	}
}

// admit checks version and state of the connection, who is spoken to, and that the
// request ID is free, which it takes.
func (c *conn) admit(r sessionwire.Request) error {
	first := r.Method == sessionwire.Initialize
	switch {
	case first && c.initialized:
		return fault.New(fault.AlreadyInitialized, "the connection is initialized")
	case !first && !c.initialized:
		return fault.New(fault.NotInitialized, "the connection is not initialized")
	case first && (r.InstanceID != nil || r.ConnectionID != nil):
		return misfit("initialize is spoken to nobody yet")
	case !first && (r.InstanceID == nil || *r.InstanceID != c.server.service.Instance() || r.ConnectionID == nil || *r.ConnectionID != c.id):
		return fault.New(fault.StaleConnection, "another instance or connection is spoken to")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[r.RequestID] {
		return fault.New(fault.DuplicateRequest, "the request ID is in use")
	}
	if err := bound.OutstandingRequests.Check(len(c.open) + 1); err != nil {
		return err
	}
	c.open[r.RequestID] = true
	return nil
}

// command finds the method and reads its payload. Without a command and a fault
// the request is answered already.
func (c *conn) command(r sessionwire.Request) (sessions.Command, error) {
	m, ok := c.server.methods[r.Method]
	switch {
	case !ok:
		return nil, fault.New(fault.UnknownMethod, "there is no such method")
	case m.Profile && !c.view.selected:
		return nil, fault.New(fault.UnsupportedCapability, "the profile is not selected")
	case m.Session != (r.SessionID != nil), m.Control != (r.Control != nil), m.Operation != (r.OperationID != nil):
		return nil, misfit("session, control or operation is set where it may not be, or is not where it must")
	}
	switch r.Method {
	case sessionwire.Initialize:
		return nil, c.initialize(r)
	case sessionwire.Capabilities:
		if _, err := decode[sessionwire.Empty](r.Payload); err != nil {
			return nil, err
		}
		c.settle(r, capabilities(c.view.about, c.view.selected), nil)
		return nil, nil
	}
	return c.server.handlers[r.Method](r.Payload)
}

func (c *conn) initialize(r sessionwire.Request) error {
	p, err := decode[sessionwire.InitializePayload](r.Payload)
	if err != nil {
		return err
	}
	selected, err := negotiate(p.RequestedCapabilities)
	if err != nil {
		return err
	}
	c.view.selected = selected
	c.initialized = true
	c.server.greeted(c)
	c.settle(r, capabilities(c.view.about, selected), nil)
	c.server.service.Connect(c.id, selected, c.event)
	return nil
}

// request gives the coordinator what it needs of an envelope.
func (c *conn) request(r sessionwire.Request) sessions.Request {
	out := sessions.Request{
		Connection: c.id, Method: r.Method,
		Reply: func(answer any, f *fault.Fault) {
			if f != nil {
				c.settle(r, nil, f)
				return
			}
			c.settle(r, c.view.answer(answer), nil)
		},
	}
	if r.SessionID != nil {
		out.Session = *r.SessionID
	}
	if r.OperationID != nil {
		out.Operation = *r.OperationID
	}
	if r.Control != nil {
		out.Control = &control.Token{Grant: secret.HashProof(secret.Of(r.Control.GrantID)), Generation: r.Control.Generation}
	}
	return out
}

// settle answers a request whose ID is taken; it is free again once the answer is
// written.
func (c *conn) settle(r sessionwire.Request, payload any, f *fault.Fault) {
	c.put(c.response(r, payload, f), r.RequestID)
}

// refuse answers a record that took no request ID.
func (c *conn) refuse(r sessionwire.Request, f *fault.Fault) {
	c.put(c.response(r, nil, f), "")
}

func (c *conn) response(r sessionwire.Request, payload any, f *fault.Fault) sessionwire.Response {
	out := sessionwire.Response{
		ProtocolVersion: sessionwire.Version, Kind: sessionwire.KindResponse, RequestID: orNull(r.RequestID),
		InstanceID: c.server.service.Instance(), ConnectionID: c.id, SessionID: r.SessionID, OperationID: r.OperationID, Method: orNull(r.Method),
		Payload: sessionwire.Raw("null"), Error: wireError(f),
	}
	if f == nil {
		out.Payload = encode(payload)
		return out
	}
	switch fault.Code(out.Error.Code) {
	case fault.InternalError, fault.PersistenceFailed, fault.SessionBusy: // the log alone has the reason
		c.log.Error("a request failed", "method", r.Method, "err", f, "cause", f.Unwrap())
	}
	return out
}

// event is called by the coordinator, in the order of what happened.
func (c *conn) event(e reply.Event) {
	name, payload := c.view.event(e.Payload)
	c.put(sessionwire.Event{
		ProtocolVersion: sessionwire.Version, Kind: sessionwire.KindEvent, InstanceID: c.server.service.Instance(), ConnectionID: c.id,
		SessionID: orNull(e.Session), OperationID: orNull(e.Operation), GrantGeneration: orNone(e.Generation), LiveSequence: orNone(e.Sequence),
		Event: name, Payload: encode(payload),
	}, "")
}

func orNone(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func (c *conn) put(record any, request string) {
	c.out.put(outgoing{append(encode(record), '\n'), request})
}

// answered frees a request ID.
func (c *conn) answered(request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, request)
}

// encode writes a message of ours, which cannot fail.
func encode(v any) sessionwire.Raw {
	raw, err := strictjson.Encode(v)
	if err != nil {
		panic(err)
	}
	return sessionwire.Raw(raw)
}
