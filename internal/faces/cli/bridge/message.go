package bridge

import (
	"bytes"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The methods that the bridge itself must know.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodCall        = "tools/call"
	methodListen      = "subscriptions/listen"
)

// namedBy is the member that names what a method uses, which a request without a
// session says in a header too.
var namedBy = map[string]string{methodCall: "name", "resources/read": "uri"}

// The members of _meta that say in which revision a request stands, and under
// which tx a call goes.
const (
	metaVersion = "io.modelcontextprotocol/protocolVersion"
	metaTx      = "io.github.stewardhost/tx"
)

// The codes of JSON-RPC that the bridge gives itself.
const (
	codeParse    = "-32700"
	codeParams   = "-32602"
	codeInternal = "-32603"
)

var lineLimits = strictjson.Limits{Bytes: bound.BridgeLineBytes}

// message is what the bridge reads of one; text is all of it, as it came.
type message struct {
	text    []byte
	id      strictjson.Raw // nil for none
	method  string         // empty for an answer
	version string         // of a request of the era without sessions
	name    string         // of what is called or read
	tx      string
	cancels string // the id that a cancellation is about, as it was written
}

// modern reports whether a request stands alone, without a session.
func (m message) modern() bool { return m.version != "" }

// parse reads one line, and says what is wrong with it.
func parse(l line) (m message, problem string) {
	if l.long {
		return m, bound.BridgeLineBytes.Exceeded().Text
	}
	m.text = l.text
	members, err := strictjson.Members(l.text, lineLimits)
	if err != nil {
		if bytes.HasPrefix(l.text, []byte("[")) {
			return m, "batches are not taken; send one message a line"
		}
		return m, "the line is no JSON object: " + fault.From(err).Text
	}
	m.id = members["id"]
	if m.id != nil && m.id.Kind() != '"' && m.id.Kind() != '0' {
		m.id = nil
		return m, "an id is a string or an integer"
	}
	m.method = text(members["method"])
	params, _ := strictjson.Members(members["params"], lineLimits)
	meta, _ := strictjson.Members(params["_meta"], lineLimits)
	m.version, m.tx, m.name = text(meta[metaVersion]), text(meta[metaTx]), text(params[namedBy[m.method]])
	if m.method == methodCancelled {
		m.cancels = string(params["requestId"])
	}
	return m, ""
}

// text is the string that a value is, else nothing.
func text(raw strictjson.Raw) string {
	if len(raw) == 0 || raw.Kind() != '"' {
		return ""
	}
	v, _ := strictjson.Parse(raw, lineLimits)
	return v.Text
}

// flat is a message on one line: a line end in JSON is white space.
func flat(message []byte) []byte {
	out := bytes.TrimSpace(message)
	if bytes.ContainsAny(out, "\r\n") {
		out = bytes.ReplaceAll(bytes.ReplaceAll(out, []byte("\r"), []byte(" ")), []byte("\n"), []byte(" "))
	}
	return bytes.Clone(out)
}

func trim(text []byte) []byte { return bytes.TrimRight(text, "\r\n") }

// failure is a JSON-RPC error; without an id it belongs to no request.
func failure(id strictjson.Raw, code, text string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + idOf(id) + `,"error":{"code":` + code + `,"message":` + quoted(text) + `}}`)
}

func idOf(id strictjson.Raw) string {
	if id == nil {
		return "null"
	}
	return string(id)
}

func quoted(text string) string {
	return string(strictjson.Value{Kind: strictjson.String, Text: strings.ToValidUTF8(text, "?")}.Append(nil))
}

// outcome is the result of a call that has none of its own.
func outcome(m message, text string) []byte {
	tail := ""
	if m.modern() {
		tail = `,"resultType":"complete"`
	}
	return []byte(`{"jsonrpc":"2.0","id":` + idOf(m.id) + `,"result":{"content":[{"type":"text","text":` + quoted(text) + `}],"isError":true` + tail + `}}`)
}

// doubt is told of a call that went out and was not answered.
func doubt(m message) []byte {
	where := "steward journal list --indeterminate"
	if m.tx != "" {
		where = "steward journal show " + m.tx
	}
	return outcome(m, "It is not known whether this call happened: it may have. The host ended before it answered. Do not repeat it, not with "+
		"other words either. Ask the owner to find out, with: "+where+".")
}

// down is told of a request of which nothing went out.
func down(m message) []byte {
	const text = "unavailable: no host is running; nothing was sent; what helps: steward up."
	if m.method == methodCall {
		return outcome(m, text)
	}
	return failure(m.id, codeInternal, text)
}
