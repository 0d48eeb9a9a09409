// Package hosttest runs the real steward for suites: it builds the program once
// for a test process, starts a host on a free loopback port with a data folder
// of its own, types commands, and speaks to the doors as an app does.
//
// A suite hands its TestMain to Main, which removes what was built. Whatever
// goes wrong ends the test that asked; a host is stopped in order when its test
// ends, and one that does not stop, or that ends otherwise than with exit code
// 0, fails the test. Helpers must be called from the test's own goroutine,
// unless they say otherwise.
package hosttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const (
	// Patience is how long WaitFor looks, and how long one command may take.
	Patience = 90 * time.Second
	glance   = 20 * time.Millisecond
)

// built is what Main has to remove, and the programs in it by their build tags.
var built struct {
	mu       sync.Mutex
	dir      string
	programs map[string]string
}

// Main runs a package's tests and removes the programs that they have built.
func Main(m *testing.M) {
	m.Run() // the testing package exits with its code
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
}

// Program builds ./cmd/steward with the build tags, once for each set of them,
// and returns its path.
func Program(t testing.TB, tags string) string { return Build(t, "./cmd/steward", tags) }

// Build is Program for any main package of this module.
func Build(t testing.TB, pkg, tags string) string {
	t.Helper()
	return build(t, pkg, nil, "-tags", tags)
}

// Raced builds this module's command with the race detector, which takes long and needs
// a C compiler.
func Raced(t testing.TB) string {
	t.Helper()
	return build(t, "./cmd/steward", []string{"CGO_ENABLED=1"}, "-race")
}

func build(t testing.TB, pkg string, env []string, flags ...string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	key := pkg + " " + strings.Join(flags, " ")
	if path := built.programs[key]; path != "" {
		return path
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "steward-test-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.programs = dir, map[string]string{}
	}
	path := filepath.Join(built.dir, fmt.Sprint(len(built.programs)), filepath.Base(pkg))
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, pkg)...)
	cmd.Dir, cmd.Env = Root(t), append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	built.programs[key] = path
	return path
}

// Root is the folder of this module.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd() // a test runs in its package's folder
	for err == nil {
		if _, bad := os.Stat(filepath.Join(dir, "go.mod")); bad == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("hosttest: no go.mod above the test")
	return ""
}

// Options say how a host is started; the zero value is the usual one.
type Options struct {
	Home string    // data folder; a fresh one if empty
	Tags string    // build tags of the program
	Env  []string  // NAME=value, besides the test's own environment
	Args []string  // besides `up --listen 127.0.0.1:0`
	Log  io.Writer // gets all that hosts print, too; nil for nobody
}

// Host is a running `steward up`.
type Host struct {
	Home    string
	BaseURL string // of the HTTP doors, without a slash at the end; another after each Restart
	Program string

	t     testing.TB
	env   []string
	args  []string
	up    *exec.Cmd
	log   *tail
	all   io.Writer // log, and whoever else wants it
	ended chan struct{}
	told  bool // how it ended has been judged, or does not matter
}

// Wide raises the operator's ceilings, which suites that call in a hurry would meet.
var Wide = []string{"--resource-per-minute", "1000000000", "--resource-at-once", "1000000"}

// Start starts a host with wide ceilings and waits until it answers.
func Start(t testing.TB) *Host {
	t.Helper()
	return StartWith(t, Options{Args: Wide})
}

// StartWith is Start with options.
func StartWith(t testing.TB, o Options) *Host {
	t.Helper()
	if o.Home == "" {
		o.Home = filepath.Join(t.TempDir(), "home")
	}
	h := &Host{Home: o.Home, Program: Program(t, o.Tags), t: t, log: &tail{}}
	h.all = h.log
	if o.Log != nil {
		h.all = io.MultiWriter(h.log, o.Log)
	}
	h.env = append(append(os.Environ(), "STEWARD_HOME="+o.Home), o.Env...)
	h.args = append([]string{"up", "--listen", "127.0.0.1:0"}, o.Args...)
	t.Cleanup(h.Stop)
	h.start()
	return h
}

// Restart stops the host in order, unless it is gone already, and starts it
// again on the same folder and another port.
func (h *Host) Restart() {
	h.t.Helper()
	h.Stop()
	h.start()
}

func (h *Host) start() {
	h.t.Helper()
	h.up, h.ended, h.told = exec.Command(h.Program, h.args...), make(chan struct{}), false
	h.up.Env, h.up.Stdout, h.up.Stderr = h.env, h.all, h.all
	if err := h.up.Start(); err != nil {
		h.told = true
		h.t.Fatal(err)
	}
	go func(up *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		up.Wait() // how it ended is read from its state
	}(h.up, h.ended)
	WaitFor(h.t, "the host to answer", func() error {
		select {
		case <-h.ended:
			h.told = true
			h.t.Fatalf("the host ended at once, %v:\n%s", h.up.ProcessState, h.log)
		default:
		}
		out, _, code := h.Run("", "status", "--json")
		if code != 0 {
			return fmt.Errorf("exit code %d", code)
		}
		var s adminwire.Status
		if err := strictjson.Decode([]byte(out), strictjson.Limits{}, &s); err != nil {
			return fmt.Errorf("status %q: %w", out, err)
		}
		if len(s.Listen) == 0 {
			return fmt.Errorf("it listens nowhere: %s", out)
		}
		h.BaseURL = strings.TrimSuffix(s.Listen[0], "/")
		return nil
	})
}

// PID is the host's process.
func (h *Host) PID() int { return h.up.Process.Pid }

// Log is the end of what the host has printed. Safe for concurrent use.
func (h *Host) Log() string { return h.log.String() }

// Stop ends the host in order, waits for it, and holds it to exit code 0. It does
// nothing to a host that was stopped or killed.
func (h *Host) Stop() {
	h.t.Helper()
	if h.told || h.up == nil {
		return
	}
	h.told = true
	select {
	case <-h.ended:
	default:
		h.up.Process.Signal(syscall.SIGTERM)
	}
	select {
	case <-h.ended:
	case <-time.After(Patience + time.Minute): // it lets calls end first
		h.Kill()
		h.t.Errorf("the host did not stop:\n%s", h.log)
		return
	}
	if code := h.up.ProcessState.ExitCode(); code != 0 {
		h.t.Errorf("the host ended with %v:\n%s", h.up.ProcessState, h.log)
	} else if h.t.Failed() {
		h.t.Logf("the host printed:\n%s", h.log)
	}
}

// Kill ends the host as a power cut does and waits until it is gone. Restart
// brings it back.
func (h *Host) Kill() {
	h.told = true
	h.up.Process.Kill()
	<-h.ended
}

// CLI types a command and returns its standard output and exit code. What it
// prints on standard error is in the test's log.
func (h *Host) CLI(args ...string) (stdout string, code int) {
	h.t.Helper()
	stdout, stderr, code := h.Run("", args...)
	if stderr != "" {
		h.t.Logf("steward %s: %s", strings.Join(args, " "), strings.TrimSpace(stderr))
	}
	return stdout, code
}

// Run types a command with a standard input. Safe for concurrent use.
func (h *Host) Run(stdin string, args ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.Program, args...)
	var out, bad bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.env, strings.NewReader(stdin), &out, &bad
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), bad.String(), cmd.ProcessState.ExitCode()
}

// Do types a command that must succeed and returns what it prints.
func (h *Host) Do(args ...string) string {
	h.t.Helper()
	out, code := h.CLI(args...)
	if code != 0 {
		h.t.Fatalf("steward %s: exit code %d: %s", strings.Join(args, " "), code, out)
	}
	return out
}

// JSON types a command with --json, which must succeed, and reads its reply.
func (h *Host) JSON(into any, args ...string) {
	h.t.Helper()
	out := h.Do(append(args, "--json")...)
	if err := strictjson.Decode([]byte(out), strictjson.Limits{}, into); err != nil {
		h.t.Fatalf("steward %s --json: %v: %s", strings.Join(args, " "), err, out)
	}
}

// WaitFor looks until look is content, and ends the test when Patience does. It
// is the one wait of the suites of real processes.
func WaitFor(t testing.TB, what string, look func() error) {
	t.Helper()
	until := time.Now().Add(Patience)
	for {
		err := look()
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("waited for %s: %v", what, err)
		}
		time.Sleep(glance)
	}
}

// tail keeps the last bytes of what is written to it; one lock guards them.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailBytes = 64 << 10

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, p...)
	if over := len(w.kept) - tailBytes; over > 0 {
		w.kept = append(w.kept[:0], w.kept[over:]...)
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.kept)
}
