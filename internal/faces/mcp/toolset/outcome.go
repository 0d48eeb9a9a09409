package toolset

import (
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Outcome is what a client sees of a call, as JSON. A nil Structured is none.
type Outcome struct {
	Content    strictjson.Raw
	Structured strictjson.Raw
	IsError    bool
	Validated  bool // Structured fits the approved output schema
}

// Outcome gives the recorded bytes: an upstream's content and structured content
// as they were recorded, the result of a method of the host as structured content
// with the same JSON as text. Without a result, words say what happened. An error
// means that the record cannot be read.
func (t *Tool) Outcome(a invocation.Answer) (Outcome, error) {
	switch {
	case len(a.Result) == 0:
		return Outcome{Content: textContent(words(a)), IsError: a.Fault != nil}, nil
	case t.imported:
		var r invocation.Result
		if err := strictjson.Decode(a.Result, strictjson.Limits{}, &r); err != nil {
			return Outcome{}, err
		}
		return Outcome{r.Content, r.Structured, r.IsError || a.Fault != nil, r.Validated}, nil
	}
	return Outcome{textContent(string(a.Result)), a.Result, a.Fault != nil, len(t.method.Method.Output) > 0}, nil
}

func textContent(s string) strictjson.Raw {
	b := append(make([]byte, 0, len(s)+48), `[{"type":"text","text":`...)
	return append(append(b, frame.Quoted(s)...), "}]"...)
}

// words tell a model, and the person in front of it, what to make of an answer
// without a result.
func words(a invocation.Answer) string {
	f := a.Fault
	switch {
	case f == nil && a.Reconciled != nil:
		return "The call happened: the owner has found out. Its result is not known. Do not repeat it."
	case f == nil:
		return "The call happened and returned nothing."
	}
	switch f.Code {
	case fault.Indeterminate:
		return "It is not known whether this call happened: it may have. Do not repeat it, not with other words either. " +
			"Ask the owner to find out; the owner sees it in steward's journal as " + a.Tx.String() + "."
	case fault.ConfirmationRequired:
		if f.Details["refused_until"] != nil {
			return "Nothing was sent: " + f.Text + ". Do not make it again."
		}
		return "The owner must confirm this call; nothing was sent. Ask the owner" + fix(f, " to run: ") +
			". Then make the same call again, with the same arguments."
	case fault.Conflict:
		return "Nothing was sent: " + f.Text + "." + fix(f, " What helps: ") + "."
	}
	return string(f.Code) + ": " + f.Text + fix(f, "; what helps: ") + "."
}

// fix is the command or step that a fault names, after its lead-in.
func fix(f *fault.Fault, lead string) string {
	if step, ok := f.Details["fix"].(string); ok {
		return lead + step
	}
	return ""
}
