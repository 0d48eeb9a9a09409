package crash_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// R9. A host or an upstream that stands still over a deadline makes nobody lie:
// what was answered too late is a doubt or a late answer, and the effect happened
// once.
func TestAPauseOverTheDeadlineMakesNobodyLie(t *testing.T) {
	t.Parallel()
	seconds := figure.Of(t, 5, 90, 90)
	if testing.Short() {
		seconds = 3
	}
	s := newStage(t, 2)
	s.opens()
	for _, app := range s.clients {
		app.sync = false
	}
	app := s.clients[0]
	if a, err := app.send(t.Context(), app.effect(app.newTx(), "warm", 0, 0, "")); err != nil || a.Status != rpcwire.OK {
		t.Fatalf("%+v %v", a, err)
	}
	pause := time.Duration(seconds) * time.Second
	app.waits += pause
	upstream := s.upstream()
	doubts := 0
	for _, still := range []int{s.up.Process.Pid, upstream} {
		doubts += s.hold(still, still == upstream, pause)
	}
	count := s.judge()
	s.stop()
	figure.Tell(t, "R9", "pause=%s of host and of upstream doubts=%d %s", pause, doubts, count)
}

// hold stops a process while calls are under way, for longer than they may take,
// and counts the answers in doubt.
func (s *stage) hold(pid int, upstream bool, pause time.Duration) (doubts int) {
	s.t.Helper()
	const deadline = 2 * time.Second
	app := s.clients[0]
	asks := make([]ask, 8)
	answers := make([]*rpcwire.Response, len(asks))
	began := time.Now()
	var all sync.WaitGroup
	for i := range asks {
		tx := app.newTx()
		asks[i] = app.effect(tx, tx, 500*time.Millisecond, deadline, "")
		all.Go(func() { answers[i], _ = app.send(s.t.Context(), asks[i]) })
	}
	hosttest.WaitFor(s.t, "the effects", func() error {
		if seen := s.seen(); seen[asks[0].nonce] == 0 || seen[asks[len(asks)-1].nonce] == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	syscall.Kill(pid, syscall.SIGSTOP)
	if upstream { // the host is as quick as ever, and gives up in time
		all.Wait()
		if took := time.Since(began); took > deadline+soon(s.t) {
			s.t.Errorf("calls to an upstream that stands still took %s", took)
		}
		if a, err := app.send(s.t.Context(), app.put(app.newTx(), "while it stands still", "v", "")); err != nil || a.Status != rpcwire.OK {
			s.t.Errorf("a built-in meanwhile: %+v %v", a, err)
		}
	}
	moment(s.t.Context(), time.Until(began.Add(pause)))
	syscall.Kill(pid, syscall.SIGCONT)
	all.Wait()
	for i, a := range answers {
		if a == nil {
			s.t.Errorf("call %d got no answer", i)
			continue
		}
		if a.Status == rpcwire.Indeterminate {
			doubts++
		}
		hosttest.WaitFor(s.t, "the late answer", func() error {
			got, err := app.lookup(s.t.Context(), asks[i].tx)
			if err == nil && got.Status != rpcwire.OK && upstream {
				err = fmt.Errorf("%s", got.Status)
			}
			return err
		})
		if n := s.seen()[asks[i].nonce]; n != 1 {
			s.t.Errorf("call %d had %d effects", i, n)
		}
	}
	return doubts
}

// upstream finds the process of the oracle.
func (s *stage) upstream() int {
	s.t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range found {
		raw, _ := os.ReadFile(name)
		words := bytes.Split(raw, []byte{0})
		if len(words) > 1 && filepath.Base(string(words[0])) == "oracle" && string(words[1]) == s.effects {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				s.t.Fatal(err)
			}
			return pid
		}
	}
	s.t.Fatal("the oracle does not run")
	return 0
}
