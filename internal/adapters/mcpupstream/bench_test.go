package mcpupstream

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// BenchmarkCall reports the client's own CPU time a call, beside the wall clock.
func BenchmarkCall(b *testing.B) {
	c := NewStdio("scripted", childprocess.Spec{
		Command: os.Args[0], Args: []string{"upstream", "good", filepath.Join(b.TempDir(), "log")}, Env: childprocess.BaseEnv(),
	}, Options{})
	defer c.Close()
	if err := c.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	args := []byte(`{"text":"` + strings.Repeat("x", 200) + `"}`)
	b.ReportAllocs()
	began := cpuTime(b)
	for b.Loop() {
		if got := c.Call(b.Context(), "tool", args, nil); got.Kind != invocation.Answered {
			b.Fatalf("event %+v", got)
		}
	}
	b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
