package remote

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/bell"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/events"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/means/egress"
)

// listen keeps one stream open on which the server says that its tools changed: the
// GET of a session, or subscriptions/listen.
func (s *Session) listen() {
	if s.meta != nil && !s.greeting.TellsChanges {
		return
	}
	s.task(func() {
		ctx, cancel := context.WithCancel(s.life)
		defer cancel()
		s.tasks.Go(func() {
			select {
			case <-s.gone:
				cancel()
			case <-ctx.Done():
			}
		})
		s.keepListening(ctx)
	})
}

// The pause before a stream is opened again, doubled with each that brought
// nothing.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
)

func (s *Session) keepListening(ctx context.Context) {
	pause, id := firstPause, ""
	for again := false; s.Alive(); again = true {
		began := time.Now()
		last, retry, open := s.hearOut(ctx, id, again)
		if !open {
			return
		}
		id = last
		if time.Since(began) > longestPause {
			pause = firstPause
		}
		if !bell.Pause(ctx.Done(), max(retry, pause)) {
			return
		}
		pause = min(longestPause, 2*pause)
	}
}

// hearOut opens a stream and hears it to its end. It reports false where there is
// none to open again; that a session's is refused that was there before says that
// the session is lost.
func (s *Session) hearOut(ctx context.Context, id string, again bool) (last string, retry time.Duration, open bool) {
	resp, o := s.openStream(ctx, id)
	if resp == nil {
		if again && s.meta == nil && ctx.Err() == nil {
			s.lose("the server cannot be reached: "+o.Event.Detail, true)
		}
		return id, 0, s.meta != nil && s.Alive()
	}
	defer resp.Close()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.Status != http.StatusOK || kind != typeEvents {
		if again && s.meta == nil || resp.Status == http.StatusNotFound && s.name != "" {
			s.lose("the server has forgotten the session", true)
		}
		return id, 0, false
	}
	s.setStreaming(true)
	defer s.setStreaming(false)
	if again {
		s.bell.Ring() // or they may have, while nothing was heard
	}
	last, retry = s.hearStream(resp, id)
	return last, retry, true
}

func (s *Session) openStream(ctx context.Context, id string) (*egress.Response, outcome) {
	if s.meta != nil {
		return s.post(ctx, "subscriptions/listen", "", envelope.Request(s.number(), "subscriptions/listen", s.meta.Listen()), nil)
	}
	r := s.request(http.MethodGet, typeEvents)
	if id != "" {
		r.Header.Set("Last-Event-ID", id)
	}
	return s.send(ctx, r)
}

// request is one without a body.
func (s *Session) request(method, accept string) egress.Request {
	r := egress.Request{Method: method, Target: s.spec.Target, Header: s.header("", "")}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return r
}

// setStreaming notes that a stream is open, which is a proof that the session is
// known, or that it ended, which may be the first sign that it is not.
func (s *Session) setStreaming(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streaming, s.doubted = on, !on
}

func (s *Session) hearStream(resp *egress.Response, id string) (last string, retry time.Duration) {
	stream := events.NewReader(resp.Body)
	last = id
	for {
		e, err := stream.Next(answer.Question.Room())
		if err != nil && !errors.Is(err, events.ErrLong) || s.unasked(e.Size) {
			return last, retry
		}
		if e.ID != "" {
			last = e.ID
		}
		retry = max(retry, e.Retry)
		if len(e.Data) > 0 {
			s.eachMessage(e.Data, func(m envelope.Message) { s.hear(m, nil) })
		}
	}
}

// hear takes a message that is not the answer that is waited for.
func (s *Session) hear(m envelope.Message, progress func(invocation.Progress)) {
	switch {
	case m.Method == nil || m.Check(answer.Question.Limits()) != nil:
		s.countNoise()
	case m.ID != nil:
		s.hearRequest(m)
	case string(m.Method) == `"notifications/tools/list_changed"`:
		s.bell.Ring()
	case string(m.Method) == `"notifications/progress"` && progress != nil:
		if _, p, ok := answer.Progress(m.Params); ok {
			progress(p)
		}
	}
}

// hearRequest answers what the server asks. Nothing is offered but the ping
// (threats, A52), and in the stateless era nothing may be asked.
func (s *Session) hearRequest(m envelope.Message) {
	if s.meta != nil || !answer.IsID(m.ID) {
		s.countNoise()
		return
	}
	select {
	case s.replies <- answer.ToRequest(m):
	default: // a server that asks faster than it is told goes without
	}
}

// serve sends the answers to the server's requests.
func (s *Session) serve() {
	for {
		select {
		case <-s.gone:
			return
		case message := <-s.replies:
			s.notify(message)
		}
	}
}
