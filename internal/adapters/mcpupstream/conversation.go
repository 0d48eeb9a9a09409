package mcpupstream

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

// conversation is one session with an upstream, from its first byte to its end,
// whatever it travels on: the lines of a local process (local.Session), or HTTP
// (remote.Session). It is never repaired; what makes it unusable ends it.
type conversation interface {
	// Run owns the conversation's goroutines and returns when all of them and what
	// it started have ended, which is after End.
	Run()
	// Vacated is closed when another conversation with the upstream may begin.
	Vacated() <-chan struct{}
	// Handshake agrees on a revision; nothing else is asked before.
	Handshake(ctx context.Context, ownVersion string) error
	// Offered lists everything.
	Offered(ctx context.Context) (answer.Catalog, error)
	// Inquire asks something about resources, once.
	Inquire(ctx context.Context, q question.Inquiry) answer.Answer
	// CallReporting sends one tools/call and says what became of it. It tells how far
	// the call is where progress is not nil, on the goroutine that reads, and only
	// while the call is waited for.
	CallReporting(ctx context.Context, tool string, args []byte, late func(invocation.Event), progress func(invocation.Progress)) invocation.Event
	// Alive reports whether another call may go out on it.
	Alive() bool
	// Over is closed when that ends.
	Over() <-chan struct{}
	// End makes it unusable; only the first reason counts.
	End(why string)
	// Demise is why and when it ended, once it is not alive.
	Demise() (why string, at time.Time)
	// Words are what the upstream said beside the protocol, or nothing.
	Words() string
	// Vitals are what views show of it.
	Vitals() answer.Vitals
}
