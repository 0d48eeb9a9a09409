// Package question writes the params of what steward asks of an MCP upstream, in
// both eras and whatever they travel on. No client capability is ever declared
// (threats, A52).
//
// Everything here is a pure function of bytes. Arguments pass byte for byte,
// after they were held to strict JSON once more, since bytes that are not one
// JSON object could carry a second message. Faults are those of strictjson and
// invalid_args.
package question

import (
	"bytes"
	"strconv"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Meta is the _meta of every request of the stateless era, one JSON object; nil in
// the era of the handshake.
type Meta []byte

const vendor = `"io.modelcontextprotocol/`

// clientInfo is who asks; a version is always text that can be encoded.
func clientInfo(ownVersion string) ([]byte, error) {
	return strictjson.Encode(map[string]string{"name": "steward", "version": ownVersion})
}

// Initialize is the params of initialize.
func Initialize(ownVersion string) ([]byte, error) {
	client, err := clientInfo(ownVersion)
	if err != nil {
		return nil, err
	}
	return []byte(`{"protocolVersion":"` + answer.Offered + `","capabilities":{},"clientInfo":` + string(client) + `}`), nil
}

// Stateless is what every request of the stateless era says of who asks and in
// which revision.
func Stateless(ownVersion string) (Meta, error) {
	client, err := clientInfo(ownVersion)
	if err != nil {
		return nil, err
	}
	return Meta(`{` + vendor + `protocolVersion":"` + answer.Stateless + `",` +
		vendor + `clientInfo":` + string(client) + `,` + vendor + `clientCapabilities":{}}`), nil
}

// Discover is the params of server/discover.
func (m Meta) Discover() []byte { return m.close([]byte("{")) }

// Listen is the params of subscriptions/listen, for changes of tools.
func (m Meta) Listen() []byte { return m.close([]byte(`{"notifications":{"toolsListChanged":true}`)) }

// List is the params of tools/list; cursor is JSON text, nil for the first page.
func (m Meta) List(cursor []byte) []byte {
	params := []byte("{")
	if cursor != nil {
		params = append([]byte(`{"cursor":`), cursor...)
	}
	return m.close(params)
}

// Inquiry is a question about resources: it has no effect.
type Inquiry struct {
	Kind   answer.Kind
	Method string
	About  string // the URI, which the stateless era says in a header too; else empty
	params []byte // an object without its last brace
}

// Resources asks for a page of resources/list; cursor is as that of List.
func Resources(cursor []byte) Inquiry {
	q := Inquiry{Kind: answer.Listing, Method: "resources/list", params: []byte("{")}
	if cursor != nil {
		q.params = append([]byte(`{"cursor":`), cursor...)
	}
	return q
}

// ReadResource asks for a resource. Faults: invalid_args for a URI that is none of
// at most bound.ResourceURIBytes.
func ReadResource(uri string) (Inquiry, error) {
	text, err := strictjson.Encode(uri)
	if err != nil || uri == "" || bound.ResourceURIBytes.Check(len(uri)) != nil {
		return Inquiry{}, fault.New(fault.InvalidArgs, "that is no URI of a resource").Because(err)
	}
	return Inquiry{Kind: answer.Reading, Method: "resources/read", About: uri, params: append([]byte(`{"uri":`), text...)}, nil
}

// Inquire is the params of an inquiry.
func (m Meta) Inquire(q Inquiry) []byte { return m.close(bytes.Clone(q.params)) }

// Reporting is a Meta that also asks to be told how far the request with this
// number is.
func (m Meta) Reporting(request int64) Meta {
	token := strconv.AppendInt([]byte(`{"progressToken":`), request, 10)
	if m == nil {
		return append(token, '}')
	}
	return append(append(token, ','), m[1:]...)
}

// Call is the params of tools/call. No arguments are an empty object (field
// faults, FF16).
func (m Meta) Call(tool string, args []byte) ([]byte, error) {
	if len(args) == 0 {
		args = []byte("{}")
	}
	if err := strictjson.Check(args, strictjson.RequestLimits); err != nil {
		return nil, err
	}
	if args = bytes.TrimSpace(args); args[0] != '{' {
		return nil, fault.New(fault.InvalidArgs, "the arguments are not an object")
	}
	name, err := strictjson.Encode(tool)
	if err != nil {
		return nil, err
	}
	params := make([]byte, 0, len(args)+len(name)+len(m)+40)
	params = append(append(params, `{"name":`...), name...)
	params = append(append(params, `,"arguments":`...), args...)
	return m.close(params), nil
}

// close ends params, which are an object without its last brace.
func (m Meta) close(params []byte) []byte {
	if m == nil {
		return append(params, '}')
	}
	if params[len(params)-1] != '{' {
		params = append(params, ',')
	}
	return append(append(append(params, `"_meta":`...), m...), '}')
}
