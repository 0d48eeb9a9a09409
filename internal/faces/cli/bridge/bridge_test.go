package bridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// host is what is at the other end of the socket: a handler that can be away.
type host struct {
	t       *testing.T
	handler http.HandlerFunc
	conns   chan net.Conn
	closed  chan struct{}

	mu   sync.Mutex
	away bool
	seen []string // what came, one line each
}

func newHost(t *testing.T, handler http.HandlerFunc) *host {
	h := &host{t: t, handler: handler, conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	var done sync.WaitGroup
	done.Go(func() { server.Serve(h) })
	t.Cleanup(func() { server.Close(); done.Wait() })
	return h
}

func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}
func (h *host) Close() error   { close(h.closed); return nil }
func (h *host) Addr() net.Addr { return &net.UnixAddr{Name: "host", Net: "unix"} }

func (h *host) dial(ctx context.Context) (net.Conn, error) {
	h.mu.Lock()
	away := h.away
	h.mu.Unlock()
	if away {
		return nil, errors.New("nobody is there")
	}
	here, there := net.Pipe()
	select {
	case h.conns <- there:
		return here, nil
	case <-h.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *host) leave(away bool) { h.mu.Lock(); h.away = away; h.mu.Unlock() }

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.mu.Lock()
	h.seen = append(h.seen, strings.TrimSpace(fmt.Sprintf("%s %s%s %s", r.Method, r.Header.Get(sessionHeader), r.Header.Get(methodHeader), methodOf(body))))
	h.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer t0ken" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	h.handler(w, r)
}

func methodOf(body []byte) string {
	m, _ := parse(line{text: body})
	return m.method
}

func (h *host) count(entry string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if s == entry {
			n++
		}
	}
	return n
}

// client is whoever started the bridge.
type client struct {
	parent atomic.Int64
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	err    error
	done   chan struct{}
}

func connect(t *testing.T, h *host) *client {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &client{t: t, in: inW, out: bufio.NewReader(outR), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = Run(t.Context(), inR, outW, Options{Dial: h.dial, Token: secret.Of("t0ken"), Parent: func() int { return int(c.parent.Load()) }})
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close(); outR.Close(); <-c.done })
	return c
}

func (c *client) say(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *client) hear() string {
	c.t.Helper()
	l, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSuffix(l, "\n")
}

const (
	call   = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	list   = `{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	hello  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`
	ready  = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	old    = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}`
	answer = `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`
)

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, text)
	}
}

// However a call's answer is lost, the host sees the call once, and the client
// hears that it may have happened; if nothing went out, it hears that.
func TestACallGoesOutOnce(t *testing.T) {
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		away    time.Duration // how long nobody is there
		want    string
		sent    int
	}{
		"answered":          {says(answer), 0, answer, 1},
		"on several lines":  {says("{\"jsonrpc\":\"2.0\",\r\n\"id\":7,\"result\":{}}"), 0, `{"jsonrpc":"2.0",  "id":7,"result":{}}`, 1},
		"as a stream":       {stream("data: " + answer + "\n\n"), 0, answer, 1},
		"cut before a byte": {hangUp, 0, "it may have", 1},
		"cut in the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "999")
			io.WriteString(w, answer)
		}, 0, "it may have", 1},
		"cut in the stream": {stream("data: {\"jsonr"), 0, "it may have", 1},
		"nonsense":          {says("no JSON"), 0, "it may have", 1},
		"a failing host":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 0, "it may have", 1},
		"refused":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, 0, "the host refuses: Forbidden", 1},
		"refused in words": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}`)
		}, 0, `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"x"}}`, 1},
		"a host that returns": {says(answer), time.Second, answer, 1},
		"a host that is gone": {says(answer), time.Hour, "nothing was sent; what helps: steward up", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, c.handler)
				h.leave(c.away > 0)
				client := connect(t, h)
				client.say(call)
				if c.away > 0 {
					time.AfterFunc(c.away, func() { h.leave(false) })
				}
				got := client.hear()
				if !strings.Contains(got, c.want) || h.count("POST tools/call tools/call") != c.sent {
					t.Errorf("sent %d times, and heard %s", h.count("POST tools/call tools/call"), got)
				}
				if err := strictjson.Check([]byte(got), strictjson.Limits{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What only reads is asked again, over a host that comes and goes.
func TestAListIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			if n++; n < 3 {
				panic(http.ErrAbortHandler)
			}
			says(`{"jsonrpc":"2.0","id":"l","result":{}}`)(w, r)
		})
		c := connect(t, h)
		c.say(list)
		if got := c.hear(); got != `{"jsonrpc":"2.0","id":"l","result":{}}` || n != 3 {
			t.Errorf("after %d times: %s", n, got)
		}
	})
}

// What is used by its name says it in a header, in the era without sessions.
func TestNamesStandInHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(w http.ResponseWriter, r *http.Request) {
			says(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"name":%q,"method":%q,"version":%q}}`, r.Header.Get(nameHeader), r.Header.Get(methodHeader), r.Header.Get(versionHeader)))(w, r)
		})
		c := connect(t, h)
		for method, c2 := range map[string]struct{ params, name string }{
			"tools/call":     {`"name":"t","uri":"u"`, "t"},
			"resources/read": {`"name":"t","uri":"a://b?c"`, "a://b?c"},
			"tools/list":     {`"name":"t"`, ""},
		} {
			c.say(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + c2.params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
			want := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"name":%q,"method":%q,"version":"2026-07-28"}}`, c2.name, method)
			if got := c.hear(); got != want {
				t.Errorf("%s: %s, want %s", method, got, want)
			}
		}
	})
}

// sessions answers as a host with sessions does; forget makes it another host.
type sessions struct {
	mu    sync.Mutex
	epoch int
	calls int
}

func (s *sessions) forget() { s.mu.Lock(); s.epoch++; s.mu.Unlock() }

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	id := fmt.Sprint("s", s.epoch)
	s.mu.Unlock()
	switch {
	case methodOf(body) == methodInitialize:
		w.Header().Set(sessionHeader, id)
		says(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`)(w, r)
	case r.Header.Get(sessionHeader) != id || r.Header.Get(versionHeader) != "2025-06-18":
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/of/"+id+"\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodDelete, methodOf(body) == methodInitialized:
		w.WriteHeader(http.StatusAccepted)
	default:
		s.mu.Lock()
		s.calls++
		s.mu.Unlock()
		says(answer)(w, r)
	}
}

// A host that was started again knows no session. The client's own first messages
// open a new one, the call that met the old one is taken once, and the client
// hears that its tools may have changed.
func TestASessionOutlivesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sessions{}
		h := newHost(t, s.ServeHTTP)
		c := connect(t, h)
		c.say(hello)
		heard := []string{c.hear()}
		c.say(ready)
		heard = append(heard, c.hear())
		s.forget()
		c.say(old)
		for range 3 {
			heard = append(heard, c.hear())
		}
		want := []string{
			`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}`,
			`{"jsonrpc":"2.0","method":"notifications/of/s0"}`,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
			`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`,
			answer,
		}
		if diff := cmp.Diff(want, heard); diff != "" || s.calls != 1 {
			t.Errorf("%d calls\n%s", s.calls, diff)
		}
		c.in.Close()
		<-c.done
		if h.count("DELETE s1") != 1 {
			t.Errorf("no leave was taken: %q", h.seen)
		}
	})
}

func TestLinesThatAreNoMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, says(answer))
		c := connect(t, h)
		for _, bad := range []string{"{", "[]", "5", `{"id":null,"method":"x"}`, `{"id":{},"method":"x"}`, `{"id":1,"id":2}`, strings.Repeat("x", bound.BridgeLineBytes.Int()+1)} {
			go func() { _, _ = io.WriteString(c.in, bad+"\n") }() // it is answered before it is whole
			if got := c.hear(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,`) {
				t.Errorf("%.40s: %s", bad, got)
			}
		}
		c.say("", call) // an empty line is nothing
		if got := c.hear(); got != answer || len(h.seen) != 1 {
			t.Errorf("%s after %q", got, h.seen)
		}
		c.say(strings.Replace(call, `"t"`, `"t\r\nX-A: b"`, 1))
		if got := c.hear(); !strings.Contains(got, "there is no such thing") {
			t.Error(got)
		}
	})
}

// It ends with its input, whatever is under way; what is given up is not answered.
func TestItEndsWithItsInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, ended := make(chan struct{}, 2), make(chan struct{}, 2)
		h := newHost(t, func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-r.Context().Done()
			ended <- struct{}{}
		})
		c := connect(t, h)
		began := time.Now()
		c.say(call)
		<-begun
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		<-ended
		if time.Since(began) > 0 {
			t.Errorf("giving up took %s", time.Since(began))
		}
		c.say(call)
		c.in.Close()
		<-c.done
		if took := time.Since(began); took != bound.BridgeDrain.Duration() || c.err != nil {
			t.Errorf("it ended after %s: %v", took, c.err)
		}
		if rest, _ := io.ReadAll(c.out); len(rest) > 0 {
			t.Errorf("said %s", rest)
		}
	})
}

// BF11, BF36: hours of silence are no end, and the end of the parent is one, though
// the input is still open.
func TestItEndsWithItsParentAndNotForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, newHost(t, says(answer)))
		<-time.After(9 * time.Hour)
		c.say(call)
		if got := c.hear(); got != answer {
			t.Errorf("after hours of silence: %s", got)
		}
		began := time.Now()
		c.parent.Store(1)
		<-c.done
		if took := time.Since(began); took > parentEvery || c.err != nil {
			t.Errorf("it ended after %s: %v", took, c.err)
		}
	})
}

func TestAClientThatDoesNotListenEndsIt(t *testing.T) {
	h := newHost(t, says(answer))
	in, hold := io.Pipe()
	defer hold.Close()
	go io.WriteString(hold, call+"\n")
	if err := Run(t.Context(), in, full{}, Options{Dial: h.dial, Token: secret.Of("t0ken"), Parent: func() int { return 1 }}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

type full struct{}

var errFull = errors.New("nobody listens")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Whatever a line is, it is passed on as it came or answered by one line of JSON
// under its own id.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{call, list, hello, ready, old, "[]", `{"id":1.5}`, `{"id":"\ud800"}`, `{"jsonrpc":"2.0","id":1,"method":"a","params":[{"_meta":1}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, problem := parse(line{text: raw})
		if !bytes.Equal(m.text, raw) {
			t.Fatalf("%q was changed", raw)
		}
		for _, own := range [][]byte{failure(m.id, codeParse, problem), doubt(m), down(m)} {
			v, err := strictjson.Parse(own, strictjson.Limits{})
			if err != nil || bytes.ContainsAny(own, "\r\n") && !bytes.ContainsAny(m.id, "\r\n") {
				t.Fatalf("%v in %q", err, own)
			}
			if id, _ := v.Get("id"); m.id == nil && id.Kind != strictjson.Null {
				t.Fatalf("%q has an id", own)
			}
		}
	})
}
