// Package rpc is the door at which applications call the methods that an owner
// granted them: POST /rpc/v1 and /rpc/v1/tx (pool page, section 5).
//
// It lets a bearer token of its own audience in, reads one strict JSON object of
// at most bound.RequestBytes, has the dispatch port answer, and writes what the
// port said. It decides nothing about authority and keeps nothing. The answer to
// the same settled tx is the same bytes each time but for "replayed".
//
// Every answer has the response's form, whatever was wrong with the request, and
// the HTTP status of its code's row; only a method other than POST is answered
// with HTTP's own 405. Hosts and origins are checked before this door. A Door is
// safe for concurrent use.
package rpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/access"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// Door answers calls and lookups.
type Door struct {
	doorman *access.Doorman
	port    *dispatch.Port
	log     *slog.Logger
}

// New returns the door; the doorman must be the one for authority.ForRPC.
func New(doorman *access.Doorman, port *dispatch.Port, log *slog.Logger) *Door {
	return &Door{doorman, port, log}
}

// ServeHTTP answers at the two paths of the wire and says not_found elsewhere.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case rpcwire.Call.Path:
		d.answer(w, d.serve(w, r, d.call))
	case rpcwire.Lookup.Path:
		d.answer(w, d.serve(w, r, d.lookup))
	default:
		d.answer(w, refusal(id.Tx{}, authority.NotFound()))
	}
}

// Refuse answers for the checks that stand before the door, in the form and with
// the status that they chose. Internal means that the door itself broke, perhaps
// with a call under way, and with the host's own limits nobody has looked at the tx,
// which may have been sent before: then nothing is told about effects.
func Refuse(w http.ResponseWriter, status int, f *fault.Fault) {
	effects := effect.None
	switch f.Code {
	case fault.Internal, fault.RateLimited, fault.Unavailable:
		effects = effect.Uncertain
	}
	write(w, status, responseOf(invocation.Refusal(id.Tx{}, f, effects)))
}

type handler func(ctx context.Context, caller authority.Caller, body []byte) invocation.Answer

// serve checks what both methods have in common, cheapest first.
func (d *Door) serve(w http.ResponseWriter, r *http.Request, run handler) invocation.Answer {
	if r.Method != http.MethodPost {
		return refusal(id.Tx{}, errNotPost)
	}
	caller, err := d.doorman.Caller(r.Context(), access.Bearer(r.Header.Values("Authorization")))
	if err != nil {
		return refusal(id.Tx{}, err)
	}
	if !isJSON(r.Header) {
		return d.refuse(caller, id.Tx{}, fault.New(fault.InvalidRequest, "send application/json without a content coding"))
	}
	body, err := readBody(w, r)
	if err != nil {
		return d.refuse(caller, id.Tx{}, err)
	}
	return run(r.Context(), caller, body)
}

func (d *Door) call(ctx context.Context, caller authority.Caller, body []byte) invocation.Answer {
	tx, req, err := parseCall(body)
	if err != nil {
		return d.port.Refuse(ctx, caller, tx, err)
	}
	return d.port.Call(ctx, caller, req)
}

func (d *Door) lookup(ctx context.Context, caller authority.Caller, body []byte) invocation.Answer {
	tx, err := parseLookup(body)
	if err != nil {
		return d.refuse(caller, tx, err)
	}
	return d.port.Lookup(ctx, caller, tx)
}

var errNotPost = fault.New(fault.InvalidRequest, "use POST")

// refuse answers a request of an established caller that the port never sees.
func (d *Door) refuse(caller authority.Caller, tx id.Tx, err error) invocation.Answer {
	d.doorman.Denied(caller, fault.From(err).Code)
	return refusal(tx, err)
}

// refusal answers for an error that came before the port was asked. An error
// that is no fault is of the store, which could not be read: this request has sent
// nothing, but its tx may have been sent before.
func refusal(tx id.Tx, err error) invocation.Answer {
	var f *fault.Fault
	if !errors.As(err, &f) {
		f = fault.New(fault.Unavailable, "the store cannot be read now").Because(err)
	}
	effects := effect.None
	if f.Code == fault.Unavailable {
		effects = effect.Uncertain
	}
	return invocation.Refusal(tx, f, effects)
}

// answer writes what the port or a check said, and logs the causes that do not
// leave the process.
func (d *Door) answer(w http.ResponseWriter, a invocation.Answer) {
	note(w, "tx", a.Tx.String())
	note(w, "invocation", a.Invocation.String())
	status := http.StatusOK
	if f := a.Fault; f != nil {
		status = f.Row().HTTP
		note(w, "code", string(f.Code))
		if cause := f.Unwrap(); cause != nil {
			d.log.Error("a call failed", "tx", a.Tx.String(), "invocation", a.Invocation.String(), "code", string(f.Code), "err", cause)
		}
		switch {
		case f == errNotPost:
			status = http.StatusMethodNotAllowed
			w.Header().Set("Allow", http.MethodPost)
		case f.Code == fault.Unauthenticated:
			w.Header().Set("WWW-Authenticate", `Bearer realm="steward"`)
		}
	}
	write(w, status, responseOf(a))
}

// note gives the access log a field, where the writer keeps one.
func note(w http.ResponseWriter, key, value string) {
	if n, ok := w.(interface{ Note(key, value string) }); ok && value != "" {
		n.Note(key, value)
	}
}

func isJSON(h http.Header) bool {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	return err == nil && kind == "application/json" && h.Get("Content-Encoding") == "" &&
		(charset == "" || strings.EqualFold(charset, "utf-8"))
}

// readBody reads at most bound.RequestBytes; what is longer is not read to its
// end.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bound.RequestBytes.Max))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, bound.RequestBytes.Exceeded()
	case err != nil:
		return nil, fault.New(fault.InvalidRequest, "the request ended too early")
	}
	return body, nil
}
