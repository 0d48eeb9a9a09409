// Package sessionwire is protocol version 2 of the session daemon's Unix socket,
// with the profile application_resources_v1 (sessions page; guide): the records,
// the payloads and the one table of methods.
//
//	client -> daemon   Request
//	daemon -> client   Response, one to each request, in any order
//	daemon -> client   Event, in the order in which things happened
//
// A record is one line of strict JSON, at most 64 KiB without its LF. Every
// member of a record and of a payload is always there, null where it is unused,
// but for those that are marked omitzero here. Unknown members are refused by the
// daemon; a client refuses them too, since a later profile negotiates before it
// adds any.
//
// The package holds structs and names, no logic, and imports nothing but the
// standard library, so that an application can use it with any JSON package. A tag
// enum lists the words that a member may be. The package does not promise that a
// struct holds a well-formed message; the daemon checks.
package sessionwire

// Version is the protocol_version of every record.
const Version = 2

// Profile is the one capability token that may be requested. The retired ones
// make initialize fail.
const Profile = "application_resources_v1"

// The retired profile tokens.
const (
	RetiredInline  = "application_callbacks_inline_v1"
	RetiredSession = "application_callbacks_session_v1"
)

// The kinds of records.
const (
	KindRequest  = "request"
	KindResponse = "response"
	KindEvent    = "event"
)

// Raw is one JSON value as it was written. Nil is absent; a member of this type
// that is there and null is the text null.
type Raw []byte

// MarshalJSON gives the value itself.
func (r Raw) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps a copy of the value.
func (r *Raw) UnmarshalJSON(value []byte) error {
	*r = append(Raw{}, value...)
	return nil
}

// Control is the control token: what a claim gave.
type Control struct {
	GrantID    string `json:"grant_id"` // 32 random bytes in base64url; a secret
	Generation int64  `json:"generation"`
}

// Request asks for one method. The first one of a connection is initialize, with
// null instance and connection; every later one carries both as initialize gave
// them.
type Request struct {
	ProtocolVersion int      `json:"protocol_version"`
	Kind            string   `json:"kind"`
	RequestID       string   `json:"request_id"` // the client's, 1 to 128 bytes of [A-Za-z0-9._:-]; free again once answered
	InstanceID      *string  `json:"instance_id"`
	ConnectionID    *string  `json:"connection_id"`
	SessionID       *string  `json:"session_id"`
	OperationID     *string  `json:"operation_id"` // the client's, of the same form; fresh for the daemon's whole memory
	Control         *Control `json:"control"`
	Method          string   `json:"method"`
	Payload         Raw      `json:"payload"` // an object, at most 32 KiB
}

// Response answers one request. Exactly one of payload and error is not null.
// After an error with code malformed_record or record_too_large, whose request ID
// is null, the daemon closes the connection.
type Response struct {
	ProtocolVersion int     `json:"protocol_version"`
	Kind            string  `json:"kind"`
	RequestID       *string `json:"request_id"`
	InstanceID      string  `json:"instance_id"`
	ConnectionID    string  `json:"connection_id"`
	SessionID       *string `json:"session_id"`
	OperationID     *string `json:"operation_id"`
	Method          *string `json:"method"`
	Payload         Raw     `json:"payload"`
	Error           *Error  `json:"error"`
}

// Error is why a request was refused or failed. The message is a fixed text of
// the code.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Event tells what happened. Session events go to the session's controller and
// carry its generation and the next live sequence; callback events go to the
// executor and have null for operation, generation and sequence.
type Event struct {
	ProtocolVersion int     `json:"protocol_version"`
	Kind            string  `json:"kind"`
	InstanceID      string  `json:"instance_id"`
	ConnectionID    string  `json:"connection_id"`
	SessionID       *string `json:"session_id"`
	OperationID     *string `json:"operation_id"`
	GrantGeneration *int64  `json:"grant_generation"`
	LiveSequence    *int64  `json:"live_sequence"`
	Event           string  `json:"event"`
	Payload         Raw     `json:"payload"`
}
