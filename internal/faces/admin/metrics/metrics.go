// Package metrics is what a monitoring system sees of a host, in Prometheus' form,
// and the runtime's profiles beside it (faces page, section 4).
//
// It promises that no name, id, path or text that a client, an upstream or the owner
// chose is in it: labels are doors, codes of the fault table, states of connections
// and the build. It has no authentication of its own; whoever wires it puts the
// handler on loopback or a private socket only (threats, A77). What belongs to the
// store is read when it is asked for. A Metrics is safe for concurrent use.
package metrics

import (
	"context"
	"net/http"
	"net/http/pprof"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Reading is what is asked of the host at each scrape.
type Reading struct {
	Fenced        bool
	Full          bool          // no room on the disk
	Damage        int           // found by the last look at the form of the database
	Behind        time.Duration // of the wall clock, behind the store's time
	Commits       int64
	Jobs          int64 // that were part of them
	Checkpoints   int64
	Waiting       int // jobs in the queue
	LogBytes      int64
	DatabaseBytes int64
	Doubts        int64                        // calls in doubt
	OldestDoubt   time.Duration                // zero for none
	Denials       int64                        // attempts that were refused, as the trail has them
	Upstreams     map[view.ConnectionState]int // connections by state
}

// Metrics counts calls and reads the rest.
type Metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	refused  *prometheus.CounterVec
}

// The outcomes of calls that are no code of the fault table.
const (
	outcomeOK      = "ok"
	outcomePending = "pending"
)

// latencies are the bounds of the buckets, in seconds: from a built-in to the
// longest call.
var latencies = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// scrapeTime bounds what one scrape may wait for the store.
const scrapeTime = 5 * time.Second

// New returns metrics of a host that is read by the function.
func New(version string, read func(context.Context) Reading) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "steward_calls_total",
			Help: "Calls that were answered, by door and by ok, pending or the code of the fault."}, []string{"door", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "steward_call_seconds",
			Help: "Time from a parsed call to its answer.", Buckets: latencies}, []string{"door"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "steward_budget_refusals_total",
			Help: "Calls that a rate or a budget refused, by code."}, []string{"code"}),
	}
	for _, code := range []fault.Code{fault.RateLimited, fault.BudgetExhausted} {
		m.refused.WithLabelValues(string(code))
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "steward_build_info", Help: "One; the labels say which steward this is.",
		ConstLabels: prometheus.Labels{"version": version, "go": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m.calls, m.seconds, m.refused, build, state{read},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// doors are the labels of doors; what is not here is the owner's own.
var doors = map[string]string{"rpc": "rpc", "mcp": "mcp"}

// Call counts one answered call. A nil fault is a success or a call under way.
func (m *Metrics) Call(door string, pending bool, f *fault.Fault, took time.Duration) {
	name, outside := doors[door]
	if !outside {
		name = "owner"
	}
	outcome := outcomeOK
	switch {
	case f != nil:
		outcome = string(f.Row().Code)
	case pending:
		outcome = outcomePending
	}
	m.calls.WithLabelValues(name, outcome).Inc()
	m.seconds.WithLabelValues(name).Observe(took.Seconds())
	if f != nil && (f.Code == fault.RateLimited || f.Code == fault.BudgetExhausted) {
		m.refused.WithLabelValues(outcome).Inc()
	}
}

// Handler serves /metrics and /debug/pprof/, and nothing else.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 2 * scrapeTime}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
