package upstreams_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/test/hosttest"
)

// held is what a host holds of the machine.
type held struct{ Files, Processes int }

func holds(t *testing.T, h *hosttest.Host) (now held, kilobytes int) {
	t.Helper()
	kilobytes = memory(t, h, "VmRSS:")
	proc := filepath.Join("/proc", strconv.Itoa(h.PID()))
	files, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(filepath.Join(proc, "task", "*", "children"))
	if err != nil || len(threads) == 0 {
		t.Fatal("no list of children: ", err)
	}
	for _, thread := range threads {
		children, _ := os.ReadFile(thread) // of a thread that has ended, there is none
		now.Processes += len(strings.Fields(string(children)))
	}
	for _, f := range files {
		if to, err := os.Readlink(filepath.Join(proc, "fd", f.Name())); err == nil && !strings.HasPrefix(to, "socket:") {
			now.Files++ // a socket belongs to a client that may linger
		}
	}
	return now, kilobytes
}

// Two thousand calls in a hundred sessions, some ended and some left behind, leave
// the host as it was: one upstream process, no descriptor more, and its memory
// within a bound (field faults, FF72, FF73).
func TestManySessionsLeaveNothing(t *testing.T) {
	sessions, each := 100, 20
	if testing.Short() {
		sessions = 20
	}
	h := hosttest.Start(t)
	app, up := h.AddApp("app"), server(t, closed("ping", "Pings."))
	tool := up.use(h, app, "notes", "ping")["ping"]
	round := func() {
		var all sync.WaitGroup
		for worker := range 4 {
			all.Go(func() {
				for i := range sessions / 4 {
					client := mcp.NewClient(&mcp.Implementation{Name: "leaver", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
					http := &http.Client{Transport: &bearer{app.MCP, &http.Transport{}}}
					s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.BaseURL + "/mcp", HTTPClient: http, MaxRetries: -1, DisableStandaloneSSE: i%2 == 0}, nil)
					if err != nil {
						t.Error(worker, err)
						return
					}
					for range each {
						if got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}}); err != nil || got.IsError {
							t.Error(err, got)
							return
						}
					}
					s.Close()
					http.CloseIdleConnections()
				}
			})
		}
		all.Wait()
	}
	round() // what is made once is made now
	before, memory := holds(t, h)
	round()
	var after held
	hosttest.WaitFor(t, "the host to be as it was", func() error {
		if after, _ = holds(t, h); after != before {
			return fmt.Errorf("it holds %+v, and held %+v", after, before)
		}
		return nil
	})
	_, now := holds(t, h)
	t.Logf("%+v; memory %d KiB before, %d KiB after", after, memory, now)
	if grown := now - memory; grown > 20<<10 {
		t.Errorf("the host has grown by %d KiB", grown)
	}
	if n := up.times("initialize"); n != 1 {
		t.Errorf("%d upstream sessions", n)
	}
}

// bearer adds a token to each request.
type bearer struct {
	token string
	next  *http.Transport
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func (b *bearer) CloseIdleConnections() { b.next.CloseIdleConnections() }

// memory is a line of what the kernel knows of the host's memory, in KiB.
func memory(t *testing.T, h *hosttest.Host, line string) (kilobytes int) {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(h.PID()), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, line); ok {
			kilobytes, _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return kilobytes
}

// A listing just under its bound, of which nothing can be imported, costs the host
// little, and not for long (field faults, FF63, FF64).
func TestAHostileListingCostsLittle(t *testing.T) {
	up := server(t)
	var tools []string
	for i := range 68 {
		tools = append(tools, closed(fmt.Sprint("fat-", i), strings.Repeat("d", 60_000)))
	}
	up.define(tools...)
	h := hosttest.Start(t)
	before := memory(t, h, "VmRSS:")
	if got := h.Import(h.Config(map[string]hosttest.Server{"fat": up.entry()})); len(got[0].Methods) != len(tools) {
		t.Errorf("%d methods", len(got[0].Methods))
	}
	most := memory(t, h, "VmHWM:") - before
	t.Logf("the host grew by %d KiB", most)
	if most > 44<<10 { // a third more than it should be, for a machine that collects late
		t.Errorf("the host grew by %d KiB", most)
	}
}
