package local

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Offered lists the session's tools, every page, and says whose they are. What was
// read of a listing that is too large is given back at once: the collector alone
// would keep the host that much larger.
func (s *Session) Offered(ctx context.Context) (answer.Catalog, error) {
	l, err := s.greeting.Collect(func(cursor []byte) answer.Answer {
		return s.ask(ctx, answer.Listing, "tools/list", s.meta.List(cursor))
	})
	if fault.Is(err, fault.TooLarge) {
		debug.FreeOSMemory()
	}
	return l, err
}

// Inquire tells the upstream when nobody waits for its answer any more.
func (s *Session) Inquire(ctx context.Context, q question.Inquiry) answer.Answer {
	a, id, answered := s.put(ctx, q.Kind, q.Method, s.meta.Inquire(q))
	if !answered {
		s.notifyCancelled(id)
	}
	return a
}

// Vacated is closed when the process has ended.
func (s *Session) Vacated() <-chan struct{} { return s.ended }

// Over is closed when no other call may go out.
func (s *Session) Over() <-chan struct{} { return s.gone }

// Words are the end of what the upstream said beside the protocol.
func (s *Session) Words() string { return strings.TrimSpace(s.link.Stderr()) }

// Demise is why and when the session ended.
func (s *Session) Demise() (string, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why, s.endedAt
}

// Vitals are what views show.
func (s *Session) Vitals() answer.Vitals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return answer.Vitals{PID: s.link.PID, Noise: s.noise, Strays: s.strays}
}
