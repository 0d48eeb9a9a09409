package childprocess

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// slack is what a loaded machine may add to a time that a test measures. Commands
// that nobody ends stay for a minute.
const slack = 20 * time.Second

func TestExitTellsHowTheCommandEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		program []string
		want    string
	}{
		{[]string{"exit", "0"}, "exit code 0"},
		{[]string{"exit", "3"}, "exit code 3"},
		{[]string{"kill-self"}, "signal killed"},
	} {
		p := start(t, c.program[0], c.program[1:]...)
		out, err := io.ReadAll(p.Stdout())
		<-p.Done()
		if got := p.Exit(); got != c.want || err != nil || len(out) != 0 {
			t.Errorf("%v: exit %q, output %q, %v; want %q", c.program, got, out, err, c.want)
		}
	}
}

func TestExitIsEmptyWhileRunning(t *testing.T) {
	t.Parallel()
	p := start(t, "echo")
	if got := p.Exit(); got != "" {
		t.Errorf("exit %q of a running command", got)
	}
	// Its first word says that it runs; one that is still starting has no end of
	// input to see before it is asked to end.
	if _, err := io.WriteString(p.Stdin(), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p.Stdout(), make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if got := p.Exit(); got != "exit code 0" {
		t.Errorf("exit %q after end of input", got)
	}
}

func TestBytesPassUnchanged(t *testing.T) {
	t.Parallel()
	p := start(t, "echo")
	want := strings.Repeat("\x00\xff line \n", 1000)
	if _, err := io.WriteString(p.Stdin(), want); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(p.Stdout(), got); err != nil || string(got) != want {
		t.Errorf("%d bytes came back changed, %v", len(got), err)
	}
}

func TestCommandThatCannotRunIsUnavailable(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		spec Spec
		opt  Options
		want string
	}{
		{"no such name", Spec{Command: "no-such-command"}, Options{}, `the command cannot be started: exec: "no-such-command": executable file not found in $PATH`},
		{"no such file", Spec{Command: "/no/such/file"}, Options{}, `the command cannot be started: exec: "/no/such/file": stat /no/such/file: no such file or directory`},
		{"no permission", Spec{Command: plain}, Options{}, `the command cannot be started: exec: "` + plain + `": permission denied`},
		{"no such folder", Spec{Command: "true", Dir: "/no/such/folder"}, Options{}, `the command's folder cannot be used: stat /no/such/folder/.: no such file or directory`},
		{"supervisor without the verb", Spec{Command: "true"}, Options{Self: []string{os.Args[0], "exit", "9"}}, `the supervisor did not start the command: supervisor lost: exit code 9`},
	} {
		c.spec.Env = BaseEnv()
		_, err := Start(c.spec, c.opt)
		var got *fault.Fault
		if !errors.As(err, &got) || got.Code != fault.Unavailable || got.Text != c.want {
			t.Errorf("%s: got %v, want unavailable: %s", c.name, err, c.want)
		}
	}
}

func TestCommandSeesOnlyItsOwnEnvironment(t *testing.T) {
	t.Setenv("STEWARD_TEST_SECRET", "canary")
	t.Setenv("LANG", "C.UTF-8")
	want := append(BaseEnv(), "UPSTREAM_TOKEN=given")
	p, err := Start(Spec{Command: os.Args[0], Args: []string{"env"}, Env: want}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	out, _ := io.ReadAll(p.Stdout())
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(out)), "\n")); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	for _, entry := range want {
		if strings.Contains(entry, "canary") || !strings.Contains(strings.Join(want, "\n"), "LANG=C.UTF-8") {
			t.Errorf("the base environment is %q", want)
		}
	}
}

// A PATH in an entry is where its command is looked up, and wins over the host's.
func TestTheConfiguredPathFindsTheCommand(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "only-here"), []byte("#!/bin/sh\necho \"$PATH\"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	p, err := Start(Spec{Command: "only-here", Env: append(BaseEnv(), "PATH="+folder)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if out, _ := io.ReadAll(p.Stdout()); string(out) != folder+"\n" {
		t.Errorf("PATH %q", out)
	}
}

func TestNoEnvironmentMeansNone(t *testing.T) {
	t.Parallel()
	p, err := Start(Spec{Command: os.Args[0], Args: []string{"env"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if out, _ := io.ReadAll(p.Stdout()); string(out) != "\n" {
		t.Errorf("environment %q", out)
	}
}

func TestCommandRunsInItsFolder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Spec{Command: os.Args[0], Args: []string{"where"}, Env: BaseEnv(), Dir: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	if out, _ := io.ReadAll(p.Stdout()); string(out) != dir+"\n" {
		t.Errorf("ran in %q, want %q", out, dir)
	}
}

// Many programs do not expect a pipe that answers "try again"; none may hold a
// pipe of the supervisor.
func TestCommandGetsThreeBlockingFiles(t *testing.T) {
	t.Parallel()
	p := start(t, "blocking")
	out, _ := io.ReadAll(p.Stdout())
	if want := "0 true\n1 true\n2 true\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestStderrTailIsBoundedAndPrintable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		{"plain\ttext\nä 漢\n", "plain\ttext\nä 漢\n"},
		{"\x1b[31mred\r\x07", `\x1b[31mred\x0d\x07`},
		{"a\u202eb\u200bc", `a\u{202e}b\u{200b}c`},
		{"bad \xff\xc3", `bad \xff\xc3`},
	} {
		p := start(t, "say", c.said)
		<-p.Done()
		if got := p.StderrTail(); got != c.want {
			t.Errorf("said %q, shown %q, want %q", c.said, got, c.want)
		}
	}
	p := start(t, "shout")
	<-p.Done()
	got := p.StderrTail()
	if len(got) != bound.StderrBytes.Int() || !strings.HasSuffix(got, "line 99998\nline 99999\n") {
		t.Errorf("%d bytes, end %q", len(got), got[max(0, len(got)-30):])
	}
}

// A command that screams waits for its own pipe: what is read of it is paced, once
// a second's worth has come at once.
func TestStderrIsReadAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := net.Pipe()
		var words tail
		read := make(chan struct{})
		go func() {
			defer close(read)
			words.collect(from)
		}()
		began, said := time.Now(), 0
		for piece := make([]byte, 64<<10); time.Since(began) < time.Minute; {
			n, err := to.Write(piece)
			if err != nil {
				t.Fatal(err)
			}
			said += n
		}
		to.Close()
		<-read
		if rate := bound.StderrRate.Int(); said < 59*rate || said > 63*rate {
			t.Errorf("%d bytes were read in a minute", said)
		}
	})
}

// The last words of a command are kept, however late the host comes to read them, and
// nobody waits for more.
func TestWhatIsReadTooLateIsKept(t *testing.T) {
	t.Parallel()
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close() // stays open, as with a process that escaped
	defer from.Close()
	if _, err := to.WriteString("last words\n"); err != nil {
		t.Fatal(err)
	}
	if err := from.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	var words tail
	words.collect(from)
	before := words.text()
	words.rest(from)
	if got := words.text(); before != "" || got != "last words\n" {
		t.Errorf("%q in time, %q in all", before, got)
	}
}

// And it ends as fast as others.
func TestAScreamingCommandEnds(t *testing.T) {
	t.Parallel()
	p := start(t, "scream")
	waitFor(t, slack, "its words are kept", func() bool { return len(p.StderrTail()) == bound.StderrBytes.Int() })
	began := time.Now()
	p.Stop()
	if took := time.Since(began); took > bound.StopGrace.Duration()+slack {
		t.Errorf("it took %v", took)
	}
}

func TestTailStaysWithinItsBoundWhenEscaped(t *testing.T) {
	t.Parallel()
	var words tail
	for range 5 {
		words.add([]byte(strings.Repeat("\x1b", bound.StderrBytes.Int()-1) + "€"))
		if got := len(words.kept); got > 2*bound.StderrBytes.Int() {
			t.Fatalf("%d bytes kept", got)
		}
	}
	if got := words.text(); len(got) > bound.StderrBytes.Int() || !strings.HasSuffix(got, `\x1b€`) {
		t.Errorf("%d bytes, end %q", len(got), got[len(got)-8:])
	}
}

// FF45: a command that does not read cannot hold its caller.
func TestWriteHasADeadline(t *testing.T) {
	t.Parallel()
	p := start(t, "stubborn")
	large := make([]byte, 4<<20)
	p.Stdin().SetWriteDeadline(time.Now().Add(3 * time.Second)) // in which a busy machine begins to write
	n, err := p.Stdin().Write(large)
	if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n >= len(large) {
		t.Errorf("wrote %d bytes, %v", n, err)
	}
}

// FF31: neither end of input nor SIGTERM moves it.
func TestStubbornCommandIsKilledWithinTheGrace(t *testing.T) {
	t.Parallel()
	p := start(t, "stubborn")
	pid := readUp(t, p.Stdout(), 1)[0]
	if pid != p.PID() {
		t.Errorf("command is %d, PID says %d", pid, p.PID())
	}
	began := time.Now()
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(p.Stop)
	}
	stops.Wait()
	if took := time.Since(began); took > bound.StopGrace.Duration()+slack {
		t.Errorf("stop took %v", took)
	}
	if !gone(pid) || p.Exit() != "signal killed" {
		t.Errorf("gone %v, exit %q", gone(pid), p.Exit())
	}
}

func TestNothingOfTheCommandStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		last string // what the command does after it started its family
		up   int
		end  func(t *testing.T, p *Process)
		want string
	}{
		{"when it leaves by itself", "leave", 2, func(t *testing.T, p *Process) {
			p.Stdin().Write([]byte("x"))
			<-p.Done()
		}, "exit code 0"},
		{"when it is stopped", "stay", 3, func(t *testing.T, p *Process) { p.Stop() }, "signal killed"},
		{"when the supervisor is told to end", "stay", 3, func(t *testing.T, p *Process) {
			p.command.Process.Signal(syscall.SIGTERM)
			<-p.Done()
		}, "signal killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "family", c.last)
			pids := readUp(t, p.Stdout(), c.up)
			began := time.Now()
			c.end(t, p)
			if took := time.Since(began); took > bound.StopGrace.Duration()+slack {
				t.Errorf("the end took %v", took)
			}
			// On a busy machine the supervisor itself may have come too late.
			if got := p.Exit(); strings.TrimPrefix(got, "supervisor lost: ") != c.want {
				t.Errorf("exit %q, want %q", got, c.want)
			}
			for _, pid := range pids {
				if !gone(pid) {
					t.Errorf("%d of %v still runs", pid, pids)
					syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}

// FF35: the host gets no chance to tidy up.
func TestNothingStaysAfterTheHostWasKilled(t *testing.T) {
	t.Parallel()
	host := exec.Command(os.Args[0], "host", "family", "stay")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readUp(t, out, 4)
	host.Process.Kill()
	host.Wait()
	waitFor(t, bound.StopGrace.Duration()+slack, "supervisor, command and grandchildren end", func() bool {
		for _, pid := range pids {
			if !gone(pid) {
				return false
			}
		}
		return true
	})
}

func TestKilledSupervisorTakesTheCommandAlong(t *testing.T) {
	t.Parallel()
	p := start(t, "stubborn")
	pid := readUp(t, p.Stdout(), 1)[0]
	p.command.Process.Kill()
	<-p.Done()
	if got := p.Exit(); got != "supervisor lost: signal killed" {
		t.Errorf("exit %q", got)
	}
	waitFor(t, slack, "the command ends", func() bool { return gone(pid) })
}

// The host cannot help here, since it is stopped when its supervisor dies.
func TestCommandDiesWithItsSupervisor(t *testing.T) {
	t.Parallel()
	host := exec.Command(os.Args[0], "host", "stubborn")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	pids := readUp(t, out, 2)
	supervisor, command := pids[0], pids[1]
	host.Process.Signal(syscall.SIGSTOP)
	syscall.Kill(supervisor, syscall.SIGKILL)
	waitFor(t, slack, "the command ends", func() bool { return gone(command) })
	host.Process.Kill()
	host.Wait()
}

func TestSuperviseByHandRefuses(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], Verb, "true")
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != exitMisuse || !strings.Contains(string(out), "by hand") {
		t.Errorf("exit code %d, said %q", got, out)
	}
}

func TestBelowFollowsParents(t *testing.T) {
	t.Parallel()
	table := map[int]int{1: 0, 10: 1, 11: 10, 12: 11, 20: 1, 30: 31, 31: 30}
	got := map[int]bool{}
	for _, pid := range below(10, table) {
		got[pid] = true
	}
	if diff := cmp.Diff(map[int]bool{11: true, 12: true}, got); diff != "" {
		t.Errorf("below (-want +got):\n%s", diff)
	}
}

// Start and Stop give back every file; not parallel, since it counts the
// process's own.
func TestFilesAreGivenBack(t *testing.T) {
	run := func() {
		p := start(t, "echo")
		p.Stop()
		Start(Spec{Command: "no-such-command", Env: BaseEnv()}, Options{})
	}
	run()
	before := len(openFiles())
	for range 5 {
		run()
	}
	if after := len(openFiles()); after > before {
		t.Errorf("%d open files before, %d after", before, after)
	}
}
