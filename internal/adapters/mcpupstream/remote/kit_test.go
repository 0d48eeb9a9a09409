package remote_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/remote"
	"github.com/stewardhost/steward/internal/means/egress"
)

// got is one request as a scripted server read it.
type got struct {
	*http.Request
	body   []byte
	Method string // of JSON-RPC, else of HTTP
	ID     json.RawMessage
	Params json.RawMessage
}

// server is an upstream of the test's own, on raw connections. What it does with
// calls is the script's; everything else is as in the era.
type server struct {
	net.Listener
	modern  bool
	noGet   bool
	call    func(conn net.Conn, g got) // writes whatever it likes; the connection is closed after it
	other   func(conn net.Conn, g got) bool
	session string // the only one that is known, "" for none

	mu      sync.Mutex
	seen    []got
	effects int
	streams map[net.Conn]bool
	conns   sync.WaitGroup
}

func (s *server) url() string { return "http://" + s.Addr().String() + "/mcp" }

func start(t testing.TB, s *server) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener, s.streams = l, map[net.Conn]bool{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Go(func() { defer conn.Close(); s.serve(conn) })
		}
	}()
	t.Cleanup(func() {
		l.Close()
		s.dropStreams()
	})
	return s
}

// dropStreams ends the streams that the server tells changes on.
func (s *server) dropStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.streams {
		conn.Close()
	}
	clear(s.streams)
}

func (s *server) requests(method string) (out []got) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.seen {
		if method == "" || g.Method == method {
			out = append(out, g)
		}
	}
	return out
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects
}

func (s *server) serve(conn net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	g := got{Request: req, Method: req.Method}
	g.body, _ = io.ReadAll(req.Body)
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(g.body, &m) == nil && m.Method != "" {
		g.Method, g.ID, g.Params = m.Method, m.ID, m.Params
	}
	s.mu.Lock()
	s.seen = append(s.seen, g)
	known := s.session
	if g.Method == "tools/call" {
		s.effects++
	}
	s.mu.Unlock()
	if s.other != nil && s.other(conn, g) {
		return
	}
	if named := req.Header.Get("Mcp-Session-Id"); known != "" && g.Method != "initialize" && named != known && !s.modern {
		reply(conn, 404, "", "")
		return
	}
	s.answer(conn, g, known)
}

func (s *server) answer(conn net.Conn, g got, session string) {
	switch {
	case g.Method == "tools/call":
		s.call(conn, g)
	case g.Method == "server/discover" && s.modern:
		result(conn, g, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"scripted","version":"8"}}}`)
	case g.Method == "initialize" && !s.modern:
		replyWith(conn, 200, "Mcp-Session-Id: "+session+"\r\n", "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, g.ID,
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"7"}}`))
	case strings.HasPrefix(g.Method, "notifications/"):
		reply(conn, 202, "", "")
	case g.Method == "tools/list":
		result(conn, g, `{"tools":[{"name":"tool","inputSchema":{"type":"object"}}]}`)
	case g.Method == "ping" && !s.modern:
		result(conn, g, `{}`)
	case g.Method == http.MethodGet && !s.noGet || g.Method == "subscriptions/listen":
		s.stream(conn)
	case g.Method == http.MethodDelete:
		reply(conn, 204, "", "")
	case g.ID != nil:
		reply(conn, 404, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, g.ID))
	default:
		reply(conn, 405, "", "")
	}
}

// stream holds a stream open until the other side or the test ends it.
func (s *server) stream(conn net.Conn) {
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
	s.mu.Lock()
	s.streams[conn] = true
	s.mu.Unlock()
	_, _ = conn.Read(make([]byte, 1))
}

// say writes to every stream that is open.
func (s *server) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.streams {
		_, _ = io.WriteString(conn, text)
	}
}

func (s *server) listening() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

func result(conn net.Conn, g got, text string) {
	reply(conn, 200, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, g.ID, text))
}

func reply(conn net.Conn, status int, kind, body string) { replyWith(conn, status, "", kind, body) }

func replyWith(conn net.Conn, status int, more, kind, body string) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d X\r\n%s", status, more)
	if kind != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", kind)
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	_, _ = conn.Write(b.Bytes())
}

const clean = `{"content":[{"type":"text","text":"ok"}]}`

// spec lets the way to a server on this machine.
func spec(t testing.TB, url string) remote.Spec {
	t.Helper()
	target, err := egress.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	e, err := egress.ParseException(target.Origin() + "=127.0.0.1/32")
	if err != nil {
		t.Fatal(err)
	}
	return remote.Spec{Gate: egress.New(egress.Options{Exceptions: []egress.Exception{e}}), Target: target}
}

func client(t testing.TB, s remote.Spec) *mcpupstream.Client {
	t.Helper()
	c := mcpupstream.NewRemote("scripted", s, mcpupstream.Options{Version: "test"})
	t.Cleanup(c.Close)
	return c
}

func opened(t testing.TB, url string) *mcpupstream.Client {
	t.Helper()
	c := client(t, spec(t, url))
	if err := c.Open(t.Context()); err != nil {
		t.Fatalf("%v, %+v", err, c.Status())
	}
	return c
}

// eventually waits for what another goroutine or a server brings about.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("%s: not in 30 s", what)
		}
	}
}
