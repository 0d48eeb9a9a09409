// Package rpcwire is the wire on which an application calls the methods that an
// owner granted to it (pool page, section 5): one strict JSON object in, one
// out, over HTTP POST with a bearer token.
//
//	POST /rpc/v1     Request        -> Response    executes at most once
//	POST /rpc/v1/tx  LookupRequest  -> Response    tells what is recorded; changes nothing
//
// A sender of requests may rely on this: members that a request does not have
// are refused, also in another case; null is refused where a member is left
// out; a response has every member of its form that is not marked as optional,
// and never gains one within v 1 other than inside details. A receiver ignores
// details that it does not know.
//
// The package holds structs and names, no logic, and imports nothing but the
// standard library, so that an app can use it with any JSON package. It does not
// promise that a struct holds a well-formed message; the host checks.
package rpcwire

// Version is the v of every message.
const Version = 1

// MaxBytes is how long a request may be; a longer one is refused as too_large.
const MaxBytes = 64 << 10

// MaxDeadlineMS is the longest deadline of a call in milliseconds, and the one of
// a call that names none.
const MaxDeadlineMS = 30_000

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

// Method is one row of the table of methods, with the types of its messages.
type Method[Req, Rep any] struct {
	Path    string // of the URL
	Changes bool   // whether it may execute something
}

// The methods of the wire.
var (
	Call   = Method[Request, Response]{Path: "/rpc/v1", Changes: true}
	Lookup = Method[LookupRequest, Response]{Path: "/rpc/v1/tx", Changes: false}
)

// Request asks for one execution. The client sends it, as often as it likes, and
// the host executes it at most once for a tx: tx is unique for a client, and
// stands for resource, contract, method, args and `if` together.
type Request struct {
	V              int     `json:"v"`                        // 1
	Tx             string  `json:"tx"`                       // tx_…, minted by the client: 48 bits of Unix milliseconds, 80 random bits
	Resource       string  `json:"resource"`                 // res_… or an alias of the host such as @profile
	Contract       string  `json:"contract"`                 // URL, compared byte for byte
	ContractDigest *string `json:"contract_digest,omitzero"` // sha256:…; refused as needs_consent where another document is approved
	Method         string  `json:"method"`
	Args           Raw     `json:"args"`                 // a JSON object; its numbers keep their digits
	If             Raw     `json:"if,omitzero"`          // a JSON object: the precondition of the method
	DeadlineMS     *int64  `json:"deadline_ms,omitzero"` // 1 to MaxDeadlineMS, from the host's receipt
	Confirm        *string `json:"confirm,omitzero"`     // cnf_…, as an earlier answer named it
	Ack            *string `json:"ack,omitzero"`         // the tx in doubt that an equal call knows of
}

// LookupRequest asks what is recorded of a tx of this client.
type LookupRequest struct {
	V  int    `json:"v"` // 1
	Tx string `json:"tx"`
}

// Status is the first word of a response.
type Status string

// The statuses. Pending is said by a lookup only.
const (
	OK            Status = "ok"
	Failed        Status = "error"
	Indeterminate Status = "indeterminate" // it may have happened; never repeat it by yourself
	Pending       Status = "pending"
)

// Effects says what is known to have happened.
type Effects string

// The effects.
const (
	None          Effects = "none"           // the request could have no effect
	NotDispatched Effects = "not_dispatched" // no byte went out
	Reported      Effects = "reported"       // the executor answered
	Uncertain     Effects = "uncertain"      // it may have happened
)

// Response is the one answer of both methods. The host sends it with the HTTP
// status of its error's row, or 200; a client reads Status, not the number. For
// a settled tx it is the same bytes for ever, but for Replayed and until the
// owner ends a doubt.
type Response struct {
	V        int      `json:"v"`                // 1
	Tx       string   `json:"tx"`               // empty where the request had no well-formed one
	Status   Status   `json:"status"`           //
	Result   Raw      `json:"result,omitzero"`  // only where an executor's answer brought one
	Error    *Error   `json:"error,omitzero"`   // where status is error or indeterminate
	Effects  Effects  `json:"effects"`          //
	Replayed bool     `json:"replayed"`         // the recorded answer of an earlier send
	Revision string   `json:"revision"`         // rev_… of the resource that was called, else empty
	Version  string   `json:"version,omitzero"` // of the item that a built-in method found or wrote
	Usage    Usage    `json:"usage"`            //
	Details  *Details `json:"details,omitzero"` // of an ok that ended a doubt; else in the error
}

// Error is why a response is no ok. Where details have a pointer (RFC 6901), it
// leads into the request, of an invalid_args into args.
type Error struct {
	Code    string         `json:"code"`             // of the table of codes
	Message string         `json:"message"`          // for people; may change
	Retry   string         `json:"retry"`            // never, same_tx, new_tx or after_reconcile
	Details map[string]any `json:"details,omitzero"` // by code
}

// Usage is what the call used.
type Usage struct {
	MS int64 `json:"ms"` // from the dispatch to the outcome, 0 where nothing was dispatched
}

// Details of an ok.
type Details struct {
	Reconciled Reconciled `json:"reconciled"`
}

// Reconciled says how a doubt ended.
type Reconciled struct {
	By string `json:"by"` // owner or late_answer
	At string `json:"at"` // RFC 3339, UTC
}
