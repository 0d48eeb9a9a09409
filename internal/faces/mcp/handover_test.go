package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/id"
)

// A session costs what the host has a use for, however much its client tells, and
// a client that tells nonsense is told so in the host's own words.
func TestASessionKeepsLittleOfItsClient(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	door := New(h.ports(), Options{})
	pad := strings.Repeat("x", 30_000)
	w := send(door, post{token: token, body: fmt.Sprintf(
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"a":{"b":%q}}},"clientInfo":{"name":"by hand","version":"1"},"_meta":{"c":%q}}}`, pad, pad)})
	session := w.Header().Get(frame.SessionHeader)
	n := send(door, post{token: token, session: session, version: "2025-11-25",
		body: fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"c":%q}}}`, pad)})
	if w.Code != http.StatusOK || n.Code != http.StatusAccepted {
		t.Fatalf("%d %s, %d %s", w.Code, w.Body, n.Code, n.Body)
	}
	door.mu.Lock()
	kept := door.apps[key{c.Owner, c.Client}].seats[session].session.InitializeParams()
	door.mu.Unlock()
	if kept.ClientInfo.Name != "by hand" || len(kept.Meta) > 0 || kept.Capabilities != nil && len(kept.Capabilities.Experimental) > 0 {
		t.Errorf("the session keeps %.200v of %d bytes", kept, len(fmt.Sprint(kept)))
	}
	bad := send(door, post{token: token, body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{}}}`})
	if got := decoded(t, bad.Body)["error"].(map[string]any); fmt.Sprint(got["code"]) != "-32602" || strings.Contains(fmt.Sprint(got["message"]), "json") {
		t.Errorf("told %v", got)
	}
}

// An id comes back as it was sent or not at all.
func TestNoIDComesBackAsAnother(t *testing.T) {
	h := newHost()
	_, token := h.app(id.New[id.Owner](), authority.ForMCP)
	door := New(h.ports(), Options{})
	session := initialize(t, door, token)
	for _, id := range []string{"0", "-7", "9007199254740991", "9007199254740993", "123456789012345678901234567890", "-0", `"9007199254740993"`} {
		for name, p := range map[string]post{
			"ping":       {session: session, version: "2025-11-25", body: `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`},
			"initialize": {body: `{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`},
			"list":       {session: session, version: "2025-11-25", body: `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`},
			"discover":   {version: frame.FirstModern, method: frame.Discover, body: `{"jsonrpc":"2.0","id":` + id + `,"method":"server/discover","params":{"_meta":{` + modernMeta + `}}}`},
		} {
			p.token = token
			w := send(door, p)
			if got := w.Body.String(); !strings.Contains(got, `"id":`+id+`,`) {
				t.Errorf("%s of %s: %s", name, id, got)
			}
		}
	}
}

// A header that decides how a message is read has one value: another reader on
// the way may take the last one (threats, A56).
func TestAHeaderHasOneValue(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	door := New(h.ports(), Options{})
	for _, header := range []string{frame.VersionHeader, frame.MethodHeader, frame.NameHeader, frame.SessionHeader, "Content-Type"} {
		for value, refused := range map[string]bool{"": false, "another": true} {
			r := modernCall(token, m.Tool, "{}").request("http://127.0.0.1/mcp")
			r.Header[http.CanonicalHeaderKey(header)] = append(r.Header.Values(header), r.Header.Get(header))
			if refused {
				r.Header.Add(header, value)
			}
			w := httptest.NewRecorder()
			door.ServeHTTP(w, r)
			if (w.Code == http.StatusBadRequest) != refused {
				t.Errorf("%s twice, the second %q: %d %s", header, value, w.Code, w.Body)
			}
		}
	}
}
