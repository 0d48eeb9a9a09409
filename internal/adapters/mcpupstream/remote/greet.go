package remote

import (
	"context"
	"net/http"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Handshake finds out which era the server speaks. The stateless one is tried
// first, since it has no session that could be lost; a server that does not know it
// is greeted as before.
func (s *Session) Handshake(ctx context.Context, ownVersion string) (err error) {
	s.version = ownVersion
	if s.meta, err = question.Stateless(ownVersion); err != nil {
		return err
	}
	s.protocol = answer.Stateless
	o := s.ask(ctx, answer.Question, "server/discover", s.meta.Discover())
	if o.ours {
		o = s.ask(ctx, answer.Question, "server/discover", s.meta.Discover())
	}
	g, err := answer.Discovered(o.Answer)
	switch {
	case err == nil:
		s.greeting = g
		s.listen()
		return nil
	case o.unsent:
		return o.refusal
	case o.status == 0:
		return o.Fault("server/discover")
	}
	if err := s.refusedEntry(o); err != nil {
		return err
	}
	s.meta, s.protocol = nil, ""
	return s.initialize(ctx)
}

// refusedEntry is the fault of an answer that would be the same in any era.
func (s *Session) refusedEntry(o outcome) error {
	switch o.status {
	case http.StatusForbidden:
		if o.narrow != "" {
			return fault.New(fault.Unavailable, o.narrow).With("reason", credential.NeedsOwner)
		}
		return o.Fault("the server")
	case http.StatusUnauthorized:
		if s.spec.NeedsOwner != nil {
			return s.spec.NeedsOwner()
		}
		return fault.New(fault.UpstreamFailed, "the server wants to be authorized")
	case http.StatusTooManyRequests:
		return o.Fault("the server")
	}
	return nil
}

func (s *Session) initialize(ctx context.Context) error {
	params, err := question.Initialize(s.version)
	if err != nil {
		return err
	}
	o := s.ask(ctx, answer.Question, "initialize", params)
	g, left, err := answer.Initialized(o.Answer)
	switch {
	case o.unsent:
		return o.refusal
	case s.refusedEntry(o) != nil:
		return s.refusedEntry(o)
	case left:
		return fault.New(fault.UpstreamFailed, "initialize: the server has left that era and knows no other that this host does")
	case err != nil:
		return err
	}
	if s.name = o.header.Get("Mcp-Session-Id"); !isSessionName(s.name) {
		s.name = ""
		return fault.New(fault.UpstreamFailed, "initialize: the server's name for the session cannot be sent")
	}
	s.greeting, s.protocol = g, g.Protocol
	resp, failed := s.post(ctx, "", "", envelope.Notification("notifications/initialized", []byte("{}")), nil)
	switch {
	case failed.unsent:
		return failed.refusal
	case resp == nil:
		return failed.Fault("initialized")
	}
	resp.Close()
	if resp.Status >= 300 {
		return fault.New(fault.UpstreamFailed, "initialized: "+statusText(resp.Status))
	}
	s.mu.Lock()
	s.greeted = true
	s.mu.Unlock()
	s.heard()
	s.listen()
	s.task(s.serve)
	return nil
}

// isSessionName holds a session's name to what a header carries (MCP, transports).
func isSessionName(name string) bool {
	for _, c := range []byte(name) {
		if c < 0x21 || c > 0x7e {
			return false
		}
	}
	return bound.SessionName.Check(len(name)) == nil
}

// ask sends a request that has no effect.
func (s *Session) ask(ctx context.Context, kind answer.Kind, method string, params []byte) outcome {
	return s.put(ctx, exchange{id: s.number(), kind: kind, method: method, params: params})
}

// Inquire asks something about resources. A server with a session is told when
// nobody waits any more; to one without it the end of the connection says so.
func (s *Session) Inquire(ctx context.Context, q question.Inquiry) answer.Answer {
	x := exchange{id: s.number(), kind: q.Kind, method: q.Method, about: q.About, params: s.meta.Inquire(q)}
	o := s.put(ctx, x)
	if ctx.Err() != nil && !o.unsent && o.status == 0 && s.meta == nil {
		s.notice(x.id)
	}
	return o.Answer
}

// put sends a request that has no effect and notes what the answer says of the
// session.
func (s *Session) put(ctx context.Context, x exchange) outcome {
	ctx, cancel := s.within(ctx)
	defer cancel()
	o := s.do(ctx, x)
	if s.meta == nil && s.name != "" && o.status == http.StatusNotFound {
		s.lose("the server has forgotten the session", true)
	} else if o.status == http.StatusOK {
		s.heard()
	}
	return o
}

// within ends a context with the session.
func (s *Session) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// Offered lists everything that the server offers.
func (s *Session) Offered(ctx context.Context) (answer.Catalog, error) {
	var refusal error
	offered, err := s.greeting.Collect(func(cursor []byte) answer.Answer {
		o := s.ask(ctx, answer.Listing, "tools/list", s.meta.List(cursor))
		if o.unsent {
			refusal = o.refusal
		}
		return o.Answer
	})
	switch {
	case refusal != nil:
		return answer.Catalog{}, refusal
	case err != nil:
		return answer.Catalog{}, err
	}
	return offered, nil
}

// Verify asks whether the server still knows the session. One that it does not
// answer for is over.
func (s *Session) Verify(ctx context.Context) {
	o := s.ask(ctx, answer.Question, "ping", []byte("{}"))
	if o.status != http.StatusOK || o.Event.Kind != invocation.Answered && o.Event.Kind != invocation.Rejected {
		s.lose("the server does not answer for the session", true)
	}
}

// authorize puts steward's own credential into a request.
func (s *Session) authorize(ctx context.Context, h http.Header) (sent secret.Secret, err error) {
	if s.spec.Authorize == nil {
		return secret.Secret{}, nil
	}
	sent, err = s.spec.Authorize(ctx)
	if err == nil && !sent.IsZero() {
		h.Set("Authorization", "Bearer "+sent.Reveal())
	}
	return sent, err
}

// farewell tells the server that the session is over, where it knows one.
func (s *Session) farewell() {
	s.mu.Lock()
	known := s.greeted && !s.forgotten
	s.mu.Unlock()
	if !known || s.name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendNotice)
	defer cancel()
	if resp, _ := s.send(ctx, s.request(http.MethodDelete, "")); resp != nil {
		resp.Close()
	}
}
