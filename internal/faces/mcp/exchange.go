package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The methods and notifications that mean something here. Resources will be
// rows of the same table.
const (
	methodInitialize = "initialize"
	methodPing       = "ping"
	methodDiscover   = "server/discover"
	methodListen     = "subscriptions/listen"
	methodList       = "tools/list"
	methodCall       = "tools/call"
	noteInitialized  = "notifications/initialized"
	noteCancelled    = "notifications/cancelled"
)

// methods says who answers a request in each era; what is not here does not
// exist.
var methods = [...]map[string]func(x *exchange, p parameters){
	legacy: {
		methodInitialize: (*exchange).initialize,
		methodPing:       (*exchange).lifecycle,
		methodList:       (*exchange).listTools,
		methodCall:       (*exchange).callTool,
	},
	modern: {
		methodDiscover: (*exchange).lifecycle,
		methodListen:   (*exchange).listen,
		methodList:     (*exchange).listTools,
		methodCall:     (*exchange).callTool,
	},
}

// exchange is one HTTP request of an established caller.
type exchange struct {
	door   *Door
	w      http.ResponseWriter
	r      *http.Request
	era    era
	caller authority.Caller
	app    *app
	seat   *seat // of a legacy request, once its session is known
	msg    message
}

// post answers one message.
func (x *exchange) post() {
	if status, text := checkTransport(x.r.Header); status != 0 {
		plain(x.w, status, text)
		return
	}
	body, status, text := readBody(x.w, x.r)
	if status != 0 {
		plain(x.w, status, text)
		return
	}
	var err error
	if x.msg, err = parseMessage(body); err != nil {
		plain(x.w, http.StatusBadRequest, err.Error())
		return
	}
	p, err := x.msg.readParams()
	if err != nil {
		x.fail(&problem{code: codeParams, message: err.Error()})
		return
	}
	if x.era == modern {
		if bad := checkModern(x.msg, p, x.r.Header); bad != nil {
			x.fail(bad)
			return
		}
		x.dispatch(p)
		return
	}
	if bad := checkLegacy(x.msg, p, x.r.Header.Get(versionHeader)); bad != nil {
		x.fail(bad)
		return
	}
	x.inSession(p)
}

// readBody takes at most bound.RequestBytes.
func readBody(w http.ResponseWriter, r *http.Request) (body []byte, status int, text string) {
	tooLarge := bound.RequestBytes.Exceeded()
	if r.ContentLength > bound.RequestBytes.Max {
		return nil, tooLarge.Row().HTTP, tooLarge.Text
	}
	buf := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength, 0)+bytes.MinRead))
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, bound.RequestBytes.Max))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge.Row().HTTP, tooLarge.Text
	case err != nil:
		return nil, http.StatusBadRequest, "the body could not be read"
	}
	return buf.Bytes(), 0, ""
}

// dispatch hands a message to who answers it. Notifications and answers need no
// reply; those that nobody waits for are dropped.
func (x *exchange) dispatch(p parameters) {
	if x.msg.method == "" || x.msg.id == nil {
		x.notify(p)
		return
	}
	answer, known := methods[x.era][x.msg.method]
	if !known {
		x.fail(&problem{code: codeNoMethod, message: "this method is not offered"})
		return
	}
	answer(x, p)
}

func (x *exchange) notify(p parameters) {
	if x.msg.method != "" && !strings.HasPrefix(x.msg.method, "notifications/") {
		plain(x.w, http.StatusBadRequest, "a request needs an id")
		return
	}
	if x.seat != nil && x.msg.method == noteCancelled {
		if key, ok := readID(p.members["requestId"]); ok {
			x.door.cancel(x.seat, key)
		}
	}
	if x.seat != nil && (x.msg.method == noteInitialized || x.msg.method == noteCancelled) {
		x.toSDK(x.door.stateful, x.w, x.r.Context())
		return
	}
	x.w.WriteHeader(http.StatusAccepted)
}

// lifecycle passes a request on to the SDK.
func (x *exchange) lifecycle(parameters) {
	handler := x.door.stateful
	if x.era == modern {
		handler = x.door.stateless
	}
	x.toSDK(handler, &shield{ResponseWriter: x.w}, x.r.Context())
}

// toSDK lets the SDK answer the message on behalf of the caller's own server.
func (x *exchange) toSDK(handler http.Handler, w http.ResponseWriter, ctx context.Context) {
	server, err := x.door.serverFor(ctx, x.app)
	if err != nil {
		plain(x.w, http.StatusServiceUnavailable, "the app's methods cannot be read now")
		return
	}
	r := x.r.WithContext(context.WithValue(ctx, serverKey{}, server))
	if x.msg.body != nil {
		r.Body = io.NopCloser(bytes.NewReader(x.msg.body))
	}
	handler.ServeHTTP(w, r)
}

// fail answers a request with a JSON-RPC error. A message without an id gets
// the error with a null one.
func (x *exchange) fail(p *problem) {
	b := make([]byte, 0, 256)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if x.msg.id == nil {
		b = append(b, "null"...)
	}
	b = append(b, x.msg.id...)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(p.code), 10)
	b = append(b, `,"message":`...)
	b = append(b, quoted(p.message)...)
	if p.data != nil {
		b = append(append(b, `,"data":`...), p.data...)
	}
	x.write(x.era.status(p.code), append(b, "}}"...))
}

// begin starts the body of a successful answer, up to the result's first member.
func (x *exchange) begin(room int) []byte {
	b := make([]byte, 0, room)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, x.msg.id...)
	return append(b, `,"result":{`...)
}

// finish closes what begin opened, with what the era's results carry.
func (x *exchange) finish(b []byte) []byte {
	if x.era == modern {
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
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(size))
	x.w.WriteHeader(status)
	for _, p := range parts {
		half := len(p) / 2
		x.w.Write(p[:half])
		if failpoint.Hit(failpoint.HalfReplied) != nil {
			return
		}
		x.w.Write(p[half:])
	}
}

// quoted writes our own text as a JSON string.
func quoted(s string) []byte {
	b, err := strictjson.Encode(s)
	if err != nil {
		return []byte(`"text that cannot be shown"`)
	}
	return b
}
