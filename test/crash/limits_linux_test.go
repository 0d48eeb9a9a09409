package crash_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// fewFiles is what R15 leaves a host (proof).
const fewFiles = 256

// R15. Sockets take every file that a host may have open. Those who are in go on, what
// they are told is durable, and when there is room again everybody gets in, without
// a restart.
func TestAHostWithoutFilesGoesOn(t *testing.T) {
	s := newStage(t, 1)
	s.wrap = []string{"sh", "-c", "ulimit -n " + strconv.Itoa(fewFiles) + `; exec "$@"`, "sh"}
	s.opens()
	app := s.clients[0]
	if a, err := app.send(t.Context(), app.effect(app.newTx(), "warm", 0, 0, "")); err != nil || a.Status != rpcwire.OK {
		t.Fatalf("%+v %v", a, err)
	}
	told, inside := 0, 0
	for range 3 {
		flood := s.flood(2 * fewFiles)
		hosttest.WaitFor(t, "all files to be taken", func() error {
			if n := s.files(); n < fewFiles-1 {
				return fmt.Errorf("%d files are open", n)
			}
			return nil
		})
		for i := range 50 {
			q := app.put(app.newTx(), fmt.Sprintf("key %d %d", told, i), "value", "")
			if i%2 == 0 {
				q = app.effect(app.newTx(), fmt.Sprintf("nonce %d %d", told, i), 0, 0, "")
			}
			a, err := app.send(t.Context(), q)
			if err != nil {
				t.Fatalf("who was in before is thrown out: %v\n%s", err, s.lastWords())
			}
			if a.Status == rpcwire.OK {
				told++
			} else if a.Error == nil || a.Error.Code != "unavailable" || a.Effects != rpcwire.NotDispatched {
				t.Errorf("%s %+v", a.Status, a.Error)
			}
		}
		if s.over() {
			t.Fatalf("the host ended, %v:\n%s", s.up.ProcessState, s.lastWords())
		}
		inside += len(flood)
		for _, c := range flood {
			c.Close()
		}
		freed := time.Now()
		hosttest.WaitFor(t, "a newcomer to get in", s.healthy)
		if took := time.Since(freed); took > soon(t) {
			t.Errorf("it took %s until a newcomer got in", took)
		}
	}
	count := s.judge()
	s.verify()
	s.stop()
	figure.Tell(t, "R15", "files=%d sockets=%d told_meanwhile=%d %s", fewFiles, inside, told, count)
}

// flood opens connections that say nothing, as many as there is room for.
func (s *stage) flood(most int) (list []net.Conn) {
	for range most {
		c, err := net.DialTimeout("tcp", strings.TrimPrefix(s.base(), "http://"), time.Second)
		if err != nil {
			break // the queue of those who wait is full too
		}
		list = append(list, c)
	}
	return list
}

// files counts what the host has open.
func (s *stage) files() int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.up.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(list)
}

// R16. A host that runs out of memory in the middle of its work ends, and then it is as
// after any other end: nothing that was told is lost, and nothing happens twice.
func TestAHostWithoutMemoryLosesNothing(t *testing.T) {
	rounds := figure.Of(t, 2, 10, 100)
	if testing.Short() {
		rounds = 1
	}
	seed := figure.Seed(t)
	s := newStage(t, 4)
	chance := figure.Rand(seed, 1000)
	s.opens()
	c := begin(s, seed)
	defer c.stop()
	starved := 0
	for round := 0; round < rounds || starved == 0 && round < rounds+20; round++ {
		moment(context.Background(), time.Duration(100+chance.IntN(400))*time.Millisecond)
		if s.starve(uint64(chance.IntN(4)) << 20) {
			starved++
		}
		s.start()
		s.await()
		s.classified()
	}
	c.end(s)
	count := s.judge()
	s.verify()
	s.stop()
	if starved == 0 {
		t.Error("the host never ran out of memory")
	}
	figure.Tell(t, "R16", "seed=%d rounds=%d ended by want of memory=%d %s", seed, rounds, starved, count)
}

// starve lets the host grow by no more than that many bytes, and asks for much, until
// it ends. One that can do with what it has is killed.
func (s *stage) starve(more uint64) (ended bool) {
	s.t.Helper()
	_, mark := s.printed(0)
	size := s.data()
	limit := unix.Rlimit{Cur: size + more, Max: size + more}
	if err := unix.Prlimit(s.up.Process.Pid, unix.RLIMIT_DATA, &limit, nil); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer stop()
	body := []byte(`{"v":1,"tx":"` + strings.Repeat("x", 60_000) + `"}`)
	var hungry sync.WaitGroup
	for range 256 {
		hungry.Go(func() {
			for ctx.Err() == nil && !s.over() {
				_, _ = s.clients[0].post(ctx, rpcwire.Call.Path, body)
			}
		})
	}
	select {
	case <-s.ended:
		ended = true
	case <-ctx.Done():
		s.kill()
	}
	stop()
	hungry.Wait()
	if ended {
		s.endedForMemory(mark)
	}
	return ended
}

// How the runtime tells that there is no memory. Where one of its own tables could not
// grow it may fall over that before it says so: then it ends on a stack of its own, where
// nothing of a program runs. What a program does wrong is told on the program's stack.
var (
	wantsMemory = regexp.MustCompile(`out of memory|cannot allocate memory|errno=12|failed to create new OS thread|pthread_create failed`)
	aStack      = regexp.MustCompile(`(?m)^(runtime stack:|goroutine \d+ )`)
)

// endedForMemory fails unless the runtime ended the host.
func (s *stage) endedForMemory(mark int) {
	s.t.Helper()
	said, _ := s.printed(mark)
	if first := aStack.FindString(said); wantsMemory.MatchString(said) || first == "runtime stack:" || first == "goroutine 0 " {
		return
	}
	var own []string
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "time=") && len(own) < 20 {
			own = append(own, line)
		}
	}
	s.t.Errorf("the host ended, %v, and not by want of memory:\n%s", s.up.ProcessState, strings.Join(own, ""))
}

// data is how much memory of its own the host may write to, in bytes.
func (s *stage) data() (bytes uint64) {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.up.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if n, err := fmt.Sscanf(line, "VmData: %d kB", &bytes); err == nil && n == 1 {
			return bytes << 10
		}
	}
	s.t.Fatalf("no VmData in\n%s", raw)
	return 0
}
