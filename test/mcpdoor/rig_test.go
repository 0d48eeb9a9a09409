// Package mcpdoor holds the MCP door against a real store and the real port,
// over HTTP, with upstreams that a test scripts.
package mcpdoor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// patience is how long a test waits on a busy machine. That a change is told
// within a second is shown on a fake clock, beside the door.
const patience = time.Minute

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

var eras = []string{legacy, modern}

// script is an upstream. It answers with its arguments unless a test says
// otherwise, and remembers what it was called with.
type script struct {
	mu     sync.Mutex
	calls  []string
	answer func(ctx context.Context, tool string, args []byte) invocation.Event
}

func (s *script) Ready() bool { return true }

func (s *script) Open(context.Context) error { return nil }

func (s *script) Call(ctx context.Context, tool string, args []byte, _ func(invocation.Event)) invocation.Event {
	s.mu.Lock()
	s.calls = append(s.calls, tool+" "+string(args))
	answer := s.answer
	s.mu.Unlock()
	if answer == nil {
		return answered(fmt.Sprintf(`{"content":[{"type":"text","text":"here"}],"structuredContent":%s}`, args))
	}
	return answer(ctx, tool, args)
}

func (s *script) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

func (s *script) say(answer func(ctx context.Context, tool string, args []byte) invocation.Event) {
	s.mu.Lock()
	s.answer = answer
	s.mu.Unlock()
}

func answered(result string) invocation.Event {
	return invocation.Event{Kind: invocation.Answered, Result: []byte(result)}
}

// rig is a host without its processes: store, port and door.
type rig struct {
	t         testing.TB
	store     *store.Store
	owner     id.Owner
	url       string
	mu        sync.Mutex
	upstreams map[id.Adapter]*script
}

func newRig(t testing.TB) *rig {
	t.Helper()
	s, err := store.Open(context.Background(), t.TempDir(), store.Options{Ceiling: budget.Ceiling{PerMinute: 1 << 30, AtOnce: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: s, upstreams: map[id.Adapter]*script{}}
	seeds, err := builtins.Seeds()
	r.must(err)
	r.owner, _, err = s.EnsureOwner(context.Background(), "owner", seeds)
	r.must(err)
	port := dispatch.New(s, r.executor, s.Node(), s.Epoch(), slog.New(slog.DiscardHandler))
	door := mcp.New(mcp.Ports{Find: s.FindToken, Catalog: s.Catalog, Call: port.Call, Denied: s.Denied}, mcp.Options{})
	s.OnChange(door.Changed)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { door.Run(ctx) })
	server := httptest.NewServer(door)
	r.url = server.URL
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatalf("%v: %v", err, errors.Unwrap(err))
	}
}

func (r *rig) executor(which id.Adapter) (dispatch.Executor, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.upstreams[which]
	return s, ok
}

// app is a client of the owner.
type app struct {
	*rig
	client id.Client
	token  string
}

func (r *rig) app(name string) *app {
	r.t.Helper()
	token := secret.NewToken(secret.Access)
	hash, _ := secret.HashToken(secret.Access, token)
	a := &app{r, id.New[id.Client](), token.Reveal()}
	r.must(r.store.AddApp(context.Background(), r.owner, view.NewApp{Client: a.client, Name: name,
		Tokens: []view.NewToken{{Hash: hash, Audience: authority.ForMCP}}}))
	return a
}

// upstream is an imported server whose tools are all approved.
type upstream struct {
	*script
	rig      *rig
	adapter  id.Adapter
	resource id.Resource
}

const (
	takes = `{"additionalProperties":false,"properties":{"n":{"maximum":9007199254740991,"minimum":0,"type":"integer"},"s":{"maxLength":1000,"type":"string"}},"type":"object"}`
	gives = `{"additionalProperties":false,"properties":{"n":{"maximum":9007199254740991,"minimum":0,"type":"number"},"s":{"maxLength":1000,"type":"string"}},"type":"object"}`
)

func (r *rig) upstream(name string, tools ...string) *upstream {
	r.t.Helper()
	u := &upstream{&script{}, r, id.New[id.Adapter](), id.New[id.Resource]()}
	r.must(r.store.AddAdapter(context.Background(), view.Adapter{Owner: r.owner, ID: u.adapter, Name: name, Kind: "test", Configuration: []byte("{}"), State: view.Enabled},
		resource.Row{ID: u.resource, Owner: r.owner, Kind: resource.Connection, Label: name, Adapter: u.adapter, Storage: resource.AtThirdParty,
			Revision: id.New[id.Revision](), State: resource.Active}))
	u.list("1", tools...)
	var choices []authority.Choice
	for _, m := range u.methods() {
		choices = append(choices, authority.Choice{Method: m.Method.Definition.ID})
	}
	u.approve(choices...)
	r.mu.Lock()
	r.upstreams[u.adapter] = u.script
	r.mu.Unlock()
	return u
}

// list is what the upstream says that it offers.
func (u *upstream) list(revision string, tools ...string) {
	u.rig.t.Helper()
	effects, err := effect.SetOf(effect.Write)
	u.rig.must(err)
	var offers []resource.Offer
	for _, tool := range tools {
		raw := fmt.Sprintf(`{"name":%q,"revision":%q}`, tool, revision)
		offers = append(offers, resource.Offer{Tool: tool, Raw: []byte(raw), Review: []byte("{}"),
			Definition: contract.Method{Title: "Do " + tool, Description: "Does " + tool + ".", Input: strictjson.Raw(takes), Output: strictjson.Raw(gives),
				Effects: effects, Errors: []fault.Code{fault.UpstreamFailed}},
			Binding: resource.Binding{Kind: resource.ByMCP, Adapter: u.adapter, Tool: tool, Tooldef: digest.Of(digest.Definition, []byte(raw))}})
	}
	_, err = u.rig.store.ApplyListing(context.Background(), u.rig.owner, u.adapter, "server 1.0", legacy, offers)
	u.rig.must(err)
}

func (u *upstream) methods() []resource.Kept {
	u.rig.t.Helper()
	got, err := u.rig.store.Resource(context.Background(), u.rig.owner, u.resource.String())
	u.rig.must(err)
	return got.Methods
}

func (u *upstream) approve(choices ...authority.Choice) {
	u.rig.t.Helper()
	got, err := u.rig.store.Resource(context.Background(), u.rig.owner, u.resource.String())
	u.rig.must(err)
	var all []resource.Method
	for _, k := range got.Methods {
		all = append(all, k.Method)
	}
	_, err = u.rig.store.Approve(context.Background(), u.rig.owner, u.resource, authority.Approve{Owner: u.rig.owner, Shown: authority.ReviewDigest(got.Row, all),
		Choices: choices, NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()})
	u.rig.must(err)
}

// grant gives the app methods and returns their tool names by method.
func (a *app) grant(which id.Resource, confirm grant.Confirm, methods ...string) map[string]string {
	a.t.Helper()
	g := authority.GrantMethods{Owner: a.owner, Client: a.client, Methods: methods, Confirm: confirm,
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment]()}
	for range methods {
		g.NewGrants = append(g.NewGrants, id.New[id.Grant]())
	}
	_, err := a.store.Grant(context.Background(), which, g)
	a.must(err)
	return a.tools(which)
}

func (a *app) tools(which id.Resource) map[string]string {
	a.t.Helper()
	rows, err := a.store.Grants(context.Background(), a.owner, a.client)
	a.must(err)
	out := map[string]string{}
	for _, g := range rows {
		if g.Row.Key.Resource == which {
			out[g.Row.Key.Method] = g.Tool
		}
	}
	return out
}

// bearer sends the app's token, and says when a stream has opened.
type bearer struct {
	token  string
	opened chan struct{}
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK && (r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == "subscriptions/listen") {
		b.opened <- struct{}{}
	}
	return resp, err
}

// connect is the official client, waiting for changes.
func (a *app) connect(revision string) (*sdk.ClientSession, <-chan struct{}) {
	a.t.Helper()
	told, opened := make(chan struct{}, 100), make(chan struct{}, 10)
	client := sdk.NewClient(&sdk.Implementation{Name: "client"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} }})
	session, err := client.Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: a.url,
		HTTPClient: &http.Client{Transport: bearer{a.token, opened}}, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	a.must(err)
	a.t.Cleanup(func() { session.Close() })
	await(a.t, opened, "the stream")
	return session, told
}

func await[T any](t testing.TB, c <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
	}
	return got
}

// session opens a session by hand; in the newer revision there is none.
func (a *app) session(revision string) string {
	a.t.Helper()
	if revision == modern {
		return ""
	}
	resp := a.do(a.request(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+
		`","capabilities":{},"clientInfo":{"name":"by hand","version":"1"}}}`, map[string]string{"Mcp-Protocol-Version": revision}))
	defer resp.Body.Close()
	session := resp.Header.Get("Mcp-Session-Id")
	if session == "" {
		a.t.Fatalf("no session: %d", resp.StatusCode)
	}
	return session
}

func (a *app) request(method, body string, headers map[string]string) *http.Request {
	r, err := http.NewRequest(method, a.url, strings.NewReader(body))
	a.must(err)
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r
}

func (a *app) do(r *http.Request) *http.Response {
	a.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	a.must(err)
	return resp
}

const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

// asking makes a request of a method; name is what it is used by, and own are
// members of _meta.
func (a *app) asking(revision, session, method, name, params, own string) *http.Request {
	headers := map[string]string{"Mcp-Protocol-Version": revision}
	if revision == modern {
		headers["Mcp-Method"] = method
		if name != "" {
			headers["Mcp-Name"] = name
		}
		own = strings.TrimPrefix(own+","+meta, ",")
	} else {
		headers["Mcp-Session-Id"] = session
	}
	params = strings.TrimPrefix(params+`,"_meta":{`+own+`}`, ",")
	return a.request(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params), headers)
}

// reply is an answer as a client reads it.
type reply struct {
	Status int
	Result struct {
		Content    []struct{ Text string }
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool
		Tools      []struct{ Name, Title, Description string }
		Meta       struct {
			Tx       string `json:"io.github.stewardhost/tx"`
			Effects  string `json:"io.github.stewardhost/effects"`
			Replayed bool   `json:"io.github.stewardhost/replayed"`
			Error    struct {
				Code, Retry string
				Details     map[string]any
			} `json:"io.github.stewardhost/error"`
		} `json:"_meta"`
	}
	Error struct {
		Code    int
		Message string
		Data    struct {
			Code    string
			Details map[string]any
		}
	}
	Raw string `json:"-"`
}

// ask sends a request and reads its JSON answer.
func (a *app) ask(r *http.Request) reply {
	a.t.Helper()
	resp := a.do(r)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	a.must(err)
	out := reply{Status: resp.StatusCode, Raw: string(raw)}
	if err := json.Unmarshal(raw, &out); err != nil {
		a.t.Fatalf("%v in %d %s", err, resp.StatusCode, raw)
	}
	return out
}

func (a *app) call(revision, session, tool, args, own string) reply {
	a.t.Helper()
	params := fmt.Sprintf(`"name":%q`, tool)
	if args != "" {
		params += `,"arguments":` + args
	}
	return a.ask(a.asking(revision, session, "tools/call", tool, params, own))
}

func (a *app) listed(revision, session string) (names []string) {
	a.t.Helper()
	for _, tool := range a.ask(a.asking(revision, session, "tools/list", "", "", "")).Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// stream opens a stream by hand and returns a channel that closes at its end.
func (a *app) stream(revision, session string) <-chan struct{} {
	a.t.Helper()
	r := a.request(http.MethodGet, "", map[string]string{"Mcp-Protocol-Version": revision, "Mcp-Session-Id": session})
	if revision == modern {
		r = a.asking(modern, "", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, "")
	}
	resp := a.do(r) //nolint:bodyclose // closed when the stream ends
	in := bufio.NewReader(resp.Body)
	if _, err := in.ReadString('\n'); err != nil || resp.StatusCode != http.StatusOK {
		a.t.Fatal(resp.Status, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer resp.Body.Close()
		io.Copy(io.Discard, in)
	}()
	return ended
}
