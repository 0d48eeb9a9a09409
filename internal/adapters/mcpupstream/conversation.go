package mcpupstream

import (
	"context"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

// conversation is one session with an upstream, from its first byte to its end,
// whatever it travels on: the lines of a local process (session), or HTTP
// (webSession). It is never repaired; what makes it unusable ends it.
type conversation interface {
	// run owns the conversation's goroutines and returns when all of them and what
	// it started have ended, which is after end.
	run()
	// vacated is closed when another conversation with the upstream may begin.
	vacated() <-chan struct{}
	// handshake agrees on a revision; nothing else is asked before.
	handshake(ctx context.Context, ownVersion string) error
	// offered lists everything.
	offered(ctx context.Context) (Listing, error)
	// call sends one tools/call and says what became of it.
	call(ctx context.Context, tool string, args []byte, late func(invocation.Event)) invocation.Event
	// alive reports whether another call may go out on it.
	alive() bool
	// over is closed when that ends.
	over() <-chan struct{}
	// end makes it unusable; only the first reason counts.
	end(why string)
	// demise is why and when it ended, once it is not alive.
	demise() (why string, at time.Time)
	// words are what the upstream said beside the protocol, or nothing.
	words() string
	vitals() vitals
}

// reporting is what a conversation can do beside: tell how far a call is, on the
// goroutine that reads, and only while the call is waited for.
type reporting interface {
	callReporting(ctx context.Context, tool string, args []byte, late func(invocation.Event), progress func(invocation.Progress)) invocation.Event
}

// vitals are what views show of a conversation.
type vitals struct {
	pid           int // of a local process, else zero
	noise, strays int64
}

func (s *session) vacated() <-chan struct{} { return s.ended }

func (s *session) over() <-chan struct{} { return s.gone }

func (s *session) words() string { return strings.TrimSpace(s.link.stderr()) }

func (s *session) demise() (string, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why, s.endedAt
}

func (s *session) vitals() vitals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return vitals{s.link.pid, s.noise, s.strays}
}
