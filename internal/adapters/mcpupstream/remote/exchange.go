package remote

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/events"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/egress"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// exchange is one request and what is read of its answer.
type exchange struct {
	id       int64
	kind     answer.Kind
	method   string
	about    string // the tool or resource, which the stateless era says in a header
	params   []byte
	progress func(invocation.Progress)
	began    func() // told when the first byte goes out; may be nil
}

// outcome is an answer and what HTTP said around it.
type outcome struct {
	answer.Answer
	status  int // zero where there was no answer
	header  http.Header
	unsent  bool // not one byte went out
	refusal error
	narrow  string // why a wider credential is wanted, where it is
	ours    bool   // the refusal of a revision lists the stateless one
}

func lost(kind invocation.EventKind, detail string) outcome {
	return outcome{Answer: answer.Of(kind, detail)}
}

// do sends a request once and reads its answer.
func (s *Session) do(ctx context.Context, x exchange) outcome {
	resp, o := s.post(ctx, x.method, x.about, envelope.Request(x.id, x.method, x.params), x.began)
	if resp == nil {
		return o
	}
	defer resp.Close()
	if err := failpoint.Hit(failpoint.Sent); err != nil && x.kind == answer.Call {
		return lost(invocation.Broken, err.Error())
	}
	narrow := o.narrow
	if o = s.read(resp, x); narrow != "" && o.Event.Kind == invocation.Rejected {
		o = lost(invocation.TooNarrow, narrow)
		o.narrow = narrow
	}
	o.status, o.header = resp.Status, resp.Header
	return o
}

// post sends one message. Without a response, the outcome says why; with one, whether
// a wider credential is wanted.
func (s *Session) post(ctx context.Context, method, about string, body []byte, began func()) (*egress.Response, outcome) {
	header := s.header(method, about)
	header.Set("Content-Type", typeJSON)
	header.Set("Accept", typeJSON+", "+typeEvents)
	return s.send(ctx, egress.Request{Method: http.MethodPost, Target: s.spec.Target, Header: header, Body: body, Began: began})
}

// send sends one request with steward's own credential.
func (s *Session) send(ctx context.Context, r egress.Request) (*egress.Response, outcome) {
	sent, err := s.authorize(ctx, r.Header)
	if err != nil {
		return nil, unsent(err)
	}
	resp, went, err := s.spec.Gate.Send(ctx, r)
	switch {
	case err == nil:
		var o outcome
		if refused := resp.Status == http.StatusUnauthorized || resp.Status == http.StatusForbidden; refused && s.spec.Refused != nil {
			o.narrow = s.spec.Refused(resp.Status, sent, strings.Join(resp.Header.Values("WWW-Authenticate"), ", "))
		}
		return resp, o
	case !went:
		return nil, unsent(err)
	case errors.Is(err, egress.ErrCoded):
		return nil, lost(invocation.InvalidAnswer, err.Error())
	default:
		return nil, s.interrupted(ctx, err)
	}
}

func unsent(err error) outcome {
	return outcome{Answer: answer.Of(invocation.Unreached, fault.From(err).Text), unsent: true, refusal: err}
}

// interrupted is the outcome of a connection that ended before the answer did.
func (s *Session) interrupted(ctx context.Context, err error) outcome {
	switch {
	case s.life.Err() != nil:
		why, _ := s.Demise()
		return lost(invocation.Broken, why)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return lost(invocation.TimedOut, "no answer in time")
	case ctx.Err() != nil:
		return lost(invocation.Cancelled, "no answer after the cancellation")
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return lost(invocation.Broken, "the server closed the connection before its answer was whole")
	default:
		return lost(invocation.Broken, "the connection broke before the answer was whole")
	}
}

// header is what a request carries beside its own: the owner's, then the
// protocol's, which no configuration changes.
func (s *Session) header(method, about string) http.Header {
	h := make(http.Header, 8+len(s.spec.Header))
	for name, values := range s.spec.Header {
		if !resource.HostSets(name) {
			h[name] = values
		}
	}
	h.Set("User-Agent", "steward/"+s.version)
	if s.protocol != "" {
		h.Set("MCP-Protocol-Version", s.protocol)
	}
	if s.name != "" {
		h.Set("Mcp-Session-Id", s.name)
	}
	if s.meta != nil && method != "" {
		h.Set("Mcp-Method", method)
		if about != "" {
			h.Set("Mcp-Name", plainHeader(about))
		}
	}
	return h
}

// plainHeader writes a name as a header can carry it (MCP 2026-07-28).
func plainHeader(name string) string {
	const before, after = "=?base64?", "?="
	plain := strings.TrimSpace(name) == name && !strings.HasPrefix(name, before)
	for _, c := range []byte(name) {
		plain = plain && c >= 0x20 && c < 0x7f
	}
	if plain {
		return name
	}
	return before + base64.StdEncoding.EncodeToString([]byte(name)) + after
}

// read gives the outcome that an answer means (pool page, section 7).
func (s *Session) read(resp *egress.Response, x exchange) outcome {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.Status >= 500 || resp.Status < 200:
		return lost(invocation.Broken, statusText(resp.Status))
	case resp.Status >= 400:
		return s.rejected(resp)
	case resp.Status >= 300:
		return lost(invocation.Broken, statusText(resp.Status)+", which is not followed")
	case resp.Status != http.StatusOK:
		return lost(invocation.InvalidAnswer, statusText(resp.Status)+" without an answer")
	case kind == typeEvents:
		return s.readEvents(resp, x)
	case kind == typeJSON:
		return s.readJSON(resp, x)
	default:
		return lost(invocation.InvalidAnswer, "the answer is neither JSON nor a stream of events")
	}
}

func statusText(status int) string { return fmt.Sprintf("HTTP %d", status) }

// rejectedBytes is how much of a refusal is looked at.
const rejectedBytes = 16 << 10

// rejected reads what a refusal says in JSON-RPC, if anything.
func (s *Session) rejected(resp *egress.Response) outcome {
	o := lost(invocation.Rejected, statusText(resp.Status))
	body, err := resp.Read(rejectedBytes)
	if err != nil {
		return o
	}
	m := envelope.Read(body)
	if m.Error == nil || m.Result != nil || m.Check(answer.Question.Limits()) != nil {
		return o
	}
	if a := answer.Read(answer.Question, m); a.Event.Kind == invocation.Rejected {
		o.Answer = a
		o.Event.Detail = statusText(resp.Status) + ": " + a.Event.Detail
		o.ours = answer.Supports(m.Error)
	}
	return o
}

func (s *Session) readJSON(resp *egress.Response, x exchange) outcome {
	body, err := resp.Read(x.kind.Room())
	switch {
	case errors.Is(err, egress.ErrLong):
		return outcome{Answer: answer.TooLarge(x.kind)}
	case err != nil:
		return s.interrupted(resp.Context(), err)
	}
	if err := s.halfRead(x); err != nil {
		return lost(invocation.Broken, err.Error())
	}
	var found *outcome
	s.eachMessage(body, func(m envelope.Message) {
		if a, ok := s.mine(m, x); ok && found == nil {
			found = &outcome{Answer: a}
		}
	})
	if found == nil {
		return lost(invocation.InvalidAnswer, "the answer answers nothing that was asked")
	}
	return *found
}

func (s *Session) halfRead(x exchange) error {
	if x.kind != answer.Call {
		return nil
	}
	return failpoint.Hit(failpoint.HalfRead)
}

// eachMessage gives the messages of a body, which may be a batch in one revision.
func (s *Session) eachMessage(body []byte, visit func(envelope.Message)) {
	if s.protocol == answer.Batching && strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), 64)])), "[") {
		envelope.Items(body, func(item []byte) bool {
			visit(envelope.Read(item))
			return true
		})
		return
	}
	visit(envelope.Read(body))
}

// mine is the answer to a request, if the message is it.
func (s *Session) mine(m envelope.Message, x exchange) (answer.Answer, bool) {
	if !m.IsReply() {
		return answer.Answer{}, false
	}
	if id, ok := envelope.Number(m.ID); !ok || id != x.id {
		s.mu.Lock()
		s.strays++
		s.mu.Unlock()
		return answer.Answer{}, false
	}
	return answer.Read(x.kind, m), true
}

// readEvents reads a stream up to the answer. What else is on it is heard.
func (s *Session) readEvents(resp *egress.Response, x exchange) outcome {
	stream := events.NewReader(resp.Body)
	most := x.kind.Room()
	for size := 0; size <= bound.UpstreamLineBytes.Int(); {
		e, err := stream.Next(most)
		size += e.Size
		switch {
		case errors.Is(err, events.ErrLong), errors.Is(err, events.ErrEndless):
			return outcome{Answer: answer.TooLarge(x.kind)} // on this stream it can be no other's
		case err != nil:
			return s.interrupted(resp.Context(), err)
		case len(e.Data) == 0:
			continue
		}
		if err := s.halfRead(x); err != nil {
			return lost(invocation.Broken, err.Error())
		}
		var found *outcome
		s.eachMessage(e.Data, func(m envelope.Message) {
			if a, ok := s.mine(m, x); ok && found == nil {
				found = &outcome{Answer: a}
			} else if !ok {
				s.hear(m, x.progress)
			}
		})
		if found != nil {
			return *found
		}
	}
	return outcome{Answer: answer.TooLarge(x.kind)}
}
