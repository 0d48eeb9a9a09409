package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/feed"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// methods says who answers a request in each era; what is not here does not
// exist.
var methods = [frame.Eras]map[string]func(x *exchange, p frame.Params){
	frame.Legacy: {
		frame.Initialize:    (*exchange).initialize,
		frame.Ping:          (*exchange).lifecycle,
		frame.ListTools:     (*exchange).listTools,
		frame.CallTool:      (*exchange).callTool,
		frame.ListResources: (*exchange).listResources,
		frame.ListTemplates: (*exchange).listTemplates,
		frame.ReadResource:  (*exchange).readResource,
	},
	frame.Modern: {
		frame.Discover:      (*exchange).lifecycle,
		frame.Listen:        (*exchange).listen,
		frame.ListTools:     (*exchange).listTools,
		frame.CallTool:      (*exchange).callTool,
		frame.ListResources: (*exchange).listResources,
		frame.ListTemplates: (*exchange).listTemplates,
		frame.ReadResource:  (*exchange).readResource,
	},
}

// exchange is one HTTP request of an established caller.
type exchange struct {
	door   *Door
	w      http.ResponseWriter
	r      *http.Request
	era    frame.Era
	caller authority.Caller
	app    *app
	seat   *seat // of a legacy request, once its session is known
	msg    frame.Message

	reporter *feed.Reporter // of a call whose client wants to be told how far it is
}

// post answers one message.
func (x *exchange) post() {
	if status, text := frame.CheckTransport(x.r.Header); status != 0 {
		x.turnAway(status, fault.New(fault.InvalidRequest, text))
		return
	}
	body, status, bad := frame.ReadBody(x.w, x.r)
	if bad != nil {
		x.turnAway(status, bad)
		return
	}
	var err error
	if x.msg, err = frame.Parse(body); err != nil {
		x.turnAway(http.StatusBadRequest, fault.From(err))
		return
	}
	p, err := x.msg.Split()
	if err != nil {
		x.deny(&frame.Problem{Code: frame.BadParams, Message: fault.From(err).Text})
		return
	}
	if x.era == frame.Modern {
		if bad := frame.CheckModern(x.msg, p, x.r.Header); bad != nil {
			x.deny(bad)
			return
		}
		x.dispatch(p)
		return
	}
	if bad := frame.CheckLegacy(x.msg, p, x.r.Header.Get(frame.VersionHeader)); bad != nil {
		x.deny(bad)
		return
	}
	x.inSession(p)
}

// dispatch hands a message to who answers it. Notifications and answers need no
// reply; those that nobody waits for are dropped.
func (x *exchange) dispatch(p frame.Params) {
	if x.msg.Method == "" || x.msg.ID == nil {
		x.notify(p)
		return
	}
	answer, known := methods[x.era][x.msg.Method]
	if !known {
		x.fail(&frame.Problem{Code: frame.NoMethod, Message: "this method is not offered"})
		return
	}
	answer(x, p)
}

func (x *exchange) notify(p frame.Params) {
	if x.msg.Method != "" && !strings.HasPrefix(x.msg.Method, "notifications/") {
		x.turnAway(http.StatusBadRequest, fault.New(fault.InvalidRequest, "a request needs an id"))
		return
	}
	if x.seat != nil && x.msg.Method == frame.Cancelled {
		if key, ok := frame.ParseID(p.Members["requestId"]); ok {
			x.door.cancel(x.seat, key)
		}
	}
	if x.seat != nil && (x.msg.Method == frame.Initialized || x.msg.Method == frame.Cancelled) {
		x.msg.Body = frame.Bare(x.msg)
		x.toSDK(x.r.Context(), x.door.stateful, x.w)
		return
	}
	x.w.WriteHeader(http.StatusAccepted)
}

// handOver gives the message the form that the SDK may have, or answers why not.
func (x *exchange) handOver(p frame.Params) bool {
	m, bad := frame.Handover(x.msg, p)
	if bad != nil {
		x.fail(bad)
		return false
	}
	x.msg = m
	return true
}

// lifecycle passes a request on to the SDK.
func (x *exchange) lifecycle(p frame.Params) {
	if !x.handOver(p) {
		return
	}
	handler := x.door.stateful
	if x.era == frame.Modern {
		handler = x.door.stateless
	}
	x.toSDK(x.r.Context(), handler, feed.Guard(x.w))
}

// toSDK lets the SDK answer the message on behalf of the caller's own server.
func (x *exchange) toSDK(ctx context.Context, handler http.Handler, w http.ResponseWriter) {
	r := x.r.WithContext(context.WithValue(ctx, serverKey{}, x.door.serverFor(x.app)))
	if x.msg.Body != nil {
		r.Body = io.NopCloser(bytes.NewReader(x.msg.Body))
	}
	handler.ServeHTTP(w, r)
}

// fail answers a request with a JSON-RPC error. A message without an id gets
// the error with a null one.
func (x *exchange) fail(p *frame.Problem) {
	note(x.w, "code", string(p.Reason()))
	x.write(p.Status(x.era), p.Encode(x.msg.ID))
}

// deny fails a request that nobody below this door has seen, and records that.
func (x *exchange) deny(p *frame.Problem) {
	x.door.doorman.Denied(x.caller, p.Reason())
	x.fail(p)
}

// turnAway refuses what is no JSON-RPC exchange, and records that.
func (x *exchange) turnAway(status int, f *fault.Fault) { x.door.turnAway(x.w, x.caller, status, f) }

// begin starts the body of a successful answer, up to the result's first member.
func (x *exchange) begin(room int) []byte {
	b := make([]byte, 0, room)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, x.msg.ID...)
	return append(b, `,"result":{`...)
}

// finish closes what begin opened, with what the era's results carry.
func (x *exchange) finish(b []byte) []byte {
	if x.era == frame.Modern {
		b = append(b, `,"resultType":"complete"`...)
	}
	return append(b, "}}"...)
}

// write sends a whole answer.
func (x *exchange) write(status int, parts ...[]byte) {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if x.reporter.Started() {
		x.reporter.Event(bytes.Join(parts, nil))
		return
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	x.w.WriteHeader(status)
	for _, p := range parts {
		for _, half := range [...][]byte{p[:len(p)/2], p[len(p)/2:]} {
			if _, err := x.w.Write(half); err != nil {
				return // the client is gone; what it asked for is on record
			}
			if failpoint.Hit(failpoint.HalfReplied) != nil {
				return
			}
		}
	}
}
