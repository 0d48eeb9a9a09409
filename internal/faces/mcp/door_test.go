package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// host is the floor below a door, small enough to see through: tokens, grants
// and what a call answers.
type host struct {
	mu     sync.Mutex
	tokens map[secret.Hash]authority.Caller
	grants map[id.Client][]view.Callable
	call   func(ctx context.Context, c authority.Caller, r dispatch.Request) invocation.Answer
	calls  []dispatch.Request
	denied []denied
}

// denied is one row that the door had written.
type denied struct {
	client id.Client
	code   fault.Code
}

func newHost() *host {
	return &host{tokens: map[secret.Hash]authority.Caller{}, grants: map[id.Client][]view.Callable{}, call: echo}
}

// echo answers like an upstream that gives its arguments back.
func echo(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
	args := r.Args
	if args == nil {
		args = []byte("{}")
	}
	out, _ := strictjson.Encode(invocation.Result{Content: strictjson.Raw(`[{"type":"text","text":"here"}]`), Structured: args, Validated: true})
	return invocation.Answer{Tx: r.Tx, Status: invocation.OK, Effects: effect.Reported, Result: out}
}

func (h *host) find(_ context.Context, hash secret.Hash) (authority.Caller, bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.tokens[hash]
	return c, ok, nil
}

func (h *host) catalog(_ context.Context, c authority.Caller) ([]view.Callable, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.tokens[c.Token]; !ok {
		return nil, fault.New(fault.Unauthenticated, "the token is not live for this door")
	}
	return slices.Clone(h.grants[c.Client]), nil
}

func (h *host) execute(ctx context.Context, c authority.Caller, r dispatch.Request) invocation.Answer {
	h.mu.Lock()
	h.calls = append(h.calls, r)
	call := h.call
	h.mu.Unlock()
	return call(ctx, c, r)
}

func (h *host) deny(c authority.Caller, code fault.Code) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.denied = append(h.denied, denied{c.Client, code})
}

func (h *host) ports() Ports {
	return Ports{Find: h.find, Catalog: h.catalog, Call: h.execute, Denied: h.deny}
}

// app makes a client with one token.
func (h *host) app(owner id.Owner, audience authority.Audience) (authority.Caller, string) {
	token := secret.NewToken(secret.Access)
	hash, _ := secret.HashToken(secret.Access, token)
	c := authority.Caller{Owner: owner, Client: id.New[id.Client](), Audience: audience, Token: hash}
	h.mu.Lock()
	h.tokens[hash] = c
	h.mu.Unlock()
	return c, token.Reveal()
}

func (h *host) grant(c authority.Caller, m ...view.Callable) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grants[c.Client] = append(h.grants[c.Client], m...)
	slices.SortFunc(h.grants[c.Client], func(a, b view.Callable) int { return strings.Compare(a.Tool, b.Tool) })
}

func (h *host) setCall(f func(ctx context.Context, c authority.Caller, r dispatch.Request) invocation.Answer) {
	h.mu.Lock()
	h.call = f
	h.mu.Unlock()
}

// imported is a method of an upstream called notes.
func imported(c authority.Caller, name string) view.Callable {
	effects, _ := effect.SetOf(effect.Read)
	t := invocation.Target{Resource: id.New[id.Resource](), Contract: contract.ImportedURL("here", "notes-1"), Method: name}
	return view.Callable{Target: t, Tool: projection.Name(c.Owner, t.Resource, t.Contract, t.Method), Resource: "Notes",
		Method: contract.Method{ID: name, Title: "Title of " + name, Description: "Gives back what it gets.", Effects: effects,
			Input:  strictjson.Raw(`{"additionalProperties":false,"properties":{"n":{"type":"integer"},"s":{"maxLength":100,"type":"string"}},"type":"object"}`),
			Output: strictjson.Raw(`{"additionalProperties":false,"properties":{"n":{"type":"integer"},"s":{"maxLength":100,"type":"string"}},"type":"object"}`)}}
}

// post is one request by hand.
type post struct {
	token   string
	version string // modern if it is 2026-07-28, else the header as it is
	session string
	method  string
	name    string // for Mcp-Name
	headers map[string]string
	body    string
}

func (p post) request(url string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(p.body))
	r.RequestURI = ""
	h := r.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	for name, value := range map[string]string{
		"Authorization": "Bearer " + p.token, frame.VersionHeader: p.version, frame.SessionHeader: p.session, frame.MethodHeader: p.method, frame.NameHeader: p.name,
	} {
		if value != "" && value != "Bearer " {
			h.Set(name, value)
		}
	}
	for name, value := range p.headers {
		h.Set(name, value)
		if value == "" {
			h.Del(name)
		}
	}
	return r
}

// send lets a handler answer.
func send(h http.Handler, p post) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, p.request("http://127.0.0.1/mcp"))
	return w
}

const modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// modernCall is a well-formed call of the revision without sessions.
func modernCall(token, tool, args string) post {
	return post{token: token, version: frame.FirstModern, method: frame.CallTool, name: tool,
		body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`, tool, args, modernMeta)}
}

// legacyCall is the same within a session.
func legacyCall(token, session, tool, args string) post {
	return post{token: token, version: "2025-11-25", session: session,
		body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)}
}

// initialize opens a session and gives its id.
func initialize(t testing.TB, h http.Handler, token string) string {
	t.Helper()
	w := send(h, post{token: token, body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"by hand","version":"1"}}}`})
	if w.Code != http.StatusOK || w.Header().Get(frame.SessionHeader) == "" {
		t.Fatalf("initialize: %d %s", w.Code, w.Body)
	}
	n := send(h, post{token: token, session: w.Header().Get(frame.SessionHeader), version: "2025-11-25", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`})
	if n.Code != http.StatusAccepted {
		t.Fatalf("initialized: %d %s", n.Code, n.Body)
	}
	return w.Header().Get(frame.SessionHeader)
}

// decoded reads JSON with its numbers as they were written.
func decoded(t testing.TB, body io.Reader) map[string]any {
	t.Helper()
	raw, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	return v
}
