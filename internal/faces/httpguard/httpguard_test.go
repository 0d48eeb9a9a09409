package httpguard

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// guarded sends one request through a guard before next and returns the answer
// and the log.
func guarded(t *testing.T, opt Options, next http.HandlerFunc, r *http.Request) (*httptest.ResponseRecorder, string) {
	t.Helper()
	var log bytes.Buffer
	g, err := New(next, slog.New(slog.NewJSONHandler(&log, nil)), opt)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w, log.String()
}

func request(method, host string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "/door", strings.NewReader("body"))
	r.Host = host
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestOnlyOwnNamesAndPagesGetThrough(t *testing.T) {
	opt := Options{Hosts: []string{"steward.example", "lan.example:8443"}, Origins: []string{"https://console.example"}}
	const foreign = "http://evil.example"
	tests := []struct {
		name   string
		r      *http.Request
		status int
	}{
		{"a loopback name", request("POST", "localhost:8080"), 200},
		{"a loopback name in capitals", request("POST", "LocalHost:8080"), 200},
		{"a loopback address", request("POST", "127.0.0.1:8080"), 200},
		{"a loopback address of version 6", request("POST", "[::1]:8080"), 200},
		{"the same without a port", request("POST", "[::1]"), 200},
		{"a configured name", request("POST", "steward.example"), 200},
		{"a configured name with any port", request("POST", "steward.example:9"), 200},
		{"a configured name with its port", request("POST", "lan.example:8443"), 200},
		{"a configured name with another port", request("POST", "lan.example:1"), 421},
		{"a name that resolves here", request("POST", "evil.example:8080"), 421},
		{"a read under such a name", request("GET", "evil.example"), 421},
		{"a name that ends in ours", request("POST", "evil-localhost"), 421},
		{"a name below ours", request("POST", "evil.localhost:80"), 421},
		{"a name with a dot at its end", request("POST", "localhost.:80"), 421},
		{"a user before the name", request("POST", "evil@localhost:80"), 421},
		{"another loopback address", request("POST", "127.0.0.2:80"), 421},
		{"every address", request("POST", "0.0.0.0:80"), 421},
		{"no name", request("POST", ""), 421},

		{"no origin", request("POST", "localhost:80"), 200},
		{"a page of this host", request("POST", "localhost:80", "Origin", "http://localhost:80"), 200},
		{"a page of this host, said by the browser", request("POST", "localhost:80", "Sec-Fetch-Site", "same-origin"), 200},
		{"a configured origin", request("POST", "localhost:80", "Origin", "https://console.example"), 200},
		{"a configured origin across sites", request("POST", "localhost:80", "Origin", "https://console.example", "Sec-Fetch-Site", "cross-site"), 200},
		{"a foreign page", request("POST", "localhost:80", "Origin", foreign), 403},
		{"a foreign page that reads", request("GET", "localhost:80", "Origin", foreign), 403},
		{"a foreign page that asks first", request("OPTIONS", "localhost:80", "Origin", foreign), 403},
		{"a page of another port", request("POST", "localhost:80", "Origin", "http://localhost:81"), 403},
		{"a page of a configured name on another scheme", request("POST", "localhost:80", "Origin", "http://console.example"), 403},
		{"a page without an origin of its own", request("POST", "localhost:80", "Origin", "null"), 403},
		{"an empty origin", request("POST", "localhost:80", "Origin", ""), 403},
		{"two origins", request("POST", "localhost:80", "Origin", "http://localhost:80", "Origin", foreign), 403},
		{"no origin, but across sites", request("POST", "localhost:80", "Sec-Fetch-Site", "cross-site"), 403},
		{"no origin, but of a sister site", request("POST", "localhost:80", "Sec-Fetch-Site", "same-site"), 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reached := false
			w, _ := guarded(t, opt, func(http.ResponseWriter, *http.Request) { reached = true }, tt.r)
			if w.Code != tt.status || reached != (tt.status == 200) {
				t.Errorf("status %d, door reached %v; want %d", w.Code, reached, tt.status)
			}
		})
	}
}

func TestNamesThatAreNoneAreRefused(t *testing.T) {
	for _, opt := range []Options{
		{Hosts: []string{""}}, {Hosts: []string{"http://a"}}, {Hosts: []string{"a/b"}}, {Hosts: []string{"u@a"}},
		{Origins: []string{"a.example"}}, {Origins: []string{"https://a.example/path"}},
	} {
		if g, err := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler), opt); err == nil {
			t.Errorf("New(%+v) = %v, want an error", opt, g)
		}
	}
}

func TestRefusalHasAForm(t *testing.T) {
	w, _ := guarded(t, Options{}, nil, request("POST", "evil.example"))
	want := `{"error":{"code":"invalid_request","message":"this host does not answer to that name","retry":"never"}}`
	if diff := cmp.Diff(want, w.Body.String()); diff != "" {
		t.Error(diff)
	}
	own := func(w http.ResponseWriter, status int, f *fault.Fault) { http.Error(w, "own: "+string(f.Code), status) }
	w, _ = guarded(t, Options{Refuse: own}, nil, request("POST", "evil.example"))
	if diff := cmp.Diff("own: invalid_request\n", w.Body.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPanicIsAPlainRefusal(t *testing.T) {
	w, log := guarded(t, Options{}, func(http.ResponseWriter, *http.Request) { panic("a reason for the log") }, request("POST", "localhost"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "reason for") || !strings.Contains(w.Body.String(), `"code":"internal"`) {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log, "a reason for the log") {
		t.Errorf("log %s", log)
	}
}

func TestPanicInsideAnAnswerCutsIt(t *testing.T) {
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("recovered %v, want the server's word for a cut answer", got)
		}
	}()
	guarded(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("late")
	}, request("POST", "localhost"))
}

// The log has one line for a request, which no input can forge, and none of what
// may be secret.
func TestAccessLogTellsNoSecret(t *testing.T) {
	const canary = "canary-5e1f"
	r := request("POST", "localhost", "Authorization", "Bearer "+canary, "Cookie", canary, Header, canary)
	r.URL.Path, r.URL.RawQuery = "/door\nlevel=ERROR \x1b[31m"+strings.Repeat("x", 4096), "token="+canary
	r.Body = io.NopCloser(strings.NewReader(canary))
	w, log := guarded(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.(interface{ Note(key, value string) }).Note("tx", "tx_1")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(canary))
	}, r)
	if strings.Contains(log, canary) || strings.Count(log, "\n") != 1 || strings.ContainsRune(log, '\x1b') || len(log) > 1024 {
		t.Errorf("log %q", log)
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(log), &line); err != nil {
		t.Fatal(err)
	}
	request := w.Header().Get(Header)
	got := []any{line["msg"], line["request"], line["status"], line["bytes"], line["tx"]}
	want := []any{"request", request, float64(http.StatusAccepted), float64(len(canary)), "tx_1"}
	if diff := cmp.Diff(want, got); diff != "" || request == "" || request == canary {
		t.Errorf("request %q, log line %s", request, diff)
	}
}

// A client that is set up wrong puts its token where the log would show it.
func TestAccessLogTellsNoToken(t *testing.T) {
	token := secret.NewToken(secret.Access).Reveal()
	for name, r := range map[string]*http.Request{
		"in the path":            request("GET", "localhost"),
		"at the end of the line": request("GET", "localhost"),
		"as the method":          request("GET", "localhost"),
	} {
		switch name {
		case "in the path":
			r.URL.Path = "/mcp/" + token + "/x"
		case "at the end of the line":
			r.URL.Path = "/" + strings.Repeat("x", 100) + token
		default:
			r.Method = token
		}
		for door, next := range map[string]http.HandlerFunc{
			"answers": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
			"breaks":  func(http.ResponseWriter, *http.Request) { panic("broken") },
		} {
			if _, log := guarded(t, Options{}, next, r); strings.Contains(log, token[:16]) {
				t.Errorf("%s of a door that %s: %s", name, door, log)
			}
		}
	}
}

func TestStreamsPassThrough(t *testing.T) {
	w, _ := guarded(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}, request("GET", "localhost"))
	if !w.Flushed {
		t.Error("nothing was flushed")
	}
}

// pipeListener accepts one connection in memory, so that the fake clock moves.
type pipeListener struct{ conns chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}
func (l pipeListener) Close() error   { close(l.conns); return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func TestSlowRequestsEnd(t *testing.T) {
	tests := []struct {
		name, sent string
		after      time.Duration
	}{
		{"a header that never ends", "POST / HTTP/1.1\r\nHost: loc", bound.HTTPHeader.Duration()},
		{"a body that never ends", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf", bound.HTTPRequest.Duration()},
		{"nothing", "", bound.HTTPHeader.Duration()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				door := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.ReadAll(r.Body); err == nil {
						t.Error("the body was read to its end")
					}
				})
				server, listener := NewServer(door, slog.New(slog.DiscardHandler)), pipeListener{make(chan net.Conn, 1)}
				ours, theirs := net.Pipe()
				listener.conns <- theirs
				done := make(chan error)
				go func() { done <- server.Serve(listener) }()
				start := time.Now()
				if _, err := io.WriteString(ours, tt.sent); err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, ours)
				if took := time.Since(start); took < tt.after || took > tt.after+time.Second {
					t.Errorf("the connection ended after %s, want %s", took, tt.after)
				}
				if err := server.Close(); err != nil {
					t.Error(err)
				}
				<-done
			})
		})
	}
}

// slowLog takes a line only when it is let.
type slowLog struct{ let chan struct{} }

func (l slowLog) Write(b []byte) (int, error) {
	<-l.let
	return len(b), nil
}

func TestAWholeAnswerDoesNotWaitForTheLog(t *testing.T) {
	log := slowLog{make(chan struct{})}
	g, err := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "6")
		io.WriteString(w, "answer")
	}), slog.New(slog.NewTextHandler(log, nil)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(g)
	defer server.Close()
	defer close(log.let)
	client := server.Client()
	client.Timeout = time.Minute
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "answer" {
		t.Errorf("%q %v", body, err)
	}
}
