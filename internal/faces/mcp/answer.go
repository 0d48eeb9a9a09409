package mcp

import (
	"net/http"
	"strconv"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/toolset"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The members of an answer's _meta that are the host's own, besides frame.MetaTx.
const (
	metaEffects    = "io.github.stewardhost/effects"    // what is known of effects
	metaReplayed   = "io.github.stewardhost/replayed"   // it was recorded before
	metaValidated  = "io.github.stewardhost/validated"  // structured content fits the approved schema
	metaReconciled = "io.github.stewardhost/reconciled" // how a doubt ended
	metaError      = "io.github.stewardhost/error"      // code, retry class and details of a failure
)

// absent is the one answer for a tool that does not exist, is not granted, is
// another app's or is an upstream's own name. It tells nothing that the caller
// did not send (threats, A55; field faults, FF81).
var absent = frame.ProblemOf(fault.New(fault.NotFound, "there is no such tool here"))

// tell answers a call. A failure is a result that says isError, so that it
// reaches the model and never ends a client's session (field faults, FF18); what
// the caller itself got wrong is a JSON-RPC error.
func (x *exchange) tell(t *toolset.Tool, a invocation.Answer) {
	if f := a.Fault; f != nil && isCallers(f.Code) {
		x.fail(frame.ProblemOf(f))
		return
	} else if f != nil {
		note(x.w, "code", string(f.Code))
	}
	out, err := t.Outcome(a)
	if err != nil {
		x.door.log.Error("a recorded result cannot be read", "tx", a.Tx.String(), "err", err)
		x.fail(frame.ProblemOf(fault.From(err)))
		return
	}
	if which, imported := t.Upstream(); imported {
		out.Content = x.door.ports.Library.Give(x.caller, which, out.Content)
	}
	b := x.begin(len(out.Content) + len(out.Structured) + 768)
	b = x.appendMeta(b, a, out)
	b = append(append(b, `,"content":`...), out.Content...)
	// The older revisions know objects only.
	if len(out.Structured) > 0 && (x.era == frame.Modern || out.Structured.Kind() == '{') {
		b = append(append(b, `,"structuredContent":`...), out.Structured...)
	}
	if out.IsError {
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

// appendMeta writes the result's _meta, its first member.
func (x *exchange) appendMeta(b []byte, a invocation.Answer, out toolset.Outcome) []byte {
	b = append(append(b, `"_meta":{"`+frame.MetaTx+`":"`...), a.Tx.String()...)
	b = append(append(b, `","`+metaEffects+`":"`...), a.Effects...)
	b = append(b, `","`+metaReplayed+`":`...)
	b = strconv.AppendBool(b, a.Replayed)
	if len(out.Structured) > 0 {
		b = append(b, `,"`+metaValidated+`":`...)
		b = strconv.AppendBool(b, out.Validated)
	}
	if r := a.Reconciled; r != nil {
		if how, err := strictjson.Encode(r.Details()); err == nil {
			b = append(append(b, `,"`+metaReconciled+`":`...), how...)
		}
	}
	if a.Fault != nil {
		b = append(append(b, `,"`+metaError+`":`...), frame.FaultData(a.Fault)...)
	}
	if x.era == frame.Modern {
		b = append(append(b, ','), x.door.serverMeta()...)
	}
	return append(b, '}')
}
