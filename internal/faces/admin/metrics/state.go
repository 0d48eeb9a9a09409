package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stewardhost/steward/internal/domain/pool/view"
)

// state reads the host when it is scraped.
type state struct {
	read func(context.Context) Reading
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("steward_"+name, help, labels, nil)
}

// fact is one number of a reading.
type fact struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(Reading) float64
}

var facts = []fact{
	{desc("store_fenced", "One once the store accepts nothing any more."), prometheus.GaugeValue, func(r Reading) float64 { return one(r.Fenced) }},
	{desc("store_disk_full", "One while the disk has no room for a commit."), prometheus.GaugeValue, func(r Reading) float64 { return one(r.Full) }},
	{desc("store_damage", "What the last look at the form of the database found to be wrong."), prometheus.GaugeValue, func(r Reading) float64 { return float64(r.Damage) }},
	{desc("store_commits_total", "Commits that became durable."), prometheus.CounterValue, func(r Reading) float64 { return float64(r.Commits) }},
	{desc("store_jobs_total", "Transactions that were part of those commits."), prometheus.CounterValue, func(r Reading) float64 { return float64(r.Jobs) }},
	{desc("store_checkpoints_total", "Copies of the log into the database."), prometheus.CounterValue, func(r Reading) float64 { return float64(r.Checkpoints) }},
	{desc("store_queue", "Transactions that wait for the writer."), prometheus.GaugeValue, func(r Reading) float64 { return float64(r.Waiting) }},
	{desc("store_log_bytes", "Size of the log's file."), prometheus.GaugeValue, func(r Reading) float64 { return float64(r.LogBytes) }},
	{desc("store_database_bytes", "Size of the database's file."), prometheus.GaugeValue, func(r Reading) float64 { return float64(r.DatabaseBytes) }},
	{desc("clock_behind_seconds", "How far the wall clock is behind the store's time."), prometheus.GaugeValue, func(r Reading) float64 { return r.Behind.Seconds() }},
	{desc("indeterminate", "Calls in doubt."), prometheus.GaugeValue, func(r Reading) float64 { return float64(r.Doubts) }},
	{desc("indeterminate_oldest_seconds", "Age of the oldest doubt; alarm above an hour."), prometheus.GaugeValue, func(r Reading) float64 { return r.OldestDoubt.Seconds() }},
	{desc("audit_denials_total", "Attempts that were refused, as the audit trail has them."), prometheus.CounterValue, func(r Reading) float64 { return float64(r.Denials) }},
}

var upstreams = desc("upstreams", "Connections to upstreams, by state.", "state")

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// Describe gives the descriptions of all facts.
func (s state) Describe(out chan<- *prometheus.Desc) {
	for _, f := range facts {
		out <- f.desc
	}
	out <- upstreams
}

// Collect reads the host once.
func (s state) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	r := s.read(ctx)
	for _, f := range facts {
		out <- prometheus.MustNewConstMetric(f.desc, f.kind, f.value(r))
	}
	for _, at := range view.ConnectionStates() { // all of them, so that none comes and goes
		out <- prometheus.MustNewConstMetric(upstreams, prometheus.GaugeValue, float64(r.Upstreams[at]), string(at))
	}
}
