// Package upkeep looks now and then for what the journal has kept long enough (pool
// page, section 6), and at the form of the database that it lies in.
//
// It promises nothing about when: a sweep that fails, or is late, keeps more than
// it must and never less, and damage is named within a day. It keeps nothing but what
// the last look found; a Run belongs to its caller's goroutine.
package upkeep

import (
	"context"
	"log/slog"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/view"
)

// Every is the time between two looks.
const Every = 10 * time.Minute

// Run sweeps from time to time until ctx ends, and returns when the sweep that it is
// in has stopped.
func Run(ctx context.Context, sweep func(context.Context) (view.Swept, error), log *slog.Logger) {
	pause := time.NewTicker(Every)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		done, err := sweep(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			log.Warn("the journal could not be swept; it is tried again", "err", err)
		case done != view.Swept{}:
			log.Info("what was kept long enough is gone", "results", done.Results, "calls", done.Calls, "arguments", done.Arguments,
				"questions", done.Questions, "consents", done.Consents, "days", done.Days, "deferrals", done.Deferrals)
		}
	}
}
