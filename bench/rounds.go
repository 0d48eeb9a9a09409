package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
)

// subject is one thing that is measured in every round.
type subject struct {
	name    string
	callers int
	calls   int // of a round
	run     func(callers, calls int) (meter.Times, error)
	host    bool // it calls the host, whose processor time is taken

	p50, p99, rate []float64     // of each round; ms, ms, a second
	done           int           // calls of all rounds
	cpu            time.Duration // of the host
	client         time.Duration // of who asked
}

// The names of the subjects.
const (
	disk      = "disk"
	twoVerbs  = "reserve and settle"
	twoRows   = "two commits of rows"
	direct    = "direct"
	verbs16   = "reserve and settle, 16"
	rows16    = "two commits of rows, 16"
	manyOne   = 16
	manyBuilt = 32
)

func (b *bench) subjects() []*subject {
	many, one := b.calls, b.calls/5
	store := func(callers, calls int) (meter.Times, error) { return b.verbs.Dispatched(b.ctx, callers, calls) }
	rows := func(callers, calls int) (meter.Times, error) { return b.bare.Dispatched(b.ctx, callers, calls) }
	list := []*subject{
		{name: disk, callers: 1, calls: one, run: func(_, calls int) (meter.Times, error) { return meter.Disk(b.dir, calls) }},
		{name: twoVerbs, callers: 1, calls: one, run: store},
		{name: twoRows, callers: 1, calls: one, run: rows},
		{name: direct, callers: 1, calls: one, run: b.loads(load.Direct)},
		{name: string(load.Legacy), callers: 1, calls: one, host: true, run: b.loads(load.Legacy)},
		{name: string(load.Modern), callers: 1, calls: one, host: true, run: b.loads(load.Modern)},
		{name: string(load.Far), callers: 1, calls: one, host: true, run: b.loads(load.Far)},
		{name: string(load.Far) + ", 16", callers: manyOne, calls: many, host: true, run: b.loads(load.Far)},
		{name: verbs16, callers: manyOne, calls: many, run: store},
		{name: rows16, callers: manyOne, calls: many, run: rows},
		{name: string(load.Legacy) + ", 16", callers: manyOne, calls: many, host: true, run: b.loads(load.Legacy)},
		{name: string(load.Modern) + ", 16", callers: manyOne, calls: many, host: true, run: b.loads(load.Modern)},
	}
	for _, kind := range []load.Kind{load.Get, load.Put} {
		list = append(list,
			&subject{name: string(kind) + " rows", callers: manyBuilt, calls: many,
				run: func(callers, calls int) (meter.Times, error) { return b.bare.Builtin(b.ctx, kind, callers, calls) }},
			&subject{name: string(kind) + " verb", callers: manyBuilt, calls: many,
				run: func(callers, calls int) (meter.Times, error) { return b.verbs.Builtin(b.ctx, kind, callers, calls) }},
			&subject{name: string(kind), callers: manyBuilt, calls: many, host: true, run: b.loads(kind)})
	}
	return list
}

// loads lets the client's process make calls of one kind.
func (b *bench) loads(kind load.Kind) func(callers, calls int) (meter.Times, error) {
	return func(callers, calls int) (meter.Times, error) {
		r, err := b.load.Run(load.Job{Target: b.target(kind, b.host.addr), Callers: callers, Calls: calls})
		return r.Times, err
	}
}

// measureRounds goes through all subjects as often as there are rounds, each
// time beginning with another one.
func (b *bench) measureRounds() error {
	all := b.subjects()
	for round := range b.rounds {
		for i := range all {
			s := all[(i+round)%len(all)]
			b.note("round %d of %d: %s", round+1, b.rounds, s.name)
			if err := b.once(s); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	found := map[string]*subject{}
	for _, s := range all {
		found[s.name] = s
	}
	b.judge(found)
	resident, err := idle(b.host)
	if err != nil {
		return err
	}
	b.add(row{what: "resident memory, idle, after these calls", figure: resident, unit: "MiB", beside: "2 s after the last one; one upstream runs"})
	err = b.host.down()
	b.host = nil
	return err
}

// once takes one round of a subject, after some calls that nobody counts: what
// has not run for seconds is slower at first.
func (b *bench) once(s *subject) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if _, err := s.run(s.callers, s.calls/8); err != nil {
		return err
	}
	var before time.Duration
	var err error
	if s.host {
		if before, err = meter.CPU(b.host.pid()); err != nil {
			return err
		}
	}
	t, err := s.run(s.callers, s.calls)
	if err != nil {
		return err
	}
	if s.host {
		after, err := meter.CPU(b.host.pid())
		if err != nil {
			return err
		}
		s.cpu += after - before
	}
	s.client += t.CPU
	s.done += len(t.Each)
	s.p50 = append(s.p50, ms(t.Quantile(0.5)))
	s.p99 = append(s.p99, ms(t.Quantile(0.99)))
	s.rate = append(s.rate, t.Rate())
	return nil
}

// perCall is a processor time by call, in µs.
func (s *subject) perCall(total time.Duration) float64 { return us(total) / float64(s.done) }

// paired is the median over the rounds of what f makes of each.
func paired(rounds int, f func(round int) float64) float64 {
	each := make([]float64, rounds)
	for i := range each {
		each[i] = f(i)
	}
	return meter.Median(each)
}

// judge makes the rows of the table.
func (b *bench) judge(all map[string]*subject) {
	d := all[disk]
	b.add(row{what: "4 KiB appended and made durable, alone", figure: meter.Median(d.p50), unit: "ms", beside: fmt.Sprintf("%.0f a second, p99 %.2f ms", meter.Median(d.rate), meter.Median(d.p99))})
	for _, era := range []load.Kind{load.Legacy, load.Modern} {
		b.judgeOne(all, all[string(era)], era)
		b.judgeMany(all, all[string(era)+", 16"], era)
	}
	b.judgeFar(all)
	for _, kind := range []load.Kind{load.Get, load.Put} {
		s, rows, verb := all[string(kind)], all[string(kind)+" rows"], all[string(kind)+" verb"]
		ratio := func(to *subject) float64 {
			return paired(b.rounds, func(i int) float64 { return 100 * s.rate[i] / to.rate[i] })
		}
		b.add(row{what: "item " + string(kind) + " over RPC, 32 callers: part of what the store alone does", figure: ratio(verb), unit: "%", bar: 60, stretch: 80, more: true,
			beside: fmt.Sprintf("%.0f calls/s; store alone %.0f/s; p99 %.1f ms", meter.Median(s.rate), meter.Median(verb.rate), meter.Median(s.p99))})
		b.add(row{what: "  part of what the writer does with the same rows", figure: ratio(rows), unit: "%",
			beside: fmt.Sprintf("bare rows %.0f/s; CPU a call in steward %.0f µs, in the client %.0f µs; the store's verb alone %.0f µs, bare rows %.0f µs",
				meter.Median(rows.rate), s.perCall(s.cpu), s.perCall(s.client), verb.perCall(verb.client), rows.perCall(rows.client))})
	}
}

func (b *bench) judgeOne(all map[string]*subject, s *subject, era load.Kind) {
	straight, verbs, rows := all[direct], all[twoVerbs], all[twoRows]
	added := func(i int) float64 { return s.p50[i] - straight.p50[i] }
	b.add(row{what: eraOf(era) + ", 1 caller: added p50 beyond two commits of the store", figure: paired(b.rounds, func(i int) float64 { return added(i) - verbs.p50[i] }),
		unit: "ms", bar: 0.3, stretch: 0.15,
		beside: fmt.Sprintf("p50 %.2f ms, direct %.2f, two commits %.2f; in the best rounds %.2f, %.2f, %.2f", meter.Median(s.p50), meter.Median(straight.p50), meter.Median(verbs.p50),
			slices.Min(s.p50), slices.Min(straight.p50), slices.Min(verbs.p50))})
	b.add(row{what: "  beyond two commits of bare rows", figure: paired(b.rounds, func(i int) float64 { return added(i) - rows.p50[i] }), unit: "ms",
		beside: fmt.Sprintf("bare rows %.2f ms, in the best round %.2f; CPU in steward %.0f µs a call", meter.Median(rows.p50), slices.Min(rows.p50), s.perCall(s.cpu))})
}

func (b *bench) judgeMany(all map[string]*subject, s *subject, era load.Kind) {
	verbs, rows := all[verbs16], all[rows16]
	ratio := func(to *subject) float64 {
		return paired(b.rounds, func(i int) float64 { return 100 * s.rate[i] / to.rate[i] })
	}
	b.add(row{what: eraOf(era) + ", 16 callers: part of what the store alone does", figure: ratio(verbs), unit: "%", bar: 50, stretch: 70, more: true,
		beside: fmt.Sprintf("%.0f calls/s; store alone %.0f/s", meter.Median(s.rate), meter.Median(verbs.rate))})
	b.add(row{what: "  part of what the writer does with the same rows", figure: ratio(rows), unit: "%", beside: fmt.Sprintf("bare rows %.0f/s", meter.Median(rows.rate))})
	b.add(row{what: "  CPU a call in steward", figure: s.perCall(s.cpu), unit: "µs", bar: 450, stretch: 250, beside: fmt.Sprintf("in the client %.0f µs; the store's verbs alone %.0f µs, bare rows %.0f µs", s.perCall(s.client), verbs.perCall(verbs.client), rows.perCall(rows.client))})
	b.add(row{what: "  p99", figure: meter.Median(s.p99), unit: "ms", bar: 20, stretch: 10, beside: fmt.Sprintf("best round %.1f; p50 %.1f ms; store alone p99 %.1f ms", slices.Min(s.p99), meter.Median(s.p50), meter.Median(verbs.p99))})
}

func eraOf(kind load.Kind) string {
	if kind == load.Legacy {
		return "tools/call in a session (2025-11-25)"
	}
	return "tools/call without one (2026-07-28)"
}
