// Package frame reads the messages of MCP clients and holds them to the
// revision that they were sent in; it knows the wire and no method's meaning
// (pool page, section 9).
//
// It promises that a message has one reading only: a member that stands twice,
// a known name in another case, or anything after the value is refused; what MCP may
// add later is ignored. Values stay as they were written. Bytes, depth and nodes
// are bounded by bound.RequestBytes and the JSON rows. It keeps nothing;
// everything is safe for concurrent use.
package frame

import (
	"bytes"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The members of a call's _meta that are the host's own.
const (
	MetaTx  = "io.github.stewardhost/tx"  // the call's tx; minted where it is not given
	MetaAck = "io.github.stewardhost/ack" // the tx in doubt that the caller knows of
)

// Message is one JSON-RPC message.
type Message struct {
	Body   []byte         // all of it, as it was received
	ID     strictjson.Raw // as it was written; nil for a notification
	Key    ID             // the same id by its meaning
	Method string         // empty for a response
	Params strictjson.Raw // nil for none
}

// ID is a request's id by its meaning, however it was written: a string or an
// integer. It is comparable.
type ID struct {
	kind strictjson.Kind
	text string
}

// Limits bound a message. The arguments inside are held to rows of their own by
// the port.
var Limits = strictjson.Limits{Bytes: bound.RequestBytes, Depth: bound.JSONDepth, Nodes: bound.JSONNodes}

// Parse reads one message. Batches, which only revisions before 2025-06-18 knew,
// are refused in all. The fault is invalid_request or that of a bound; its text
// repeats nothing of the message.
func Parse(body []byte) (Message, error) {
	m := Message{Body: body}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return m, fault.New(fault.InvalidRequest, "batches are not taken; send one message")
	}
	members, err := strictjson.Members(body, Limits)
	if err != nil {
		return m, err
	}
	if hasTwin(members, envelope) {
		return m, errTwin
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return m, fault.New(fault.InvalidRequest, `not a message of JSON-RPC "2.0"`)
	}
	m.Params = members["params"]
	if id, given := members["id"]; given {
		if m.Key, given = ParseID(id); !given {
			return m, fault.New(fault.InvalidRequest, "an id is a string or an integer")
		}
		m.ID = id
	}
	method, isRequest := members["method"]
	if !isRequest && m.ID == nil {
		return m, fault.New(fault.InvalidRequest, "neither a request nor a response")
	}
	if !isRequest {
		return m, nil
	}
	var ok bool
	if m.Method, ok = Text(method); !ok || m.Method == "" {
		return m, fault.New(fault.InvalidRequest, "a method is a string")
	}
	return m, nil
}

// The names that mean something to the host in each place.
var (
	envelope    = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramNames  = []string{"_meta", "name", "arguments", "cursor", "requestId", "protocolVersion", "capabilities", "clientInfo", "notifications"}
	metaNames   = []string{MetaTx, MetaAck, sdk.MetaKeyProtocolVersion, sdk.MetaKeyClientInfo, sdk.MetaKeyClientCapabilities}
	errTwin     = fault.New(fault.InvalidRequest, "a member has a known name in another case")
	errNoParams = fault.New(fault.InvalidRequest, "params are an object")
	errNoMeta   = fault.New(fault.InvalidRequest, "_meta is an object")
)

// hasTwin reports whether a member differs from a known one by case alone, so
// that a reader which does not look at case would take it (threats, A25).
func hasTwin(members map[string]strictjson.Raw, known []string) bool {
	for name := range members {
		for _, k := range known {
			if name != k && len(name) <= 2*len(k) && strings.EqualFold(name, k) {
				return true
			}
		}
	}
	return false
}

// ParseID reads an id; false where it is none.
func ParseID(raw strictjson.Raw) (ID, bool) {
	switch raw.Kind() {
	case '"':
		s, ok := Text(raw)
		return ID{strictjson.String, s}, ok
	case '0':
		return ID{strictjson.Number, string(raw)}, !strings.ContainsAny(string(raw), ".eE")
	default:
		return ID{}, false
	}
}

// Text gives the string that a JSON value is; false where it is none.
func Text(raw strictjson.Raw) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	v, err := strictjson.Parse(raw, Limits)
	return v.Text, err == nil
}

// Params are the members of a request's params, and of their _meta.
type Params struct {
	Members map[string]strictjson.Raw
	Meta    map[string]strictjson.Raw
}

// Split takes params apart; absent ones are empty.
func (m Message) Split() (p Params, err error) {
	if m.Params == nil {
		return p, nil
	}
	if p.Members, err = strictjson.Members(m.Params, Limits); err != nil {
		return p, errNoParams
	}
	if hasTwin(p.Members, paramNames) {
		return p, errTwin
	}
	if meta, given := p.Members["_meta"]; given {
		if p.Meta, err = strictjson.Members(meta, Limits); err != nil {
			return p, errNoMeta
		}
		if hasTwin(p.Meta, metaNames) {
			return p, errTwin
		}
	}
	return p, nil
}
