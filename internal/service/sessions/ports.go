package sessions

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/service/sessions/archive"
)

// Ports are what the daemon needs of the outside. All are required. They may be
// called from several goroutines at once.
type Ports struct {
	// Log keeps the sessions' durable streams.
	Log archive.Log
	// Names gives every name that an application resource may not have, as they
	// were discovered before any filtering, in any case: built-in tools, tools of
	// configured servers, discovered skills, names that the configuration
	// disables. The prefix mcp_ is reserved anyway. It must not block.
	Names func() []string
	// Capture reads one file of the workspace, once: at most so many bytes, all
	// rules of captured sources held (guide, Captured sources). The path has
	// been checked as text. A path or file that is refused is invalid_payload,
	// one byte too many limit_exceeded. It is called by one goroutine at a time
	// and may outlive ctx; what it gives then is dropped.
	Capture func(ctx context.Context, path string, most int) ([]byte, error)
	// RunTurn is the agent loop. It keeps nothing, and returns soon after ctx has
	// ended. Its own records (assistant_chunk, and tool_call and tool_result of
	// tools that are no application's) are durable when record returns nil; after
	// an error it ends with CodePersistenceFailed. user_input, turn_status and the
	// records of application tools are the daemon's to write.
	RunTurn func(ctx context.Context, plan turn.Plan, hands *Hands, record Record) turn.Outcome
}

// Record makes one record of the turn durable; data is the kind's struct.
type Record func(ctx context.Context, kind transcript.Kind, data any) error
