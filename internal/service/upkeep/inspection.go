package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// When an Inspection looks: not while a host has just begun, and once a day, since
// each look reads the whole database.
const (
	FirstLook = 5 * time.Minute
	EachDay   = 24 * time.Hour
)

// Inspection looks at the form of the store's database, so that damage is named before
// a row is asked for that lies under it. One lock guards what was found; the zero value
// has found nothing.
type Inspection struct {
	mu    sync.Mutex
	found []string
}

// Run looks now and then until ctx ends. A look that fails changes nothing of what is
// known.
func (i *Inspection) Run(ctx context.Context, look func(context.Context) ([]string, error), log *slog.Logger) {
	next := time.NewTimer(FirstLook)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		found, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("the form of the database could not be looked at; it is tried again", "err", err)
		default:
			i.tell(found, log)
		}
		next.Reset(EachDay)
	}
}

func (i *Inspection) tell(found []string, log *slog.Logger) {
	for _, what := range found {
		log.Error("the database is damaged", "what", what)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.found = found
}

// Found is what the last look found to be wrong, in the engine's words.
func (i *Inspection) Found() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.found
}
