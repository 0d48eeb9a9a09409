// Package workbench lets the pool call the tools of capsules over the bus: it asks
// one capsule for its tools, has what it says merged into the pool before any call
// of that life of the capsule, and sends one message for one call.
//
// It promises: a call goes to the capsule that the method was imported from, in
// the principal's name, at most once; only that capsule's answer to that call
// counts, and once; every doubt is told as one, so that a capsule that dies in the
// middle of a call leaves it indeterminate; what was not published is told as not
// sent; the answer to a call that ended in doubt is offered as a late one. It does
// not promise that a capsule does what its tool says.
//
// Bounds: bound.CapsuleToolCalls open calls a capsule, the deadline of the caller,
// bound.StartDeadline for a listing, bound.CapsuleLate calls of a capsule that may
// still be answered. One lock guards the open questions and the
// benches; no port is called under it. Close waits for every goroutine.
package workbench

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Ports are what the workbench asks of its surroundings; all are required.
type Ports struct {
	// Life numbers what runs of a capsule now, 0 if nothing does, and says whether it
	// takes requests at once.
	Life func(topic.Principal, topic.Source) (life int64, ready bool)
	// CallTime is how long a capsule may take for a call.
	CallTime func(topic.Source) time.Duration
	// AskTools, Execute and Cancel send to one capsule; its answers come to Answered.
	// Execute publishes one message at most, and tells whether it may have.
	AskTools func(q tool.Question, deadline time.Time) error
	Execute  func(q tool.Question, name string, arguments []byte, deadline time.Time) (sent bool, err error)
	Cancel   func(p topic.Principal, question string) error
	// Merge takes what a capsule offers now into the pool.
	Merge func(ctx context.Context, adapter id.Adapter, offered []tool.Definition) error
	// Dropped is told of answers that did not count. It must not wait.
	Dropped func(a tool.Answer, why describe.Reason, count int)
}

// Workbench is the service.
type Workbench struct {
	ports Ports
	open  context.Context // ends with Close
	shut  context.CancelFunc
	work  sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	benches   map[id.Adapter]*Bench
	questions map[string]*question
	strays    map[stray]*told
}

// question is one that waits for its answer.
type question struct {
	tool.Question
	answer chan tool.Answer // has room for the one
	gone   chan struct{}    // closed when the capsule has ended, or the bus is away

	leftAt time.Time // when the waiting for a call ended in doubt
	late   func(invocation.Event)
}

type stray struct {
	source topic.Source
	why    describe.Reason
}

type told struct {
	at   time.Time
	more int
}

// New returns a workbench without benches.
func New(p Ports) *Workbench {
	w := &Workbench{ports: p, benches: map[id.Adapter]*Bench{}, questions: map[string]*question{}, strays: map[stray]*told{}}
	w.open, w.shut = context.WithCancel(context.Background())
	return w
}

// Close ends what goes on by itself.
func (w *Workbench) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.shut()
	w.work.Wait()
}

// Place is the bench of a capsule whose tools belong to an adapter. One without
// tools (serves is false) offers none, so that what an earlier build of it offered
// is gone.
func (w *Workbench) Place(adapter id.Adapter, p topic.Principal, s topic.Source, serves bool) {
	b := &Bench{host: w, adapter: adapter, principal: p, source: s, serves: serves, turn: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.benches[adapter] = b
}

// Clear takes a bench away.
func (w *Workbench) Clear(adapter id.Adapter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.benches, adapter)
}

// Bench gives the bench of an adapter, false if there is none.
func (w *Workbench) Bench(adapter id.Adapter) (*Bench, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, ok := w.benches[adapter]
	return b, ok
}

// Of gives the bench of a capsule, false if it has none.
func (w *Workbench) Of(p topic.Principal, s topic.Source) (*Bench, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.benches {
		if b.principal == p && b.source == s {
			return b, true
		}
	}
	return nil, false
}

// Joined says that capsules of a principal may take requests that did not before:
// what they offer is looked at, so that a tool that drifted is off before somebody
// asks for it.
func (w *Workbench) Joined(p topic.Principal) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.benches))
	w.mu.Unlock()
	for _, b := range all {
		if b.principal == p && !b.Ready() {
			w.lookAt(b)
		}
	}
}

func (w *Workbench) lookAt(b *Bench) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.work.Go(func() {
		ctx, cancel := context.WithTimeout(w.open, bound.StartDeadline.Duration())
		defer cancel()
		_ = b.Open(ctx) // or the next call does, and is told why
	})
}

// Left says that what ran of a capsule has ended. Who waits for it is told.
func (w *Workbench) Left(p topic.Principal, s topic.Source) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.questions {
		if q.Principal == p && q.Source == s {
			q.giveUp()
		}
	}
}

// Severed says that the bus is away, and with it every answer to what is open.
func (w *Workbench) Severed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.questions {
		q.giveUp()
	}
}

// giveUp is called under the lock.
func (q *question) giveUp() {
	select {
	case <-q.gone:
	default:
		close(q.gone)
	}
}

// Answered takes an answer from the bus.
func (w *Workbench) Answered(a tool.Answer) {
	w.mu.Lock()
	q := w.questions[a.ID]
	why := describe.StaleRound
	if q != nil {
		why = q.Drop(a)
	}
	if why == "" && q.isTooLate(time.Now()) {
		why = describe.StaleRound
	}
	if why == "" {
		w.deliver(q, a)
		w.mu.Unlock()
		return
	}
	count := w.strayed(stray{a.Source, why}, time.Now())
	w.mu.Unlock()
	if count > 0 {
		w.ports.Dropped(a, why, count)
	}
}

// deliver gives an answer to whoever waits, exactly once; the lock is held. Of what
// comes late, an answer of the capsule's own is offered.
func (w *Workbench) deliver(q *question, a tool.Answer) {
	delete(w.questions, q.ID)
	if q.leftAt.IsZero() {
		q.answer <- a // has room, and leave must not look before it is there
		return
	}
	ev := eventOf(a)
	if !w.closed && (ev.Kind == invocation.Answered || ev.Kind == invocation.ToolError) {
		w.work.Go(func() { q.late(ev) })
	}
}

// leave ends the waiting for a call. An answer that came in the same moment is
// given; one that comes later goes to late, for as long as the owner's hold-back of
// equal calls lasts.
func (w *Workbench) leave(q *question, late func(invocation.Event), now time.Time) (tool.Answer, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case a := <-q.answer:
		return a, true
	default:
	}
	if late == nil {
		return tool.Answer{}, false // forget drops it
	}
	q.leftAt, q.late = now, late
	var oldest *question
	left := 0
	for id, other := range w.questions {
		switch {
		case other.isTooLate(now):
			delete(w.questions, id)
		case !other.leftAt.IsZero() && other.Source == q.Source && other.Principal == q.Principal:
			left++
			if oldest == nil || other.leftAt.Before(oldest.leftAt) {
				oldest = other
			}
		}
	}
	if bound.CapsuleLate.Check(left) != nil {
		delete(w.questions, oldest.ID)
	}
	return tool.Answer{}, false
}

func (q *question) isTooLate(now time.Time) bool {
	return !q.leftAt.IsZero() && now.Sub(q.leftAt) > bound.RepeatGuard.Duration()
}

// strayEvery is how often strays of one source and reason are told.
const strayEvery = time.Second

// strayed counts an answer that did not count; it gives 0 while most of a flood is
// only counted. The lock is held.
func (w *Workbench) strayed(s stray, now time.Time) int {
	t := w.strays[s]
	if t != nil && now.Sub(t.at) < strayEvery {
		t.more++
		return 0
	}
	count := 1
	if t != nil {
		count += t.more
	}
	if len(w.strays) >= bound.ReplyDrops.Int() {
		clear(w.strays)
	}
	w.strays[s] = &told{at: now}
	return count
}

// ask opens a question to a capsule. forget must be called.
func (w *Workbench) ask(b *Bench) (*question, error) {
	q := &question{Question: tool.Question{Principal: b.principal, Source: b.source, ID: id.New[id.Question]().Body()},
		answer: make(chan tool.Answer, 1), gone: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	open := 1
	for _, other := range w.questions {
		if other.Source == b.source && other.Principal == b.principal && other.leftAt.IsZero() {
			open++
		}
	}
	if err := bound.CapsuleToolCalls.Check(open); err != nil {
		return nil, fault.New(fault.Unavailable, "the capsule has as many calls as it may").Because(err)
	}
	w.questions[q.ID] = q
	return q, nil
}

// forget drops a question that is over, unless its answer may come late.
func (w *Workbench) forget(q *question) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.leftAt.IsZero() {
		delete(w.questions, q.ID)
	}
}
