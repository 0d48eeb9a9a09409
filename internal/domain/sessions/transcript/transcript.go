// Package transcript is the durable record stream of one session (sessions page,
// section 8): what a record says, how records become lines of a file, and what
// can be told from a stream that was cut off.
//
// Records that are written together are one frame, and a frame is one line:
//
//	xxxxxxxx {"v":1,"records":[{...},{...}]} LF
//	^ CRC-32C of the JSON, in lower-case hexadecimal
//
// It promises that a frame which Decode accepts is the frame that Encode was
// given, and that a line that was cut or damaged is refused. A frame holds no LF
// but its last byte, so a write that was torn is only ever the last line. It does
// not promise who wrote a line: a CRC is no seal. Bounds: bound.LogFrameBytes, and
// bound.TurnHistoryBytes for what a model is shown of earlier turns. Faults:
// invalid_request and those of the bounds. Everything is a pure function.
package transcript

import (
	"fmt"
	"hash/crc32"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Kind says what a record tells.
type Kind string

// The kinds. The first record of a stream is a SessionTitle.
const (
	SessionTitle   Kind = "session_title"
	UserInput      Kind = "user_input"
	AssistantChunk Kind = "assistant_chunk"
	ToolCall       Kind = "tool_call"
	ToolResult     Kind = "tool_result"
	TurnStatus     Kind = "turn_status"
)

// Record is one fact of a session. Seq counts from 1 without gaps.
type Record struct {
	Seq  int64          `json:"seq"`
	At   int64          `json:"at"` // Unix milliseconds by the writer's clock; for people
	Turn string         `json:"turn"`
	Kind Kind           `json:"kind"`
	Data strictjson.Raw `json:"data"`
}

// Title is the data of a SessionTitle.
type Title struct {
	SessionID string  `json:"session_id"`
	Title     *string `json:"title"`
}

// Input is the data of a UserInput: durable before the turn is accepted.
type Input struct {
	OperationID string         `json:"operation_id"`
	Prompt      string         `json:"prompt"`
	Manifest    strictjson.Raw `json:"application_manifest"` // null where there is none
}

// Chunk is the data of an AssistantChunk.
type Chunk struct {
	Text string `json:"text"`
}

// The sources of a tool.
const (
	Application = "application" // lent for the session, executed by the application
	Builtin     = "builtin"
	MCP         = "mcp"
)

// Call is the data of a ToolCall: durable before the call is dispatched.
type Call struct {
	Round          int            `json:"round"` // questions to the model before it, from 0
	CallID         string         `json:"call_id"`
	ProviderCallID string         `json:"provider_call_id"`
	Name           string         `json:"name"`
	Arguments      string         `json:"arguments"`
	Source         string         `json:"source"`
	Parent         string         `json:"parent"`   // call id of the delegate call whose sub-agent asked; else empty
	Contract       strictjson.Raw `json:"contract"` // of Application: what the application promised, else null
	Binding        strictjson.Raw `json:"binding"`  // of Application: who alone may answer, else null
}

// The outcomes of a call.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Result is the data of a ToolResult: durable before the model hears of it.
type Result struct {
	CallID         string `json:"call_id"`
	ProviderCallID string `json:"provider_call_id"`
	Status         string `json:"status"`
	Effects        string `json:"effects"` // a word of ground/effect
	Code           string `json:"code"`    // of a failure, else empty
	Text           string `json:"text"`    // what the model is told
}

// Status is the data of a TurnStatus: durable before the terminal event.
type Status struct {
	Status string `json:"status"` // completed, failed or cancelled
	Code   string `json:"code"`   // of what is not completed
}

// Interrupted is the code of a turn that its daemon did not end.
const Interrupted = "interrupted"

// New makes a record of data, which is one of the structs above.
func New(seq, at int64, turn string, kind Kind, data any) (Record, error) {
	raw, err := strictjson.Encode(data)
	if err != nil {
		return Record{}, err
	}
	return Record{Seq: seq, At: at, Turn: turn, Kind: kind, Data: raw}, nil
}

// Read gives the data of a record of the kind that T belongs to.
func Read[T any](r Record) (T, error) {
	var data T
	err := strictjson.DecodeReply(r.Data, strictjson.Limits{Bytes: bound.LogFrameBytes}, &data)
	return data, err
}

type frame struct {
	Version int      `json:"v"`
	Records []Record `json:"records"`
}

const (
	version  = 1
	sumBytes = 8 // hexadecimal digits before the space
)

// castagnoli makes the table anew, since a rule keeps no state; the library
// remembers it.
func sum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// Encode writes one frame with its LF. There must be a record.
func Encode(records ...Record) ([]byte, error) {
	body, err := strictjson.Encode(frame{version, records})
	if err != nil {
		return nil, err
	}
	if err := bound.LogFrameBytes.Check(sumBytes + len(body) + 2); err != nil {
		return nil, err
	}
	line := fmt.Appendf(make([]byte, 0, sumBytes+len(body)+2), "%08x ", sum(body))
	return append(append(line, body...), '\n'), nil
}

// Decode reads one frame with its LF. What it gives is whole: known kinds, and
// sequence numbers that follow each other.
func Decode(line []byte) ([]Record, error) {
	if err := bound.LogFrameBytes.Check(len(line)); err != nil {
		return nil, err
	}
	n := len(line)
	if n < sumBytes+4 || line[n-1] != '\n' || line[sumBytes] != ' ' {
		return nil, broken
	}
	body := line[sumBytes+1 : n-1]
	if string(line[:sumBytes]) != fmt.Sprintf("%08x", sum(body)) {
		return nil, broken
	}
	var f frame
	if err := strictjson.DecodeReply(body, strictjson.Limits{Bytes: bound.LogFrameBytes}, &f); err != nil {
		return nil, broken.Because(err)
	}
	if f.Version != version || len(f.Records) == 0 {
		return nil, broken
	}
	for i, r := range f.Records {
		if !known(r.Kind) || r.Seq != f.Records[0].Seq+int64(i) || r.Seq < 1 {
			return nil, broken
		}
	}
	return f.Records, nil
}

var broken = fault.New(fault.InvalidRequest, "a line of the session's record is damaged")

func known(k Kind) bool {
	switch k {
	case SessionTitle, UserInput, AssistantChunk, ToolCall, ToolResult, TurnStatus:
		return true
	}
	return false
}
