package mcpupstream

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/local"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// The test binary is also the supervisor and the upstreams.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childprocess.Verb {
		os.Exit(childprocess.Supervise(os.Args[2:]))
	}
	if len(os.Args) > 3 && os.Args[1] == "upstream" {
		os.Exit(runProcess(os.Args[2], os.Args[3]))
	}
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() == "" {
		flag.Set("test.parallel", "16") // these tests wait rather than compute
	}
	goleak.VerifyTestMain(m)
}

// script is how an upstream differs from a well-behaved one. A handler returns
// the exit code to end with, or goOn.
type script struct {
	begin      func(u *upstream)
	initialize func(u *upstream, m request) int
	discover   func(u *upstream, m request) int
	list       func(u *upstream, m request) int
	call       func(u *upstream, m request) int // the first call only
	every      func(u *upstream, m request) int // all calls
	other      func(u *upstream, m request) int
	ended      func() // told when one has ended
}

const goOn = -1

type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
		Cursor    string
		Meta      json.RawMessage `json:"_meta"`
	}
	Result, Error json.RawMessage
}

// upstream is a scripted MCP server on a pair of streams.
type upstream struct {
	script script
	in     *bufio.Reader
	out    io.Writer
	log    func(line string)
	calls  int
}

const greetingJSON = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"7"},"instructions":"Be kind."}`

const okJSON = `{"content":[{"type":"text","text":"ok"}]}`

// run serves until its input ends or a handler wants to end.
func (u *upstream) run() int {
	if u.script.begin != nil {
		u.script.begin(u)
	}
	for {
		line, err := u.in.ReadString('\n')
		if err != nil {
			return 0
		}
		u.log(line)
		var m request
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return 90
		}
		handle, fallback := u.script.other, ""
		switch m.Method {
		case "initialize":
			handle, fallback = u.script.initialize, greetingJSON
		case "server/discover":
			handle = u.script.discover
		case "tools/list":
			handle, fallback = u.script.list, `{"tools":[{"name":"tool","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			handle, fallback = u.script.call, okJSON
			if u.calls++; u.calls > 1 {
				handle = nil
			}
			if u.script.every != nil {
				handle = u.script.every
			}
		}
		if handle != nil {
			if code := handle(u, m); code != goOn {
				return code
			}
		} else if fallback != "" {
			u.result(m, fallback)
		}
	}
}

func (u *upstream) say(format string, args ...any) { fmt.Fprintf(u.out, format, args...) }

func (u *upstream) result(m request, result string) int {
	u.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	return goOn
}

func (u *upstream) error(m request, object string) int {
	u.say(`{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", m.ID, object)
	return goOn
}

// answers is a handler that writes one line; ID stands for the request's id.
func answers(line string) func(*upstream, request) int {
	return func(u *upstream, m request) int {
		u.say("%s", strings.Replace(line, "ID", string(m.ID), 1))
		return goOn
	}
}

func withResult(result string) script {
	return script{call: func(u *upstream, m request) int { return u.result(m, result) }}
}

// deaf never reads again. It ends with its process, or with the test's pipes.
func deaf(u *upstream, _ request) int {
	<-time.After(time.Minute)
	return 0
}

// rig is a client of a scripted upstream.
type rig struct {
	*Client
	received func() []string // the lines that the upstream has read
	starts   func() int      // how many upstreams ever were
}

func (r rig) count(method string) int {
	n := 0
	for _, line := range r.received() {
		if strings.Contains(line, `"method":"`+method+`"`) {
			n++
		}
	}
	return n
}

// onPipes runs upstreams as goroutines over pipes in memory.
func onPipes(t *testing.T, s script) rig {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	starts := 0
	c := newClient("scripted", "1", func() (local.Link, error) {
		mu.Lock()
		starts++
		mu.Unlock()
		upIn, toUp := net.Pipe()
		fromUp, upOut := net.Pipe()
		done, code := make(chan struct{}), 0
		u := &upstream{script: s, in: bufio.NewReader(upIn), out: upOut, log: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		}}
		go func() {
			defer close(done)
			code = u.run()
			if s.ended != nil {
				s.ended()
			}
			upIn.Close()
			upOut.Close()
		}()
		return local.Link{
			In: toUp, Out: fromUp, PID: starts, Done: done,
			Stop:   func() { toUp.Close(); fromUp.Close(); <-done },
			Exit:   func() string { return fmt.Sprintf("exit code %d", code) },
			Stderr: func() string { return "last words" },
		}, nil
	})
	t.Cleanup(c.Close)
	return rig{c,
		func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), lines...) },
		func() int { mu.Lock(); defer mu.Unlock(); return starts },
	}
}

// onProcess runs upstreams as supervised child processes.
func onProcess(t *testing.T, name string) rig {
	t.Helper()
	if _, ok := scripts[name]; !ok {
		t.Fatalf("no script %q", name)
	}
	log := filepath.Join(t.TempDir(), "log")
	c := NewStdio("scripted", childprocess.Spec{
		Command: os.Args[0], Args: []string{"upstream", name, log}, Env: childprocess.BaseEnv(),
	}, Options{Version: "1"})
	t.Cleanup(c.Close)
	read := func() []string {
		text, _ := os.ReadFile(log)
		return strings.SplitAfter(string(text), "\n")
	}
	return rig{c, read, func() int {
		n := 0
		for _, line := range read() {
			if line == "started\n" {
				n++
			}
		}
		return n
	}}
}

func runProcess(name, path string) int {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 91
	}
	log := func(line string) { file.WriteString(line) }
	log("started\n")
	u := &upstream{script: scripts[name], in: bufio.NewReader(os.Stdin), out: os.Stdout, log: log}
	return u.run()
}
