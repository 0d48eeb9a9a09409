package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/feed"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// Nobody gets further than the door without a live token of it, whatever they
// ask for, and nothing that they get may be kept by a cache.
func TestOnlyALiveTokenComesIn(t *testing.T) {
	h := newHost()
	owner := id.New[id.Owner]()
	c, token := h.app(owner, authority.ForMCP)
	_, rpcToken := h.app(owner, authority.ForRPC)
	h.grant(c, imported(c, "echo"))
	door := New(h.ports(), Options{})
	session := initialize(t, door, token)
	for _, tc := range []struct {
		name, value string
		challenge   string // empty: let in
	}{
		{"the token", "Bearer " + token, ""},
		{"the scheme in another case", "bearer " + token, ""},
		{"nothing", "", `Bearer realm="steward"`},
		{"another door's token", "Bearer " + rpcToken, `Bearer realm="steward", error="invalid_token"`},
		{"a token that is none", "Bearer x", `Bearer realm="steward", error="invalid_token"`},
		{"another scheme", "Basic " + token, `Bearer realm="steward", error="invalid_token"`},
		{"two tokens", "Bearer " + token + ", Bearer " + token, `Bearer realm="steward", error="invalid_token"`},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodPut} {
			r := post{version: "2025-11-25", session: "unknown", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.request("http://127.0.0.1/mcp")
			r.Method = method
			if tc.value != "" {
				r.Header.Set("Authorization", tc.value)
			}
			w := httptest.NewRecorder()
			door.ServeHTTP(w, r)
			if got := w.Header().Get("WWW-Authenticate"); got != tc.challenge || (w.Code == http.StatusUnauthorized) != (tc.challenge != "") {
				t.Errorf("%s, %s: %d, challenge %q", tc.name, method, w.Code, got)
			}
			if cache := w.Header().Get("Cache-Control"); !strings.Contains(cache, "no-store") || w.Header().Get("Vary") != "Authorization" {
				t.Errorf("%s, %s: cache control %q", tc.name, method, cache)
			}
		}
	}
	two := post{token: token, version: "2025-11-25", session: session, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.request("http://127.0.0.1/mcp")
	two.Header.Add("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	if door.ServeHTTP(w, two); w.Code != http.StatusUnauthorized {
		t.Errorf("two headers: %d", w.Code)
	}
}

// A session is worth nothing to another client, even of the same owner, and
// cannot be told from one that does not exist.
func TestASessionBelongsToItsClient(t *testing.T) {
	h := newHost()
	owner := id.New[id.Owner]()
	_, token := h.app(owner, authority.ForMCP)
	_, thief := h.app(owner, authority.ForMCP)
	door := New(h.ports(), Options{})
	session := initialize(t, door, token)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		ask := func(token, session string) (int, string) {
			r := post{token: token, version: "2025-11-25", session: session, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}.request("http://127.0.0.1/mcp")
			r.Method = method
			w := httptest.NewRecorder()
			door.ServeHTTP(w, r)
			return w.Code, w.Body.String()
		}
		stolenCode, stolen := ask(thief, session)
		unknownCode, unknown := ask(thief, "AAAABBBBCCCCDDDDEEEEFFFFGG")
		if stolenCode != http.StatusNotFound || stolenCode != unknownCode || stolen != unknown {
			t.Errorf("%s: stolen %d %q, unknown %d %q", method, stolenCode, stolen, unknownCode, unknown)
		}
	}
	if w := send(door, legacyCall(token, session, "x", "{}")); w.Code != http.StatusOK {
		t.Errorf("the client lost its session: %d", w.Code)
	}
	r := post{token: token, version: "2025-11-25", session: session}.request("http://127.0.0.1/mcp")
	r.Method = http.MethodDelete
	w := httptest.NewRecorder()
	door.ServeHTTP(w, r)
	if s := door.Stats(); w.Code != http.StatusNoContent || s.Sessions != 0 {
		t.Errorf("after the end: %d, %+v", w.Code, s)
	}
}

// A token that ends between the entrance and the store's decision is answered
// like one that never was.
func TestATokenMayEndOnTheWay(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	ended := fault.New(fault.Unauthenticated, "the token is not live for this door")
	h.setCall(func(_ context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
		return invocation.Refusal(r.Tx, ended, "none")
	})
	door := New(h.ports(), Options{})
	if w := send(door, modernCall(token, m.Tool, "{}")); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What a client can make grow ends at its bound, with an answer, and what is
// given back can be had again.
func TestNothingGrowsOverItsBound(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	door := New(h.ports(), Options{})
	a, full := door.enter(c)
	if full != nil {
		t.Fatal(full)
	}
	door.held = bound.MCPHeld.Int()
	if full := door.reserveSeat(a); full == nil || full.Details["bound"] != bound.MCPHeld.Key {
		t.Errorf("a session over all: %v", full)
	}
	if full := door.open(a, &stream{c, func() {}}); full == nil || full.Details["bound"] != bound.MCPHeld.Key {
		t.Errorf("a stream over all: %v", full)
	}
	door.held = 0
	const open = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	if w := send(door, post{token: token, body: strings.Replace(open, `"2025-11-25"`, `5`, 1)}); w.Code != http.StatusOK || door.Stats().Sessions != 0 || door.held != 0 {
		t.Errorf("a broken initialize: %d, %d held", w.Code, door.held)
	}
	first := initialize(t, door, token)
	for range bound.MCPSessions.Int() - 1 {
		send(door, post{token: token, body: open})
	}
	w := send(door, post{token: token, body: open})
	if !strings.Contains(w.Body.String(), bound.MCPSessions.Key) || door.Stats().Sessions != bound.MCPSessions.Int() {
		t.Errorf("one session over: %s, %+v", w.Body, door.Stats())
	}
	r := post{token: token, session: first}.request("http://127.0.0.1/mcp")
	r.Method = http.MethodDelete
	door.ServeHTTP(httptest.NewRecorder(), r)
	if initialize(t, door, token) == "" {
		t.Error("no session after one ended")
	}
	var streams []*stream
	for range bound.MCPStreams.Int() {
		s := &stream{c, func() {}}
		if full := door.open(a, s); full != nil {
			t.Fatal(full)
		}
		streams = append(streams, s)
	}
	w = send(door, post{token: token, version: frame.FirstModern, method: frame.Listen,
		body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{` + modernMeta + `}}}`})
	if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), bound.MCPStreams.Key) {
		t.Errorf("one stream over: %d %s", w.Code, w.Body)
	}
	for _, s := range streams {
		door.drop(a, s)
	}

	for range bound.MCPCalls.Int() {
		if full := door.occupy(a); full != nil {
			t.Fatal(full)
		}
	}
	w = send(door, modernCall(token, m.Tool, "{}"))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"rate_limited"`) || !strings.Contains(w.Body.String(), `"retry_after_ms":500`) || !strings.Contains(w.Body.String(), `"isError":true`) || len(h.calls) != 0 {
		t.Errorf("one call over: %d %s", w.Code, w.Body)
	}
	for range bound.MCPCalls.Int() {
		door.vacate(a)
	}

	door.end(a)
	door.leave(a)
	if door.held != 0 || door.Stats() != (Stats{Apps: 1}) {
		t.Errorf("left over: %d held, %+v", door.held, door.Stats())
	}
	for range bound.MCPApps.Int() - 1 {
		other, full := door.enter(authority.Caller{Owner: c.Owner, Client: id.New[id.Client]()})
		if full != nil {
			t.Fatal(full)
		}
		other.seats["x"] = nil // it holds something
		door.leave(other)
	}
	if _, full := door.enter(authority.Caller{Owner: c.Owner, Client: id.New[id.Client]()}); full != nil {
		t.Errorf("an idle app was not forgotten: %v", full)
	}
	if _, full := door.enter(authority.Caller{Owner: c.Owner, Client: id.New[id.Client]()}); full == nil {
		t.Error("one app over is let in")
	}
	_, lateToken := h.app(c.Owner, authority.ForMCP)
	if w := send(door, modernCall(lateToken, m.Tool, "{}")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one app over: %d", w.Code)
	}
}

// slowWriter takes deadlines like a connection does.
type slowWriter struct {
	http.ResponseWriter
	deadline time.Time
}

func (w *slowWriter) SetWriteDeadline(t time.Time) error { w.deadline = t; return nil }

// A peer that stops reading has a limited time for each piece.
func TestAStreamWaitsForItsPeerOnlySoLong(t *testing.T) {
	w := &slowWriter{ResponseWriter: httptest.NewRecorder()}
	s := feed.Open(w, nil)
	before := time.Now()
	s.Write([]byte("x"))
	if wait := w.deadline.Sub(before); wait <= 0 || wait > bound.MCPWrite.Duration()+time.Second {
		t.Errorf("a piece may take %v", wait)
	}
}

// After the end nothing new begins, and what was open is closed.
func TestTheDoorCloses(t *testing.T) {
	h := newHost()
	_, token := h.app(id.New[id.Owner](), authority.ForMCP)
	door := New(h.ports(), Options{})
	server := httptest.NewServer(door)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); door.Run(ctx) }()
	ended := openByHand(t, server.URL, token, initialize(t, door, token))
	cancel()
	await(t, ended, "the end of the stream")
	await(t, done, "the end of Run")
	w := send(door, post{token: token, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`})
	if w.Header().Get(frame.SessionHeader) != "" || door.Stats().Sessions != 0 {
		t.Errorf("a session was opened: %s", w.Body)
	}
	server.Close()
}
