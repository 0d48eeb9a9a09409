package mcpupstream

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// KeepOpen has the client start its upstream again by itself whenever it has ended
// or could not be started, once somebody has asked for it: after the same growing
// pause that callers are told, and after bound.ReopenEagerly failures in a row each
// bound.RelistEvery. So the next caller seldom waits, and what the upstream offers
// now is looked at even where nobody calls (field faults, FF21, FF28, FF30). Call it
// once, before the first Open; it ends with Close.
func (c *Client) KeepOpen() { c.work.Go(c.keep) }

// Visit opens an upstream that nobody has asked for, so that what it offers now is
// looked at (OnOpened), and ends it again, unless somebody asks for it meanwhile. How it
// went is in Status. One that was asked for is left alone: KeepOpen looks after it.
// Faults: those of Open.
func (c *Client) Visit(ctx context.Context) error {
	a, _, err := c.attempt(false)
	if a == nil {
		return err
	}
	return a.wait(ctx)
}

func (c *Client) keep() {
	for {
		pause := time.NewTimer(longestPause)
		over, until := c.standing()
		if until >= 0 {
			pause.Reset(until)
		} else {
			pause.Stop()
		}
		select {
		case <-c.open.Done():
			pause.Stop()
			return
		case <-over:
		case <-c.news:
		case <-pause.C:
			_, _, _ = c.attempt(true) // how it goes is seen in the next round
		}
		pause.Stop()
	}
}

// standing tells what the keeper waits for: the end of a session or of a start, or
// else the time until the next start, negative where nobody has asked yet.
func (c *Client) standing() (over <-chan struct{}, until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	switch {
	case c.session != nil:
		return c.session.Over(), -1
	case c.starting != nil:
		return c.starting.done, -1
	case !c.asked:
		return nil, -1
	}
	at := c.retryAt
	if seldom := c.failedAt.Add(bound.RelistEvery.Duration()); c.failures > bound.ReopenEagerly.Int() && seldom.After(at) {
		at = seldom
	}
	return nil, max(0, time.Until(at))
}

// tellKeeper says that a start began; one word is as good as many.
func (c *Client) tellKeeper() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}
