// Package books is all that a session daemon keeps in memory, as one value: the
// books of the other nouns, and when something in any of them is over.
//
// The books have one owner, the same. At the exact instant, expiry wins.
package books

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/domain/sessions/evidence"
	"github.com/stewardhost/steward/internal/domain/sessions/executor"
	"github.com/stewardhost/steward/internal/domain/sessions/operation"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
)

// Books is the state of a daemon. Use New.
type Books struct {
	Operations *operation.Table
	Control    *control.Book
	Registry   *registry.Book
	Executors  *executor.Book
	Callbacks  *callback.Book
	Evidence   *evidence.Book
	Ends       *turn.Ends
}

// New returns empty books.
func New() Books {
	return Books{operation.New(), control.New(), registry.New(), executor.New(), callback.New(), evidence.New(), turn.NewEnds()}
}

// Expire ends everything whose time is over, and gives the calls among it.
func (b Books) Expire(now time.Time) []*callback.Call {
	b.Operations.Expire(now)
	b.Executors.Expire(now)
	b.Ends.Expire(now)
	b.Evidence.Expire(now)
	b.Registry.Expire(now)
	return b.Callbacks.Expire(now)
}

// Next is the next instant at which Expire has something to do.
func (b Books) Next() (at time.Time, ok bool) {
	for _, next := range []func() (time.Time, bool){
		b.Operations.Next, b.Executors.Next, b.Ends.Next, b.Evidence.Next, b.Registry.Next, b.Callbacks.Next,
	} {
		if t, has := next(); has && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}
