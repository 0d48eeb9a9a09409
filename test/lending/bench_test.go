package lending

import (
	"context"
	"fmt"
	"log/slog"
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

// retained is how many turns a daemon takes within ten minutes: it keeps their
// evidence (guide, Reconnect evidence: 256).
const retained = 250

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
	alone := newCommitter(b, d.folder)
	var took, commit []time.Duration
	for range min(b.N, retained) {
		_, err := s.Start(b.Context(), "act")
		must(b, err)
		took = append(took, roundTrip(b, c))
		commit = append(commit, alone()) // beside it, since a disk has its moods
	}
	p50, one := middle(took), middle(commit)
	b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(one.Microseconds()), "commit-µs")
	b.ReportMetric(float64((p50 - commits*one).Microseconds()), "beyond-commits-µs")
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

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// newCommitter measures what one durable record takes on the same disk.
func newCommitter(b *testing.B, folder string) func() time.Duration {
	b.Helper()
	store, err := sessionlog.Open(filepath.Join(folder, "alone"), time.Now, slog.New(slog.DiscardHandler))
	must(b, err)
	must(b, store.Create(b.Context(), "S", ""))
	w, _, err := store.Open(b.Context(), "S")
	must(b, err)
	b.Cleanup(func() { w.Close() })
	return func() time.Duration {
		began := time.Now()
		must(b, w.Append(b.Context(), "T", transcript.AssistantChunk, transcript.Chunk{Text: strings.Repeat("x", 400)}))
		return time.Since(began)
	}
}

// resident is the memory of a process in MiB, where the system tells it.
func resident(b testing.TB, pid int) float64 {
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
