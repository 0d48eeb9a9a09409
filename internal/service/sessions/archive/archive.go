// Package archive is what the coordinator of sessions needs of their durable record:
// the store of streams, its one writer a session, and pages of what is in it.
//
// It declares and reads; what it promises is the store's. It keeps nothing and starts
// no goroutine.
package archive

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
)

// Log is the store of sessions. An error is a fault: unknown_session,
// session_busy, persistence_failed. It tells the operator why it failed.
type Log interface {
	// Create makes a session with this ID; its header, and the title if there is
	// one, are durable when it returns nil.
	Create(ctx context.Context, session, title string) error
	// Known reports whether there is such a session, as far as that is known without
	// asking the disk.
	Known(session string) bool
	// List gives sessions in an order of its own that is stable under appends to
	// other sessions; after is the last session of the page before, or empty.
	List(ctx context.Context, after string, limit int) ([]Listed, error)
	// Read gives at most limit records after a place in the stream, oldest first.
	Read(ctx context.Context, session string, after int64, limit int) ([]transcript.Record, error)
	// Mend ends what a dead daemon left open in the stream, unless somebody has the
	// lease.
	Mend(ctx context.Context, session string) error
	// Open takes the writer's lease, or says session_busy, mends what a crash
	// left (a torn tail, a user_input without turn_status) and gives what a model is
	// shown of the turns before.
	Open(ctx context.Context, session string) (Stream, []conversation.Message, error)
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

// readAhead is how many records are read at once.
const readAhead = 64

// Fill fills a page of a session's record.
func Fill(ctx context.Context, log Log, session string, page *transcript.Page) error {
	for after := page.From(); ; {
		records, err := log.Read(ctx, session, after, readAhead)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, record := range records {
			if full, err := page.Add(record); full || err != nil {
				return err
			}
			after = record.Seq
		}
	}
}
