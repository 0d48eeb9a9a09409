// Package conversation is what a language model is shown and what it says back:
// messages, tools, calls and results, as plain values in no vendor's form.
//
// It promises that a reply which Check lets pass can be carried out: each call
// has an id of its own within the turn and a name. It does not promise that a
// tool of that name exists, nor that the arguments fit a schema; whoever runs a
// call looks at both. Bounds: bound.CallIDBytes and bound.TurnRoundCalls.
// Values are not shared between goroutines unless nobody writes them.
package conversation

import (
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Role says who speaks in a message.
type Role string

// The roles. An Answers message carries the results of the calls before it.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Answers   Role = "answers"
)

// Message is one step of a conversation.
type Message struct {
	Role    Role
	Text    string   // of User and Assistant; may be empty where Calls are not
	Calls   []Call   // of Assistant
	Results []Result // of Answers, in the order of the calls
}

// Call is one use of a tool that a model asks for.
type Call struct {
	ID        string // the vendor's name for it, 1 to 128 bytes, unique within a turn
	Name      string // of the tool
	Arguments string // JSON text as the model wrote it; unchecked
}

// Result is what came of a call.
type Result struct {
	CallID string
	Failed bool
	Text   string // JSON or plain text, for the model
}

// Tool is one tool that a model may ask for.
type Tool struct {
	Name        string
	Description string
	Input       strictjson.Raw // JSON Schema of the arguments
}

// Request is one question to a model. Nobody keeps it past the answer.
type Request struct {
	Instructions string // the system text; may be empty
	Messages     []Message
	Tools        []Tool
}

// Reply is one whole answer of a model. Its text has gone out in parts before.
type Reply struct {
	Text  string
	Calls []Call
	Cut   bool // the model came to its own limit before the end of the text
}

// EncodedLen is the number of bytes of a text inside a JSON string, without the
// quotes: what the guide's text budget counts ("Escaping counts"). Lengths of
// parts that are whole UTF-8 add up to the length of the whole. Text that is not
// UTF-8 counts as it would be mended.
func EncodedLen(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\b' || r == '\f' || r == '\n' || r == '\r' || r == '\t':
			n += 2
		case r < 0x20:
			n += 6
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// Seen holds the call ids of one turn.
type Seen map[string]bool

// Check holds the calls of a reply to the rules of a turn and remembers their
// ids. A fault is the model's: invalid_request, or that of the bound.
func (s Seen) Check(r Reply) error {
	if err := bound.TurnRoundCalls.Check(len(r.Calls)); err != nil {
		return err
	}
	for _, c := range r.Calls {
		if err := bound.CallIDBytes.Check(len(c.ID)); err != nil {
			return err
		}
		if c.ID == "" || !utf8.ValidString(c.ID) || c.Name == "" || s[c.ID] {
			return fault.New(fault.InvalidRequest, "the model asked for a call without an id and name of its own")
		}
		s[c.ID] = true
	}
	return nil
}
