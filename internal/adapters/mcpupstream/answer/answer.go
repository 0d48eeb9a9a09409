// Package answer says what an answer of an MCP upstream means, whatever it
// travelled on: the event of a tool call, a page of a listing, a resource, a
// greeting.
//
// Everything here is a pure function of bytes. Results and definitions are held
// to strict JSON and to their bounds, looked at only as far as their kind needs,
// and passed on byte for byte, copied from the line that they stood in. What an
// upstream says in its own words is repeated only in a Detail, short and
// printable. Nothing here judges a result against a tool's output schema.
package answer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Kind says what an answer is to.
type Kind byte

// The kinds of questions.
const (
	Call     Kind = iota // a tool was called
	Listing              // a page of tools or resources was asked for
	Reading              // a resource was asked for
	Question             // anything else without an effect
)

// limits are those of the payload, by kind.
var limits = [...]strictjson.Limits{
	Call:     {Bytes: bound.ResultBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes},
	Listing:  {Bytes: bound.ListingBytes, Depth: bound.ListingDepth, Nodes: bound.ListingNodes},
	Reading:  {Bytes: bound.ReadAnswerBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes},
	Question: {Bytes: bound.ResultBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes},
}

// Limits are what an answer of the kind may hold.
func (k Kind) Limits() strictjson.Limits { return limits[k] }

// Room is how many bytes a message may have that has an answer of the kind: the payload,
// and what stands around it.
func (k Kind) Room() int { return limits[k].Bytes.Int() + around }

const around = 4 << 10

// Long reports whether an answer of the kind may be longer than that to a call.
func (k Kind) Long() bool { return limits[k].Bytes.Max > limits[Call].Bytes.Max }

// Answer is what came back. Of the events, all kinds but Call use Answered
// for any result, and those that say that there is none.
type Answer struct {
	Event invocation.Event
	Code  int64 // of a JSON-RPC error, for Rejected
}

// Of is an Answer without a result.
func Of(kind invocation.EventKind, detail string) Answer {
	return Answer{Event: invocation.Event{Kind: kind, Detail: detail}}
}

// TooLarge is the answer that was not even kept.
func TooLarge(k Kind) Answer { return Of(invocation.TooLarge, limits[k].Bytes.Exceeded().Text) }

// Read judges a reply, which must be one (envelope.Message.IsReply).
func Read(k Kind, m envelope.Message) Answer {
	if err := m.Check(limits[k]); err != nil {
		return unusable(err)
	}
	switch {
	case m.Error != nil:
		return readError(m.Error)
	case k == Call:
		return readResult(m.Result)
	default:
		result := m.Result
		if !m.Kept {
			result = clone(result)
		}
		return Answer{Event: invocation.Event{Kind: invocation.Answered, Result: result}}
	}
}

// unusable is the answer that breaks a bound or a rule.
func unusable(err error) Answer {
	f := fault.From(err)
	if _, bounded := f.Details["bound"]; bounded {
		return Of(invocation.TooLarge, f.Text)
	}
	return invalid(f.Text)
}

func invalid(detail string) Answer { return Of(invocation.InvalidAnswer, detail) }

// readError reads a checked JSON-RPC error object.
func readError(object []byte) Answer {
	v, err := strictjson.Parse(object, limits[Question])
	code := member(v, "code")
	number, parseErr := strconv.ParseInt(code.Text, 10, 64)
	if err != nil || code.Kind != strictjson.Number || parseErr != nil {
		return invalid("an error without a whole number for its code")
	}
	a := Of(invocation.Rejected, fmt.Sprintf("%d: %s", number, shown(text(v, "message"))))
	a.Code = number
	return a
}

// The members of a tool's result that say what it is.
var resultParts = []string{"resultType", "task", "isError", "content", "structuredContent"}

// readResult reads a checked result of a tool (pool page, section 7).
func readResult(result []byte) Answer {
	if result[0] != '{' {
		return invalid("the result is not an object")
	}
	scan := envelope.NewScan(resultParts)
	scan.Feed(result)
	var resultType, task, isError, content, structured []byte
	for i, part := range []*[]byte{&resultType, &task, &isError, &content, &structured} {
		if at, ok := scan.Member(i); ok {
			*part = result[at.From:at.To]
		}
	}
	switch {
	case !complete(resultType):
		return Of(invocation.Unanswerable, "result type "+shown(string(resultType)))
	case !absent(task):
		return Of(invocation.Unanswerable, "a task instead of a result")
	case content == nil && absent(structured):
		return invalid("the result has no content")
	case content != nil && !isContent(content):
		return invalid("the content is not a list of typed parts")
	}
	kind := invocation.Answered
	switch {
	case string(isError) == "true":
		kind = invocation.ToolError
	case string(isError) != "false" && !absent(isError):
		return invalid("isError is neither true nor false")
	}
	return Answer{Event: invocation.Event{Kind: kind, Result: clone(result)}}
}

// complete reports whether a result says, or leaves to be understood, that it is
// all that comes (MCP 2026-07-28).
func complete(resultType []byte) bool { return resultType == nil || string(resultType) == `"complete"` }

// absent treats null as what some servers write for a member that is not there.
func absent(value []byte) bool { return value == nil || string(value) == "null" }

var typeOf = []string{"type"}

func isContent(content []byte) bool {
	if content[0] != '[' {
		return false
	}
	typed := true
	envelope.Items(content, func(item []byte) bool {
		scan := envelope.NewScan(typeOf)
		scan.Feed(item)
		at, ok := scan.Member(0)
		typed = ok && item[at.From] == '"'
		return typed
	})
	return typed
}

// Fault is the fault of a question, named what, that got no usable answer.
func (a Answer) Fault(what string) *fault.Fault {
	detail := what + ": " + a.Event.Detail
	switch a.Event.Kind {
	case invocation.Broken, invocation.TimedOut, invocation.Unreached:
		return fault.New(fault.Unavailable, detail)
	case invocation.TooLarge:
		return fault.New(fault.TooLarge, detail)
	default:
		return fault.New(fault.UpstreamFailed, detail)
	}
}

// shownBytes bounds what is repeated of an upstream's own words.
const shownBytes = 256

// shown makes an upstream's words fit for a log: one line, printable, bounded.
func shown(words string) string {
	words = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, words)
	if len(words) > shownBytes {
		words = strings.ToValidUTF8(words[:shownBytes], "") + "…"
	}
	return words
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// member is the value of a member, or null.
func member(v strictjson.Value, name string) strictjson.Value {
	found, _ := v.Get(name)
	return found
}

// text is the text of a member that is one, or nothing.
func text(v strictjson.Value, name string) string {
	if m := member(v, name); m.Kind == strictjson.String {
		return m.Text
	}
	return ""
}
