package answer

import (
	"bytes"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
)

// IsID reports whether the id of an upstream's own request is one that can be
// answered.
func IsID(id []byte) bool { return bytes.ContainsAny(id[:1], `"-0123456789`) }

// ToRequest is what steward answers to a request of an upstream, as a line. No
// capability is offered, so there is nothing but the ping (threats, A52).
func ToRequest(m envelope.Message) []byte {
	if string(m.Method) == `"ping"` {
		return envelope.ReplyResult(m.ID, []byte(`{}`))
	}
	return envelope.ReplyError(m.ID, []byte(`{"code":-32601,"message":"not offered by this client"}`))
}
