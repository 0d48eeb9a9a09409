package ledger

import (
	"sync/atomic"
	"time"
)

// clock gives the time in whole milliseconds: the wall clock's, but never behind
// what take has given. Where the wall clock is set back, time goes on from there by
// a clock that nobody sets, so that nothing is revived and what was to end does end
// (threats, A31).
type clock struct {
	wall   func() time.Time
	passed func() time.Duration // since some moment of this process
	zero   atomic.Int64         // Unix milliseconds that passed counts from
}

func (c *clock) reading() (wall, floor int64) {
	return c.wall().UnixMilli(), c.zero.Load() + c.passed().Milliseconds()
}

// now is for readers.
func (c *clock) now() time.Time {
	wall, floor := c.reading()
	return time.UnixMilli(max(wall, floor)).UTC()
}

// behind is how far the wall clock is behind the store's time.
func (c *clock) behind() time.Duration {
	wall, floor := c.reading()
	return time.Duration(max(floor-wall, 0)) * time.Millisecond
}

// take is for what will be stored; only the writer calls it.
func (c *clock) take() time.Time {
	t := c.now()
	c.raise(t.UnixMilli())
	return t
}

// raise lifts the floor to a stored time.
func (c *clock) raise(ms int64) {
	c.zero.Store(max(c.zero.Load(), ms-c.passed().Milliseconds()))
}
