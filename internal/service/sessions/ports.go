package sessions

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
)

// Ports are what the daemon needs of the outside. All are required. They may be
// called from several goroutines at once.
type Ports struct {
	// Log keeps the sessions' durable streams.
	Log Log
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

// Log is the store of sessions. An error is a fault: unknown_session,
// session_busy, persistence_failed.
type Log interface {
	// Create makes a session with this ID; its header, and the title if there is
	// one, are durable when it returns nil.
	Create(ctx context.Context, session, title string) error
	// Known reports whether there is such a session. It must not block for long.
	Known(session string) bool
	// List gives sessions in an order of its own that is stable under appends to
	// other sessions; after is the last session of the page before, or empty.
	List(ctx context.Context, after string, limit int) ([]Listed, error)
	// Read gives at most limit records after a place in the stream, oldest first.
	Read(ctx context.Context, session string, after int64, limit int) ([]transcript.Record, error)
	// Open takes the writer's lease, or says session_busy, mends what a crash
	// left (a torn tail, a user_input without turn_status) and gives all records.
	Open(ctx context.Context, session string) (Stream, []transcript.Record, error)
}

// Stream is the one writer of a session. Its methods may be called from several
// goroutines; records stand in the order in which Append was entered.
type Stream interface {
	// Append makes a record durable. After an error the stream takes no more.
	Append(ctx context.Context, turn string, kind transcript.Kind, data any) error
	// Close gives the lease back.
	Close() error
}

// Listed is one stored session.
type Listed struct {
	Session string
	Title   string
	Updated time.Time // of its newest record
}
