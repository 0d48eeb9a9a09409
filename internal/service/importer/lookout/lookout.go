// Package lookout looks now and then at the imported servers that nobody has asked for
// since the host began, so that a tool that changed is off, and a server that does not
// start is told of, before somebody needs it (threats, A48; field faults, FF28;
// decision 0008).
//
// It promises: one server at a time, for as long as a start may take; the first look at
// each at a time of its own between bound.FirstLookLeast and bound.FirstLookMost, so that
// the start of a host is not the start of everything; then each bound.LookEvery, give or
// take a tenth, and after a look that failed each bound.LookAgain. Servers that are in use
// are not its business: whether one is, is for the port to know. It keeps nothing but
// when the next look is due; Run is its only goroutine.
package lookout

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Ports are what a lookout needs; both are required.
type Ports struct {
	// Enabled lists the entries that are switched on.
	Enabled func(ctx context.Context) ([]id.Adapter, error)
	// Visit looks at an entry's server and leaves it as it was.
	Visit func(ctx context.Context, adapter id.Adapter) error
}

// round is how often entries that are new, or due, are looked for.
const round = 30 * time.Second

// Run looks until ctx ends.
func Run(ctx context.Context, p Ports, log *slog.Logger) {
	due := map[id.Adapter]time.Time{}
	tick := time.NewTicker(round)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		all, err := p.Enabled(ctx)
		if err != nil {
			continue // the store says so itself
		}
		due = next(due, all, time.Now())
		for _, adapter := range all {
			if time.Now().Before(due[adapter]) {
				continue
			}
			pause := bound.LookEvery
			if err := p.Visit(ctx, adapter); err != nil {
				pause = bound.LookAgain
				log.Info("a server that nobody has asked for cannot be used", "adapter", adapter.String(), "err", err)
			}
			if ctx.Err() != nil {
				return
			}
			due[adapter] = time.Now().Add(around(pause.Duration()))
		}
	}
}

// next gives the times of the entries that there are now; a new one's is drawn.
func next(due map[id.Adapter]time.Time, all []id.Adapter, now time.Time) map[id.Adapter]time.Time {
	for adapter := range due {
		if !slices.Contains(all, adapter) {
			delete(due, adapter)
		}
	}
	for _, adapter := range all {
		if _, known := due[adapter]; !known {
			spread := bound.FirstLookMost.Duration() - bound.FirstLookLeast.Duration()
			due[adapter] = now.Add(bound.FirstLookLeast.Duration() + rand.N(spread))
		}
	}
	return due
}

// around is a time, give or take a tenth.
func around(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5) }
