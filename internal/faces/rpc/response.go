package rpc

import (
	"net/http"
	"strconv"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// responseOf writes an answer in the wire's words.
func responseOf(a invocation.Answer) rpcwire.Response {
	out := rpcwire.Response{
		V: rpcwire.Version, Tx: a.Tx.String(), Status: rpcwire.Status(a.Status), Result: rpcwire.Raw(a.Result),
		Effects: rpcwire.Effects(a.Effects), Replayed: a.Replayed, Revision: a.Revision.String(), Version: a.Version,
		Usage: rpcwire.Usage{MS: a.Millis},
	}
	if len(a.Result) == 0 {
		out.Result = nil
	}
	if a.Fault != nil {
		out.Error = errorOf(a.Fault)
	}
	if a.Reconciled != nil {
		out.Details = &rpcwire.Details{Reconciled: rpcwire.Reconciled{By: a.Reconciled.By, At: stamp(a.Reconciled.At)}}
	}
	return out
}

// errorOf keeps details that the code's row does not carry inside the process.
func errorOf(f *fault.Fault) *rpcwire.Error {
	row := f.Row()
	out := &rpcwire.Error{Code: string(row.Code), Message: f.Text, Retry: string(row.Retry)}
	if row.Details && len(f.Details) > 0 {
		out.Details = f.Details
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// write sends one whole response.
func write(w http.ResponseWriter, status int, resp rpcwire.Response) {
	body, err := strictjson.Encode(resp)
	if err != nil {
		// A recorded outcome that is no JSON any more must not look like another one.
		f := fault.From(err)
		status = f.Row().HTTP
		body, _ = strictjson.Encode(responseOf(invocation.Refusal(id.Tx{}, f, effect.Uncertain)))
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bound.HTTPWrite.Duration())) // a writer without a connection has none
	w.WriteHeader(status)
	send(w, body)
}
