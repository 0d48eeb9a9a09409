// Package inbox runs the one owner of some state: a goroutine that takes one
// message at a time. Before each message, and when the next instant has come, it
// lets everything expire whose time is over; so at the exact instant of a deadline
// the deadline wins, whatever else came.
//
// Jobs run outside the owner and are concluded inside it. The owner returns when
// its Keeper says that it is finished, or is aborted; who waits for it sees Done.
// Nothing bounds how many wait to post: each waits in its own goroutine.
package inbox

import (
	"slices"
	"sync"
	"time"
)

// Keeper is what the owner does besides messages. All functions are called by the
// owner.
type Keeper struct {
	Expire   func(now time.Time)            // ends what is over
	Next     func() (at time.Time, ok bool) // the next instant for Expire
	Settle   func(now time.Time)            // after each step
	Finished func() bool                    // before each step
}

// Inbox is a running owner. Its methods may be called by any goroutine unless they
// say otherwise.
type Inbox struct {
	messages chan func(now time.Time)
	abort    chan struct{}
	once     sync.Once // closes abort
	done     chan struct{}
	workers  sync.WaitGroup

	// What follows is the owner's.
	jobs int
	due  []*due // jobs that are waited for until an instant, in the order of their starts
}

// due is a job that nobody waits for after an instant.
type due struct {
	until  time.Time
	lapse  func(now time.Time)
	lapsed bool
}

// New returns an inbox without an owner; Run is to be its owner.
func New() *Inbox {
	return &Inbox{messages: make(chan func(time.Time)), abort: make(chan struct{}), done: make(chan struct{})}
}

// idleWait is how long the owner sleeps at most.
const idleWait = time.Hour

// Run is the owner; it returns when it is finished or aborted.
func (b *Inbox) Run(k Keeper) {
	defer close(b.done)
	timer := time.NewTimer(idleWait)
	defer timer.Stop()
	for !k.Finished() {
		wait := idleWait
		if at, ok := k.Next(); ok {
			wait = min(wait, time.Until(at))
		}
		if at, ok := b.next(); ok {
			wait = min(wait, time.Until(at))
		}
		timer.Reset(wait)
		select {
		case <-b.abort:
			return
		case <-timer.C:
			b.expire(k, time.Now())
		case message := <-b.messages:
			now := time.Now()
			b.expire(k, now)
			message(now)
		}
		k.Settle(time.Now())
	}
}

func (b *Inbox) expire(k Keeper, now time.Time) {
	k.Expire(now)
	for _, d := range b.due {
		if !d.lapsed && !now.Before(d.until) {
			d.lapsed = true
			d.lapse(now)
		}
	}
}

func (b *Inbox) next() (at time.Time, ok bool) {
	for _, d := range b.due {
		if !d.lapsed && (!ok || d.until.Before(at)) {
			at, ok = d.until, true
		}
	}
	return at, ok
}

// Post hands a message to the owner; false means that there is none any more.
func (b *Inbox) Post(message func(now time.Time)) bool {
	select {
	case b.messages <- message:
		return true
	case <-b.done:
		return false
	}
}

// Ask has the owner do something and waits for it; false means that the owner is
// gone and nothing was done. The owner itself must not ask.
func (b *Inbox) Ask(do func(now time.Time)) bool {
	done := make(chan struct{})
	if !b.Post(func(now time.Time) { defer close(done); do(now) }) {
		return false
	}
	<-done
	return true
}

// Spawn runs a job outside the owner and what it returns inside. Only the owner
// calls it.
func (b *Inbox) Spawn(job func() func(now time.Time)) {
	b.jobs++
	b.workers.Go(func() {
		then := job()
		b.Post(func(now time.Time) {
			b.jobs--
			then(now)
		})
	})
}

// SpawnUntil is Spawn for a job that is waited for until an instant: if it has not
// come back by then lapse is called, and what it returns is told so when it does.
func (b *Inbox) SpawnUntil(until time.Time, lapse func(now time.Time), job func() func(now time.Time, lapsed bool)) {
	d := &due{until: until, lapse: lapse}
	b.due = append(b.due, d)
	b.Spawn(func() func(time.Time) {
		then := job()
		return func(now time.Time) {
			b.due = slices.DeleteFunc(b.due, func(o *due) bool { return o == d })
			then(now, d.lapsed)
		}
	})
}

// Lapsed is how many jobs have not come back by their instants. Only the owner calls
// it.
func (b *Inbox) Lapsed() (n int) {
	for _, d := range b.due {
		if d.lapsed {
			n++
		}
	}
	return n
}

// Jobs is how many jobs are not concluded. Only the owner calls it.
func (b *Inbox) Jobs() int { return b.jobs }

// Done is closed once the owner has returned.
func (b *Inbox) Done() <-chan struct{} { return b.done }

// Abort makes the owner return, whatever is left to do, and waits for it but not
// for jobs.
func (b *Inbox) Abort() {
	b.once.Do(func() { close(b.abort) })
	<-b.done
}

// Wait waits for every job; false means that the owner was aborted, and jobs may
// be at work still.
func (b *Inbox) Wait() bool {
	select {
	case <-b.abort:
		return false
	default:
		b.workers.Wait()
		return true
	}
}
