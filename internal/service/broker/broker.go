// Package broker answers, for one principal at a time, what its capsules serve
// and what a URI holds (bus page, section 4).
//
// It promises: a list is live, and one round serves all who ask for it at once;
// the round waits for whom it asked and never for silence; an incomplete list is
// served as such, never kept, and Changed follows when a missing capsule answers
// after all. A read counts only from who may answer it, ends by
// bound.BrokerDeadline, and is called off at the capsule when its asker goes.
// Everything dropped, every collision, every conflict and who is missing is an Event. What is
// kept for a principal is kept under that principal and forgotten when the set of
// its capsules changes.
//
// It does not promise that capsules tell the truth, nor order between them.
//
// One lock guards the rooms of the principals; no port is called under it. A
// Broker starts no goroutine: timers and the callers of its methods do the work.
package broker

import (
	"context"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Ports are what the broker asks of the floors below it; all are required.
type Ports struct {
	// Members gives the runtimes that take describe requests for a principal now.
	Members func(topic.Principal) []describe.Member
	// AskDescribe, AskRead and AskCancel send a question to them. Answers come to
	// Described and WasRead.
	AskDescribe func(p topic.Principal, round string, deadline time.Time) error
	AskRead     func(p topic.Principal, correlation, uri string, deadline time.Time) error
	AskCancel   func(p topic.Principal, correlation string) error
	// Audit takes what was dropped or decided. It must not wait.
	Audit func(Event)
	// Changed says that what the principal's capsules serve may be different now.
	Changed func(topic.Principal)
}

// Broker is the service.
type Broker struct {
	ports Ports
	mu    sync.Mutex
	rooms map[topic.Principal]*room
}

// room is what is going on for one principal.
type room struct {
	view     int64 // which capsules there are; another number each time that may have changed
	flight   *flight
	snapshot *describe.Result     // of the last complete round, while it is good
	taken    time.Time            // when
	shared   []describe.Collision // of the last round
	missing  map[topic.Source]bool
	reads    map[string]*openRead
	told     map[stray]told
}

// flight is one round and who waits for it.
type flight struct {
	view   int64 // that it asks
	round  *describe.Round
	timer  *time.Timer
	landed chan struct{} // closed when result and err are there
	result describe.Result
	err    error
}

// openRead is one read that waits for answers.
type openRead struct {
	wait    *read.Wait
	wake    chan struct{}
	severed bool
}

// stray is an answer that belongs to nothing that is open.
type stray struct {
	source topic.Source
	reason describe.Reason
}

type told struct {
	at   time.Time
	more int
}

// New returns a broker. The deadlines of capsule, broker and face must nest.
func New(p Ports) (*Broker, error) {
	if bound.CapsuleDeadline.Max >= bound.BrokerDeadline.Max || bound.BrokerDeadline.Max >= bound.ResourceDeadline.Max {
		return nil, fault.New(fault.Internal, "the deadlines of capsule, broker and face do not nest")
	}
	return &Broker{ports: p, rooms: make(map[topic.Principal]*room)}, nil
}

// room gives the room of a principal. The lock is held.
func (b *Broker) room(p topic.Principal) *room {
	r := b.rooms[p]
	if r == nil {
		r = &room{missing: map[topic.Source]bool{}, reads: map[string]*openRead{}, told: map[stray]told{}}
		b.rooms[p] = r
	}
	return r
}

// List asks every capsule of the principal what it serves. Faults:
// unauthenticated for nobody, unavailable if the bus is down, timed_out or
// whatever ended ctx.
func (b *Broker) List(ctx context.Context, p topic.Principal) (describe.Result, error) {
	if p.IsZero() {
		return describe.Result{}, nobody()
	}
	b.mu.Lock()
	view := b.room(p).view
	b.mu.Unlock()
	for {
		f := b.fly(p)
		select {
		case <-f.landed:
		case <-ctx.Done():
			return describe.Result{}, gaveUp(ctx)
		}
		// A round that was open already may not have asked a capsule that came since.
		if f.view >= view || f.err != nil {
			return f.result, f.err
		}
	}
}

// fly joins the round that is open for a principal, or opens one.
func (b *Broker) fly(p topic.Principal) *flight {
	b.mu.Lock()
	if f := b.room(p).flight; f != nil {
		b.mu.Unlock()
		return f
	}
	view := b.room(p).view
	b.mu.Unlock()
	members := b.ports.Members(p)

	now := time.Now()
	f := &flight{view: view, round: describe.Start(p, newName(), members, now), landed: make(chan struct{})}
	b.mu.Lock()
	r := b.room(p)
	if r.flight != nil { // somebody was quicker
		f = r.flight
		b.mu.Unlock()
		return f
	}
	if f.round.Done(now) {
		f.result = f.round.Result()
		close(f.landed)
		b.mu.Unlock()
		return f
	}
	r.flight = f
	f.timer = time.AfterFunc(f.round.Deadline().Sub(now), func() { b.land(p, f, nil) })
	b.mu.Unlock()
	if err := b.ports.AskDescribe(p, f.round.ID(), f.round.Deadline()); err != nil {
		b.land(p, f, err)
	}
	return f
}

// land ends a round, once.
func (b *Broker) land(p topic.Principal, f *flight, err error) {
	b.mu.Lock()
	r := b.room(p)
	if r.flight != f {
		b.mu.Unlock()
		return
	}
	r.flight = nil
	f.timer.Stop()
	f.err = err
	var newly []describe.Member
	if err == nil {
		f.result = f.round.Result()
		newly = r.remember(f)
		r.shared = f.result.Collisions
	}
	close(f.landed)
	b.mu.Unlock()
	b.auditResult(p, f.result, newly)
}

// remember gives who is missing and was not before.
func (r *room) remember(f *flight) (newly []describe.Member) {
	r.snapshot = nil
	if f.result.Complete && f.view == r.view {
		r.snapshot, r.taken = &f.result, time.Now()
	}
	before := r.missing
	r.missing = map[topic.Source]bool{}
	for _, m := range f.result.Missing {
		r.missing[m.Source] = true
		if !before[m.Source] {
			newly = append(newly, m)
		}
	}
	return newly
}

func (b *Broker) auditResult(p topic.Principal, result describe.Result, newly []describe.Member) {
	for _, m := range newly {
		b.ports.Audit(Event{Principal: p, Kind: Missing, Source: m.Source, Detail: m.Name + " " + m.Why(), Count: 1})
	}
	for _, d := range result.Drops {
		b.ports.Audit(dropped(p, d.Source, d.Reason, d.Detail, 1))
	}
	if result.MoreDrops > 0 {
		b.ports.Audit(dropped(p, topic.Source{}, "more of them", "", result.MoreDrops))
	}
	for _, c := range result.Collisions {
		b.ports.Audit(Event{Principal: p, Kind: Collision, Source: c.Winner, Others: c.Losers, Detail: c.URI, Count: 1})
	}
}

// Collisions are those of the principal's last list.
func (b *Broker) Collisions(p topic.Principal) []describe.Collision {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.rooms[p]; r != nil {
		return r.shared
	}
	return nil
}

// Described takes an answer from the bus.
func (b *Broker) Described(reply describe.Reply) {
	b.mu.Lock()
	r := b.rooms[reply.Principal]
	if r == nil {
		b.mu.Unlock()
		b.ports.Audit(dropped(reply.Principal, reply.Source, describe.StaleRound, "", 1))
		return
	}
	f := r.flight
	if f == nil || f.round.ID() != reply.Round {
		late := r.missing[reply.Source] && reply.Suffix == reply.Source.String()
		delete(r.missing, reply.Source)
		event, tell := r.strayed(reply.Principal, stray{reply.Source, describe.StaleRound}, time.Now())
		b.mu.Unlock()
		if tell {
			b.ports.Audit(event)
		}
		if late {
			b.ports.Changed(reply.Principal)
		}
		return
	}
	f.round.Accept(reply)
	done := f.round.Done(time.Now())
	b.mu.Unlock()
	if done {
		b.land(reply.Principal, f, nil)
	}
}

// strayEvery is how often strays of one source and reason become an event.
const strayEvery = time.Second

// strayed counts an answer that nothing waits for; most of a flood is only
// counted. The lock is held.
func (r *room) strayed(p topic.Principal, s stray, now time.Time) (Event, bool) {
	t, known := r.told[s]
	if known && now.Sub(t.at) < strayEvery {
		t.more++
		r.told[s] = t
		return Event{}, false
	}
	if len(r.told) >= bound.ReplyDrops.Int() {
		clear(r.told)
	}
	r.told[s] = told{at: now}
	return dropped(p, s.source, s.reason, "", t.more+1), true
}

// Lost takes the number of answers for a principal that a full queue dropped.
func (b *Broker) Lost(p topic.Principal, n int) {
	b.mu.Lock()
	if r := b.rooms[p]; r != nil {
		r.snapshot = nil
		if r.flight != nil {
			r.flight.round.Lost(n)
		}
	}
	b.mu.Unlock()
	b.ports.Audit(dropped(p, topic.Source{}, describe.Overflow, "", n))
}

// Joined says that a runtime takes requests from now on.
func (b *Broker) Joined(p topic.Principal) {
	b.mu.Lock()
	b.room(p).changed()
	b.mu.Unlock()
	b.ports.Changed(p)
}

// Left says that a runtime takes no requests any more. Who waits for it alone is
// answered at once.
func (b *Broker) Left(p topic.Principal, s topic.Source) {
	b.mu.Lock()
	r := b.room(p)
	r.changed()
	delete(r.missing, s)
	f := r.flight
	done := false
	if f != nil {
		f.round.Leave(s)
		done = f.round.Done(time.Now())
	}
	for _, o := range r.reads {
		o.wait.Leave(s)
		o.stir()
	}
	b.mu.Unlock()
	if done {
		b.land(p, f, nil)
	}
	b.ports.Changed(p)
}

// Severed says that the way to a principal's capsules is cut, and with it every
// answer to what is open. All who wait are told at once; what was known of the
// capsules is not trusted any more.
func (b *Broker) Severed(p topic.Principal) {
	b.mu.Lock()
	r := b.room(p)
	r.snapshot = nil
	f := r.flight
	for _, o := range r.reads {
		o.severed = true
		o.stir()
	}
	b.mu.Unlock()
	if f != nil {
		b.land(p, f, severed())
	}
}

// changed forgets what was known of other capsules than there are now. The lock is held.
func (r *room) changed() {
	r.view++
	r.snapshot, r.shared = nil, nil
}

func severed() *fault.Fault {
	return fault.New(fault.Unavailable, "the bus is away; it comes back by itself")
}

// newName is a fresh name of a round or a read: one segment of a topic that
// nobody can guess.
func newName() string { return id.New[id.Question]().Body() }

func nobody() *fault.Fault {
	return fault.New(fault.Unauthenticated, "resources belong to somebody, and nobody asks")
}

func gaveUp(ctx context.Context) error {
	return fault.New(fault.TimedOut, "the one who asked did not wait for the answer").Because(context.Cause(ctx))
}
