package remotes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

// greeted is a server of the era with sessions, which can forget the one that it has.
type greeted struct {
	*httptest.Server
	mu       sync.Mutex
	session  int // the number of the one that it knows
	sessions int
	calls    int
}

func greet(t *testing.T) *greeted {
	t.Helper()
	g := &greeted{}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *greeted) forget() {
	g.mu.Lock()
	g.session = 0
	g.mu.Unlock()
}

func (g *greeted) counts() (sessions, calls int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions, g.calls
}

func (g *greeted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	if m.Method == "initialize" {
		g.sessions++
		g.session = g.sessions
	} else if r.Header.Get("Mcp-Session-Id") != fmt.Sprint("s", g.session) || g.session == 0 {
		w.WriteHeader(map[bool]int{true: http.StatusNotFound, false: http.StatusBadRequest}[r.Header.Get("Mcp-Session-Id") != ""])
		return
	}
	w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", g.session))
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"greeted","version":"1"}}`,
		"ping":       `{}`, "tools/call": `{"content":[{"type":"text","text":"ok"}]}`,
		"tools/list": `{"tools":[{"name":"ok","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`,
	}[m.Method]
	switch {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case result == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		if m.Method == "tools/call" {
			g.calls++
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
}

// Of two servers one forgets its session: its next call is told and never sent twice,
// the one after it works, and the other server notices nothing (field faults, FF22).
func TestOneSessionExpires(t *testing.T) {
	h := hosttest.Start(t)
	app := h.AddApp("app")
	servers, tools := map[string]*greeted{"one": greet(t), "two": greet(t)}, map[string]string{}
	for name, g := range servers {
		h.Do("import", g.URL+"/mcp", "--name", name, "--except", g.URL+"=127.0.0.1/32")
		h.Approve(name, map[string]string{"ok": "read"})
		app.Grant(name, "ok")
	}
	for _, g := range app.Grants() {
		tools[g.Resource] = g.Tool // by resource, for both have this method
	}
	call := func(name string) bool {
		t.Helper()
		got, err := app.Call(tools[name], map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		if got.IsError() && !strings.Contains(got.Text(), "upstream_failed") {
			t.Errorf("%s: %s", name, got.Raw)
		}
		return !got.IsError()
	}
	if !call("one") || !call("two") {
		t.Fatal("not called")
	}
	before, _ := servers["two"].counts()
	servers["one"].forget()
	call("one") // refused, unless it was seen ahead
	if !call("one") || !call("two") {
		t.Error("it does not go on")
	}
	if sessions, calls := servers["two"].counts(); sessions != before || calls != 2 {
		t.Errorf("the other one has %d sessions and %d calls", sessions, calls)
	}
	if _, calls := servers["one"].counts(); calls > 3 {
		t.Errorf("it was called %d times", calls)
	}
}
