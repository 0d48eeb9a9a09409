package invocation

import (
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// EventKind says what an executor did with one dispatched call. An adapter
// reports the event; what it means is decided here and nowhere else.
type EventKind string

// The events (pool page, section 7, table of upstream events).
const (
	Answered      EventKind = "answered"       // a clean result
	ToolError     EventKind = "tool_error"     // a result that says isError
	Rejected      EventKind = "rejected"       // a JSON-RPC error or an HTTP 4xx
	TooNarrow     EventKind = "too_narrow"     // an HTTP 403 that wants a wider authorization; its Detail may be told to the caller
	Unanswerable  EventKind = "unanswerable"   // input_required, an unknown resultType, a task
	TooLarge      EventKind = "too_large"      // the result is over a bound
	InvalidAnswer EventKind = "invalid_answer" // not JSON, not a result, or against the output schema
	Broken        EventKind = "broken"         // the connection or process ended, or a 5xx or redirect came
	TimedOut      EventKind = "timed_out"      // the deadline passed
	Cancelled     EventKind = "cancelled"      // the caller gave up and no answer came within the grace
	Unreached     EventKind = "unreached"      // not one byte of the call was sent; its Detail may be told to the caller
)

// Event is what an adapter saw of one call. Result is the raw JSON of the
// result object for Answered and ToolError, else nil; Detail is for logs and
// the owner's eyes, bounded, never a secret.
type Event struct {
	Kind   EventKind
	Result []byte
	Detail string
}

// Verdict is what an event means for the journal and for the answer.
type Verdict struct {
	State   State
	Code    fault.Code // empty for success
	Effects effect.Outcome
	Reason  string // details.reason of the answer, empty where there is none
}

var verdicts = map[EventKind]Verdict{
	Answered:      {Succeeded, "", effect.Reported, ""},
	ToolError:     {Failed, fault.UpstreamFailed, effect.Reported, "tool_error"},
	Rejected:      {Failed, fault.UpstreamFailed, effect.Reported, "rejected"},
	TooNarrow:     {Failed, fault.UpstreamFailed, effect.Reported, "insufficient_scope"},
	Unanswerable:  {Failed, fault.UpstreamFailed, effect.Uncertain, "unsupported_answer"},
	TooLarge:      {Indeterminate, fault.Indeterminate, effect.Uncertain, "result_too_large"},
	InvalidAnswer: {Indeterminate, fault.Indeterminate, effect.Uncertain, "invalid_answer"},
	Broken:        {Indeterminate, fault.Indeterminate, effect.Uncertain, "broken"},
	TimedOut:      {Indeterminate, fault.Indeterminate, effect.Uncertain, "timeout"},
	Cancelled:     {Indeterminate, fault.Indeterminate, effect.Uncertain, "cancelled"},
	Unreached:     {NotDispatched, fault.Unavailable, effect.NotDispatched, ""},
}

// Classify gives the one meaning of an event. An event kind that is not in the
// table is treated as the worst that can be said: it may have happened.
func Classify(e Event) Verdict {
	if v, ok := verdicts[e.Kind]; ok {
		return v
	}
	return verdicts[Broken]
}
