package sessiondoor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/faces/unixsocket"
	"github.com/stewardhost/steward/internal/means/localsocket"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// caller is a client that waits, over a real socket.
type caller struct {
	t     testing.TB
	p     peer
	lines *bufio.Reader
	s     *stage // names nothing; expands payloads
}

// short makes a folder whose name leaves room for a socket's.
func short(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "ses")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// serve runs a daemon on a socket of its own and gives a client of it.
func serve(t testing.TB) (*caller, unixsocket.Endpoint) {
	t.Helper()
	home := short(t)
	e, err := unixsocket.Locate(home, home, filepath.Join(home))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	l, err := e.Listen(log)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(ctx, l) }()
	conn, err := localsocket.Dial(t.Context(), e.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = conn.Close()
		r.close()
		_ = l.Close() // it is retired
	})
	c := &caller{t: t, p: peer{r: r, conn: conn}, lines: bufio.NewReader(conn)}
	return c, e
}

// next gives the next record.
func (c *caller) next() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return line
}

// call asks and waits for the answer; events before it are dropped but for calls.
func (c *caller) call(method string, session, operation *string, control *sessionwire.Control, payload string) sessionwire.Response {
	c.t.Helper()
	c.p.next++
	c.p.send(c.p.request(fmt.Sprint(c.p.next), method, session, operation, control, payload))
	for {
		line := c.next()
		if strings.Contains(line, `"kind":"event"`) {
			continue
		}
		r := decodeInto[sessionwire.Response](c.t, line)
		if r.Error != nil {
			c.t.Fatalf("%s: %s", method, r.Error.Code)
		}
		c.p.instance, c.p.connection = r.InstanceID, r.ConnectionID
		return r
	}
}

// event waits for an event of a name.
func (c *caller) event(name string) sessionwire.Event {
	c.t.Helper()
	for {
		if line := c.next(); strings.Contains(line, `"event":"`+name+`"`) {
			return decodeInto[sessionwire.Event](c.t, line)
		}
	}
}

// enter claims a session, lends the tool and holds an executor.
func (c *caller) enter() {
	c.t.Helper()
	op := func() *string {
		o := fmt.Sprint("enter", c.p.next)
		return &o
	}
	c.call("initialize", nil, nil, nil, `{"requested_capabilities":["application_resources_v1"]}`)
	c.p.session = decodeInto[sessionwire.CreateAnswer](c.t, string(c.call("session.create", nil, op(), nil, `{}`).Payload)).SessionID
	control := decodeInto[sessionwire.ClaimAnswer](c.t, string(c.call("session.claim", &c.p.session, op(), nil, `{"mode":"claim"}`).Payload)).Control
	c.p.grant, c.p.generation = control.GrantID, control.Generation
	c.s = &stage{t: nil, r: c.p.r}
	registered := decodeInto[sessionwire.RegisterAnswer](c.t, string(c.call("session.resources.register", &c.p.session, op(), &control,
		c.s.expand(&c.p, `{"expected_revision":null,"resource":{"kind":"tool","name":"add","description":"","source":{"kind":"inline","content":{{add}}}}}`)).Payload))
	c.p.registry, c.p.tools = registered.RegistryRevision, []sessionwire.Descriptor{registered.Entry}
	lent := decodeInto[sessionwire.ExecutorSecretAnswer](c.t, string(c.call("executor.create", nil, op(), nil, `{}`).Payload))
	c.p.executor, c.p.held, c.p.proof = lent.ExecutorID, 1, lent.ResumeSecret
	c.call("executor.confirm", nil, op(), nil, c.s.expand(&c.p, `{{{proof}}}`))
}

func (c *caller) control() *sessionwire.Control {
	return &sessionwire.Control{GrantID: c.p.grant, Generation: c.p.generation}
}

// turn starts a turn.
func (c *caller) turn(operation, prompt string) {
	c.t.Helper()
	c.call("turn.start", &c.p.session, &operation, c.control(), c.s.expand(&c.p, fmt.Sprintf(`{"prompt":%q,"application":{{application}}}`, prompt)))
}

// execute waits for a call and answers it.
func (c *caller) execute(operation string) {
	c.t.Helper()
	c.s.call = decodeInto[sessionwire.CallPayload](c.t, string(c.event(sessionwire.ToolCall).Payload))
	c.call("turn.application_tool_result", &c.p.session, &operation, nil, c.s.expand(&c.p, `{{{binding}},"outcome":{"status":"success","value":{"sum":8}}}`))
}

// The whole way over a real socket; a second daemon of the same workspace is told
// that there is one.
func TestACallOverARealSocket(t *testing.T) {
	c, e := serve(t)
	c.enter()
	c.turn("turn", `call c1 add {"a":4}`)
	c.execute("result")
	terminal := decodeInto[sessionwire.TerminalPayload](t, string(c.event(sessionwire.TurnTerminal).Payload))
	if terminal.Status != "completed" || terminal.AssistantText != `succeeded  reported {"sum":8}` {
		t.Errorf("%+v", terminal)
	}
	if _, err := e.Listen(slog.New(slog.DiscardHandler)); !errors.Is(err, localsocket.ErrBusy) {
		t.Errorf("a second daemon: %v", err)
	}
}

// The name of a daemon that stops is its own until its work has ended: a second one
// beside it would be another owner of the same sessions.
func TestADaemonThatStopsKeepsItsName(t *testing.T) {
	folder := short(t)
	e, err := unixsocket.Locate(folder, folder, folder)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	l, err := e.Listen(log)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.server.Serve(ctx, l); err != nil {
		t.Error(err)
	}
	if _, err := e.Listen(log); !errors.Is(err, localsocket.ErrBusy) {
		t.Errorf("a second daemon: %v", err)
	}
	r.close()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// One round trip of a callback: the model asks, the executor answers, the model goes
// on. The records are kept in memory, so this is what the daemon adds to its commits.
func BenchmarkCallback(b *testing.B) {
	c, _ := serve(b)
	c.enter()
	const inTurn = 24
	for n := 0; b.Loop(); n++ {
		if n%inTurn == 0 {
			if n > 0 {
				c.event(sessionwire.TurnTerminal)
			}
			var prompt strings.Builder
			for i := range inTurn {
				fmt.Fprintf(&prompt, "call c%d add {\"a\":1}\n", i)
			}
			c.turn(fmt.Sprint("turn", n), prompt.String())
		}
		c.execute(fmt.Sprint("result", n))
	}
}
