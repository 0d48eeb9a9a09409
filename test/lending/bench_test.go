package lending

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/executor"
	"github.com/stewardhost/steward/internal/adapters/sessionlog"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// commits is how many records become durable, one after the other, between what
// the agent says before a call and what it says after it: that text, the binding,
// the result.
const commits = 3

// The bar is a round trip of at most 1 ms beyond its commits (quality page, section
// 1). All figures are p50 of the same run.
func BenchmarkCallbackRoundTrip(b *testing.B) {
	d := start(b, short(b), "")
	c, err := executor.Open(b.Context(), executor.Options{Socket: d.socket, Name: "bench", Version: "1", Memory: executor.InProcess(), Tools: map[string]executor.Handler{
		"act": func(context.Context, executor.Call) (any, error) { return map[string]string{"done": "yes"}, nil },
	}})
	must(b, err)
	defer c.Close()
	idle := resident(b, d.cmd.Process.Pid)
	s, err := lend(b.Context(), c, "")
	must(b, err)
	var took []time.Duration
	for b.Loop() {
		_, err := s.Start(b.Context(), "act")
		must(b, err)
		took = append(took, roundTrip(b, c))
	}
	commit := commitTime(b, d.folder)
	slices.Sort(took)
	p50 := took[len(took)/2]
	b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(commit.Microseconds()), "commit-µs")
	b.ReportMetric(float64((p50 - commits*commit).Microseconds()), "beyond-commits-µs")
	b.ReportMetric(idle, "idle-MiB")
	b.ReportMetric(resident(b, d.cmd.Process.Pid), "after-MiB")
}

// roundTrip is the time from the agent's word before the call to its word after
// it. It returns when the turn has ended.
func roundTrip(b *testing.B, c *executor.Client) (took time.Duration) {
	b.Helper()
	var began time.Time
	for e := range c.Events() {
		switch {
		case e.Event == sessionwire.TurnDelta && began.IsZero():
			began = time.Now()
		case e.Event == sessionwire.TurnDelta:
			took = time.Since(began)
		case e.Event == sessionwire.TurnTerminal:
			return took
		}
	}
	b.Fatal(c.Err())
	return 0
}

// commitTime is what one durable record takes on the same disk.
func commitTime(b *testing.B, folder string) time.Duration {
	b.Helper()
	store, err := sessionlog.Open(filepath.Join(folder, "alone"), time.Now)
	must(b, err)
	must(b, store.Create(b.Context(), "S", ""))
	w, _, err := store.Open(b.Context(), "S")
	must(b, err)
	defer w.Close()
	var took []time.Duration
	for range 400 {
		began := time.Now()
		must(b, w.Append(b.Context(), "T", transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("x", 400)}))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// resident is the memory of a process in MiB, where the system tells it.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	return 0
}
