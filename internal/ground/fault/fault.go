// Package fault is the one table of error codes and the one error type that
// crosses floors. A fault is made where a rule is broken and passed up
// unchanged; each face turns it into its wire's form by reading the row.
//
// Only the code, the public text and the details leave the process; the cause
// is for logs. An error that is not a fault is answered as Internal with a
// fixed text. Values are immutable: With, RetryAfter and Because return copies, so
// a fault may be shared between goroutines.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Code names one row of the table; it is the code on every wire.
type Code string

// Retry says what a caller may do after a fault (pool page, section 7).
type Retry string

// The retry classes.
const (
	Never          Retry = "never"           // the same request will be refused again
	SameTx         Retry = "same_tx"         // the same request under the same tx may succeed later
	NewTx          Retry = "new_tx"          // a corrected request needs a tx of its own
	AfterReconcile Retry = "after_reconcile" // nobody may repeat it before the owner has said what happened
)

// Row is one code with everything that any wire needs to know about it.
type Row struct {
	Code    Code
	HTTP    int    // status on HTTP wires
	RPC     int    // JSON-RPC error number
	Retry   Retry  // what the caller may do
	Details bool   // may carry details to the caller
	Meaning string // one sentence, for the generated reference
}

// Rows returns the whole table, in the order of the documents. The caller owns
// the slice.
func Rows() []Row { return slices.Concat(poolRows, busRows, sessionRows) }

// Lookup returns the row of a code, or the row of Internal and false.
func Lookup(code Code) (Row, bool) {
	for _, table := range [][]Row{poolRows, busRows, sessionRows} {
		for _, row := range table {
			if row.Code == code {
				return row, true
			}
		}
	}
	return internalRow, false
}

// Fault is one refusal or failure. The zero value is not a fault; use New.
type Fault struct {
	Code    Code
	Text    string         // public, one line, no secret
	Details map[string]any // public, only where the row allows it
	cause   error          // for logs
}

// New returns a fault with a public text.
func New(code Code, text string) *Fault { return &Fault{Code: code, Text: text} }

// Newf is New with a format; arguments must be fit for the public.
func Newf(code Code, format string, args ...any) *Fault {
	return New(code, fmt.Sprintf(format, args...))
}

// With returns a copy that carries one more detail.
func (f *Fault) With(key string, value any) *Fault {
	c := *f
	c.Details = maps.Clone(f.Details)
	if c.Details == nil {
		c.Details = make(map[string]any, 1)
	}
	c.Details[key] = value
	return &c
}

// RetryAfter returns a copy that says when it is worth to come again, in whole
// milliseconds of which there is at least one.
func (f *Fault) RetryAfter(d time.Duration) *Fault {
	return f.With("retry_after_ms", max(1, d.Milliseconds()))
}

// Because returns a copy that remembers its cause for logs.
func (f *Fault) Because(cause error) *Fault {
	c := *f
	c.cause = cause
	return &c
}

// Error gives code and public text, so a fault that ends in a log or a terminal
// by mistake still tells no secret.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Text }

// Unwrap gives the cause, so that errors.Is sees through a fault.
func (f *Fault) Unwrap() error { return f.cause }

// Row returns the table row of the fault's code.
func (f *Fault) Row() Row {
	row, _ := Lookup(f.Code)
	return row
}

// From returns the fault inside err, or Internal with a fixed text and err as
// its cause. From(nil) is nil.
func From(err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return New(Internal, "the host failed; its log has the reason").Because(err)
}

// Is reports whether err carries a fault of this code.
func Is(err error, code Code) bool {
	var f *Fault
	return errors.As(err, &f) && f.Code == code
}
