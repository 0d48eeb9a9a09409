package schema

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Refusal says why a schema does not fit the profile. It unwraps to a fault:
// invalid_request with the pointer in its details, or the fault of the bound
// that the schema exceeds.
type Refusal struct {
	Pointer string // of the keyword or subschema in the document; "" is all of it
	Text    string // public, one line; names keywords, repeats no value
	cause   *fault.Fault
}

// Error gives place and reason.
func (r *Refusal) Error() string { return sentence(r.Pointer, "the schema", r.Text) }

// Unwrap gives the fault.
func (r *Refusal) Unwrap() error {
	cause := r.cause
	if cause == nil {
		cause = fault.New(fault.InvalidRequest, r.Error())
	}
	return cause.With("pointer", r.Pointer)
}

// refusalOf wraps what the parser says about the document.
func refusalOf(err error) *Refusal {
	cause := fault.From(err)
	pointer, _ := cause.Details["pointer"].(string)
	return &Refusal{Pointer: pointer, Text: cause.Text, cause: cause}
}

// Violation says where and why a value does not fit a schema. It unwraps to an
// invalid_args fault with the pointer in its details; a caller that checks
// something else than arguments gives its own fault.
type Violation struct {
	Pointer string // into the value; "" is all of it
	Text    string // public, one line; repeats no part of the value
}

// Error gives place and reason.
func (v *Violation) Error() string { return sentence(v.Pointer, "the value", v.Text) }

// Unwrap gives the fault.
func (v *Violation) Unwrap() error {
	return fault.New(fault.InvalidArgs, v.Error()).With("pointer", v.Pointer)
}

func sentence(pointer, whole, text string) string {
	if pointer == "" {
		return whole + ": " + text
	}
	return pointer + ": " + text
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// Under returns the JSON pointer (RFC 6901) of a member or entry of the value
// that pointer names.
func Under(pointer, token string) string { return pointer + "/" + escapes.Replace(token) }

// place is the way from the root to a part of a schema, last step first. It is
// spelled out as a pointer only when something is refused.
type place struct {
	above *place
	token string
}

func (p *place) to(token string) *place { return &place{p, token} }

func (p *place) pointer() string {
	if p == nil {
		return ""
	}
	return Under(p.above.pointer(), p.token)
}

func (p *place) refuse(text string) *Refusal { return &Refusal{Pointer: p.pointer(), Text: text} }

func (p *place) exceeds(cause *fault.Fault) *Refusal {
	return &Refusal{Pointer: p.pointer(), Text: cause.Text, cause: cause}
}
