package mcp

import (
	"bytes"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// message is one JSON-RPC message. Members that MCP may add later are ignored;
// what is here is as it was written.
type message struct {
	body   []byte
	id     strictjson.Raw // nil for a notification
	key    requestID
	method string         // empty for a response
	params strictjson.Raw // nil for none
}

// requestID is an id by its meaning, however it was written.
type requestID struct {
	kind strictjson.Kind
	text string
}

// The nodes and the depth of the arguments are held to their own rows by the
// port.
var messageLimits = strictjson.Limits{Bytes: bound.RequestBytes, Depth: bound.JSONDepth, Nodes: bound.JSONNodes}

// parseMessage reads one message, strictly. Batches, which only revisions before
// 2025-06-18 knew, are refused in all.
func parseMessage(body []byte) (message, error) {
	m := message{body: body}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return m, fault.New(fault.InvalidRequest, "batches are not taken; send one message")
	}
	members, err := strictjson.Members(body, messageLimits)
	if err != nil {
		return m, err
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return m, fault.New(fault.InvalidRequest, `not a message of JSON-RPC "2.0"`)
	}
	m.params = members["params"]
	if id, given := members["id"]; given {
		if m.key, given = readID(id); !given {
			return m, fault.New(fault.InvalidRequest, "an id is a string or an integer")
		}
		m.id = id
	}
	method, isRequest := members["method"]
	if !isRequest {
		return m, nil
	}
	var ok bool
	if m.method, ok = text(method); !ok || m.method == "" {
		return m, fault.New(fault.InvalidRequest, "a method is a string")
	}
	return m, nil
}

func readID(raw strictjson.Raw) (requestID, bool) {
	switch raw.Kind() {
	case '"':
		s, ok := text(raw)
		return requestID{strictjson.String, s}, ok
	case '0':
		return requestID{strictjson.Number, string(raw)}, !strings.ContainsAny(string(raw), ".eE")
	default:
		return requestID{}, false
	}
}

// text gives the string that a JSON value is.
func text(raw strictjson.Raw) (string, bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; !strings.Contains(string(inner), `\`) {
		return string(inner), true
	}
	v, err := strictjson.Parse(raw, messageLimits)
	return v.Text, err == nil
}

// parameters are the members of a request's params, and of their _meta.
type parameters struct {
	members map[string]strictjson.Raw
	meta    map[string]strictjson.Raw
}

// readParams splits params; absent ones are empty.
func (m message) readParams() (p parameters, err error) {
	if m.params == nil {
		return p, nil
	}
	if p.members, err = strictjson.Members(m.params, messageLimits); err != nil {
		return p, fault.New(fault.InvalidRequest, "params are an object")
	}
	if meta, given := p.members["_meta"]; given {
		if p.meta, err = strictjson.Members(meta, messageLimits); err != nil {
			return p, fault.New(fault.InvalidRequest, "_meta is an object")
		}
	}
	return p, nil
}
