package mcpupstream

import (
	"context"
	"runtime/debug"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Listing is everything that an upstream offered at one time.
type Listing = answer.Catalog

// RawTool is one definition, strict JSON, byte for byte as it was sent.
type RawTool = answer.RawTool

// Offered lists the session's tools, every page, and says whose they are. What was
// read of a listing that is too large is given back at once: the collector alone
// would keep the host that much larger.
func (s *session) Offered(ctx context.Context) (Listing, error) {
	l, err := s.greeting.Collect(func(cursor []byte) answer.Answer {
		return s.ask(ctx, answer.Listing, "tools/list", s.meta.List(cursor))
	})
	if fault.Is(err, fault.TooLarge) {
		debug.FreeOSMemory()
	}
	return l, err
}
