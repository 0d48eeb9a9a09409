// Package remotes_test drives the real host with servers that are spoken to over
// HTTP: from the import of an address to a call, what the journal says of each
// thing that a server may do, and what never leaves the host.
package remotes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// server is a stateless MCP server of the test's own, with tools that do what their
// names say.
type server struct {
	*httptest.Server
	tools   []string
	address string // known before anybody asks
	needs   string // the Authorization that requests must carry, "" for none

	mu      sync.Mutex
	calls   map[string]int
	headers []http.Header
	bodies  []string
}

func start(t *testing.T, tools ...string) *server {
	t.Helper()
	s := &server{tools: tools, calls: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.address = "http://" + s.Listener.Addr().String()
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	s.headers, s.bodies = append(s.headers, r.Header), append(s.bodies, string(body))
	if m.Method == "tools/call" {
		s.calls[m.Params.Name]++
	}
	needs := s.needs
	s.mu.Unlock()
	if needs != "" && r.Header.Get("Authorization") != needs {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	result := func(text string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, text)
	}
	switch m.Method {
	case "server/discover":
		result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"far","version":"1"}}}`)
	case "tools/list":
		var all []string
		for _, name := range s.tools {
			all = append(all, fmt.Sprintf(`{"name":%q,"description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, name))
		}
		result(`{"resultType":"complete","tools":[` + strings.Join(all, ",") + `]}`)
	case "tools/call":
		s.act(w, r, m.Params.Name, result)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *server) count(tool string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[tool]
}

// act does what a tool's name says.
func (s *server) act(w http.ResponseWriter, r *http.Request, tool string, result func(string)) {
	switch kind, number, _ := strings.Cut(tool, "-"); kind {
	case "ok":
		result(`{"content":[{"type":"text","text":"ok"}]}`)
	case "error":
		result(`{"content":[{"type":"text","text":"no"}],"isError":true}`)
	case "input":
		result(`{"resultType":"input_required","inputRequests":{}}`)
	case "large":
		result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 200<<10) + `"}]}`)
	case "garbage":
		result(`{"content":[}`)
	case "empty":
		w.WriteHeader(http.StatusAccepted)
	case "cut":
		panic(http.ErrAbortHandler)
	case "status":
		code := 0
		fmt.Sscan(number, &code)
		w.Header().Set("Location", s.address)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(code)
	}
}

// imported brings a server in, with the exception that the host proposes.
func imported(t *testing.T, h *hosttest.Host, s *server, more ...string) (app *hosttest.App, tools map[string]string) {
	t.Helper()
	args := append([]string{"import", s.URL + "/mcp", "--name", "far"}, more...)
	_, said, code := h.Run("", args...)
	proposed := s.URL + "=127.0.0.1/32"
	if code != 1 || !strings.Contains(said, "is not a public address") || !strings.Contains(said, "--except "+proposed) {
		t.Fatalf("exit code %d: %s", code, said)
	}
	h.Do(append(args, "--except", proposed)...)
	effects := map[string]string{}
	for _, tool := range s.tools {
		effects[tool] = "read"
	}
	h.Approve("far", effects)
	app = h.AddApp("app")
	return app, app.Grant("far", s.tools...)
}

// From an address to a call: refused with the exception that would let it out,
// imported with it, shown as not conforming, called with nothing of the caller's.
func TestAnAddressIsImportedAndCalled(t *testing.T) {
	h := hosttest.Start(t)
	s := start(t, "ok-1")
	s.mu.Lock()
	s.needs = "Bearer sealed-canary"
	s.mu.Unlock()
	app, tools := imported(t, h, s, "--header", "Authorization: Bearer sealed-canary")
	if n := s.count("ok-1"); n != 0 {
		t.Errorf("%d calls before there was one", n)
	}
	r := h.Review("far").Resource
	if r.Upstream == nil || r.Upstream.Kind != "mcp-http" || r.Upstream.Origin != s.URL || r.Upstream.Exception != s.URL+"=127.0.0.1/32" || r.Upstream.Connection != "ready" {
		t.Errorf("shown as %+v", r.Upstream)
	}
	if shown := h.Do("resources", "show", "far"); !strings.Contains(shown, "not conforming") {
		t.Errorf("shown as %s", shown)
	}
	var status adminwire.Status
	h.JSON(&status, "status")
	if diff := cmp.Diff([]string{s.URL + "=127.0.0.1/32"}, status.Exceptions); diff != "" {
		t.Error(diff)
	}
	got, err := app.Call(tools["ok-1"], map[string]any{})
	if err != nil || got.Text() != "ok" || s.count("ok-1") != 1 {
		t.Fatalf("%+v, %v, %d calls", got, err, s.count("ok-1"))
	}
	body := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"canary":"canary-meta"}}}`, tools["ok-1"])
	h.Post("/mcp", app.MCP, body, map[string]string{"Cookie": "canary-cookie=1", "X-Api-Key": "canary-key", "X-Forwarded-For": "canary-for", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tools["ok-1"]})
	if s.count("ok-1") != 2 {
		t.Errorf("%d calls", s.count("ok-1"))
	}
	s.mu.Lock()
	seen := fmt.Sprint(s.headers, s.bodies)
	s.mu.Unlock()
	for _, secret := range []string{"canary-cookie", "canary-key", "canary-for", "canary-meta", app.MCP, app.RPC} {
		if strings.Contains(seen, secret) {
			t.Errorf("%q reached the server", secret)
		}
	}
	shown := h.Log() + h.Do("resources", "list") + h.Do("journal", "list") + h.Do("export") + h.Do("resources", "show", "far", "--json")
	if strings.Contains(shown, "sealed-canary") {
		t.Error("a header's secret is shown")
	}
	// After a restart the entry, its header and its exception are there.
	h.Restart()
	if got, err := app.Call(tools["ok-1"], map[string]any{}); err != nil || got.Text() != "ok" {
		t.Fatalf("%+v, %v", got, err)
	}
	h.Do("import", "--remove", "far")
	var after adminwire.Status
	h.JSON(&after, "status")
	if len(after.Exceptions) != 0 {
		t.Errorf("an exception outlives its entry: %v", after.Exceptions)
	}
}

// The table of upstream events, as the journal and the caller have it (pool page,
// section 7). No event makes a second message.
func TestTheJournalSaysWhatIsKnown(t *testing.T) {
	type word struct{ state, code, effects, reason string }
	ok, failed := word{"succeeded", "", "reported", ""}, word{"failed", "upstream_failed", "reported", "rejected"}
	broken := word{"indeterminate", "indeterminate", "uncertain", "broken"}
	invalid := word{"indeterminate", "indeterminate", "uncertain", "invalid_answer"}
	table := map[string]word{
		"ok-1": ok, "error-1": {"failed", "upstream_failed", "reported", "tool_error"},
		"status-400": failed, "status-401": failed, "status-403": failed, "status-404": failed, "status-425": failed, "status-429": failed,
		"input-1": {"failed", "upstream_failed", "uncertain", "unsupported_answer"},
		"large-1": {"indeterminate", "indeterminate", "uncertain", "result_too_large"}, "garbage-1": invalid, "empty-1": invalid,
		"cut-1": broken, "status-307": broken, "status-308": broken, "status-500": broken, "status-503": broken,
	}
	var tools []string
	for tool := range table {
		tools = append(tools, tool)
	}
	h := hosttest.Start(t)
	s := start(t, tools...)
	app, _ := imported(t, h, s)
	contract := map[string]string{}
	for _, g := range app.Grants() {
		contract[g.Method] = g.Contract
	}
	resource := h.Review("far").Resource.ID
	call := func(tool string) (rpcwire.Response, word) {
		t.Helper()
		tx := id.NewTx(time.Now())
		got, err := app.Send(rpcwire.Request{Tx: tx.String(), Resource: resource, Contract: contract[tool], Method: tool, Args: []byte("{}")})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		var page adminwire.Journal
		h.JSON(&page, "journal", "list")
		for _, row := range page.Invocations {
			if row.Tx == tx.String() {
				return got, word{row.State, row.Code, row.Effects, row.Reason}
			}
		}
		t.Fatalf("%s is not in the journal", tool)
		return got, word{}
	}
	for tool, want := range table {
		got, word := call(tool)
		if word != want || string(got.Effects) != want.effects || s.count(tool) != 1 {
			t.Errorf("%s: %+v, told %s %s; want %+v; %d messages", tool, word, got.Status, got.Effects, want, s.count(tool))
		}
	}
	s.Close()
	got, said := call("ok-1")
	if said.state != "not_dispatched" || got.Effects != "not_dispatched" || got.Error == nil || got.Error.Code != "unavailable" {
		t.Errorf("without a server: %+v, %+v", said, got)
	}
}
