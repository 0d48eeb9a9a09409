package lending

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/protocol/sessionwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// A crowd of peers that want nothing, never go away and come again where they were
// sent off: the client that works does not notice, whoever is let in and whoever is
// one too many (proof, R14: here of the daemon's socket).
func TestAStaleCrowdCostsTheOthersNothing(t *testing.T) {
	crowd, rounds := figure.Of(t, 400, 10_000, 10_000), figure.Of(t, 200, 36_000, 240_000)
	haveDescriptors(t, crowd)
	d := start(t, short(t), "")
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Patience+time.Duration(rounds)*stalePause*4)
	defer cancel()
	c, err := executor.Open(ctx, executor.Options{Socket: d.socket, Name: "test", Version: "1", Memory: executor.InProcess(), Tools: map[string]executor.Handler{
		"act": func(context.Context, executor.Call) (any, error) { return map[string]string{"done": "yes"}, nil },
	}})
	must(t, err)
	defer c.Close()
	s, err := lend(ctx, c, "")
	must(t, err)
	before, files := resident(t, d.cmd.Process.Pid), descriptors(t, d.cmd.Process.Pid)

	peers := make([]net.Conn, crowd)
	for i := range peers {
		peers[i] = stale(t, d.socket, i)
	}
	var told, dropped int
	var took []time.Duration
	most := 0.0
	pause := time.NewTicker(stalePause)
	defer pause.Stop()
	for n := range rounds {
		took = append(took, ask(ctx, t, c))
		told, dropped = leaving(t, peers[n%crowd], told, dropped)
		peers[n%crowd] = stale(t, d.socket, n)
		if n%(rounds/20) == 0 {
			most = max(most, resident(t, d.cmd.Process.Pid))
			a, err := s.Start(ctx, "act")
			must(t, err)
			if end, err := terminal(ctx, c, a.TurnID); err != nil || end.Status != "completed" {
				t.Fatalf("a turn in the crowd: %+v, %v", end, err)
			}
		}
		<-pause.C
	}
	newcomer(t, d.socket)
	for _, peer := range peers {
		told, dropped = leaving(t, peer, told, dropped)
	}
	if told == 0 || told+dropped != crowd+rounds {
		t.Errorf("%d were told that they are one too many, %d were let in and sent off", told, dropped)
	}
	hosttest.WaitFor(t, "the daemon to let go of the crowd", func() error {
		if now := descriptors(t, d.cmd.Process.Pid); now > files+5 {
			return fmt.Errorf("%d descriptors, %d before", now, files)
		}
		return nil
	})
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	if most > 500 || os.Getenv("STEWARD_SIZE") != "" && p99 > 50*time.Millisecond {
		t.Errorf("p99 %v with %.0f MiB", p99, most)
	}
	figure.Tell(t, "R14", "the daemon's socket: %d stale peers at once, %d more one by one, %d told limit_exceeded, %d dropped; status beside them p50 %v, p99 %v; memory %.0f MiB, %.0f before",
		crowd, rounds, told, dropped, p50.Round(time.Microsecond), p99.Round(time.Microsecond), most, before)
}

// stalePause is between two of those that come again.
const stalePause = 2 * time.Millisecond

// haveDescriptors checks that so many peers fit this process.
func haveDescriptors(t *testing.T, n int) {
	t.Helper()
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)) // Go has raised it to what is allowed
	if limit.Cur < uint64(n)+200 {
		t.Fatalf("%d peers need as many descriptors: raise the limit of %d", n, limit.Cur)
	}
}

// stale opens a connection of one kind of several, and leaves it.
func stale(t *testing.T, socket string, n int) net.Conn {
	t.Helper()
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	switch n % 5 {
	case 1:
		_, _ = io.WriteString(conn, `{"protocol_version":2,"kind":"requ`) // half a record; one that is sent off cannot take it
	case 2:
		_, _ = io.WriteString(conn, "{") // a byte
	case 3:
		_ = conn.(*net.UnixConn).CloseWrite()
	case 4:
		_, _ = io.WriteString(conn, strings.Repeat("x", 60<<10)) // nearly a record, and never its end
	}
	return conn
}

// leaving reads what the daemon has told a stale peer, and ends it.
func leaving(t *testing.T, conn net.Conn, told, dropped int) (int, int) {
	t.Helper()
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(hosttest.Patience))
	line, err := bufio.NewReader(conn).ReadBytes('\n')
	var r sessionwire.Response
	switch {
	case len(line) == 0 && !errors.Is(err, os.ErrDeadlineExceeded):
		return told, dropped + 1
	case err == nil && json.Unmarshal(line, &r) == nil && r.Error != nil && r.Error.Code == "limit_exceeded":
		return told + 1, dropped
	}
	t.Errorf("a stale peer hears %q, %v", line, err)
	return told, dropped
}

// ask is one round trip of a client that works.
func ask(ctx context.Context, t *testing.T, c *executor.Client) time.Duration {
	t.Helper()
	began := time.Now()
	var a sessionwire.StatusAnswer
	must(t, c.Call(ctx, sessionwire.Status, "", nil, "", sessionwire.Empty{}, &a))
	return time.Since(began)
}

// newcomer is let in once those before it had their time to say who they are.
func newcomer(t *testing.T, socket string) {
	t.Helper()
	hosttest.WaitFor(t, "a newcomer to be let in", func() error {
		c, err := executor.Open(t.Context(), executor.Options{Socket: socket, Name: "test", Version: "1", Plain: true})
		if err == nil {
			c.Close()
		}
		return err
	})
}

// descriptors is how many files a process has open.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(all)
}

// resident is the memory of a process in MiB, where the system tells it.
func resident(t testing.TB, pid int) float64 {
	t.Helper()
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	return 0
}
