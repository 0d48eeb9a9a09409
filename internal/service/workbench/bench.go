package workbench

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Bench is one capsule as an executor of its tools. A call goes out only while what
// runs of the capsule is what was looked at last, and for bound.RelistEvery after
// that.
type Bench struct {
	host      *Workbench
	adapter   id.Adapter
	principal topic.Principal
	source    topic.Source
	serves    bool
	turn      chan struct{} // who holds it looks at what the capsule offers

	mu   sync.Mutex
	life int64 // that was looked at
	at   time.Time
	bad  error // of the last look
}

// Source is the capsule.
func (b *Bench) Source() topic.Source { return b.source }

// Ready reports whether a call could be sent now.
func (b *Bench) Ready() bool {
	life, ready := b.host.ports.Life(b.principal, b.source)
	return ready && b.knows(life)
}

func (b *Bench) knows(life int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return life != 0 && b.life == life && time.Since(b.at) < bound.RelistEvery.Duration()
}

// Trouble is why the last look failed, or nil.
func (b *Bench) Trouble() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bad
}

// Open waits until the capsule takes calls and has what it offers merged into the
// pool. Callers share the work. Faults: unavailable.
func (b *Bench) Open(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "the capsule is still starting").Because(ctx.Err())
	}
	defer func() { <-b.turn }()
	if b.Ready() {
		return nil
	}
	life, _ := b.host.ports.Life(b.principal, b.source)
	offered, err := b.list(ctx)
	if err == nil {
		err = b.host.ports.Merge(ctx, b.adapter, offered)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bad = err; err != nil {
		return fault.New(fault.Unavailable, "the capsule's tools cannot be used: "+fault.From(err).Text).Because(err)
	}
	b.life, b.at = life, time.Now()
	return nil
}

// List asks the capsule for its tools and merges nothing.
func (b *Bench) List(ctx context.Context) ([]tool.Definition, error) { return b.list(ctx) }

func (b *Bench) list(ctx context.Context) ([]tool.Definition, error) {
	if life, _ := b.host.ports.Life(b.principal, b.source); life == 0 {
		return nil, errEnded
	}
	if !b.serves {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, bound.StartDeadline.Duration())
	defer cancel()
	q, err := b.host.ask(b)
	if err != nil {
		return nil, err
	}
	defer b.host.forget(q)
	deadline, _ := ctx.Deadline()
	if err := b.host.ports.AskTools(q.Question, deadline); err != nil {
		return nil, err
	}
	select {
	case a := <-q.answer:
		if a.Lost {
			return nil, fault.New(fault.Unavailable, "the capsule does not say which tools it has")
		}
		return a.Tools, a.Err
	case <-q.gone:
		return nil, errEnded
	case <-ctx.Done():
		return nil, fault.New(fault.Unavailable, "the capsule did not say in time which tools it has").Because(ctx.Err())
	}
}

var errEnded = fault.New(fault.Unavailable, "the capsule is not running")

// Call sends one message for one call and says what became of it.
//
//	ask ──── not published ──────────────> Unreached
//	wait ─── answer ─────────────────────> as the answer is
//	  ├───── capsule ends ──> grace ─────> answer, Broken
//	  ├───── deadline ──> notice ────────> TimedOut
//	  └───── cancelled ─> notice ─> grace > answer, Cancelled
//
// Where it ends in doubt, late is called with the answer, at most once and from
// another goroutine, if it comes within bound.RepeatGuard and the call is one of the
// capsule's last bound.CapsuleLate.
func (b *Bench) Call(ctx context.Context, name string, arguments []byte, late func(invocation.Event)) invocation.Event {
	q, err := b.host.ask(b)
	if err != nil {
		return unreached(err)
	}
	defer b.host.forget(q)
	life, ready := b.host.ports.Life(b.principal, b.source)
	if !ready || !b.knows(life) {
		return unreached(errEnded) // whoever ends from now on is seen, since the question is open
	}
	ctx, cancel := context.WithTimeout(ctx, b.host.ports.CallTime(b.source))
	defer cancel()
	deadline, _ := ctx.Deadline()
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	asked := q.Question
	asked.Life = life
	sent, err := b.host.ports.Execute(asked, name, arguments, deadline)
	switch {
	case err != nil && !sent:
		return unreached(err)
	case err != nil:
		return b.leave(q, late, event(invocation.Broken, fault.From(err).Text))
	}
	if err := failpoint.Hit(failpoint.Sent); err != nil {
		return event(invocation.Broken, err.Error())
	}
	select {
	case a := <-q.answer:
		return eventOf(a)
	case <-q.gone:
		return b.lastWord(q, late, event(invocation.Broken, "the capsule or the bus went away before it answered"))
	case <-ctx.Done():
	}
	_ = b.host.ports.Cancel(q.Principal, q.ID) // a notice; the call is over in any case
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return b.leave(q, late, event(invocation.TimedOut, "no answer before the deadline"))
	}
	return b.lastWord(q, late, event(invocation.Cancelled, "no answer after the cancellation"))
}

// lastWord waits a moment for an answer that is under way.
func (b *Bench) lastWord(q *question, late func(invocation.Event), otherwise invocation.Event) invocation.Event {
	grace := time.NewTimer(bound.CallGrace.Duration())
	defer grace.Stop()
	select {
	case a := <-q.answer:
		return eventOf(a)
	case <-grace.C:
		return b.leave(q, late, otherwise)
	}
}

// leave ends the waiting with a doubt, unless the answer came in the same moment.
func (b *Bench) leave(q *question, late func(invocation.Event), doubt invocation.Event) invocation.Event {
	if a, answered := b.host.leave(q, late, time.Now()); answered {
		return eventOf(a)
	}
	return doubt
}

func eventOf(a tool.Answer) invocation.Event {
	switch {
	case a.Unsent:
		return event(invocation.Unreached, "the capsule has as much to do as it may")
	case a.Lost:
		return event(invocation.Broken, "the capsule ended before it answered")
	case fault.Is(a.Err, fault.TooLarge):
		return event(invocation.TooLarge, fault.From(a.Err).Text)
	case a.Err != nil:
		return event(invocation.InvalidAnswer, fault.From(a.Err).Text)
	case a.IsError:
		return invocation.Event{Kind: invocation.ToolError, Result: a.Result}
	}
	return invocation.Event{Kind: invocation.Answered, Result: a.Result}
}

func event(kind invocation.EventKind, detail string) invocation.Event {
	return invocation.Event{Kind: kind, Detail: detail}
}

func unreached(err error) invocation.Event {
	return event(invocation.Unreached, fault.From(err).Text)
}
