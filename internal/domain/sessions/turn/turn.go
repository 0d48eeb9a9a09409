// Package turn is what the agent loop is given and gives back: the plan of a
// turn, the calls of application tools and their answers, and the ways to end.
//
// The values are plain. Whoever keeps one owns it; nothing here is changed after
// it was handed on.
package turn

import (
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/effect"
)

// Plan is all that a turn runs on. Whatever happens to the registry afterwards,
// the turn sees this (guide, Accept the complete snapshot).
type Plan struct {
	SessionID    string
	TurnID       string
	Prompt       string
	Instructions string                 // the skills in name order, one line feed between two; empty without skills
	Tools        []conversation.Tool    // the application's tools in name order; never for a sub-agent
	History      []conversation.Message // what the model is shown of earlier turns, oldest first; not to be changed
}

// Call is what the model asks of an application tool.
type Call struct {
	Round          int    // questions to the model before it, from 0
	ProviderCallID string // the model's, 1 to 128 bytes, once in a turn
	Name           string
	Arguments      string // JSON text as the model wrote it; unchecked
}

// Answer is what came of a call. The records of the call are durable when it is
// given. A turn whose answer has Fatal ends with that code at once; any other
// answer goes to the model.
type Answer struct {
	CallID  string // empty where the call was refused before it was accepted
	Status  string // transcript.Succeeded, Failed or Cancelled
	Text    string // what the model is told: the value's JSON, or {"error":{code,message}}
	Code    string // of a failure; empty on success
	Effects effect.Outcome
	Fatal   string // a terminal code, or empty
}

// Outcome is how the work of a turn ended. Where the context was cancelled, the
// daemon knows why and its word counts.
type Outcome struct {
	Status string // Completed, Failed or Cancelled
	Code   string // a terminal code; empty where it completed
}

// Under is what an outcome is worth where the turn was told to stop, with that
// code, or met something that its loop cannot change; both may be empty.
func (o Outcome) Under(stopped, fatal string) Outcome {
	switch {
	case stopped != "":
		return Outcome{Cancelled, stopped}
	case fatal != "":
		return Outcome{Failed, fatal}
	case o.Status == Completed:
		return Outcome{Completed, ""}
	case o.Code == "":
		return Outcome{Failed, CodeInternalError}
	}
	return Outcome{Failed, o.Code}
}

// The ways a turn ends.
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// The terminal codes (sessions page, section 6).
const (
	CodeCancelled         = "cancelled"
	CodeProviderError     = "provider_error"
	CodeToolFailed        = "tool_failed"
	CodeLimitExceeded     = "limit_exceeded"
	CodePersistenceFailed = "persistence_failed"
	CodeShutdown          = "shutdown"
	CodeInterrupted       = transcript.Interrupted
	CodeInternalError     = "internal_error"
)

// Codes are the terminal codes, in the order of the documents. The caller owns the
// slice.
func Codes() []string {
	return []string{
		CodeCancelled, CodeProviderError, CodeToolFailed, CodeLimitExceeded, CodePersistenceFailed, CodeShutdown, CodeInterrupted, CodeInternalError,
	}
}

var meanings = map[string]string{
	CodeCancelled:         "The turn was stopped.",
	CodeProviderError:     "The model could not be asked, or its answer could not be used.",
	CodeToolFailed:        "A tool call ended without an outcome that the turn could go on with.",
	CodeLimitExceeded:     "A bound of the turn was reached.",
	CodePersistenceFailed: "The turn's record could not be made durable.",
	CodeShutdown:          "The daemon was stopped.",
	CodeInterrupted:       "The daemon ended before the turn did.",
	CodeInternalError:     "The daemon itself failed; its log has the reason.",
}

// Meaning is the fixed text of a terminal code.
func Meaning(code string) string { return meanings[code] }
