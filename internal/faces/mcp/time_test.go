package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// pipes is a network in memory, whose deadlines follow the test's clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, errors.New("closed")
	}
}

func (p pipes) Close() error { close(p.closed); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.conns <- far
	return near, nil
}

// slowly runs a door behind a server that gives a request ten seconds to arrive,
// on a clock of its own.
func slowly(t *testing.T, f func(t *testing.T, h *host, d *Door, client *http.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		door := New(h.ports(), Options{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); door.Run(ctx) }()
		wires := pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: door, ReadTimeout: 10 * time.Second}
		go server.Serve(wires)
		transport := &http.Transport{DialContext: wires.dial}
		f(t, h, door, &http.Client{Transport: transport})
		cancel()
		<-done
		transport.CloseIdleConnections()
		server.Close()
	})
}

// A stream and a call outlive the time that a request has to arrive; a stream
// ends soon after its token, even if nobody tells.
func TestStreamsAndCallsTakeTheirTime(t *testing.T) {
	slowly(t, func(t *testing.T, h *host, door *Door, client *http.Client) {
		c, token := h.app(id.New[id.Owner](), authority.ForMCP)
		m := imported(c, "slow")
		h.grant(c, m)
		h.setCall(func(ctx context.Context, _ authority.Caller, r dispatch.Request) invocation.Answer {
			select {
			case <-ctx.Done():
				return invocation.Answer{Tx: r.Tx, Status: invocation.InDoubt, Effects: effect.Uncertain}
			case <-time.After(29 * time.Second):
				return invocation.Answer{Tx: r.Tx, Status: invocation.OK, Effects: effect.Reported}
			}
		})
		session := initialize(t, door, token)
		for _, p := range []post{modernCall(token, m.Tool, "{}"), legacyCall(token, session, m.Tool, "{}")} {
			resp, err := client.Do(p.request("http://localhost"))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(body), `"reported"`) {
				t.Errorf("%s", body)
			}
		}

		var streams []*bufio.Reader
		for _, p := range []post{
			{token: token, version: frame.FirstModern, method: frame.Listen, body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` + modernMeta + `}}}`},
			{token: token, version: "2025-11-25", session: session},
		} {
			r := p.request("http://localhost")
			if p.body == "" {
				r.Method, r.Body = http.MethodGet, nil
			}
			resp, err := client.Do(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			defer resp.Body.Close()
			streams = append(streams, bufio.NewReader(resp.Body))
		}
		told := make(chan bool, len(streams))
		for _, s := range streams {
			go func() { told <- untilChanged(s) }() // a pipe holds nothing, so both read at once
		}
		<-time.After(time.Hour)
		h.grant(c, imported(c, "second"))
		changed := time.Now()
		door.Changed(c.Owner, c.Client)
		for range streams {
			if !<-told {
				t.Error("a stream ended within an hour")
			}
		}
		if after := time.Since(changed); after > time.Second {
			t.Errorf("a change was told after %v", after)
		}

		h.mu.Lock()
		delete(h.tokens, c.Token)
		h.mu.Unlock()
		ended := time.Now()
		for _, s := range streams {
			io.Copy(io.Discard, s)
		}
		if after := time.Since(ended); after > bound.MCPRecheck.Duration() {
			t.Errorf("the streams ended %v after their token", after)
		}
	})
}

// An app that the owner disconnects loses its streams at once (field faults,
// FF83).
func TestADisconnectionIsFelt(t *testing.T) {
	slowly(t, func(t *testing.T, h *host, door *Door, client *http.Client) {
		c, token := h.app(id.New[id.Owner](), authority.ForMCP)
		r := post{token: token, version: "2025-11-25", session: initialize(t, door, token)}.request("http://localhost")
		r.Method, r.Body = http.MethodGet, nil
		resp, err := client.Do(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		defer resp.Body.Close()
		h.mu.Lock()
		delete(h.tokens, c.Token)
		h.mu.Unlock()
		cut := time.Now()
		door.Changed(c.Owner, c.Client)
		io.Copy(io.Discard, resp.Body)
		synctest.Wait()
		if after := time.Since(cut); after > time.Second || door.Stats().Sessions != 0 {
			t.Errorf("cut off after %v, %+v", after, door.Stats())
		}
	})
}

// untilChanged reads a stream up to the news of a change.
func untilChanged(in *bufio.Reader) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		if strings.Contains(line, "notifications/tools/list_changed") {
			return true
		}
	}
}

// A session whose stream was not open when a change came hears of it when it
// opens, once.
func TestNewsWaitForTheStream(t *testing.T) {
	slowly(t, func(t *testing.T, h *host, door *Door, client *http.Client) {
		c, token := h.app(id.New[id.Owner](), authority.ForMCP)
		session := initialize(t, door, token)
		h.grant(c, imported(c, "first"))
		door.Changed(c.Owner, c.Client)
		<-time.After(time.Second) // told already, to nobody
		open := func() (*bufio.Reader, func()) {
			for try := 0; ; try++ {
				r := post{token: token, version: "2025-11-25", session: session}.request("http://localhost")
				r.Method, r.Body = http.MethodGet, nil
				ctx, cancel := context.WithCancel(t.Context())
				resp, err := client.Do(r.WithContext(ctx))
				end := func() { cancel(); resp.Body.Close(); synctest.Wait() }
				switch {
				case err == nil && resp.StatusCode == http.StatusOK:
					return bufio.NewReader(resp.Body), end
				case err != nil || resp.StatusCode != http.StatusConflict || try == 5:
					cancel()
					t.Fatal(resp, err)
				}
				// The SDK has not seen yet that the stream before is gone.
				end()
				<-time.After(time.Second)
			}
		}
		s, end := open()
		if !untilChanged(s) {
			t.Error("no news of what was missed")
		}
		h.grant(c, imported(c, "second"))
		door.Changed(c.Owner, c.Client)
		if !untilChanged(s) {
			t.Error("no news of what came now")
		}
		end()
		h.grant(c, imported(c, "third"))
		door.Changed(c.Owner, c.Client)
		<-time.After(time.Second)
		s, end = open()
		if !untilChanged(s) {
			t.Error("no news of what came between two streams")
		}
		end()
		s, end = open()
		news := make(chan bool, 1)
		go func() { news <- untilChanged(s) }()
		synctest.Wait()
		select {
		case <-news:
			t.Error("news of nothing")
		default:
		}
		end()
		<-news
	})
}
