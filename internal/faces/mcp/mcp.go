// Package mcp is the door for MCP clients: streamable HTTP at one URL, in the
// stateless revision 2026-07-28 and in the older ones with sessions (pool page,
// section 9).
//
// It promises: every request is authenticated anew; a list holds what the
// caller may call at that moment; a name is looked up among the caller's own
// methods only, and whatever is not there, of whatever reason, gives the same
// bytes; arguments, content and structured content pass as they were written, but
// for the URIs of what an imported tool's content points to (decision 0007);
// an answer says whether the call may have happened; a session belongs to one
// owner and client; after a change that Changed tells of, the callers concerned
// and nobody else are told while Run runs, and an app that is cut off loses its
// sessions and streams; a caller that gives a progress token is told under it how
// far its own call is; an open stream is never silent for longer than
// bound.MCPKeepAlive. It does not promise that a client asks for its list
// again, and it offers no prompts.
//
// The revision in the MCP-Protocol-Version header picks the era. The lists and
// calls of both eras are answered here, on bytes; lifecycle, sessions and
// streams are the SDK's. No method is registered with the SDK, so a request
// that the two parsers read differently reaches nothing.
//
// The mcp rows of the bound table, and bound.RequestBytes, bound what a client
// can make grow. A Door is safe for concurrent use; one lock guards all of its
// state, and nothing that waits runs under it.
package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/feed"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/library"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/access"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// Ports are what the door asks of the floors below it; all are required.
type Ports struct {
	// Find looks a token up; it also tells whether the token of an open stream
	// still lives.
	Find access.FindToken
	// Catalog gives the methods that the caller may call now, sorted by tool.
	Catalog func(ctx context.Context, caller authority.Caller) ([]view.Callable, error)
	// Denied records an attempt that the door refused before Call saw it.
	Denied access.Deny
	// Library knows what there is to read; nil for nothing.
	Library *library.Library
	// Call executes one call and answers what is durably known.
	Call func(ctx context.Context, caller authority.Caller, r dispatch.Request) invocation.Answer
}

// Options are what a host may choose; the zero value works.
type Options struct {
	Version string       // of the host, as clients are told it
	Log     *slog.Logger // nothing is logged if nil
}

// Door serves the endpoint.
type Door struct {
	ports     Ports
	doorman   *access.Doorman
	log       *slog.Logger
	impl      *sdk.Implementation
	info      []byte // impl as JSON
	stateful  http.Handler
	stateless http.Handler
	now       func() time.Time
	wake      chan struct{}

	mu     sync.Mutex
	apps   map[key]*app
	clock  uint64 // counts uses, for the order of eviction
	held   int    // sessions and streams of all apps
	closed bool
}

// New returns a door. Run must run for clients to be told of changes.
func New(p Ports, opt Options) *Door {
	p.Library = library.OrEmpty(p.Library)
	d := &Door{
		ports: p, doorman: access.New(p.Find, p.Denied, authority.ForMCP), log: opt.Log, now: time.Now,
		impl: &sdk.Implementation{Name: "steward", Title: "steward", Version: opt.Version},
		wake: make(chan struct{}, 1), apps: make(map[key]*app),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.info, _ = json.Marshal(d.impl) // three strings
	// What a host name may be is decided in front of this door, for all doors.
	opts := sdk.StreamableHTTPOptions{JSONResponse: true, DisableLocalhostProtection: true,
		MaxRequestBodyBytes: bound.RequestBytes.Max}
	d.stateful = sdk.NewStreamableHTTPHandler(serverOf, &opts)
	opts.Stateless, opts.PropagateRequestCancellation = true, true
	d.stateless = sdk.NewStreamableHTTPHandler(serverOf, &opts)
	return d
}

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	feed.Private(w.Header())
	caller, err := d.admit(r)
	if err != nil {
		refuseEntry(w, r, err)
		return
	}
	if name := frame.Doubled(r.Header); name != "" {
		d.turnAway(w, caller, http.StatusBadRequest, fault.New(fault.InvalidRequest, "the header "+name+" stands twice with different values"))
		return
	}
	e, known := frame.EraOf(r.Header.Get(frame.VersionHeader))
	if !known {
		d.turnAway(w, caller, http.StatusBadRequest, fault.New(fault.InvalidRequest, "this protocol version is not spoken here; spoken are "+
			strings.Join(sdk.SupportedProtocolVersions(), ", ")))
		return
	}
	a, full := d.enter(caller)
	if full != nil {
		d.turnAway(w, caller, full.Row().HTTP, full)
		return
	}
	defer d.leave(a)
	x := &exchange{door: d, w: w, r: r, era: e, caller: caller, app: a}
	switch {
	case r.Method == http.MethodPost:
		x.post()
	case r.Method == http.MethodGet && e == frame.Legacy:
		x.openStream()
	case r.Method == http.MethodDelete && e == frame.Legacy:
		x.endSession()
	case e == frame.Legacy:
		notAllowed(w, "GET, POST, DELETE")
	default:
		notAllowed(w, "POST")
	}
}

// admit establishes who asks from the one bearer token of the request.
func (d *Door) admit(r *http.Request) (authority.Caller, error) {
	return d.doorman.Caller(r.Context(), access.Bearer(r.Header.Values("Authorization")))
}

// refuseEntry answers a request without a live token. It names no metadata,
// since tokens are handed out by the owner (RFC 6750, section 3).
func refuseEntry(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.From(err)
	if f.Code != fault.Unauthenticated {
		plain(w, http.StatusServiceUnavailable, fault.New(fault.Unavailable, "the token cannot be looked up now"))
		return
	}
	challenge := `Bearer realm="steward"`
	if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	plain(w, http.StatusUnauthorized, f)
}

func notAllowed(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	plain(w, http.StatusMethodNotAllowed, fault.New(fault.InvalidRequest, "use "+methods))
}

// turnAway refuses a request of an established caller, and records that.
func (d *Door) turnAway(w http.ResponseWriter, c authority.Caller, status int, f *fault.Fault) {
	d.doorman.Denied(c, f.Code)
	plain(w, status, f)
}

// plain answers what never became a JSON-RPC exchange: with HTTP's own status,
// and an error that belongs to no request.
func plain(w http.ResponseWriter, status int, f *fault.Fault) {
	note(w, "code", string(f.Code))
	body := frame.ProblemOf(f).Encode(nil)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone was refused all the same
}

// note gives the access log a field, where the writer keeps one.
func note(w http.ResponseWriter, key, value string) {
	if n, ok := w.(interface{ Note(key, value string) }); ok && value != "" {
		n.Note(key, value)
	}
}
