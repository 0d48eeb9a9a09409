// Package doors_test drives the RPC and the admin door as apps and the owner's
// tools do, over the real services and the real store. Only what is outside the
// host's walls is scripted: the upstream server.
package doors_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/admin"
	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/faces/httpguard"
	"github.com/stewardhost/steward/internal/faces/mcp"
	"github.com/stewardhost/steward/internal/faces/rpc"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/access"
	"github.com/stewardhost/steward/internal/service/alarms"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/internal/service/dispatch"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/service/owner"
	"github.com/stewardhost/steward/internal/service/recovery"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// upstream is a server outside the walls. It answers each call with the next
// scripted event, or with its arguments, and keeps what it was asked. One lock
// guards it.
type upstream struct {
	mu     sync.Mutex
	tools  []importer.Tool
	events []invocation.Event
	asked  []string // tool and arguments, one for each call
	down   bool     // it can neither be listed nor opened
	ready  bool
	arrive chan struct{} // if set, each call says so and then waits for leave
	leave  chan struct{}
}

func (u *upstream) Reach(context.Context, importer.Entry) error { return nil }

func (u *upstream) Use(id.Adapter, id.Owner, importer.Entry) error { return nil }
func (u *upstream) Drop(id.Adapter)                                {}

func (u *upstream) Connection(id.Adapter) (view.Connection, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.down {
		return view.Connection{State: "failed", Reason: "exit status 1: \x1b[31mno disk"}, true
	}
	return view.Connection{State: "ready"}, true
}

func (u *upstream) List(context.Context, id.Adapter) (importer.Listed, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.down {
		return importer.Listed{}, errors.New("the server does not start")
	}
	return importer.Listed{Server: "notes 1.0", Protocol: "2025-11-25", Tools: u.tools}, nil
}

func (u *upstream) Ready() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ready
}

func (u *upstream) Open(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.down {
		return errors.New("the server does not start")
	}
	u.ready = true
	return nil
}

func (u *upstream) Call(_ context.Context, tool string, args []byte, _ func(invocation.Event)) invocation.Event {
	u.mu.Lock()
	u.asked = append(u.asked, tool+" "+string(args))
	ev := invocation.Event{Kind: invocation.Answered, Result: []byte(`{"content":[{"type":"text","text":"done"}]}`)}
	if len(u.events) > 0 {
		ev, u.events = u.events[0], u.events[1:]
	}
	arrive, leave := u.arrive, u.leave
	u.mu.Unlock()
	if arrive != nil {
		arrive <- struct{}{}
		<-leave
	}
	return ev
}

func (u *upstream) calls() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.asked...)
}

func (u *upstream) set(change func(*upstream)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change(u)
}

// house is a host with one upstream, whose doors are open.
type house struct {
	t      *testing.T
	data   string
	log    *buffer
	up     *upstream
	store  *store.Store
	owner  id.Owner
	hand   id.Client
	web    *httptest.Server
	socket string
	now    func() time.Time // of the store; time.Now if nil
	admin  *http.Client     // over the socket
	client *client.Client
	stop   func()
}

const readTool = `{"name":"read_note","title":"Read a note","description":"Gives the text of a note.",
"inputSchema":{"type":"object","properties":{"id":{"type":"integer","minimum":0,"maximum":9007199254740991},"note":{"type":"string","maxLength":64}},"required":["id"],"additionalProperties":false},
"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

const sendTool = `{"name":"send_note","title":"Send a note","description":"Sends a note to somebody.",
"inputSchema":{"type":"object","properties":{"to":{"type":"string","maxLength":64}},"required":["to"],"additionalProperties":false}}`

const writeTool = `{"name":"write_note","title":"Write a note","description":"Writes a note.",
"inputSchema":{"type":"object","properties":{"text":{"type":"string","maxLength":64}},"required":["text"],"additionalProperties":false},
"annotations":{"destructiveHint":false,"openWorldHint":false}}`

func newHouse(t *testing.T) *house {
	t.Helper()
	data, err := os.MkdirTemp("", "drs") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	h := &house{t: t, data: data, log: &buffer{}, up: &upstream{ready: true, tools: []importer.Tool{
		{Name: "read_note", Raw: []byte(readTool)}, {Name: "send_note", Raw: []byte(sendTool)}, {Name: "write_note", Raw: []byte(writeTool)},
	}}}
	h.open()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// open starts a process of the host on the house's data, as cmd does.
func (h *house) open() {
	h.t.Helper()
	ctx, log := context.Background(), slog.New(slog.NewTextHandler(h.log, nil))
	s, err := store.Open(ctx, h.data, store.Options{Now: h.now, Ceiling: budget.Ceiling{PerMinute: 1 << 30, AtOnce: 1 << 20}})
	h.must(err)
	_, err = recovery.Run(ctx, s.Recover, log)
	h.must(err)
	seeds, err := builtins.Seeds()
	h.must(err)
	h.owner, h.hand, err = s.EnsureOwner(ctx, "owner", seeds)
	h.must(err)
	h.store = s
	port := dispatch.New(s, func(id.Adapter) (dispatch.Executor, bool) { return h.up, true }, s.Node(), s.Epoch(), log)
	guard, err := httpguard.New(rpc.New(access.New(s.FindToken, s.Denied, authority.ForRPC), port, log), log, httpguard.Options{Refuse: rpc.Refuse})
	h.must(err)
	tools, err := httpguard.New(mcp.New(mcp.Ports{Find: s.FindToken, Catalog: s.Catalog, Call: port.Call, Denied: s.Denied}, mcp.Options{Log: log}),
		log, httpguard.Options{})
	h.must(err)
	doors := http.NewServeMux()
	doors.Handle("/mcp", tools)
	doors.Handle("/", guard)
	h.web = httptest.NewServer(doors)
	local, err := admin.Listen(filepath.Join(h.data, "run"), log)
	h.must(err)
	door := admin.New(admin.Host{Owner: h.owner, Hand: h.hand, Name: "owner", Version: "test", Node: s.Node(), Epoch: s.Epoch(),
		StartedAt: time.Now(), Data: h.data, Listen: []string{h.web.URL}, Exempt: func() []string { return nil }, Fenced: s.Fenced,
		Alarms: func(context.Context) []alarms.Alarm { return nil }},
		admin.Services{Apps: owner.NewApps(s), Reviews: owner.NewReviews(s), Grants: owner.NewGrants(s),
			Confirmations: owner.NewConfirmations(s), Ledger: owner.NewLedger(s), Importer: importer.New(s, h.up, log), Port: port}, log)
	server, served := httpguard.NewServer(door, log), make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(local) // ends with Shutdown
	}()
	h.socket = filepath.Join(h.data, "run", admin.SocketName)
	h.client = client.Dial(h.socket)
	h.admin = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.socket)
	}}}
	h.stop = func() {
		h.client.Close()
		h.admin.CloseIdleConnections()
		h.web.Close()
		h.must(server.Shutdown(ctx))
		<-served
		h.must(s.Close())
		h.stop = func() {}
	}
}

// restart ends the process in order and starts the next one.
func (h *house) restart() {
	h.t.Helper()
	h.stop()
	h.open()
}

// do calls an admin method that must succeed.
func do[Req, Rep any](h *house, m adminwire.Method[Req, Rep], req Req) Rep {
	h.t.Helper()
	rep, err := client.Call(context.Background(), h.client, m, req)
	if err != nil {
		h.t.Fatalf("%s: %v", m.Name, err)
	}
	return rep
}

// notes imports the upstream and approves its tools as they are proposed.
func (h *house) notes() adminwire.Review {
	h.t.Helper()
	got := do(h, adminwire.ImportAdd, adminwire.Import{Servers: []adminwire.Server{{Name: "notes", Command: "notes-server", Args: []string{}, Env: map[string]string{}}}})
	if len(got.Reviews) != 1 {
		h.t.Fatalf("imported %+v", got)
	}
	review := got.Reviews[0]
	yes := adminwire.Approve{Resource: "notes", Shown: review.Shown}
	for _, m := range review.Methods {
		yes.Methods = append(yes.Methods, adminwire.Choice{Method: m.Method})
	}
	do(h, adminwire.ReviewApprove, yes)
	return do(h, adminwire.ResourcesShow, adminwire.ResourceRef{Resource: "notes"})
}

// app adds an app with grants on the notes and returns its id and tokens.
func (h *house) app(name string, methods ...string) (string, map[string]string) {
	h.t.Helper()
	added := do(h, adminwire.AppsAdd, adminwire.AddApp{Name: name})
	tokens := map[string]string{}
	for _, token := range added.Tokens {
		tokens[token.Audience] = token.Token
	}
	if len(methods) > 0 {
		do(h, adminwire.GrantsAdd, adminwire.AddGrants{App: name, Resource: "notes", Methods: methods})
	}
	return added.ID, tokens
}

// rpc sends one body to the RPC door.
func (h *house) rpc(path, token, body string) (int, string) {
	h.t.Helper()
	r, err := http.NewRequest(http.MethodPost, h.web.URL+path, strings.NewReader(body))
	h.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return h.exchange(h.web.Client(), r)
}

// raw sends one body to the admin door.
func (h *house) raw(method, body string) (int, string) {
	h.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://steward"+adminwire.Prefix+method, strings.NewReader(body))
	h.must(err)
	return h.exchange(h.admin, r)
}

func (h *house) exchange(c *http.Client, r *http.Request) (int, string) {
	h.t.Helper()
	resp, err := c.Do(r)
	h.must(err)
	defer func() { h.must(resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	h.must(err)
	return resp.StatusCode, string(body)
}

// buffer is a log that may be written by many; one lock guards it.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
