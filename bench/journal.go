package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stewardhost/steward/bench/alone"
	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/bench/whole"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

const (
	listCalls   = 400
	listChanges = 8
)

// lists takes the time of tools/list where no upstream can be reached.
func (b *bench) lists() error {
	home, err := b.copy("lists")
	if err != nil {
		return err
	}
	if err := os.Remove(b.wide); err != nil {
		return err
	}
	h, err := b.up(home.Dir)
	if err != nil {
		return err
	}
	return errors.Join(b.listsOf(h), h.down())
}

func (b *bench) listsOf(h *host) error {
	job := load.Job{Target: b.target(load.List, h.addr), Callers: 1, Calls: listCalls, Tools: wideTools}
	before, err := meter.CPU(h.pid())
	if err != nil {
		return err
	}
	warm, err := b.load.Run(job)
	if err != nil {
		return err
	}
	after, err := meter.CPU(h.pid())
	if err != nil {
		return err
	}
	changed, err := b.listsAfterChanges(h, job)
	if err != nil {
		return err
	}
	if n, err := meter.Children(h.pid()); err != nil || n > 0 {
		return errors.Join(fmt.Errorf("%d processes run below the host, want none", n), err)
	}
	b.add(row{what: fmt.Sprintf("tools/list of %d methods from pins, every upstream down", wideTools), figure: ms(warm.Times.Quantile(0.5)), unit: "ms", bar: 5, stretch: 1,
		beside: fmt.Sprintf("as the client sees it, %d KiB; p99 %.1f ms; CPU in steward %.0f µs", warm.Bytes>>10, ms(warm.Times.Quantile(0.99)), us(after-before)/listCalls)})
	b.add(row{what: "  the first after a change", figure: meter.Median(changed), unit: "ms", bar: 20,
		beside: fmt.Sprintf("a grant revoked, and given again; worst of %d: %.1f ms", len(changed), slices.Max(changed))})
	return nil
}

// listsAfterChanges revokes a method and grants it again, some times, and takes
// each next list.
func (b *bench) listsAfterChanges(h *host, job load.Job) (took []float64, err error) {
	list := func(tools int) error {
		job.Calls, job.Tools = 1, tools
		r, err := b.load.Run(job)
		if err == nil {
			took = append(took, ms(r.Times.Each[0]))
		}
		return err
	}
	var all adminwire.Grants
	if err := b.ask(h, &all, "grants", "list", "--app", whole.Reader); err != nil {
		return nil, err
	}
	for _, g := range all.Grants[:listChanges] {
		if _, err := b.command(h, "grants", "revoke", g.ID); err != nil {
			return nil, err
		}
		if err := list(wideTools - 1); err != nil {
			return nil, err
		}
		if _, err := b.command(h, "grants", "add", whole.Reader, whole.Wide, g.Method); err != nil {
			return nil, err
		}
		if err := list(wideTools); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// ask runs a command that prints JSON and reads it.
func (b *bench) ask(h *host, into any, args ...string) error {
	out, err := b.command(h, append(args, "--json")...)
	if err != nil {
		return err
	}
	return strictjson.Decode(out, strictjson.Limits{}, into)
}

const (
	unresolved  = 1000
	fullStarts  = 3
	fillers     = 256
	fillAtATime = 5000
)

// fullJournal takes the time to be ready after a kill on a journal that is long.
// The rows are made by the store's own verbs.
func (b *bench) fullJournal() error {
	p, err := b.copy("full")
	if err != nil {
		return err
	}
	trail, err := b.fill(p)
	if err != nil {
		return err
	}
	var took []float64
	for i := range fullStarts {
		b.note("a full journal: start %d of %d", i+1, fullStarts)
		home := filepath.Join(b.dir, fmt.Sprintf("full-%d", i))
		if err := meter.Folder(home, p.Dir); err != nil {
			return err
		}
		h, err := b.up(home)
		if err != nil {
			return err
		}
		took = append(took, ms(h.ready))
		if err := errors.Join(b.recovered(h), h.down()); err != nil {
			return err
		}
		if err := os.RemoveAll(home); err != nil {
			return err
		}
	}
	b.add(row{what: fmt.Sprintf("steward up to ready, %d rows and %d unresolved", b.rows, unresolved), figure: meter.Median(took), unit: "ms", bar: 2000,
		beside: fmt.Sprintf("worst of %d: %.0f ms; pages in the system's cache; the trail of %d rows holds", len(took), slices.Max(took), trail)})
	return nil
}

// fill makes the journal and gives the number of rows of its trail.
func (b *bench) fill(p whole.Pool) (int64, error) {
	v, err := alone.OpenVerbs(b.ctx, p)
	if err != nil {
		return 0, err
	}
	for done := 0; done < b.rows-unresolved; done += fillAtATime {
		b.note("a full journal: %d of %d rows", done, b.rows)
		if _, err := v.Builtin(b.ctx, load.Get, fillers, min(fillAtATime, b.rows-unresolved-done)); err != nil {
			return 0, errors.Join(err, v.Close())
		}
	}
	if err := v.Leave(b.ctx, fillers, unresolved); err != nil {
		return 0, errors.Join(err, v.Close())
	}
	b.note("a full journal: the trail is checked")
	trail, err := v.Verify(b.ctx)
	return trail, errors.Join(err, v.Close())
}

// recovered holds the host to having found the calls that were left.
func (b *bench) recovered(h *host) error {
	var s adminwire.Status
	if err := b.ask(h, &s, "status"); err != nil {
		return err
	}
	if !s.Count.More {
		return fmt.Errorf("%d calls are in doubt, want more than a page", s.Count.Indeterminate)
	}
	return nil
}
