// Package envelope reads and writes the lines of JSON-RPC that an MCP server
// speaks over a pair of byte streams, as bytes.
//
// Reading has two steps. Read finds the parts of a line in one pass, without
// judging it, so that even a broken answer can be told to the request that it
// belongs to. Check then holds the line to strict JSON, the envelope and the
// payload each under bounds of its own. Payloads are never decoded here:
// numbers and texts stay as they were written.
//
// Lines cuts a stream into lines and keeps no more of one than it is told to; a
// Sieve looks for the request id in a line that is too long to be kept.
//
// Each value belongs to one goroutine. Faults are those of ground/strictjson.
package envelope

import (
	"strconv"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Message is one line. Its parts are JSON values as they are written, or nil
// where the line has none; they alias the line.
type Message struct {
	Version, ID, Method, Params, Result, Error []byte

	Kept bool // the line stays as it is after its reader is used again

	line    []byte
	payload Span
}

// parts are the members of an envelope, in the order of Message's fields.
var parts = []string{"jsonrpc", "id", "method", "params", "result", "error"}

const (
	partVersion = iota
	partID
	partMethod
	partParams
	partResult
	partError
)

// Read finds the parts of a line, whatever the line is.
func Read(line []byte) Message {
	m := Message{line: line}
	scan := NewScan(parts)
	scan.Feed(line)
	for i, part := range []*[]byte{&m.Version, &m.ID, &m.Method, &m.Params, &m.Result, &m.Error} {
		at, ok := scan.Member(i)
		if !ok {
			continue
		}
		*part = line[at.From:at.To]
		if i >= partParams {
			m.payload = at
		}
	}
	return m
}

// IsReply reports whether the line means to answer a request.
func (m Message) IsReply() bool {
	return m.ID != nil && m.Method == nil && (m.Result != nil || m.Error != nil || m.Version != nil)
}

// Check holds the line to strict JSON and to JSON-RPC 2.0. The limits are those
// of the payload, which is the result, error or params.
func (m Message) Check(payload strictjson.Limits) error {
	around := m.line
	if at := m.payload; at.To > 0 {
		if err := strictjson.Check(m.line[at.From:at.To], payload); err != nil {
			return err
		}
		around = append(append(append(make([]byte, 0, 128), m.line[:at.From]...), '0'), m.line[at.To:]...)
	}
	if err := strictjson.Check(around, strictjson.RequestLimits); err != nil {
		return err
	}
	if string(m.Version) != `"2.0"` {
		return fault.New(fault.InvalidRequest, "not a JSON-RPC 2.0 message")
	}
	if m.IsReply() && (m.Result == nil) == (m.Error == nil) {
		return fault.New(fault.InvalidRequest, "an answer has either a result or an error")
	}
	return nil
}

// Number reads an id of ours: a whole number, written plainly.
func Number(id []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil && n > 0 && id[0] != '0' && id[0] != '+'
}

// Request writes one request as a line; params must be one JSON value.
func Request(id int64, method string, params []byte) []byte {
	line := make([]byte, 0, len(params)+len(method)+64)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = strconv.AppendInt(line, id, 10)
	return finish(line, method, params)
}

// Notification writes one notification as a line; params must be one JSON value.
func Notification(method string, params []byte) []byte {
	line := make([]byte, 0, len(params)+len(method)+64)
	return finish(append(line, `{"jsonrpc":"2.0"`...), method, params)
}

func finish(line []byte, method string, params []byte) []byte {
	line = append(append(append(line, `,"method":"`...), method...), `","params":`...)
	from := len(line)
	line = append(line, params...)
	// A line end can stand in JSON only as white space between tokens, but here
	// it would end the message.
	for i := from; i < len(line); i++ {
		if line[i] == '\n' || line[i] == '\r' {
			line[i] = ' '
		}
	}
	return append(line, "}\n"...)
}

// ReplyResult and ReplyError answer a request of the upstream; id is its JSON
// value as it was written.
func ReplyResult(id, result []byte) []byte { return reply(id, `"result":`, result) }

// ReplyError is ReplyResult with an error object.
func ReplyError(id, object []byte) []byte { return reply(id, `"error":`, object) }

func reply(id []byte, name string, value []byte) []byte {
	line := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), ',')
	return append(append(append(line, name...), value...), "}\n"...)
}

// Cancelled is the notice that nobody waits for the answer to a request.
func Cancelled(id int64) []byte {
	params := strconv.AppendInt([]byte(`{"requestId":`), id, 10)
	return Notification("notifications/cancelled", append(params, `,"reason":"the caller gave up"}`...))
}
