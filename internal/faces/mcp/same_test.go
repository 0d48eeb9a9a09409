package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/id"
)

// The door answers lists and calls itself. To a client it must be as if the SDK
// did, but for what the table says.
func TestTheDoorAnswersLikeTheSDK(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	door, reference := New(h.ports(), Options{}), sdkAlone(m.Tool)
	doorSession, sdkSession := initialize(t, door, token), initialize(t, reference, token)

	old := func(body string) post { return post{version: "2025-11-25", session: "SESSION", body: body} }
	call := old(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"TOOL","arguments":{"n":1,"s":"<é\u2028>"}}}`)
	now := func(body string) post {
		return post{version: frame.FirstModern, method: frame.CallTool, name: m.Tool, body: body}
	}
	meta := `"_meta":{` + modernMeta + `}`
	nowCall := now(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"TOOL","arguments":{"n":1},` + meta + `}}`)
	with := func(p post, change func(*post)) post {
		p.headers = map[string]string{}
		change(&p)
		return p
	}
	header := func(p post, name, value string) post {
		return with(p, func(p *post) { p.headers[name] = value })
	}
	body := func(p post, from, to string) post {
		if !strings.Contains(p.body, from) {
			t.Fatalf("%q is not in %s", from, p.body)
		}
		return with(p, func(p *post) { p.body = strings.Replace(p.body, from, to, 1) })
	}
	big := strings.Repeat(" ", 64<<10)
	for _, tc := range []struct {
		name    string
		post    post
		differs string // why the door answers in its own way
		status  int    // what it then answers
		code    int
	}{
		{name: "legacy call", post: call},
		{name: "legacy call without arguments", post: old(`{"jsonrpc":"2.0","id":-3,"method":"tools/call","params":{"name":"TOOL"}}`),
			differs: "absent arguments are the empty object", status: 200},
		{name: "legacy unknown tool", post: body(call, "TOOL", "nothing")},
		{name: "legacy no name", post: body(call, `"name":"TOOL",`, "")},
		{name: "legacy name of another type", post: body(call, `"TOOL"`, "5")},
		{name: "legacy params that are a list", post: old(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`)},
		{name: "legacy no params", post: old(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`),
			differs: "the number for bad params, where the SDK fails the HTTP request", status: 200, code: frame.BadParams},
		{name: "legacy unknown method", post: old(`{"jsonrpc":"2.0","id":1,"method":"tools/drop"}`),
			differs: "the number for it, where the SDK fails the HTTP request", status: 200, code: frame.NoMethod},
		{name: "legacy prompts", post: old(`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`),
			differs: "they are not offered", status: 200, code: frame.NoMethod},
		{name: "legacy ping", post: old(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)},
		{name: "legacy answer to nobody", post: old(`{"jsonrpc":"2.0","id":1,"result":{}}`)},
		{name: "legacy notification", post: old(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)},
		{name: "legacy unknown notification", post: old(`{"jsonrpc":"2.0","method":"notifications/new"}`),
			differs: "unknown notifications are ignored", status: 202},
		{name: "legacy call without an id", post: old(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"TOOL"}}`)},
		{name: "legacy null id", post: body(call, `"a"`, "null")},
		{name: "legacy fraction as id", post: body(call, `"a"`, "1.5"), differs: "the SDK answers under another id", status: 400},
		{name: "legacy id twice", post: body(call, `"id":"a"`, `"id":"a","id":"b"`), differs: "one reading only", status: 400},
		{name: "legacy batch", post: old(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)},
		{name: "legacy batch in a revision that knows them", post: with(old(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`), func(p *post) { p.version = "2025-03-26" }),
			differs: "batches are refused", status: 400},
		{name: "legacy no JSON", post: old(`{"jsonrpc":`)},
		{name: "legacy nothing", post: old("")},
		{name: "legacy no version tag", post: body(call, `"jsonrpc":"2.0",`, "")},
		{name: "legacy too large", post: body(call, `"params"`, big+`"params"`)},
		{name: "legacy content type", post: header(call, "Content-Type", "text/plain")},
		{name: "legacy content type with a charset", post: header(call, "Content-Type", "application/json; charset=utf-8")},
		{name: "legacy accept JSON only", post: header(call, "Accept", "application/json")},
		{name: "legacy accept all", post: header(call, "Accept", "*/*")},
		{name: "legacy unknown version", post: with(call, func(p *post) { p.version = "2025-01-01" })},
		{name: "legacy no version", post: with(call, func(p *post) { p.version = "" })},
		{name: "legacy unknown session", post: with(call, func(p *post) { p.session = "AAAA" })},
		{name: "legacy no session", post: with(call, func(p *post) { p.session = "" }),
			differs: "only initialize comes without a session", status: 400},
		{name: "a modern body without its header", post: body(call, `"arguments"`, meta+`,"arguments"`)},
		{name: "a modern discover without its header", post: with(old(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`), func(p *post) { p.version, p.session = "", "" })},

		{name: "call", post: nowCall},
		{name: "unknown tool", post: with(body(nowCall, "TOOL", "nothing"), func(p *post) { p.name = "nothing" })},
		{name: "no Mcp-Method", post: with(nowCall, func(p *post) { p.method = "" })},
		{name: "another Mcp-Method", post: with(nowCall, func(p *post) { p.method = frame.ListTools })},
		{name: "no Mcp-Name", post: with(nowCall, func(p *post) { p.name = "" })},
		{name: "another Mcp-Name", post: with(nowCall, func(p *post) { p.name = "x" })},
		{name: "another version in the body", post: body(nowCall, "2026-07-28", "2026-07-29")},
		{name: "no version in the body", post: body(nowCall, `"io.modelcontextprotocol/protocolVersion":"2026-07-28",`, "")},
		{name: "no _meta", post: body(nowCall, ","+meta, "")},
		{name: "_meta that is a list", post: body(nowCall, meta, `"_meta":[]`)},
		{name: "no capabilities", post: body(nowCall, `,"io.modelcontextprotocol/clientCapabilities":{}`, "")},
		{name: "capabilities that are null", post: body(nowCall, `clientCapabilities":{}`, `clientCapabilities":null`)},
		{name: "client info that is text", post: body(nowCall, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":"me",`)},
		{name: "a version of the future", post: with(body(nowCall, "2026-07-28", "2027-01-01"), func(p *post) { p.version = "2027-01-01" })},
		{name: "unknown method", post: with(body(nowCall, "tools/call", "tools/drop"), func(p *post) { p.method = "tools/drop" })},
		{name: "initialize", post: with(body(nowCall, "tools/call", "initialize"), func(p *post) { p.method = "initialize" })},
		{name: "ping", post: with(body(nowCall, "tools/call", "ping"), func(p *post) { p.method = "ping" })},
		{name: "batch", post: now(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)},
		{name: "too large", post: body(nowCall, `"params"`, big+`"params"`)},
		{name: "no JSON", post: now(`{`)},
		{name: "nothing", post: now(``)},
		{name: "content type", post: header(nowCall, "Content-Type", "")},
		{name: "accept streams only", post: header(nowCall, "Accept", "text/event-stream")},
		{name: "discover", post: with(now(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`), func(p *post) { p.method = frame.Discover })},
		{name: "notification", post: with(now(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`), func(p *post) { p.method = frame.Cancelled })},
		{name: "notification without Mcp-Method", post: with(now(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`), func(p *post) { p.method = "" })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ask := func(h http.Handler, session string) seen {
				p := tc.post
				p.token, p.body = token, strings.ReplaceAll(p.body, "TOOL", m.Tool)
				if p.session == "SESSION" {
					p.session = session
				}
				return look(t, send(h, p))
			}
			got, want := ask(door, doorSession), ask(reference, sdkSession)
			if strings.HasPrefix(want.Media, "text/plain") && got.Body["id"] == nil && got.Code != nil {
				// Where the SDK fails the HTTP request with a line of text, the door's line
				// is an error that belongs to no request.
				got.Media, got.Code, got.Body = want.Media, nil, nil
			}
			if diff := cmp.Diff(want, got); diff != "" == (tc.differs == "") {
				t.Fatalf("the SDK (-) and the door (+), expected to differ: %q\n%s", tc.differs, diff)
			}
			if tc.differs != "" && (got.Status != tc.status || tc.code != 0 && got.Code != json.Number(itoa(tc.code))) {
				t.Fatalf("got %+v, want status %d and code %d, since %s", got, tc.status, tc.code, tc.differs)
			}
		})
	}
}

// seen is what a client can tell of an answer. The words of an error are each
// side's own, and so is what the door adds under its own names.
type seen struct {
	Status int
	Media  string
	Code   any
	Body   map[string]any
}

func look(t *testing.T, w *httptest.ResponseRecorder) seen {
	t.Helper()
	s := seen{Status: w.Code, Media: w.Header().Get("Content-Type")}
	if s.Media != "application/json" || strings.HasPrefix(w.Body.String(), "[") {
		return s
	}
	s.Body = decoded(t, w.Body)
	if e, ok := s.Body["error"].(map[string]any); ok {
		s.Code = e["code"]
		delete(e, "message")
		if data, ok := e["data"].(map[string]any); ok && data["retry"] != nil {
			delete(e, "data")
		}
		if s.Body["id"] == nil {
			delete(s.Body, "id")
		}
	}
	if r, ok := s.Body["result"].(map[string]any); ok {
		meta, _ := r["_meta"].(map[string]any)
		for name := range meta {
			if strings.HasPrefix(name, "io.github.stewardhost/") {
				delete(meta, name)
			}
		}
		if len(meta) == 0 {
			delete(r, "_meta")
		}
		delete(r, "capabilities")
		delete(r, "instructions")
		delete(r, "ttlMs")
	}
	return s
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}
