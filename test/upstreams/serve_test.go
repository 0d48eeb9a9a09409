package upstreams_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv("UPSTREAM_FOLDER"); folder != "" {
		os.Exit(serve(folder))
	}
	hosttest.Main(m)
}

// served is an MCP server that does what its folder says, and notes there what it
// is asked:
//
//	tools  what it offers       down  the code that it exits with at once
//	sleepy it does nothing while that is there
//	news   it says that its tools changed, and removes the file
type served struct {
	folder string
	mu     sync.Mutex // for what follows, and for lines that go out
	count  int
	held   []json.RawMessage // ids of calls that were not answered
}

type asked struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI string
		Arguments struct {
			MS, N int
		}
		Meta struct {
			ProgressToken json.RawMessage
		} `json:"_meta"`
	}
}

func serve(folder string) int {
	s := &served{folder: folder}
	s.note("started")
	_ = os.WriteFile(s.path("given"), []byte(os.Getenv("GIVEN")), 0o600)
	if raw, err := os.ReadFile(s.path("down")); err == nil {
		fmt.Fprintln(os.Stderr, "it is down")
		code, _ := strconv.Atoi(string(raw))
		return code
	}
	if _, err := os.Stat(s.path("stubborn")); err == nil {
		signal.Ignore(syscall.SIGTERM)
		defer func() { <-time.After(time.Hour) }()
	}
	for range time.Tick(5 * time.Millisecond) {
		if _, err := os.Stat(s.path("sleepy")); err != nil {
			break
		}
	}
	go s.watch()
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		var m asked
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return 90
		}
		s.note(strings.TrimSpace(m.Method + " " + m.Params.Name + m.Params.URI))
		switch m.Method {
		case "initialize":
			s.result(m.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"changing","version":"1"}}`)
		case "tools/list":
			tools, err := os.ReadFile(s.path("tools"))
			if err != nil {
				return 91
			}
			s.result(m.ID, `{"tools":`+string(tools)+`}`)
		case "resources/read":
			s.read(m)
		case "tools/call":
			if code := s.call(m); code >= 0 {
				return code
			}
		}
	}
}

// read has file:///a, of which each server has its own, in two parts.
func (s *served) read(m asked) {
	if m.Params.URI != "file:///a" {
		s.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32002,"message":"no"}}`, m.ID)
		return
	}
	s.result(m.ID, fmt.Sprintf(`{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":%q},{"uri":"file:///a/1","blob":"AP8="}]}`, s.folder))
}

// call does what the tool's name says; it returns an exit code, or goes on.
func (s *served) call(m asked) int {
	switch m.Params.Name {
	case "point":
		s.result(m.ID, `{"content":[{"type":"resource_link","uri":"file:///a","name":"a"},`+
			`{"type":"resource","resource":{"uri":"file:///b","text":"b"}},{"type":"resource_link","uri":"https://there.invalid/","name":"c"}]}`)
	case "exit":
		fmt.Fprintln(os.Stderr, "going away")
		return 7
	case "deaf":
		<-time.After(time.Hour)
	case "hold":
		s.mu.Lock()
		s.held = append(s.held, m.ID)
		s.mu.Unlock()
	case "release":
		s.mu.Lock()
		held := s.held
		s.held = nil
		s.mu.Unlock()
		for _, id := range held {
			s.result(id, `{"content":[{"type":"text","text":"late"}]}`)
		}
		s.result(m.ID, `{"content":[]}`)
	case "count":
		s.mu.Lock()
		s.count++
		n := s.count
		s.mu.Unlock()
		s.result(m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, n))
	case "slow", "slower":
		go func() {
			for done := range 3 {
				if token := m.Params.Meta.ProgressToken; token != nil {
					s.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3}}`, token, done)
				}
				<-time.After(time.Duration(m.Params.Arguments.MS) * time.Millisecond / 3)
			}
			s.result(m.ID, fmt.Sprintf(`{"content":[{"type":"text","text":"nonce %d"}]}`, m.Params.Arguments.N))
		}()
	default:
		s.result(m.ID, `{"content":[],"structuredContent":{}}`)
	}
	return -1
}

func (s *served) path(name string) string { return filepath.Join(s.folder, name) }

func (s *served) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

func (s *served) result(id json.RawMessage, result string) {
	s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (s *served) note(what string) {
	file, err := os.OpenFile(s.path("asked"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, _ = file.WriteString(what + "\n")
		_ = file.Close()
	}
}

func (s *served) watch() {
	for range time.Tick(5 * time.Millisecond) {
		if os.Remove(s.path("news")) == nil {
			s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
}

// behind is a test's hold on an upstream.
type behind struct {
	t      *testing.T
	folder string
	review adminwire.Review // after its import
}

// server makes an upstream that offers tools, and is not yet imported.
func server(t *testing.T, tools ...string) *behind {
	t.Helper()
	b := &behind{t: t, folder: t.TempDir()}
	b.define(tools...)
	return b
}

func (b *behind) entry() hosttest.Server {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	return hosttest.Server{Command: self, Args: []string{}, Env: map[string]string{"UPSTREAM_FOLDER": b.folder}}
}

func (b *behind) write(name, text string) {
	b.t.Helper()
	// In one step, since the upstream may be reading.
	fresh := filepath.Join(b.folder, "fresh")
	if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(fresh, filepath.Join(b.folder, name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *behind) define(tools ...string) { b.write("tools", "["+strings.Join(tools, ",")+"]") }

func (b *behind) remove(name string) {
	b.t.Helper()
	if err := os.Remove(filepath.Join(b.folder, name)); err != nil {
		b.t.Fatal(err)
	}
}

// heard is what the upstream was asked, a line each.
func (b *behind) heard() string {
	b.t.Helper()
	raw, err := os.ReadFile(filepath.Join(b.folder, "asked"))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return string(raw)
}

func (b *behind) times(what string) int { return strings.Count(b.heard(), what+"\n") }

// use imports the upstream under a name, approves methods for reading, and grants
// them to the app, whose tool names it returns.
func (b *behind) use(h *hosttest.Host, app *hosttest.App, name string, methods ...string) map[string]string {
	b.t.Helper()
	b.review = h.Import(h.Config(map[string]hosttest.Server{name: b.entry()}))[0]
	effects := map[string]string{}
	for _, m := range methods {
		effects[m] = "read"
	}
	h.Approve(name, effects)
	h.Do(append([]string{"grants", "add", app.Name, name}, methods...)...)
	out := map[string]string{}
	for _, g := range app.Grants() {
		if g.Resource == name {
			out[g.Method] = g.Tool
		}
	}
	return out
}

func (b *behind) request(method, args string) rpcwire.Request {
	return rpcwire.Request{Tx: id.NewTx(time.Now()).String(), Resource: b.review.Resource.ID, Contract: b.review.Methods[0].Contract,
		Method: method, Args: rpcwire.Raw(args)}
}

func (b *behind) send(app *hosttest.App, method, args string) rpcwire.Response {
	b.t.Helper()
	got, err := app.Send(b.request(method, args))
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// code is the code of a refusal, or ok.
func code(r rpcwire.Response) string {
	if r.Error == nil {
		return string(r.Status)
	}
	return r.Error.Code
}

// closed is a tool without arguments.
func closed(name, description string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{},"additionalProperties":false}}`, name, description)
}
