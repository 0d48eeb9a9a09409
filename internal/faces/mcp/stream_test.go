package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// patience is how long a test waits for what must happen; the door itself has a
// second for it (field faults, FF37, FF83).
const patience = time.Minute

// serve runs a door behind a real listener until the test ends.
func serve(t testing.TB, h *host) (*Door, string) {
	t.Helper()
	door := New(h.ports(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { door.Run(ctx) })
	server := httptest.NewServer(door)
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
	})
	return door, server.URL
}

// bearer sends a token with each request and says when a stream has opened.
type bearer struct {
	token  string
	opened chan struct{}
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && b.opened != nil && resp.StatusCode == http.StatusOK &&
		(r.Method == http.MethodGet || r.Header.Get(frame.MethodHeader) == frame.Listen) {
		b.opened <- struct{}{}
	}
	return resp, err
}

// connect is a client of the SDK, in the era of the revision, that waits for
// changes.
func connect(t testing.TB, url, token, revision string) (*sdk.ClientSession, <-chan struct{}) {
	t.Helper()
	told := make(chan struct{}, 100)
	client := sdk.NewClient(&sdk.Implementation{Name: "client"}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told <- struct{}{} },
	})
	opened := make(chan struct{}, 10)
	transport := &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, opened}}, MaxRetries: -1}
	session, err := client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	await(t, opened, "a stream")
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

var revisions = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// A client of every revision sees what is granted, calls it, and is told when
// that changes; another client of the same owner is not (field faults, FF37).
func TestClientsSeeWhatTheyMayCall(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			h := newHost()
			owner := id.New[id.Owner]()
			c, token := h.app(owner, authority.ForMCP)
			other, otherToken := h.app(owner, authority.ForMCP)
			first, second := imported(c, "first"), imported(c, "second")
			h.grant(c, first)
			door, url := serve(t, h)
			session, told := connect(t, url, token, revision)
			_, otherTold := connect(t, url, otherToken, revision)
			expectTools(t, session, first.Tool)

			door.Changed(owner, id.Client{}) // nothing of theirs
			h.grant(c, second)
			door.Changed(owner, c.Client)
			await(t, told, "the news of a grant")
			expectTools(t, session, first.Tool, second.Tool)

			h.mu.Lock()
			h.grants[c.Client] = []view.Callable{second}
			h.mu.Unlock()
			door.Changed(owner, id.Client{})
			await(t, told, "the news of a revocation")
			expectTools(t, session, second.Tool)

			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: second.Tool, Arguments: map[string]any{"n": 3}})
			if err != nil || result.IsError || fmt.Sprint(result.StructuredContent) != "map[n:3]" {
				t.Errorf("%+v, %v", result, err)
			}
			if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: first.Tool}); err == nil {
				t.Error("a revoked method was called")
			}

			h.grant(other, imported(other, "theirs"))
			door.Changed(owner, other.Client)
			await(t, otherTold, "the other client's own news")
			if len(otherTold) != 0 || len(told) != 0 {
				t.Errorf("%d and %d news too many", len(otherTold), len(told))
			}
		})
	}
}

func expectTools(t *testing.T, s *sdk.ClientSession, names ...string) {
	t.Helper()
	got, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, tool := range got.Tools {
		have = append(have, tool.Name)
	}
	if fmt.Sprint(have) != fmt.Sprint(names) {
		t.Errorf("listed %v, want %v", have, names)
	}
}

// openByHand opens a stream and returns when the door holds it open. The channel
// closes at its end.
func openByHand(t *testing.T, url, token, session string) <-chan struct{} {
	t.Helper()
	p := post{token: token, version: frame.FirstModern, method: frame.Listen,
		body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` + modernMeta + `}}}`}
	if session != "" {
		p = post{token: token, session: session, version: "2025-11-25"}
	}
	r := p.request(url)
	if session != "" {
		r.Method, r.Body = http.MethodGet, nil
	}
	resp, err := http.DefaultClient.Do(r) //nolint:bodyclose // closed when the stream ends
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	if cache := resp.Header.Get("Cache-Control"); !strings.Contains(cache, "private") || !strings.Contains(cache, "no-store") {
		t.Errorf("a stream's cache control is %q", cache)
	}
	in := bufio.NewReader(resp.Body)
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer resp.Body.Close()
		io.Copy(io.Discard, in)
	}()
	return ended
}

// A disconnected app loses its sessions and streams; the others keep theirs
// (field faults, FF83).
func TestADisconnectedAppIsCutOff(t *testing.T) {
	h := newHost()
	owner := id.New[id.Owner]()
	c, token := h.app(owner, authority.ForMCP)
	_, otherToken := h.app(owner, authority.ForMCP)
	door, url := serve(t, h)
	var gone, kept []<-chan struct{}
	session := initialize(t, door, token)
	gone = append(gone, openByHand(t, url, token, session), openByHand(t, url, token, ""))
	kept = append(kept, openByHand(t, url, otherToken, initialize(t, door, otherToken)), openByHand(t, url, otherToken, ""))
	if s := door.Stats(); s.Sessions != 2 || s.Streams != 4 {
		t.Fatalf("%+v", s)
	}

	h.mu.Lock()
	delete(h.tokens, c.Token)
	h.mu.Unlock()
	if w := send(door, legacyCall(token, session, "x", "{}")); w.Code != http.StatusUnauthorized {
		t.Errorf("before the door is told: %d", w.Code)
	}
	door.Changed(owner, c.Client)
	for _, s := range gone {
		await(t, s, "the end of a stream")
	}
	if s := door.Stats(); s.Sessions != 1 || s.Streams != 2 {
		t.Errorf("%+v", s)
	}
	for _, s := range kept {
		select {
		case <-s:
			t.Error("a stream of another app ended")
		default:
		}
	}
}

// Of two tokens of an app, the one that ends takes its streams along and leaves
// those of the other.
func TestAStreamEndsWithItsToken(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	second, secondToken := h.app(c.Owner, authority.ForMCP)
	h.mu.Lock()
	second.Client = c.Client
	h.tokens[second.Token] = second
	h.mu.Unlock()
	door, url := serve(t, h)
	first, other := openByHand(t, url, token, ""), openByHand(t, url, secondToken, "")
	h.mu.Lock()
	delete(h.tokens, c.Token)
	h.mu.Unlock()
	door.sweep(t.Context())
	await(t, first, "the end of the stream")
	select {
	case <-other:
		t.Error("the other token's stream ended too")
	default:
	}
}

// What idles is closed, what is used is not.
func TestIdleSessionsEnd(t *testing.T) {
	h := newHost()
	_, token := h.app(id.New[id.Owner](), authority.ForMCP)
	door, url := serve(t, h)
	var later atomic.Int64
	start := time.Now()
	door.mu.Lock()
	door.now = func() time.Time { return start.Add(time.Duration(later.Load())) }
	door.mu.Unlock()
	idle, used, streaming := initialize(t, door, token), initialize(t, door, token), initialize(t, door, token)
	openByHand(t, url, token, streaming)
	ping := func(session string) int {
		return send(door, post{token: token, session: session, version: "2025-11-25", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}).Code
	}
	later.Store(int64(29 * time.Minute))
	ping(used)
	later.Store(int64(30 * time.Minute))
	door.sweep(t.Context())
	if got := [3]int{ping(idle), ping(used), ping(streaming)}; got != [3]int{404, 200, 200} {
		t.Errorf("idle, used and streaming answer %v", got)
	}
}

// A client cancels a call by a notification in a session, where a lost
// connection means nothing, and by closing the response where there is none.
func TestCancelling(t *testing.T) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "slow")
	h.grant(c, m)
	started, ended := make(chan struct{}, 10), make(chan error, 10)
	release := make(chan struct{})
	h.setCall(func(ctx context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
		started <- struct{}{}
		select {
		case <-ctx.Done():
		case <-release:
		}
		ended <- ctx.Err()
		return invocation.Answer{Tx: r.Tx, Status: invocation.OK, Effects: effect.Reported}
	})
	door, _ := serve(t, h)
	lost := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stop := context.AfterFunc(r.Context(), func() { lost <- struct{}{} })
		defer stop()
		door.ServeHTTP(w, r)
	}))
	defer server.Close()
	session := initialize(t, door, token)
	start := func(p post) (context.CancelFunc, <-chan string) {
		ctx, cancel := context.WithCancel(t.Context())
		body := make(chan string, 1)
		go func() {
			resp, err := http.DefaultClient.Do(p.request(server.URL).WithContext(ctx))
			if err != nil {
				body <- err.Error()
				return
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body)
			body <- string(b)
		}()
		await(t, started, "the call")
		return cancel, body
	}
	note := func(session, which string) {
		w := send(door, post{token: token, session: session, version: "2025-11-25",
			body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + which + `,"reason":"no"}}`})
		if w.Code != http.StatusAccepted {
			t.Errorf("cancelled: %d %s", w.Code, w.Body)
		}
	}

	_, body := start(legacyCall(token, session, m.Tool, "{}"))
	if w := send(door, legacyCall(token, session, m.Tool, "{}")); !strings.Contains(w.Body.String(), "-32600") {
		t.Errorf("an id was used twice at once: %s", w.Body)
	}
	note(initialize(t, door, token), "1") // another session's id
	note(session, `"1"`)                  // another id
	select {
	case err := <-ended:
		t.Fatalf("somebody else's cancellation ended the call: %v", err)
	default:
	}
	note(session, "1")
	if err := await(t, ended, "the end"); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if got := await(t, body, "the answer"); !strings.Contains(got, `"effects"`) && !strings.Contains(got, "effects") {
		t.Errorf("answer %s", got)
	}

	cancel, _ := start(legacyCall(token, session, m.Tool, "{}"))
	cancel()
	await(t, lost, "the lost connection")
	select {
	case err := <-ended:
		t.Errorf("a lost connection cancelled a call in a session: %v", err)
	default:
	}
	release <- struct{}{}
	if err := await(t, ended, "the end"); err != nil {
		t.Errorf("the call ended with %v", err)
	}

	cancel, _ = start(modernCall(token, m.Tool, "{}"))
	cancel()
	if err := await(t, ended, "the end"); !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if s := door.Stats(); s.Calls > 1 {
		t.Errorf("%+v", s)
	}
}

// Equal ids of many clients never meet (field faults, FF68).
func TestEqualIDsOfManyClients(t *testing.T) {
	h := newHost()
	owner := id.New[id.Owner]()
	door, url := serve(t, h)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var clients sync.WaitGroup
	for n := range 64 {
		c, token := h.app(owner, authority.ForMCP)
		m := imported(c, "echo")
		h.grant(c, m)
		session := initialize(t, door, token)
		clients.Go(func() {
			for i := range 40 {
				nonce := fmt.Sprintf(`{"s":"client %d call %d"}`, n, i)
				p := modernCall(token, m.Tool, nonce)
				if i%2 == 0 {
					p = legacyCall(token, session, m.Tool, nonce)
				}
				p.body = strings.Replace(p.body, `"id":1,`, fmt.Sprintf(`"id":%d,`, i), 1)
				resp, err := client.Do(p.request(url))
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if !strings.Contains(string(body), nonce) || !strings.Contains(string(body), fmt.Sprintf(`"id":%d,`, i)) {
					t.Errorf("client %d call %d got %s", n, i, body)
				}
			}
		})
	}
	clients.Wait()
	client.CloseIdleConnections()
}
