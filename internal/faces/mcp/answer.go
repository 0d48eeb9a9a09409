package mcp

import (
	"net/http"
	"strconv"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// tell answers a call. A failure is a result that says isError, so that it
// reaches the model and never ends a client's session (field faults, FF18); what
// the caller itself got wrong is a JSON-RPC error.
func (x *exchange) tell(t *tool, a invocation.Answer) {
	if f := a.Fault; f != nil && isCallers(f.Code) {
		x.fail(problemOf(f))
		return
	}
	out, err := resultOf(t, a)
	if err != nil {
		x.door.log.Error("a recorded result cannot be read", "tx", a.Tx.String(), "err", err)
		x.fail(problemOf(fault.From(err)))
		return
	}
	b := x.begin(len(out.content) + len(out.structured) + 768)
	b = x.appendMeta(b, a, out)
	b = append(append(b, `,"content":`...), out.content...)
	if len(out.structured) > 0 && (x.era == modern || out.structured.Kind() == '{') {
		b = append(append(b, `,"structuredContent":`...), out.structured...)
	}
	if out.isError {
		b = append(b, `,"isError":true`...)
	}
	x.write(http.StatusOK, x.finish(b))
}

// isCallers tells which failures are about the request itself, not about what it
// asks for.
func isCallers(c fault.Code) bool {
	switch c {
	case fault.InvalidRequest, fault.InvalidArgs, fault.TxMismatch, fault.TxExpired, fault.TooLarge:
		return true
	}
	return false
}

// result is what a client sees of a call, as JSON.
type result struct {
	content    strictjson.Raw
	structured strictjson.Raw // nil for none
	isError    bool
	validated  bool
}

// resultOf gives the recorded bytes: an upstream's content and structured content
// as they were recorded, a method of the host as structured content with the same
// JSON as text.
func resultOf(t *tool, a invocation.Answer) (result, error) {
	switch {
	case len(a.Result) == 0:
		return result{content: textContent(words(a)), isError: a.Fault != nil}, nil
	case t.imported:
		var r invocation.Result
		if err := strictjson.Decode(a.Result, strictjson.Limits{}, &r); err != nil {
			return result{}, err
		}
		return result{r.Content, r.Structured, r.IsError || a.Fault != nil, r.Validated}, nil
	}
	return result{textContent(string(a.Result)), a.Result, a.Fault != nil, len(t.Method.Output) > 0}, nil
}

func textContent(s string) strictjson.Raw {
	b := append(make([]byte, 0, len(s)+48), `[{"type":"text","text":`...)
	return append(append(b, quoted(s)...), "}]"...)
}

// appendMeta writes the result's _meta, its first member.
func (x *exchange) appendMeta(b []byte, a invocation.Answer, r result) []byte {
	b = append(append(b, `"_meta":{"`+metaTx+`":"`...), a.Tx.String()...)
	b = append(append(b, `","`+metaEffects+`":"`...), a.Effects...)
	b = append(b, `","`+metaReplayed+`":`...)
	b = strconv.AppendBool(b, a.Replayed)
	if len(r.structured) > 0 {
		b = append(b, `,"`+metaValidated+`":`...)
		b = strconv.AppendBool(b, r.validated)
	}
	if a.Reconciled != nil {
		b = append(append(b, `,"`+metaReconciled+`":`...), encode(a.Reconciled.Details())...)
	}
	if a.Fault != nil {
		b = append(append(b, `,"`+metaError+`":`...), faultData(a.Fault)...)
	}
	if x.era == modern {
		b = append(append(b, ','), x.door.serverMeta()...)
	}
	return append(b, '}')
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
