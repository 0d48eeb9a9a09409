package crash_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// R18. Four clients, a warden who takes a right and gives it back, the owner and an MCP
// client work at once, while the host ends in order and is killed now and then. Built
// with the race detector it reports none, and what everybody was told is true. In quick
// size it is an ordinary host and the crowd alone is tried.
func TestMixedLoadHasNoRace(t *testing.T) {
	long := time.Duration(figure.Of(t, 4, 600, 600)) * time.Second
	seed := figure.Seed(t)
	s := newStage(t, 4)
	raced := figure.Of(t, 0, 1, 1) == 1
	if raced {
		s.program = hosttest.Raced(t)
	}
	s.opens()
	c := begin(s, seed)
	defer c.stop()
	ctx, stop := context.WithTimeout(context.Background(), long)
	defer stop()
	var beside sync.WaitGroup
	defer beside.Wait()
	var looks, lists atomic.Int64
	beside.Go(func() { s.look(ctx, &looks) })
	beside.Go(func() { s.list(ctx, &lists) })
	ends := [2]int{}
	for i := 0; ctx.Err() == nil; i++ {
		moment(ctx, max(long/30, time.Second))
		if s.over() {
			t.Fatalf("the host ended by itself, %v:\n%s", s.up.ProcessState, s.lastWords())
		}
		if ends[i%2]++; i%2 == 0 {
			s.stop()
		} else {
			s.kill()
		}
		s.opensAfterCopy()
	}
	beside.Wait()
	c.end(s)
	count := s.judge()
	s.stop()
	if said, _ := s.printed(0); strings.Contains(said, "DATA RACE") {
		at := strings.Index(said, "DATA RACE")
		t.Errorf("the race detector says:\n%s", said[at:min(len(said), at+6000)])
	}
	if looks.Load() == 0 || lists.Load() == 0 {
		t.Errorf("the owner looked %d times and the MCP client %d times", looks.Load(), lists.Load())
	}
	figure.Tell(t, "R18", "seed=%d race_detector=%v %s of load, %d ends in order, %d kills, %d looks of the owner, %d lists and calls of MCP, %s",
		seed, raced, long, ends[0], ends[1], looks.Load(), lists.Load(), count)
}

// laterExit is the exit code of a command that is to be tried again.
const laterExit = 10

// opensAfterCopy starts a host as whoever supervises it does: a copy that is taken while
// none runs has the folder for itself, and the host is told to come back later.
func (s *stage) opensAfterCopy() {
	s.t.Helper()
	hosttest.WaitFor(s.t, "a host to get the folder", func() error {
		s.start()
		for !s.over() {
			if s.healthy() == nil {
				return nil
			}
			moment(context.Background(), 10*time.Millisecond)
		}
		if code := s.up.ProcessState.ExitCode(); code != laterExit {
			s.t.Fatalf("the host ended with %d:\n%s", code, s.lastWords())
		}
		return errors.New("the folder is taken")
	})
}

// look is the owner at the host: what there is, what was called, whether it holds, and a
// copy of it.
func (s *stage) look(ctx context.Context, looks *atomic.Int64) {
	for i := 0; ctx.Err() == nil; i++ {
		owner := s.owner()
		var err error
		switch i % 6 {
		case 0:
			_, err = client.Call(ctx, owner, adminwire.HostStatus, adminwire.Empty{})
		case 1:
			_, err = client.Call(ctx, owner, adminwire.AppsList, adminwire.Empty{})
		case 2:
			_, err = client.Call(ctx, owner, adminwire.ResourcesList, adminwire.Empty{})
		case 3:
			_, err = client.Call(ctx, owner, adminwire.JournalList, adminwire.ListJournal{Limit: 20})
		case 4:
			_, err = client.Call(ctx, owner, adminwire.GrantsList, adminwire.ListGrants{})
		case 5:
			err = s.backedUp(ctx)
		}
		owner.Close()
		if err == nil {
			looks.Add(1)
		}
		moment(ctx, 100*time.Millisecond)
	}
}

// backedUp takes a backup, which is checked whole, and removes it.
func (s *stage) backedUp(ctx context.Context) error {
	to := filepath.Join(s.dir, "copy")
	defer os.Remove(to)
	out, err := exec.CommandContext(ctx, s.program, "--home", s.home, "backup", to).CombinedOutput()
	if bytes.Contains(out, []byte("DATA RACE")) {
		s.t.Errorf("%s", out)
	}
	return err
}

// list is an MCP client that asks what it may call, and calls what it may not: the
// ledger is of calls by other doors.
func (s *stage) list(ctx context.Context, lists *atomic.Int64) {
	for ctx.Err() == nil {
		for _, q := range []struct{ method, name, params string }{{"tools/list", "", ""}, {"tools/call", "nothing", `"name":"nothing","arguments":{},`}} {
			if s.ask(ctx, q.method, q.name, q.params) == nil {
				lists.Add(1)
			}
		}
		moment(ctx, 50*time.Millisecond)
	}
}

// ask sends one request of the stateless protocol.
func (s *stage) ask(ctx context.Context, method, name, params string) error {
	const revision = "2026-07-28"
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + revision +
		`","io.modelcontextprotocol/clientInfo":{"name":"crowd","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base()+"/mcp", strings.NewReader(body))
	if err != nil {
		return err
	}
	for key, value := range map[string]string{"Authorization": "Bearer " + s.clients[0].MCP, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": revision, "Mcp-Method": method, "Mcp-Name": name} {
		if value != "" {
			req.Header.Set(key, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode >= http.StatusInternalServerError || !bytes.Contains(raw, []byte(`"jsonrpc"`))) {
		s.t.Errorf("%s: HTTP %d %s", method, resp.StatusCode, raw)
	}
	return err
}
