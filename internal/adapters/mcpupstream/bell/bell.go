// Package bell passes on that a server's tools may have changed.
//
// However often it is rung, the host lists again at once for the first time and
// then not more often than bound.RelistPause; a server that never rings is looked
// at each bound.RelistEvery. A Bell is safe for concurrent use, and ringing never
// waits.
package bell

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Bell is one server's.
type Bell struct {
	rung chan struct{} // room for one: rung before it was heard is rung once
}

// New returns a bell that nobody has rung.
func New() Bell { return Bell{make(chan struct{}, 1)} }

// Ring says that the tools may have changed.
func (b Bell) Ring() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

// PassOn calls changed for what was rung, and now and then without, until gone is
// closed.
func (b Bell) PassOn(gone <-chan struct{}, changed func()) {
	for {
		routine := time.NewTimer(bound.RelistEvery.Duration())
		select {
		case <-gone:
			routine.Stop()
			return
		case <-b.rung:
			routine.Stop()
		case <-routine.C:
		}
		changed()
		if !Pause(gone, bound.RelistPause.Duration()) {
			return
		}
	}
}

// Pause waits for a time, and reports false where the end came first.
func Pause(end <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-end:
		return false
	case <-timer.C:
		return true
	}
}
