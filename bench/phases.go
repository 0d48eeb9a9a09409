package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/stewardhost/steward/bench/alone"
	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/bench/whole"
)

type options struct {
	steward    string
	migrations string
	dir        string
	rounds     int
	calls      int
	rows       int
}

// bench is one run.
type bench struct {
	options
	ctx        context.Context
	began      time.Time
	loadBefore string
	found      []row
	self       string
	wide       string     // the program of the wide server, which can be removed
	pool       whole.Pool // as it was made; everything works on copies
	load       *load.Process
	far        *farServer
	host       *host
	verbs      *alone.Verbs
	bare       *alone.Rows
}

// The program sets its own garbage collector so; what is compared with it in
// this process gets the same.
const collectAt = 400

const wideTools = 500

func newBench(ctx context.Context, o options) (*bench, error) {
	debug.SetGCPercent(collectAt)
	b := &bench{options: o, ctx: ctx, began: time.Now(), loadBefore: meter.Load()}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.steward, err = filepath.Abs(o.steward); err != nil {
		return nil, err
	}
	b.wide = filepath.Join(b.dir, "many")
	if err := copyProgram(b.wide, b.self); err != nil {
		return nil, err
	}
	b.note("a pool")
	if b.far, err = startFar(b.self); err != nil {
		return nil, err
	}
	b.pool, err = whole.Prepare(ctx, filepath.Join(b.dir, "pool"), whole.Servers{
		Narrow: []string{b.self, echoVerb, "1"}, Wide: []string{b.wide, echoVerb, fmt.Sprint(wideTools)}, Far: b.far.url})
	if err != nil {
		b.far.close()
		return nil, err
	}
	if err := b.openAll(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) openAll() error {
	verbs, err := b.copy("verbs")
	if err != nil {
		return err
	}
	if b.verbs, err = alone.OpenVerbs(b.ctx, verbs); err != nil {
		return err
	}
	rows, err := b.copy("rows")
	if err != nil {
		return err
	}
	if b.bare, err = alone.OpenRows(b.ctx, rows, os.DirFS(b.migrations)); err != nil {
		return err
	}
	home, err := b.copy("home")
	if err != nil {
		return err
	}
	if b.load, err = load.Start(b.self, loadVerb); err != nil {
		return err
	}
	b.host, err = b.up(home.Dir)
	return err
}

// close ends whatever runs still.
func (b *bench) close() {
	b.far.close()
	if b.load != nil {
		b.load.Close()
	}
	if b.host != nil {
		b.host.kill()
	}
	if b.verbs != nil {
		b.verbs.Close()
	}
	if b.bare != nil {
		b.bare.Close()
	}
}

// copy gives the pool in a folder of its own.
func (b *bench) copy(name string) (whole.Pool, error) {
	p := b.pool
	p.Dir = filepath.Join(b.dir, name)
	return p, meter.Folder(p.Dir, b.pool.Dir)
}

func copyProgram(to, from string) error {
	bytes, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, bytes, 0o700)
}

func (b *bench) target(kind load.Kind, addr string) load.Target {
	t := load.Target{Kind: kind, Addr: addr, Token: b.pool.MCP, Tool: b.pool.Tool, Command: []string{b.self, echoVerb, "1"}}
	switch kind {
	case load.Far:
		t.Tool = b.pool.FarTool
	case load.List:
		t.Token = b.pool.ReaderMCP
	case load.Get, load.Put:
		t.Token = b.pool.RPC
	}
	return t
}

const emptyStarts = 9

// starts takes the time to be ready on nothing, the memory then, and the size of
// the program.
func (b *bench) starts() error {
	var took []float64
	var resident float64
	for i := range emptyStarts {
		h, err := b.up(filepath.Join(b.dir, fmt.Sprintf("empty-%d", i)))
		if err != nil {
			return err
		}
		took = append(took, ms(h.ready))
		if i == 0 {
			if resident, err = idle(h); err != nil {
				return errors.Join(err, h.down())
			}
		}
		if err := h.down(); err != nil {
			return err
		}
	}
	program, err := os.Stat(b.steward)
	if err != nil {
		return err
	}
	b.add(row{what: "steward up to ready, empty store", figure: meter.Median(took), unit: "ms", bar: 150, stretch: 80,
		beside: fmt.Sprintf("best %.0f, worst %.0f of %d; from the start of the process to an answer of /readyz", slices.Min(took), slices.Max(took), len(took))})
	b.add(row{what: "resident memory, idle, empty store", figure: resident, unit: "MiB", bar: 40, stretch: 30, beside: "2 s after ready"})
	b.add(row{what: "program", figure: float64(program.Size()) / (1 << 20), unit: "MiB", bar: 60, stretch: 40})
	return nil
}

// streamsOfEra are open in each protocol era when their memory is taken.
const streamsOfEra = 500

// streams takes the memory of a host to which many clients only listen.
func (b *bench) streams() error {
	p, err := b.copy("streams")
	if err != nil {
		return err
	}
	h, err := b.up(p.Dir)
	if err != nil {
		return err
	}
	open, err := load.Listen(b.target(load.Legacy, h.addr), streamsOfEra, streamsOfEra)
	if err != nil {
		return errors.Join(err, h.down())
	}
	defer open.Close()
	resident, err := idle(h)
	b.add(row{what: "resident memory, 500 GET streams and 500 of subscriptions/listen", figure: resident, unit: "MiB", bar: 150, stretch: 100, beside: "2 s after the last one"})
	open.Close()
	return errors.Join(err, h.down())
}

const insideCalls = 2000

// inside counts what only the process itself knows.
func (b *bench) inside() error {
	p, err := b.copy("inside")
	if err != nil {
		return err
	}
	h, err := whole.Open(b.ctx, p.Dir)
	if err != nil {
		return err
	}
	for _, kind := range []load.Kind{load.Legacy, load.Modern, load.Get, load.Put} {
		job := load.Job{Target: b.target(kind, h.Addr), Callers: manyOne, Calls: insideCalls}
		if _, err := b.load.Run(job); err != nil { // warm
			return errors.Join(err, h.Close())
		}
		var before, after runtime.MemStats
		stats := h.Stats()
		runtime.ReadMemStats(&before)
		if _, err := b.load.Run(job); err != nil {
			return errors.Join(err, h.Close())
		}
		runtime.ReadMemStats(&after)
		now, n := h.Stats(), float64(job.Calls)
		b.add(row{what: "statements of a call, " + string(kind), unit: "",
			figure: float64(now.WriteStatements+now.ReadStatements-stats.WriteStatements-stats.ReadStatements) / n,
			beside: fmt.Sprintf("%.0f allocations, %.1f KiB; %.1f jobs a commit", float64(after.Mallocs-before.Mallocs)/n,
				float64(after.TotalAlloc-before.TotalAlloc)/n/1024, float64(now.Jobs-stats.Jobs)/float64(now.Commits-stats.Commits))})
	}
	return h.Close()
}
