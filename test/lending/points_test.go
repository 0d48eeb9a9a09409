package lending

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/protocol/sessionwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// tap is a connection whose every record is a point: "before" and "after" a request
// is written, and "heard" once an answer or an event is there, which nobody has seen.
type tap struct {
	net.Conn
	point func(tap *tap, when, what string)
	in    *bufio.Reader
	rest  []byte
}

// tapped dials through taps.
func tapped(point func(tap *tap, when, what string)) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, path string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		return &tap{Conn: conn, point: point, in: bufio.NewReader(conn)}, nil
	}
}

func (t *tap) at(when string, line []byte) {
	var r struct{ Method, Event string }
	if json.Unmarshal(line, &r) == nil {
		t.point(t, when, r.Method+r.Event)
	}
}

func (t *tap) Write(line []byte) (int, error) {
	t.at("before", line)
	n, err := t.Conn.Write(line)
	t.at("after", line)
	return n, err
}

func (t *tap) Read(into []byte) (int, error) {
	if len(t.rest) == 0 {
		line, err := t.in.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		t.at("heard", line)
		t.rest = line
	}
	n := copy(into, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// runApp is an application of its own process: "act" lends its tool and waits for
// the end of a turn, "settle" ends once it is attached. At its point it dies by its
// own hand.
func runApp(role, folder string) error {
	does, point, _ := strings.Cut(role, " ")
	ctx, cancel := context.WithTimeout(context.Background(), hosttest.Patience)
	defer cancel()
	memory, err := executor.InFile(filepath.Join(folder, "memory"))
	if err != nil {
		return err
	}
	did := effects(filepath.Join(folder, "effects"))
	socket, err := os.ReadFile(filepath.Join(folder, "socket"))
	if err != nil {
		return err
	}
	// A turn that was begun is written down before anything of it ends this process.
	written := make(chan struct{})
	turns := does == "act" && !strings.HasSuffix(point, sessionwire.ExecutorCreate) && !strings.HasSuffix(point, sessionwire.ExecutorConfirm)
	reach := func(here string) {
		if here == point {
			if turns {
				<-written
			}
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	c, err := executor.Open(ctx, executor.Options{
		Socket: string(socket), Name: "app", Version: "1", Memory: memory, Dial: tapped(func(_ *tap, when, what string) { reach(when + " " + what) }),
		Tools: map[string]executor.Handler{"act": func(_ context.Context, c executor.Call) (any, error) {
			reach("begun")
			err := did.add(c.CallID)
			reach("done")
			return map[string]string{"done": "yes"}, err
		}},
	})
	if err != nil || does == "settle" {
		return err
	}
	s, err := lend(ctx, c, "")
	if err != nil {
		return err
	}
	a, err := s.Start(ctx, "act")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "turn"), []byte(s.ID+" "+a.TurnID), 0o600); err != nil {
		return err
	}
	close(written)
	_, err = terminal(ctx, c, a.TurnID)
	return err
}

// app runs one and says whether it died.
func app(t *testing.T, role, folder string) (died bool) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), appRole+"="+role, appFolder+"="+folder)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the application %q ended with %v: %s", role, err, out)
	}
	return err != nil
}

// An application that dies at any point, and its successors, which have its memory:
// nothing runs again, what is known to have happened is told, what is known not to
// have happened is told, and the doubt between them is told as what it is.
func TestAnApplicationKilledAtEveryPointIsSettledByItsSuccessor(t *testing.T) {
	const (
		yes     = `{"done":"yes"}`
		doubt   = "may have happened"
		nothing = "it was not executed"
		result  = " " + sessionwire.ToolResult
	)
	type death struct {
		first, second string // points
		happened      int
		told          string
	}
	rows := []death{
		{"act heard " + sessionwire.ToolCall, "", 0, nothing},
		{"act begun", "", 0, doubt},
		{"act done", "", 1, doubt},
		{"act before" + result, "", 1, yes}, // the outcome is kept
		{"act after" + result, "", 1, yes},
		{"act heard" + result, "", 1, yes}, // the acknowledgement
	}
	for _, method := range []string{sessionwire.ExecutorCreate, sessionwire.ExecutorConfirm} {
		for _, when := range []string{"before ", "after ", "heard "} {
			rows = append(rows, death{"act " + when + method, "act", 1, yes})
		}
	}
	for _, method := range []string{sessionwire.ExecutorResume, sessionwire.ToolResult, sessionwire.ExecutorRotate, sessionwire.ExecutorRotated} {
		for _, when := range []string{"before ", "after ", "heard "} {
			rows = append(rows, death{"act before" + result, "settle " + when + method, 1, yes}, death{"act done", "settle " + when + method, 1, doubt})
		}
	}
	d := start(t, short(t), "")
	for _, row := range rows {
		t.Run(strings.TrimSuffix(row.first+", "+row.second, ", "), func(t *testing.T) {
			folder := short(t)
			must(t, os.WriteFile(filepath.Join(folder, "socket"), []byte(d.socket), 0o600))
			if !app(t, row.first, folder) {
				t.Fatal("the application lived")
			}
			if row.second != "" && app(t, row.second, folder) != strings.Contains(row.second, " ") {
				t.Fatal("the successor did not end as it should")
			}
			if app(t, "settle", folder) {
				t.Fatal("the last one died")
			}
			raw, err := os.ReadFile(filepath.Join(folder, "turn"))
			must(t, err)
			session, turn, _ := strings.Cut(string(raw), " ")
			d.witness(t, session, turn, row.told, 1)
			if did := effects(filepath.Join(folder, "effects")).all(t); len(did) != row.happened {
				t.Errorf("effects %v", did)
			}
		})
	}
}

// witness holds what the agent was told of its last call, the evidence and the record.
func (d *daemon) witness(t *testing.T, session, turn, told string, calls int) {
	t.Helper()
	ctx := patience(t)
	c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "witness", Version: "1"})
	must(t, err)
	defer c.Close()
	s, err := c.Claim(ctx, session, true)
	must(t, err)
	var status, text string
	if end := s.Snapshot.Terminal; end != nil {
		status, text = end.Status, end.AssistantText
	} else {
		end, err := terminal(ctx, c, turn)
		must(t, err)
		status, text = end.Status, end.AssistantText
	}
	if status != "completed" || !strings.Contains(text, told) {
		t.Errorf("the turn ended as %s: %s", status, text)
	}
	status = "failed"
	if strings.HasPrefix(told, "{") {
		status = "succeeded"
	}
	evidence, err := s.Evidence(ctx, turn)
	must(t, err)
	for _, call := range evidence.Calls {
		if call.Status != status || call.ExternalEffects != "reported" {
			t.Errorf("the evidence is %+v", call)
		}
	}
	shown := replay(t, d, session)
	if len(evidence.Calls) != calls || !slices.Equal(shown.kinds("tool_"), slices.Repeat([]string{"tool_call", "tool_result"}, calls)) {
		t.Errorf("the record is %v, the evidence %v", shown, evidence.Calls)
	}
}

// A call may come and be over while an attach is still settling those before it.
// The answer to the resume says nothing of it: it is told by the next connection as
// what it was, however this one ends.
func TestACallThatTheResumeDoesNotKnowIsNotForgotten(t *testing.T) {
	d := start(t, short(t), "")
	ctx := patience(t)
	path := filepath.Join(d.folder, "memory")
	memory, err := executor.InFile(path)
	must(t, err)
	defer memory.Close()
	did := effects(filepath.Join(d.folder, "effects"))
	var point func(what string) (lost bool)
	var mu sync.Mutex
	begun, both := make(chan struct{}, 4), make(chan struct{}) // calls
	options := executor.Options{
		Socket: d.socket, Name: "test", Version: "1", Memory: memory,
		Dial: tapped(func(tap *tap, when, what string) {
			if when != "before" {
				return // what is heard goes on while a request is held
			}
			mu.Lock()
			defer mu.Unlock()
			if point != nil && point(what) {
				tap.Close()
			}
		}),
		Tools: map[string]executor.Handler{"act": func(_ context.Context, c executor.Call) (any, error) {
			begun <- struct{}{}
			<-both
			return map[string]string{"done": "yes"}, did.add(c.CallID)
		}},
	}
	set := func(p func(what string) bool) { mu.Lock(); defer mu.Unlock(); point = p }

	c, err := executor.Open(ctx, options)
	must(t, err)
	set(func(what string) bool { return what == sessionwire.ToolResult })
	turns := map[string]string{} // by session
	for range 2 {
		s, err := lend(ctx, c, "")
		must(t, err)
		a, err := s.Start(ctx, "twice")
		must(t, err)
		turns[s.ID] = a.TurnID
	}
	<-begun
	<-begun
	close(both)
	<-c.Done()
	hosttest.WaitFor(t, "the outcomes to be kept", kept(path, 2))
	told := 0
	set(func(what string) bool {
		if what == sessionwire.ToolResult {
			told++
		}
		if told == 2 && what == sessionwire.ToolResult {
			// The first turn has gone on: its second call has come and is over.
			hosttest.WaitFor(t, "an outcome from after the resume", kept(path, 2))
			return false
		}
		return told >= 2 // the connection is lost behind the settling
	})
	if c, err = executor.Open(ctx, options); err == nil {
		<-c.Done()
	}
	set(nil)
	c, err = executor.Open(ctx, options)
	must(t, err)
	defer c.Close()
	unheard := 0
	for session, turn := range turns {
		unheard += d.accounted(t, session, turn, 2, did.all(t))
	}
	if unheard > 1 || len(did.all(t)) != 4-unheard {
		t.Errorf("%d calls were not heard of, effects %v", unheard, did.all(t))
	}
}

// accounted wants a turn to end with so many calls, each told as what became of it: an
// effect, or a call that the application says it never heard of, which are counted. The
// connection may be lost before the call that follows a result is heard.
func (d *daemon) accounted(t *testing.T, session, turn string, calls int, did []string) (unheard int) {
	t.Helper()
	ctx := patience(t)
	c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "witness", Version: "1"})
	must(t, err)
	defer c.Close()
	s, err := c.Claim(ctx, session, true)
	must(t, err)
	if s.Snapshot.Terminal == nil {
		end, err := terminal(ctx, c, turn)
		must(t, err)
		if end.Status != "completed" {
			t.Errorf("the turn ended as %s: %s", end.Status, end.AssistantText)
		}
	}
	evidence, err := s.Evidence(ctx, turn)
	must(t, err)
	if len(evidence.Calls) != calls {
		t.Errorf("the evidence is %+v", evidence.Calls)
	}
	for _, call := range evidence.Calls {
		happened := slices.Contains(did, call.CallID)
		if !happened {
			unheard++
		}
		if call.ExternalEffects != "reported" || happened != (call.Status == "succeeded") {
			t.Errorf("effects %v, and the evidence is %+v", did, call)
		}
	}
	return unheard
}

// kept looks whether a memory holds so many outcomes.
func kept(path string, want int) func() error {
	return func() error {
		raw, err := os.ReadFile(path)
		if n := strings.Count(string(raw), `"done":true`); err == nil && n != want {
			err = fmt.Errorf("%d outcomes", n)
		}
		return err
	}
}

// Two processes, one memory: the second is told so, and takes nothing over.
func TestTwoApplicationsDoNotShareAMemory(t *testing.T) {
	path := filepath.Join(short(t), "memory")
	memory, err := executor.InFile(path)
	must(t, err)
	if _, err := executor.InFile(path); !errors.Is(err, executor.ErrInUse) {
		t.Errorf("a second memory: %v", err)
	}
	memory.Close()
	memory, err = executor.InFile(path)
	must(t, err)
	memory.Close()
	must(t, os.WriteFile(path, []byte("{}"), 0o640))
	must(t, os.Chmod(path, 0o640))
	if _, err := executor.InFile(path); err == nil || !strings.Contains(err.Error(), "this user alone") {
		t.Errorf("a file that others read: %v", err)
	}
	must(t, os.Remove(path))
	must(t, os.WriteFile(path+".real", []byte("{}"), 0o600))
	must(t, os.Symlink(path+".real", path))
	if _, err := executor.InFile(path); err == nil {
		t.Error("a link was followed")
	}
}
