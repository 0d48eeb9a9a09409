package crash_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/faces/admin"
	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// stage is a prepared pool whose host is stopped and started quickly, on one
// port, so that its clients need not be told. Its methods belong to the test's
// own goroutine.
type stage struct {
	t       *testing.T
	dir     string // holds the logs, and home as a rule
	home    string
	program string
	port    int
	effects string   // the oracle's log
	clients []*actor // each an app with its own rights
	oracle  target
	items   target
	wrap    []string    // put before the program
	user    *credential // who runs it; nil is this process's own user

	up    *exec.Cmd
	ended chan struct{}
	said  string // file with what every host of the stage printed
}

// target is what an app names in a request.
type target struct{ Resource, Contract string }

type credential = syscall.Credential

// newStage makes a pool with the oracle behind it and apps that may call it and
// put items. No host runs when it returns.
func newStage(t *testing.T, apps int) *stage {
	t.Helper()
	dir := t.TempDir()
	s := &stage{t: t, dir: dir, home: filepath.Join(dir, "home"), effects: filepath.Join(dir, "effects"),
		said: filepath.Join(dir, "host.log"), program: hosttest.Program(t, ""), port: freePort(t)}
	h := hosttest.StartWith(t, hosttest.Options{Home: s.home, Args: hosttest.Wide})
	review := h.Import(h.Config(map[string]hosttest.Server{
		"oracle": {Command: hosttest.Build(t, "./test/oracle", ""), Args: []string{s.effects}}}))[0]
	h.Approve("oracle", map[string]string{"effect": "write"})
	s.oracle = target{review.Resource.ID, review.Methods[0].Contract}
	items := h.Review("@items")
	s.items = target{items.Resource.ID, items.Methods[0].Contract}
	for i := range apps {
		app := h.AddApp(fmt.Sprintf("app%d", i))
		app.Grant("oracle", "effect")
		app.Grant("@items", "put", "list")
		s.clients = append(s.clients, newActor(t, s, dir, app))
	}
	h.Stop()
	t.Cleanup(s.end)
	return s
}

// freePort finds a port below those that the system hands out by itself, so that
// nobody takes it while the host is down.
func freePort(t *testing.T) int {
	t.Helper()
	chance := figure.Rand(uint64(time.Now().UnixNano()), os.Getpid())
	for range 100 {
		port := 20_000 + chance.IntN(10_000)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

func (s *stage) base() string { return "http://127.0.0.1:" + strconv.Itoa(s.port) }

// start starts a host and does not wait for it.
func (s *stage) start() {
	s.t.Helper()
	words := append(append([]string{}, s.wrap...), s.program, "up", "--listen", strings.TrimPrefix(s.base(), "http://"), "--home", s.home)
	words = append(words, hosttest.Wide...)
	s.up, s.ended = exec.Command(words[0], words[1:]...), make(chan struct{})
	log, err := os.OpenFile(s.said, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.up.Stdout, s.up.Stderr = log, log
	if s.user != nil {
		s.up.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	}
	if err := s.up.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func(up *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		up.Wait() // how it ended is read from its state
	}(s.up, s.ended)
}

// opens starts a host and waits until its doors are open; one that ends instead
// is a store that does not open.
func (s *stage) opens() {
	s.t.Helper()
	s.start()
	s.await()
}

func (s *stage) await() {
	s.t.Helper()
	hosttest.WaitFor(s.t, "the doors to open", func() error {
		if s.over() {
			s.t.Fatalf("the host ended instead, %v:\n%s", s.up.ProcessState, s.lastWords())
		}
		return s.healthy()
	})
}

func (s *stage) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *stage) healthy() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base()+"/healthz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return nil
}

// kill ends the host as a power cut ends a process.
func (s *stage) kill() {
	s.up.Process.Kill()
	<-s.ended
}

// stop ends the host in order and holds it to exit code 0.
func (s *stage) stop() {
	s.t.Helper()
	s.up.Process.Signal(syscall.SIGTERM)
	<-s.ended
	if code := s.up.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the host ended with %v:\n%s", s.up.ProcessState, s.lastWords())
	}
}

// end leaves nothing running.
func (s *stage) end() {
	if s.up != nil && !s.over() {
		s.kill()
	}
	if keep := os.Getenv("STEWARD_KEEP"); keep != "" && s.t.Failed() {
		s.keep(filepath.Join(keep, strings.ReplaceAll(s.t.Name(), "/", "_")))
	}
}

// keep copies the logs and the pool, without its socket.
func (s *stage) keep(to string) {
	filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(s.dir, path)
		raw, err := os.ReadFile(path)
		if err == nil {
			os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o700)
			os.WriteFile(filepath.Join(to, name), raw, 0o600)
		}
		return nil // what can be kept is
	})
}

// lastWords is the end of what the hosts printed.
func (s *stage) lastWords() string {
	raw, _ := os.ReadFile(s.said)
	return string(raw[max(0, len(raw)-4000):])
}

// printed is what the hosts have printed since a mark, which printed gives too.
func (s *stage) printed(since int) (string, int) {
	raw, _ := os.ReadFile(s.said)
	return string(raw[min(since, len(raw)):]), len(raw)
}

// owner speaks to the running host as its owner does.
func (s *stage) owner() *client.Client {
	return client.Dial(filepath.Join(s.home, "run", admin.SocketName))
}

// seen counts the effects of each nonce.
func (s *stage) seen() map[string]int {
	s.t.Helper()
	raw, err := os.ReadFile(s.effects)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	out := map[string]int{}
	for line := range bytes.Lines(raw) {
		out[strings.TrimSuffix(string(line), "\n")]++
	}
	return out
}

// classified wants no row of a dead process to be open once the doors are
// (invariant I57).
func (s *stage) classified() {
	s.t.Helper()
	owner := s.owner()
	defer owner.Close()
	status, err := client.Call(s.t.Context(), owner, adminwire.HostStatus, adminwire.Empty{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, state := range []string{"reserved", "dispatching"} {
		page, err := client.Call(s.t.Context(), owner, adminwire.JournalList, adminwire.ListJournal{State: state})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, row := range page.Invocations {
			if row.Epoch != status.Epoch {
				s.t.Errorf("the doors are open and %s of epoch %d is still %s", row.Tx, row.Epoch, row.State)
			}
		}
	}
}

// verify has the host walk its trail and its journal.
func (s *stage) verify() adminwire.Verification {
	s.t.Helper()
	owner := s.owner()
	defer owner.Close()
	v, err := client.Call(s.t.Context(), owner, adminwire.JournalVerify, adminwire.Empty{})
	if err != nil {
		s.t.Fatal(err)
	}
	if !v.Holds {
		s.t.Errorf("the trail does not hold: %+v", v)
	}
	return v
}

// moment is a stretch of time that a suite is about: how long a host may work
// before it is killed, how long it is held up.
func moment(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// soon is how long a host may take until it is as before: five seconds, and in the
// quick size, which runs on whatever machine there is, twenty.
func soon(t *testing.T) time.Duration {
	t.Helper()
	return time.Duration(figure.Of(t, 20, 5, 5)) * time.Second
}
