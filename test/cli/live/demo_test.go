package live_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// demo is `steward demo` with a folder for temporary files of its own.
type demo struct {
	*exec.Cmd
	dir  string
	pipe io.Closer
	out  *bufio.Reader
	err  bytes.Buffer
}

func startDemo(t *testing.T) *demo {
	t.Helper()
	return start(t, "demo")
}

// start starts a verb of the demo's.
func start(t *testing.T, verb string) *demo {
	t.Helper()
	dir, err := os.MkdirTemp("", "stw") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{Cmd: exec.Command(hosttest.Program(t, ""), verb), dir: dir}
	d.Env = append(os.Environ(), "TMPDIR="+dir)
	d.Stderr, d.WaitDelay = &d.err, hosttest.Patience // of those that it leaves behind
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.pipe, d.out = out, bufio.NewReader(out)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Process.Kill() // most have ended
		os.RemoveAll(dir)
	})
	return d
}

// tells reads on until the story has a word, and gives what it read.
func (d *demo) tells(t *testing.T, word string) string {
	t.Helper()
	var story strings.Builder
	for !strings.Contains(story.String(), word) {
		line, err := d.out.ReadString('\n')
		story.WriteString(line)
		if err != nil {
			t.Fatalf("%v: the story does not tell %q:\n%s%s", err, word, story.String(), d.err.String())
		}
	}
	return story.String()
}

// ends waits for the end and gives the exit code.
func (d *demo) ends(t *testing.T) int {
	t.Helper()
	if _, err := io.Copy(io.Discard, d.out); err != nil {
		t.Error(err)
	}
	d.Wait() // the exit code says it
	return d.ProcessState.ExitCode()
}

// leavesNothing holds the machine to having no file and no process of the demo
// within five seconds, or in the quick size, which runs on whatever machine there is,
// within twenty.
func (d *demo) leavesNothing(t *testing.T) {
	t.Helper()
	began := time.Now()
	hosttest.WaitFor(t, "nothing to be left", func() error {
		files, err := os.ReadDir(d.dir)
		if err != nil {
			return err
		}
		running := d.running()
		if len(files)+len(running) > 0 {
			return fmt.Errorf("there are %v and %q", files, running)
		}
		return nil
	})
	if took := time.Since(began); took > time.Duration(figure.Of(t, 20, 5, 5))*time.Second {
		t.Errorf("something was left for %s", took)
	}
}

// running gives the command lines of processes that know the demo's folder; none
// where the system does not tell.
func (d *demo) running() (lines []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline")) // processes go at any time
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		if bytes.Contains(append(line, env...), []byte(d.dir)) {
			lines = append(lines, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return lines
}

func TestTheDemoIsAsStated(t *testing.T) {
	d := startDemo(t)
	d.tells(t, " steps were as stated")
	if code := d.ends(t); code != 0 || d.err.Len() > 0 {
		t.Errorf("exit code %d: %s", code, d.err.String())
	}
	d.leavesNothing(t)
}

// A step that is not as stated ends the story: here something has been sent that
// nobody confirmed. A demo does not wait for this test, so one may be past the step.
func TestADemoWithABrokenStepFails(t *testing.T) {
	for range 20 {
		d := startDemo(t)
		d.tells(t, " 3  Import it")
		folders, err := filepath.Glob(filepath.Join(d.dir, "steward-demo-*", "notes"))
		if err != nil {
			t.Fatal(err)
		}
		broken := len(folders) == 1 && os.WriteFile(filepath.Join(folders[0], "outbox.jsonl"), []byte("{}\n"), 0o600) == nil
		code := d.ends(t)
		if code == 0 || !broken {
			continue
		}
		if want := "is not as stated: something was sent without a confirmation"; code != 1 || !strings.Contains(d.err.String(), want) {
			t.Errorf("exit code %d: %s", code, d.err.String())
		}
		d.leavesNothing(t)
		return
	}
	t.Error("each demo was past the step")
}

func TestADemoThatIsKilledLeavesNothing(t *testing.T) {
	for _, words := range [][]string{{" 1  Start the host"}, {" 3  Import it"}, {"12  The server is killed", "is approved: exactly this call"}} {
		d := startDemo(t)
		for _, word := range words {
			d.tells(t, word)
		}
		if err := d.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		d.Wait() // it was killed
		d.leavesNothing(t)
	}
}

func TestADemoThatNobodyReadsLeavesNothing(t *testing.T) {
	for range 20 {
		d := startDemo(t)
		d.tells(t, " 4  Approve")
		if err := d.pipe.Close(); err != nil {
			t.Fatal(err)
		}
		d.Wait() // the exit code says it
		code := d.ProcessState.ExitCode()
		if code == 0 {
			continue // it had told everything
		}
		if code != 1 || !strings.Contains(d.err.String(), "cannot be told") {
			t.Errorf("%v: %s", d.ProcessState, d.err.String())
		}
		d.leavesNothing(t)
		return
	}
	t.Error("each demo had told everything")
}

// A demo that is killed as soon as it has started its host's keeper never hears of
// the folder.
func TestAKeeperThatNobodyHearsLeavesNothing(t *testing.T) {
	d := start(t, "demo-keeper") // its input ends at once
	if err := d.pipe.Close(); err != nil {
		t.Fatal(err)
	}
	d.Wait() // what it leaves counts
	d.leavesNothing(t)
}
