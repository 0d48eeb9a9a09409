package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Exactly these headers go out, whoever calls: nothing of a consumer can be among
// them, and no configuration changes those of the protocol (A54, FF93).
func TestWhatGoesOut(t *testing.T) {
	for _, modern := range []bool{false, true} {
		s := start(t, &server{modern: modern, call: results(clean), session: map[bool]string{false: "s1"}[modern]})
		sp := spec(t, s.url())
		sp.Header = http.Header{"X-Own": {"of the owner"}, "Mcp-Session-Id": {"forged"}, "Content-Type": {"text/forged"}, "User-Agent": {"forged"}, "Mcp-Protocol-Version": {"forged"}, "Keep-Alive": {"forged"}}
		sp.Authorize = func(context.Context) (secret.Secret, error) { return secret.Of("own credential"), nil }
		c := client(t, sp)
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"tool", " tööl"} {
			if e := c.Call(t.Context(), tool, nil, nil); e.Kind != invocation.Answered {
				t.Fatalf("%+v", e)
			}
		}
		eventually(t, "it listens", func() bool { return s.listening() == 1 })
		host := s.Addr().String()
		base := func(more ...string) http.Header {
			h := http.Header{"Authorization": {"Bearer own credential"}, "X-Own": {"of the owner"}, "User-Agent": {"steward/test"}, "Connection": {"close"}}
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return h
		}
		post := func(length string, more ...string) http.Header {
			return base(append(more, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Content-Length", length)...)
		}
		for _, g := range s.requests("") {
			length := fmt.Sprint(len(g.body))
			var want http.Header
			switch {
			case g.Method == "server/discover" || modern && g.Method != "tools/call":
				want = post(length, "Mcp-Method", g.Method, "Mcp-Protocol-Version", "2026-07-28")
			case modern:
				name := map[bool]string{true: "tool", false: "=?base64?IHTDtsO2bA==?="}[strings.Contains(string(g.body), `"tool"`)]
				want = post(length, "Mcp-Method", g.Method, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Name", name)
			case g.Method == "initialize":
				want = post(length)
			case g.Method == http.MethodGet:
				want = base("Accept", "text/event-stream", "Mcp-Session-Id", "s1", "Mcp-Protocol-Version", "2025-11-25")
			default:
				want = post(length, "Mcp-Session-Id", "s1", "Mcp-Protocol-Version", "2025-11-25")
			}
			if diff := cmp.Diff(want, g.Header); diff != "" || g.Host != host {
				t.Errorf("modern %v, %s to %s: %s", modern, g.Method, g.Host, diff)
			}
		}
	}
}

// What stands in a modern request, byte for byte; arguments as they were given.
func TestWhatIsSaid(t *testing.T) {
	for modern, want := range map[bool]string{
		false: `{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"tool","arguments":{"n": 9007199254740993}}}`,
		true: `{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"tool","arguments":{"n": 9007199254740993},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"steward","version":"test"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	} {
		s := start(t, &server{modern: modern, call: results(clean)})
		c := opened(t, s.url())
		c.Call(t.Context(), "tool", []byte(`{"n": 9007199254740993}`), nil)
		g := s.requests("tools/call")[0]
		if said := strings.TrimSpace(strings.Replace(string(g.body), `"id":`+string(g.ID), `"id":N`, 1)); said != want {
			t.Errorf("modern %v: %s", modern, said)
		}
	}
}

// A server that starts again loses its sessions. Where its stream ends, the session
// is opened again before the call; where nothing told of it, the call is refused,
// is not sent again, and the next one goes out on a new session (FF21).
func TestALostSessionIsOpenedAgain(t *testing.T) {
	restart := func(s *server) {
		s.mu.Lock()
		s.session = "s2"
		s.mu.Unlock()
		s.dropStreams()
	}
	t.Run("seen ahead", func(t *testing.T) {
		s := start(t, &server{call: results(clean), session: "s1"})
		c := opened(t, s.url())
		eventually(t, "it listens", func() bool { return s.listening() == 1 })
		restart(s)
		eventually(t, "it is doubted", func() bool { return !c.Ready() })
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err, c.Status())
		}
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Answered || s.count() != 1 {
			t.Errorf("%+v, %d effects", e, s.count())
		}
	})
	t.Run("told by the call", func(t *testing.T) {
		s := start(t, &server{call: results(clean), session: "s1", noGet: true})
		c := opened(t, s.url())
		eventually(t, "it asked for a stream", func() bool { return len(s.requests(http.MethodGet)) == 1 }) // or that would tell it
		restart(s)
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Rejected || c.Ready() || len(s.requests("tools/call")) != 1 {
			t.Errorf("%+v, ready %v, %d messages", e, c.Ready(), len(s.requests("tools/call")))
		}
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err, c.Status())
		}
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Answered {
			t.Errorf("%+v", e)
		}
	})
	t.Run("told otherwise", func(t *testing.T) {
		s := start(t, &server{session: "s1", noGet: true, call: func(conn net.Conn, g got) {
			if g.Header.Get("Mcp-Session-Id") == "s1" {
				reply(conn, 400, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Bad Request: no valid session"}}`, g.ID))
				return
			}
			result(conn, g, clean)
		}})
		c := opened(t, s.url())
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Rejected || c.Ready() {
			t.Errorf("%+v, ready %v", e, c.Ready())
		}
		restart(s)
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err, c.Status())
		}
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Answered || len(s.requests("tools/call")) != 2 {
			t.Errorf("%+v, %d messages", e, len(s.requests("tools/call")))
		}
	})
	t.Run("only the stream ended", func(t *testing.T) {
		s := start(t, &server{call: results(clean), session: "s1"})
		c := opened(t, s.url())
		eventually(t, "it listens", func() bool { return s.listening() == 1 })
		s.dropStreams()
		eventually(t, "it is doubted", func() bool { return !c.Ready() })
		if err := c.Open(t.Context()); err != nil || !c.Ready() {
			t.Fatal(err, c.Status())
		}
		if n := len(s.requests("initialize")); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

func TestChangesAreHeard(t *testing.T) {
	for _, modern := range []bool{false, true} {
		s := start(t, &server{modern: modern, session: map[bool]string{false: "s1"}[modern]})
		c := client(t, spec(t, s.url()))
		changed := make(chan struct{}, 8)
		c.OnChanged(func() { changed <- struct{}{} })
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it listens", func() bool { return s.listening() == 1 })
		s.say("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n")
		<-changed
		s.say(`data: {"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n\n" + `data: {"jsonrpc":"2.0","id":"x","method":"roots/list"}` + "\n\n")
		if modern { // nothing may be asked
			eventually(t, "noise", func() bool { return c.Status().Noise == 2 })
			continue
		}
		told := func() (out []string) {
			for _, g := range s.requests("POST") {
				out = append(out, strings.TrimSpace(string(g.body)))
			}
			return out
		}
		eventually(t, "answers", func() bool { return len(told()) == 2 })
		if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"not offered by this client"}}`}, told()); diff != "" {
			t.Error(diff)
		}
		// After a stream that ended nobody knows what was missed.
		s.dropStreams()
		<-changed
	}
}

// A caller that gives up, and an answer that comes after the deadline (FF44, FF48).
func TestGivingUp(t *testing.T) {
	for _, modern := range []bool{false, true} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprintf("modern %v, expired %v", modern, expired), func(t *testing.T) {
				arrived, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
				s := start(t, &server{modern: modern, session: map[bool]string{false: "s1"}[modern], call: func(conn net.Conn, g got) {
					close(arrived)
					go func() { _, _ = conn.Read(make([]byte, 1)); close(ended) }()
					select {
					case <-release:
						result(conn, g, clean)
						<-ended
					case <-ended:
					}
				}})
				c := opened(t, s.url())
				ctx, cancel := context.WithCancel(t.Context())
				if expired {
					ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
				} else {
					go func() { <-arrived; cancel() }()
				}
				defer cancel()
				late := make(chan invocation.Event, 1)
				e := c.Call(ctx, "tool", nil, func(e invocation.Event) { late <- e })
				if want := map[bool]invocation.EventKind{true: invocation.TimedOut, false: invocation.Cancelled}[expired]; e.Kind != want {
					t.Fatalf("%+v", e)
				}
				switch {
				case modern && !expired: // the end of the connection is the notice
					<-ended
				default:
					close(release)
					if e := <-late; e.Kind != invocation.Answered {
						t.Errorf("late: %+v", e)
					}
				}
				eventually(t, "notices", func() bool { return len(s.requests("notifications/cancelled")) == map[bool]int{false: 1}[modern] })
				if !c.Ready() && modern || s.count() != 1 {
					t.Errorf("ready %v, %d effects", c.Ready(), s.count())
				}
			})
		}
	}
}

func TestNothingGoesOutWithoutAWay(t *testing.T) {
	for _, modern := range []bool{false, true} {
		s := start(t, &server{modern: modern, call: results(clean), noGet: true})
		sp := spec(t, s.url())
		var refused atomic.Bool
		sp.Authorize = func(context.Context) (secret.Secret, error) {
			if refused.Load() {
				return secret.Secret{}, fault.New(fault.Unavailable, "needs to be authorized")
			}
			return secret.Secret{}, nil
		}
		c := client(t, sp)
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused.Store(true)
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Unreached || e.Detail != "needs to be authorized" {
			t.Errorf("without a credential: %+v", e)
		}
		refused.Store(false)
		s.Close()
		if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Unreached {
			t.Errorf("without a listener: %+v", e)
		}
		if n := len(s.requests("tools/call")); n != 0 {
			t.Errorf("%d messages", n)
		}
	}
}

// Why an upstream cannot be used is told to the owner; nothing is tried twice.
func TestServersThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		other  func(conn net.Conn, g got) bool
		reason string
	}{
		"wants a credential": {func(conn net.Conn, _ got) bool { reply(conn, 401, "", ""); return true }, "the server wants to be authorized"},
		"forbids":            {func(conn net.Conn, _ got) bool { reply(conn, 403, "", ""); return true }, "the server: HTTP 403"},
		"knows nothing":      {func(conn net.Conn, _ got) bool { reply(conn, 404, "", ""); return true }, "initialize: HTTP 404"},
		"is broken":          {func(conn net.Conn, _ got) bool { reply(conn, 500, "", ""); return true }, "initialize: HTTP 500"},
		"leads elsewhere":    {func(conn net.Conn, _ got) bool { reply(conn, 307, "", ""); return true }, "initialize: HTTP 307, which is not followed"},
		"closes":             {func(net.Conn, got) bool { return true }, "server/discover: the server closed the connection before its answer was whole"},
		"bad name": {func(conn net.Conn, g got) bool {
			if g.Method != "initialize" {
				return false
			}
			replyWith(conn, 200, "Mcp-Session-Id: a b\r\n", "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, g.ID))
			return true
		}, "initialize: the server's name for the session cannot be sent"},
	} {
		s := start(t, &server{other: c.other})
		cl := client(t, spec(t, s.url()))
		err := cl.Open(t.Context())
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(cl.Status().Reason, c.reason) {
			t.Errorf("%s: %v, %s", name, err, cl.Status().Reason)
		}
	}
}

// 64 callers at once: everybody gets their own answer (FF68). Nothing is left open
// at the server but its stream (FF73).
func TestManyAtOnce(t *testing.T) {
	for _, modern := range []bool{false, true} {
		s := start(t, &server{modern: modern, call: func(conn net.Conn, g got) {
			var p struct{ Arguments json.RawMessage }
			_ = json.Unmarshal(g.Params, &p)
			result(conn, g, `{"content":[],"structuredContent":`+string(p.Arguments)+`}`)
		}})
		c := opened(t, s.url())
		var all sync.WaitGroup
		for n := range 64 {
			all.Go(func() {
				args := fmt.Sprintf(`{"n":%d}`, n)
				if e := c.Call(t.Context(), "tool", []byte(args), nil); e.Kind != invocation.Answered || !strings.Contains(string(e.Result), args) {
					t.Errorf("%d: %+v", n, e)
				}
			})
		}
		all.Wait()
		c.Close()
		s.dropStreams()
		s.conns.Wait()
	}
}

// Close ends what is under way and tells the server.
func TestClosing(t *testing.T) {
	arrived := make(chan struct{})
	s := start(t, &server{session: "s1", call: func(conn net.Conn, _ got) { close(arrived); hold(conn) }})
	c := opened(t, s.url())
	done := make(chan invocation.Event)
	go func() { done <- c.Call(context.Background(), "tool", nil, nil) }()
	<-arrived
	c.Close()
	if e := <-done; e.Kind != invocation.Broken {
		t.Errorf("%+v", e)
	}
	if n := len(s.requests("DELETE")); n != 1 {
		t.Errorf("told %d times", n)
	}
	if err := c.Open(t.Context()); err == nil || c.Ready() {
		t.Error("opened after Close")
	}
}

// A refused credential is told of, with the challenge.
func TestARefusedCredentialIsTold(t *testing.T) {
	answers := make(chan func(net.Conn, got), 2)
	answers <- statusWith(401, `WWW-Authenticate: Bearer error="invalid_token"`+"\r\n")
	answers <- statusWith(403, "WWW-Authenticate: Basic\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\"\r\n")
	s := start(t, &server{modern: true, call: func(conn net.Conn, g got) { (<-answers)(conn, g) }})
	sp := spec(t, s.url())
	var mu sync.Mutex
	var told []string
	sp.Authorize = func(context.Context) (secret.Secret, error) { return secret.Of("old"), nil }
	sp.Refused = func(status int, sent secret.Secret, challenge string) string {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(status, " ", sent.Reveal(), " ", challenge))
		return map[int]string{403: "narrow"}[status]
	}
	c := client(t, sp)
	if err := c.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.Rejected {
		t.Errorf("%+v", e)
	}
	if e := c.Call(t.Context(), "tool", nil, nil); e.Kind != invocation.TooNarrow || e.Detail != "narrow" {
		t.Errorf("%+v", e)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{`401 old Bearer error="invalid_token"`, `403 old Basic, Bearer error="insufficient_scope"`}, told); diff != "" {
		t.Error(diff)
	}
}
