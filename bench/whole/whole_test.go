package whole

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/bench/echo"
	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// TestMain lets this program be what a host and a measurement start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case childprocess.Verb:
			os.Exit(childprocess.Supervise(os.Args[2:]))
		case "echo":
			os.Exit(code(echo.Serve(os.Stdin, os.Stdout, 1)))
		case "many":
			os.Exit(code(echo.Serve(os.Stdin, os.Stdout, 500)))
		case "load":
			os.Exit(code(load.Serve(os.Stdin, os.Stdout)))
		}
	}
	os.Exit(m.Run())
}

func code(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// rig is a host in this process and a client in another.
type rig struct {
	*Host
	pool Pool
	load *load.Process
}

func start(t testing.TB) rig {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	pool, err := Prepare(ctx, filepath.Join(t.TempDir(), "pool"), Servers{Narrow: []string{self, "echo"}, Wide: []string{self, "many"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(ctx, pool.Dir)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := load.Start(self, "load")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := clients.Close(); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return rig{h, pool, clients}
}

func (r rig) target(kind load.Kind) load.Target {
	self, _ := os.Executable()
	t := load.Target{Kind: kind, Addr: r.Addr, Token: r.pool.MCP, Tool: r.pool.Tool, Command: []string{self, "echo"}}
	switch kind {
	case load.List:
		t.Token = r.pool.ReaderMCP
	case load.Put, load.Get:
		t.Token = r.pool.RPC
	}
	return t
}

var kinds = []load.Kind{load.Direct, load.Legacy, load.Modern, load.List, load.Put, load.Get}

func TestCalls(t *testing.T) {
	r := start(t)
	t.Run("each kind is answered", r.answered)
	t.Run("a wrong answer fails the job", r.wrong)
}

func (r rig) answered(t *testing.T) {
	for _, kind := range kinds {
		got, err := r.load.Run(load.Job{Target: r.target(kind), Callers: 2, Calls: 10, Tools: len(r.pool.Methods)})
		if err != nil {
			t.Error(err)
		} else if len(got.Times.Each) != 10 || got.Times.Quantile(0.5) <= 0 || got.Bytes == 0 {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}

// What is not an answer must not be measured as one.
func (r rig) wrong(t *testing.T) {
	for name, spoil := range map[string]func(*load.Target){
		"status":    func(t *load.Target) { t.Token = "sta_none" },
		"rpc error": func(t *load.Target) { t.Tool = "none" },
		"tools":     func(t *load.Target) { t.Kind, t.Token = load.List, r.pool.ReaderMCP },
		"loopback":  func(t *load.Target) { t.Addr = "192.0.2.1:80" },
		"no kind":   func(t *load.Target) { t.Kind = "" },
		"no server": func(t *load.Target) { t.Kind, t.Command = load.Direct, nil },
	} {
		target := r.target(load.Modern)
		spoil(&target)
		if _, err := r.load.Run(load.Job{Target: target, Callers: 1, Calls: 1, Tools: len(r.pool.Methods) - 1}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// BenchmarkCall is one call over HTTP, the client in another process: processor
// time, allocations and statements are the host's alone.
func BenchmarkCall(b *testing.B) {
	r := start(b)
	for _, kind := range kinds[1:] {
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/callers=%d", kind, callers), func(b *testing.B) {
				job := load.Job{Target: r.target(kind), Callers: callers, Calls: 4 * callers, Tools: len(r.pool.Methods)}
				if _, err := r.load.Run(job); err != nil {
					b.Fatal(err)
				}
				job.Calls = b.N
				before := r.Stats()
				cpu := meter.OwnCPU()
				b.ReportAllocs()
				b.ResetTimer()
				if _, err := r.load.Run(job); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				used, after := meter.OwnCPU()-cpu, r.Stats()
				n := float64(b.N)
				b.ReportMetric(float64(used.Microseconds())/n, "cpu-µs/op")
				b.ReportMetric(float64(after.WriteStatements+after.ReadStatements-before.WriteStatements-before.ReadStatements)/n, "statements/op")
				b.ReportMetric(float64(after.Commits-before.Commits)/n, "commits/op")
			})
		}
	}
}
