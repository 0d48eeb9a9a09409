// Package chatter measures what an upstream says that answers nothing: reading it
// would keep the host busy for as long as the upstream likes.
//
// It allows bound.UpstreamChatter messages a second over time, and so many seconds'
// worth of them at once. A long message counts as several. A Meter has no lock of its
// own: it is guarded with the conversation that it is of.
package chatter

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

const (
	atOnce = 10 * time.Second // how far an upstream may be ahead
	piece  = 4 << 10          // bytes of a message that count as one
)

// Meter is of one conversation; the zero value has heard nothing.
type Meter struct {
	paid time.Time // until when what was heard is allowed for
}

// Hear accounts for a message of so many bytes, and reports whether the upstream says
// more than it may.
func (m *Meter) Hear(size int, now time.Time) (tooMuch bool) {
	if m.paid.Before(now) {
		m.paid = now
	}
	m.paid = m.paid.Add(time.Second / time.Duration(bound.UpstreamChatter.Max) * time.Duration(1+size/piece))
	return m.paid.Sub(now) > atOnce
}
