// Package lending lends tools to the real session daemon through the public
// package executor, and kills the daemon and the application while calls run.
package lending

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/protocol/sessionwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// The environment of a process that is an application of its own.
const (
	appRole   = "STEWARD_TEST_APP" // what it does, and the point at which it dies
	appFolder = "STEWARD_TEST_APP_FOLDER"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(appRole); role != "" {
		if err := runApp(role, os.Getenv(appFolder)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	hosttest.Main(m)
}

const script = `on wait
say waiting
pause 10s
on act
say Acting.
call act {"what":"x"}
then
say The application says {result}.
on twice
call act {"what":"x"}
then
call act {"what":"y"}
then
say The application says {result}.
on *
say hello
`

// contract is what the tool act promises.
const contract = `{"input_schema":{"type":"object","properties":{"what":{"type":"string","maxLength":64}},"required":["what"],"additionalProperties":false},` +
	`"output_schema":{"type":"object","properties":{"done":{"type":"string","maxLength":4096}},"required":["done"],"additionalProperties":false},"timeout_ms":20000}`

// short is a folder whose name leaves room for that of a socket.
func short(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "lend-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// daemon is one that runs in the foreground of this test.
type daemon struct {
	t       testing.TB
	folder  string // of everything
	program string
	socket  string
	cmd     *exec.Cmd
	ended   chan struct{}
}

func start(t testing.TB, folder, tags string, env ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, folder: folder, program: hosttest.Program(t, tags), ended: make(chan struct{})}
	for _, name := range []string{"work", "state", "run"} {
		must(t, os.MkdirAll(filepath.Join(folder, name), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(folder, "script"), []byte(script), 0o600))
	d.cmd = d.steward("daemon", "foreground")
	d.cmd.Env = append(d.cmd.Env, env...)
	out, err := d.cmd.StdoutPipe()
	must(t, err)
	var words bytes.Buffer
	d.cmd.Stderr = &words
	must(t, d.cmd.Start())
	said := bufio.NewReader(out)
	line, err := said.ReadBytes('\n')
	var ready struct {
		Socket string `json:"socket"`
	}
	if err != nil || json.Unmarshal(line, &ready) != nil {
		d.cmd.Process.Kill()
		d.cmd.Wait()
		t.Fatalf("the daemon is not ready: %q, %v\n%s", line, err, words.String())
	}
	d.socket = ready.Socket
	go func() { defer close(d.ended); d.cmd.Wait() }()
	t.Cleanup(func() {
		d.cmd.Process.Kill()
		<-d.ended
		if t.Failed() {
			t.Logf("the daemon said:\n%s", words.String())
		}
	})
	return d
}

func (d *daemon) steward(args ...string) *exec.Cmd {
	cmd := exec.Command(d.program, append(args, "--workspace", filepath.Join(d.folder, "work"), "--state-root", filepath.Join(d.folder, "state"))...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+filepath.Join(d.folder, "run"), "STEWARD_MODEL=scripted", "STEWARD_MODEL_SCRIPT="+filepath.Join(d.folder, "script"))
	return cmd
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// patience is a context for what must happen soon.
func patience(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Patience)
	t.Cleanup(cancel)
	return ctx
}

// effects is the file in which an application notes what it really did: the
// oracle of these tests.
type effects string

func (e effects) add(call string) error {
	f, err := os.OpenFile(string(e), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, call)
	return errors.Join(err, f.Sync(), f.Close())
}

func (e effects) all(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile(string(e))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(raw))
}

// lend claims a session, lends it the tool and gives control to with.
func lend(ctx context.Context, c *executor.Client, session string) (*executor.Session, error) {
	if session == "" {
		var err error
		if session, err = c.CreateSession(ctx, "lending"); err != nil {
			return nil, err
		}
	}
	s, err := c.Claim(ctx, session, true)
	if err != nil {
		return nil, err
	}
	_, err = s.Lend(ctx, sessionwire.Resource{Kind: "tool", Name: "act", Description: "Acts.", Source: executor.Inline(contract)})
	return s, err
}

// terminal waits for the end of a turn.
func terminal(ctx context.Context, c *executor.Client, turn string) (sessionwire.TerminalPayload, error) {
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				return sessionwire.TerminalPayload{}, c.Err()
			}
			var p sessionwire.TerminalPayload
			if e.Event == sessionwire.TurnTerminal && json.Unmarshal(e.Payload, &p) == nil && p.TurnID == turn {
				return p, nil
			}
		case <-ctx.Done():
			return sessionwire.TerminalPayload{}, ctx.Err()
		}
	}
}

func TestAnApplicationLendsATool(t *testing.T) {
	d := start(t, short(t), "")
	memory, err := executor.InFile(filepath.Join(d.folder, "memory"))
	must(t, err)
	defer memory.Close()
	did := effects(filepath.Join(d.folder, "effects"))
	ctx := patience(t)
	for name, row := range map[string]struct {
		act  executor.Handler
		want string // in what the agent is told
	}{
		"a value": {func(_ context.Context, c executor.Call) (any, error) {
			return map[string]string{"done": "yes"}, did.add(c.CallID)
		}, `{"done":"yes"}`},
		"an error": {func(context.Context, executor.Call) (any, error) { return nil, errors.New("no luck") }, "no luck"},
		"a denial": {func(context.Context, executor.Call) (any, error) {
			return nil, fmt.Errorf("%w: ask me first", executor.ErrDenied)
		}, "permission_denied"},
		"a panic":        {func(context.Context, executor.Call) (any, error) { panic("bad") }, "panicked"},
		"a wrong result": {func(context.Context, executor.Call) (any, error) { return map[string]int{"done": 1}, nil }, "does not fit"},
		"no JSON":        {func(context.Context, executor.Call) (any, error) { return func() {}, nil }, "no JSON"},
		"nothing":        {func(context.Context, executor.Call) (any, error) { return nil, nil }, "does not fit"},
		"over a value":   {func(context.Context, executor.Call) (any, error) { return long(17 << 10), nil }, "too large"},
		"over a payload": {func(context.Context, executor.Call) (any, error) { return long(40 << 10), nil }, "too large"},
		"over a record":  {func(context.Context, executor.Call) (any, error) { return long(90 << 10), nil }, "too large"},
		"a name twice": {func(context.Context, executor.Call) (any, error) {
			return json.RawMessage(`{"done":"a","done":"b"}`), nil
		}, "does not fit"},
		"deeper than a record": {func(context.Context, executor.Call) (any, error) {
			return json.RawMessage(`{"done":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`), nil
		}, "does not fit"},
		"half a character":  {func(context.Context, executor.Call) (any, error) { return json.RawMessage(`{"done":"\ud800"}`), nil }, "\ufffd"},
		"a NUL in an error": {func(context.Context, executor.Call) (any, error) { return nil, errors.New("no\x00luck") }, "no?luck"},
		"what HTML escapes": {func(context.Context, executor.Call) (any, error) {
			return map[string]string{"done": strings.Repeat("<", 4000)}, nil
		}, strings.Repeat("<", 4000)},
	} {
		c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "test", Version: "1", Memory: memory, Tools: map[string]executor.Handler{"act": row.act}})
		must(t, err)
		s, err := lend(ctx, c, "")
		must(t, err)
		a, err := s.Start(ctx, "act, please")
		must(t, err)
		end, err := terminal(ctx, c, a.TurnID)
		must(t, err)
		if end.Status != "completed" || !strings.HasPrefix(end.AssistantText, "Acting.The application says ") || !strings.Contains(end.AssistantText, row.want) {
			t.Errorf("%s: the turn ended as %s: %s", name, end.Status, end.AssistantText)
		}
		c.Close()
	}
	if len(did.all(t)) != 1 {
		t.Errorf("effects: %v", did.all(t))
	}
}

func long(n int) map[string]string { return map[string]string{"done": strings.Repeat("x", n)} }

// A connection that is lost while the handler runs loses nothing: the handler goes
// on, and the next connection tells what it did.
func TestALostConnectionRunsNothingAgain(t *testing.T) {
	d := start(t, short(t), "")
	memory := executor.InProcess()
	defer memory.Close()
	did := effects(filepath.Join(d.folder, "effects"))
	began, goOn := make(chan struct{}), make(chan struct{})
	ctx := patience(t)
	options := executor.Options{Socket: d.socket, Name: "test", Version: "1", Memory: memory, Tools: map[string]executor.Handler{
		"act": func(_ context.Context, c executor.Call) (any, error) {
			close(began)
			<-goOn
			return map[string]string{"done": "late"}, did.add(c.CallID)
		},
	}}
	var session, turn string
	opened := 0
	err := executor.Keep(ctx, options, func(ctx context.Context, c *executor.Client) error {
		if opened++; opened == 1 {
			s, err := lend(ctx, c, "")
			if err != nil {
				return err
			}
			a, err := s.Start(ctx, "act")
			if err != nil {
				return err
			}
			session, turn = s.ID, a.TurnID
			<-began
			c.Close()
			return errors.New("lost")
		}
		close(goOn)
		s, err := c.Claim(ctx, session, false)
		if err != nil {
			return err
		}
		var text string
		if s.Snapshot.Terminal != nil {
			text = s.Snapshot.Terminal.AssistantText
		} else {
			end, err := terminal(ctx, c, turn)
			if err != nil {
				return err
			}
			text = end.AssistantText
		}
		if !strings.Contains(text, `{"done":"late"}`) {
			t.Errorf("the agent said %q", text)
		}
		return nil
	})
	must(t, err)
	if opened != 2 || len(did.all(t)) != 1 {
		t.Errorf("%d connections, effects %v", opened, did.all(t))
	}
}

// recorded is one line of `steward session replay`.
type recorded struct {
	Kind string `json:"kind"`
	Data struct {
		Turn    string `json:"turn_id"`
		CallID  string `json:"call_id"`
		Status  string `json:"status"`
		Effects string `json:"effects"`
		Code    string `json:"code"`
	} `json:"data"`
}

type record []recorded

func (r record) kinds(prefix string) (out []string) {
	for _, e := range r {
		if strings.HasPrefix(e.Kind, prefix) {
			out = append(out, e.Kind)
		}
	}
	return out
}

func (r record) has(kind, status string) bool {
	return slices.ContainsFunc(r, func(e recorded) bool { return e.Kind == kind && (status == "" || e.Data.Status == status) })
}

func replay(t *testing.T, d *daemon, session string) (out record) {
	t.Helper()
	cmd := d.steward("session", "replay", session)
	lines, err := cmd.Output()
	must(t, err)
	for line := range strings.Lines(string(lines)) {
		var e recorded
		must(t, json.Unmarshal([]byte(line), &e))
		out = append(out, e)
	}
	return out
}

// seen is what the application saw before its daemon died.
type seen struct {
	accepted bool
	started  []string // calls whose handler began
	end      *sessionwire.TerminalPayload
}

// The daemon is killed at every point at which it makes something durable, before
// and after. Whatever the application saw is in the record; what is in the record
// is true; nothing is dispatched again.
func TestADaemonKilledAtEveryPointTellsTheTruthAfterwards(t *testing.T) {
	points := []string{"FP11", "FP12"}
	for _, kind := range []string{"user_input", "tool_call", "tool_result", "assistant_chunk", "turn_status"} {
		points = append(points, "before_"+kind, "after_"+kind)
	}
	for _, point := range points {
		t.Run(point, func(t *testing.T) { killAt(t, point) })
	}
}

func killAt(t *testing.T, point string) {
	folder := short(t)
	d := start(t, folder, "failpoints", "STEWARD_FAILPOINTS="+point+"=kill")
	did, begun := effects(filepath.Join(folder, "effects")), effects(filepath.Join(folder, "begun"))
	memory, err := executor.InFile(filepath.Join(folder, "memory"))
	must(t, err)
	defer memory.Close()
	ctx := patience(t)
	var saw seen
	options := executor.Options{Socket: d.socket, Name: "test", Version: "1", Memory: memory, Tools: map[string]executor.Handler{
		"act": func(_ context.Context, c executor.Call) (any, error) {
			if err := begun.add(c.CallID); err != nil {
				return nil, err
			}
			return map[string]string{"done": "yes"}, did.add(c.CallID)
		},
	}}
	c, err := executor.Open(ctx, options)
	must(t, err)
	s, err := lend(ctx, c, "")
	must(t, err)
	a, err := s.Start(ctx, "act")
	if saw.accepted = err == nil; saw.accepted {
		if end, err := terminal(ctx, c, a.TurnID); err == nil {
			saw.end = &end
		}
	}
	<-c.Done()
	select {
	case <-d.ended:
	case <-ctx.Done():
		t.Fatal("the daemon lives")
	}
	c.Close()
	again := start(t, folder, "failpoints")
	closed(t, replay(t, again, s.ID)) // nobody has claimed it yet
	options.Socket = again.socket
	c, err = executor.Open(ctx, options)
	must(t, err)
	defer c.Close()
	back, err := lend(ctx, c, s.ID)
	must(t, err)
	if saw.accepted {
		if _, err := back.Evidence(ctx, a.TurnID); !executor.IsCode(err, "unknown_turn") {
			t.Errorf("the evidence of a dead daemon: %v", err)
		}
	}
	b, err := back.Start(ctx, "hello")
	must(t, err)
	_, err = terminal(ctx, c, b.TurnID)
	must(t, err)
	memory.Close()
	saw.started = begun.all(t)
	judge(t, saw, did.all(t), replay(t, again, s.ID))
}

// closed checks that nothing is open in a record that nobody writes to.
func closed(t *testing.T, kept record) {
	t.Helper()
	open := map[string]bool{}
	for _, e := range kept {
		switch e.Kind {
		case "user_input", "tool_call":
			open[e.Kind+e.Data.CallID] = true
		case "tool_result":
			delete(open, "tool_call"+e.Data.CallID)
		case "turn_status":
			delete(open, "user_input")
		}
		if e.Kind == "tool_result" && e.Data.Code == "interrupted" && e.Data.Effects != "uncertain" {
			t.Errorf("a call whose end is not known had effects %s", e.Data.Effects)
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are open: %v", open, kept)
	}
}

func judge(t *testing.T, saw seen, did []string, kept record) {
	t.Helper()
	turn := kept[slices.IndexFunc(kept, func(e recorded) bool { return e.Kind == "user_input" })].Data.Turn
	ended := slices.IndexFunc(kept, func(e recorded) bool { return e.Kind == "turn_status" })
	old := kept[:ended+1]
	if saw.accepted && old[0].Kind != "session_title" {
		t.Errorf("no header: %v", kept)
	}
	if len(did) > 1 || len(saw.started) > 1 {
		t.Errorf("the call ran %v, effects %v", saw.started, did)
	}
	if len(did) == 1 && !old.has("tool_call", "") {
		t.Errorf("an effect without a binding: %v", kept)
	}
	if old.has("tool_result", "succeeded") && len(did) != 1 {
		t.Errorf("a result without an effect: %v", kept)
	}
	if saw.end != nil && !old.has("turn_status", saw.end.Status) {
		t.Errorf("the application saw %+v, the record is %v", saw.end, kept)
	}
	if saw.accepted && !old.has("user_input", "") {
		t.Errorf("an accepted turn is gone: %v", kept)
	}
	last := old[len(old)-1]
	if last.Data.Turn == turn && last.Data.Status == "failed" && last.Data.Code != "interrupted" {
		t.Errorf("the turn was left as %+v", last)
	}
}

func TestTheExampleRuns(t *testing.T) {
	script := filepath.Join(short(t), "script")
	must(t, os.WriteFile(script, []byte("on *\ncall clock\nthen\nsay {result}\n"), 0o600))
	d := start(t, short(t), "", "STEWARD_MODEL_SCRIPT="+script)
	out, err := exec.CommandContext(patience(t), hosttest.Build(t, "./examples/clock", ""), d.socket).CombinedOutput()
	if err != nil || !bytes.HasPrefix(out, []byte(`{"now":"`)) {
		t.Errorf("%v: %s", err, out)
	}
}

// The agent's own tools, the workspace's skills and a configured server, in the
// daemon as it is shipped; and the record of what they did.
func TestTheAgentHasToolsOfItsOwn(t *testing.T) {
	folder := short(t)
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("work/readme.txt", "the text of a file")
	write("work/.env", "SECRET=canary")
	write("work/.steward/skills/manners.md", "Be polite.")
	play := write("play", "on tools\nsay {tools} | {instructions}\non use\ncall read_file {\"path\":\"readme.txt\"}\ncall read_file {\"path\":\".env\"}\n"+
		"call mcp_notes_write_note {\"title\":\"a\",\"text\":\"b\"}\nthen\nsay {result 1} | {result 2} | {result 3}\n")
	config := write("mcp.json", fmt.Sprintf(`{"mcpServers":{"notes":{"command":%q,"args":["notes-server","--dir",%q]}}}`, hosttest.Program(t, ""), filepath.Join(folder, "notes")))
	d := start(t, folder, "", "STEWARD_MODEL_SCRIPT="+play, "STEWARD_MCP_CONFIG="+config, "STEWARD_DISABLED=search_text")
	ctx := patience(t)
	c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "test", Version: "1", Plain: true})
	must(t, err)
	defer c.Close()
	id, err := c.CreateSession(ctx, "")
	must(t, err)
	s, err := c.Claim(ctx, id, false)
	must(t, err)
	said := func(prompt string) string {
		a, err := s.Start(ctx, prompt)
		must(t, err)
		end, err := terminal(ctx, c, a.TurnID)
		must(t, err)
		return end.AssistantText
	}
	tools := said("tools")
	if !strings.HasPrefix(tools, "read_file list_dir delegate mcp_notes_") || !strings.HasSuffix(tools, "Be polite.") {
		t.Errorf("the agent is offered and told %q", tools)
	}
	used := strings.Split(said("use"), " | ")
	if len(used) != 3 || !strings.Contains(used[0], "the text of a file") || !strings.Contains(used[1], "credential") || strings.Contains(used[1], "canary") {
		t.Errorf("the tools answered %q", used)
	}
	shown := replay(t, d, id)
	if n := len(shown.kinds("tool_call")); n != 3 || len(shown.kinds("tool_result")) != 3 {
		t.Errorf("the record is %v", shown)
	}
}

// A daemon that is told to end lets its turn end, records that, and goes in order.
func TestADaemonThatIsToldToEndEndsItsTurns(t *testing.T) {
	d := start(t, short(t), "")
	ctx := patience(t)
	c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "test", Version: "1", Plain: true})
	must(t, err)
	defer c.Close()
	id, err := c.CreateSession(ctx, "")
	must(t, err)
	s, err := c.Claim(ctx, id, false)
	must(t, err)
	a, err := s.Start(ctx, "wait")
	must(t, err)
	must(t, d.cmd.Process.Signal(syscall.SIGTERM))
	end, err := terminal(ctx, c, a.TurnID)
	must(t, err)
	if end.Error == nil || end.Error.Code != "shutdown" {
		t.Errorf("the turn ended as %+v", end)
	}
	<-d.ended
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the daemon ended with exit code %d", code)
	}
	again := start(t, d.folder, "")
	if kept := replay(t, again, id); !slices.ContainsFunc(kept, func(e recorded) bool { return e.Kind == "turn_status" && e.Data.Code == "shutdown" }) {
		t.Errorf("the record is %v", kept)
	}
}

// A turn whose client is gone is seen and stopped from the terminal: a daemon does
// not stop under it, and says how many run.
func TestATurnIsStoppedFromTheTerminal(t *testing.T) {
	d := start(t, short(t), "")
	ctx := patience(t)
	says := func(want string, ok bool, args ...string) {
		t.Helper()
		out, err := d.steward(args...).CombinedOutput()
		if (err == nil) != ok || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
	says("no session yet", true, "session", "list")
	c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "test", Version: "1", Plain: true})
	must(t, err)
	id, err := c.CreateSession(ctx, "")
	must(t, err)
	s, err := c.Claim(ctx, id, false)
	must(t, err)
	says("no turn runs", false, "session", "stop", id) // and its control is left alone
	a, err := s.Start(ctx, "wait")
	must(t, err)
	c.Close()
	says(`"state":"running","turn_id":"`+a.TurnID+`"`, true, "session", "list", "--json")
	says(`"active_turns":1`, true, "daemon", "status")
	says("steward session stop", false, "daemon", "stop")
	says("the turn is cancelled", true, "session", "stop", id)
	says("no turn runs", false, "session", "stop", id)
	says("[cancelled]", true, "session", "show", id)
	says("idle", true, "session", "list")
	says(`"active_turns":0`, true, "daemon", "status")
	says(`"status":"stopped"`, true, "daemon", "stop")
	<-d.ended
}

// A turn that another terminal stops says so, and one that fails names the log.
func TestATurnIsToldThatItWasStopped(t *testing.T) {
	d := start(t, short(t), "")
	c, err := executor.Open(patience(t), executor.Options{Socket: d.socket, Name: "test", Version: "1", Plain: true})
	must(t, err)
	defer c.Close()
	id, err := c.CreateSession(patience(t), "")
	must(t, err)
	turn := d.steward("turn", "--session", id, "wait")
	var words bytes.Buffer
	turn.Stderr = &words
	must(t, turn.Start())
	hosttest.WaitFor(t, "the turn to run", func() error {
		out, err := d.steward("session", "list", "--json").Output()
		if err == nil && !strings.Contains(string(out), `"state":"running"`) {
			err = errors.New(string(out))
		}
		return err
	})
	if out, err := d.steward("session", "stop", id).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	err = turn.Wait()
	if want := "error: the turn was stopped by another program\nnext: steward session show " + id + "\n"; err == nil || !strings.HasSuffix(words.String(), want) {
		t.Errorf("%v: %q, want %q", err, words.String(), want)
	}
	idle := d.steward("session", "stop", id)
	if err := idle.Run(); idle.ProcessState.ExitCode() != 1 {
		t.Errorf("stopping nothing: %v", err)
	}
}

// A daemon that cannot run says why to whoever started it.
func TestADaemonThatEndsAtOnceSaysWhy(t *testing.T) {
	d := &daemon{t: t, folder: short(t), program: hosttest.Program(t, "")}
	for _, name := range []string{"work", "state", "run"} {
		must(t, os.MkdirAll(filepath.Join(d.folder, name), 0o700))
	}
	turn := d.steward("turn", "x")
	turn.Env = append(turn.Env, "STEWARD_MODEL=gpt")
	out, err := turn.CombinedOutput()
	want := "error: the daemon ended at once: STEWARD_MODEL must be openai, anthropic or scripted\nnext: see docs/scripted-model.md for the settings of the model\n"
	if err == nil || turn.ProcessState.ExitCode() != 3 || string(out) != want {
		t.Errorf("%v: %q, want %q", err, out, want)
	}
}
