package ledger

import (
	"sync/atomic"
	"time"
)

// clock gives the time in whole milliseconds. What take has given once is a
// floor: a wall clock that is set back revives nothing (threats, A31).
type clock struct {
	wall  func() time.Time
	floor atomic.Int64 // Unix milliseconds
}

// now is for readers.
func (c *clock) now() time.Time {
	return time.UnixMilli(max(c.wall().UnixMilli(), c.floor.Load())).UTC()
}

// take is for what will be stored; only the writer calls it.
func (c *clock) take() time.Time {
	t := c.now()
	c.floor.Store(t.UnixMilli())
	return t
}

// raise lifts the floor to a stored time.
func (c *clock) raise(ms int64) { c.floor.Store(max(c.floor.Load(), ms)) }
