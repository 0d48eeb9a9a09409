// Package recovery settles, before any door opens, the calls that a dead
// process of the host left unresolved: what was never marked was never sent,
// what was marked may have happened (pool page, section 6; invariant I57).
// Nothing is dispatched again.
package recovery

import (
	"context"
	"log/slog"

	"github.com/stewardhost/steward/internal/domain/pool/view"
)

// Classify settles every unresolved row of a dead process, durably.
type Classify func(ctx context.Context) (view.Recovery, error)

// Run recovers and says what it found. Its error means that the doors must stay
// closed.
func Run(ctx context.Context, classify Classify, log *slog.Logger) (view.Recovery, error) {
	found, err := classify(ctx)
	if err != nil {
		return found, err
	}
	if found.Indeterminate > 0 {
		log.Warn("calls of a stopped host are in doubt; see steward journal list --indeterminate",
			"indeterminate", found.Indeterminate, "not_dispatched", found.NotDispatched)
	}
	return found, nil
}
