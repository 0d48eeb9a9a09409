package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/admin/metrics"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func get(t *testing.T, m *metrics.Metrics, path string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return rec.Code, rec.Body.String()
}

// own gives the lines of a scrape that are steward's and no bucket.
func own(scrape string) (lines []string) {
	for line := range strings.Lines(scrape) {
		if strings.HasPrefix(line, "steward_") && !strings.HasPrefix(line, "steward_call_seconds") && !strings.HasPrefix(line, "steward_build") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestAScrapeTellsTheHostAsItIs(t *testing.T) {
	r := metrics.Reading{Fenced: true, Full: true, Damage: 2, Behind: 90 * time.Second, Commits: 7, Jobs: 9, Checkpoints: 2, Waiting: 3, LogBytes: 4096,
		DatabaseBytes: 8192, Doubts: 5, OldestDoubt: time.Hour, Denials: 11, Upstreams: map[view.ConnectionState]int{view.ConnectionReady: 2, "of its own making": 1}}
	m := metrics.New("1.2.3", func(context.Context) metrics.Reading { return r })
	m.Call("rpc", false, nil, time.Millisecond)
	m.Call("rpc", false, fault.New(fault.NotFound, "a name"), time.Millisecond)
	m.Call("mcp", true, nil, time.Second)
	m.Call("mcp", false, fault.New(fault.RateLimited, ""), time.Minute)
	m.Call("", false, fault.New(fault.Indeterminate, ""), 0)
	status, text := get(t, m, "/metrics")
	want := []string{
		`steward_audit_denials_total 11`,
		`steward_budget_refusals_total{code="budget_exhausted"} 0`,
		`steward_budget_refusals_total{code="rate_limited"} 1`,
		`steward_calls_total{door="mcp",outcome="pending"} 1`,
		`steward_calls_total{door="mcp",outcome="rate_limited"} 1`,
		`steward_calls_total{door="owner",outcome="indeterminate"} 1`,
		`steward_calls_total{door="rpc",outcome="not_found"} 1`,
		`steward_calls_total{door="rpc",outcome="ok"} 1`,
		`steward_clock_behind_seconds 90`,
		`steward_indeterminate 5`,
		`steward_indeterminate_oldest_seconds 3600`,
		`steward_store_checkpoints_total 2`,
		`steward_store_commits_total 7`,
		`steward_store_damage 2`,
		`steward_store_database_bytes 8192`,
		`steward_store_disk_full 1`,
		`steward_store_fenced 1`,
		`steward_store_jobs_total 9`,
		`steward_store_log_bytes 4096`,
		`steward_store_queue 3`,
		`steward_upstreams{state="failed"} 0`,
		`steward_upstreams{state="idle"} 0`,
		`steward_upstreams{state="ready"} 2`,
		`steward_upstreams{state="starting"} 0`,
	}
	if d := cmp.Diff(want, own(text)); status != http.StatusOK || d != "" {
		t.Errorf("HTTP %d: %s", status, d)
	}
	if !strings.Contains(text, `steward_call_seconds_count{door="mcp"} 2`) || !strings.Contains(text, `steward_build_info{go="go`) || !strings.Contains(text, "go_goroutines ") {
		t.Error(text)
	}
}

var label = regexp.MustCompile(`="([^"]*)"`)

// Whatever a caller chooses, there are no more series than before and none has its
// words.
func TestNobodyChoosesALabel(t *testing.T) {
	m := metrics.New("1.2.3", func(context.Context) metrics.Reading { return metrics.Reading{} })
	for i := range 1000 {
		name := fmt.Sprintf("chosen-%d\n\x1b[2J", i)
		m.Call(name, false, fault.New(fault.Code(name), name).With("reason", name), 0)
	}
	_, text := get(t, m, "/metrics")
	if strings.Contains(text, "chosen") {
		t.Error("a name that a caller chose is in the metrics")
	}
	series := slices.DeleteFunc(own(text), func(line string) bool { return !strings.HasPrefix(line, "steward_calls_total") })
	if want := []string{`steward_calls_total{door="owner",outcome="internal"} 1000`}; !slices.Equal(series, want) {
		t.Error(series)
	}
	for _, found := range label.FindAllStringSubmatch(text, -1) {
		if len(found[1]) > 40 {
			t.Errorf("a label of %d bytes", len(found[1]))
		}
	}
}

func TestOnlyMetricsAndProfilesAreServed(t *testing.T) {
	m := metrics.New("1.2.3", func(context.Context) metrics.Reading { return metrics.Reading{} })
	for path, want := range map[string]int{"/metrics": 200, "/debug/pprof/": 200, "/debug/pprof/goroutine?debug=1": 200, "/": 404, "/debug": 404, "/debug/vars": 404, "/debug/pprof/cmdline": 404} {
		if got, _ := get(t, m, path); got != want {
			t.Errorf("%s: HTTP %d, want %d", path, got, want)
		}
	}
}
