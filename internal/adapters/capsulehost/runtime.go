package capsulehost

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/capsulefile"
	"github.com/stewardhost/steward/internal/adapters/capsulehost/folder"
	"github.com/stewardhost/steward/internal/adapters/capsulehost/served"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// steady is how long a capsule must have been up for its failures to be forgotten.
const steady = time.Minute

// runtime is one capsule for one principal. Its loop, the only writer of state
// but for open requests, gives each life of the process a seat of its own.
type runtime struct {
	host    *Host
	capsule Installed
	plan    plan
	source  topic.Source
	log     *slog.Logger
	ctx     context.Context // of all its lives
	cancel  context.CancelFunc
	done    chan struct{}
	wake    chan struct{} // ends a rest
	tried   chan struct{} // closed once the first life has its seat, or has none
	once    sync.Once
	served  served.List

	mu       sync.Mutex
	state    State
	reason   string
	since    time.Time // of the seat
	seated   bool
	seat     Seat  // of this life
	life     int64 // number of the seat, among all of the host
	failures int   // since it was last steady
	restarts int
	process  *childprocess.Process
	off      map[string]bool // rounds that were called off before a handler began
	words    string          // of the process before
	remark   string          // of the host, about its last answer that could not be taken
	inbox    chan Request
	open     map[string]Request            // by the id of the frame
	over     []overdue                     // calls that may still be answered, oldest first
	working  map[string]context.CancelFunc // of a handler, by round
}

func newRuntime(h *Host, c Installed, p plan) *runtime {
	ctx, cancel := context.WithCancel(context.Background())
	return &runtime{host: h, ctx: ctx, cancel: cancel, capsule: c, plan: p, source: h.SourceOf(c), log: h.opt.Log.With("capsule", c.Name),
		done: make(chan struct{}), tried: make(chan struct{}), wake: make(chan struct{}, 1), state: Starting}
}

// start returns once requests can be taken, so that nobody who asks after it
// misses the capsule.
func (r *runtime) start() {
	go func() {
		defer close(r.done)
		r.loop(r.ctx)
	}()
	<-r.tried
}

func (r *runtime) stop() {
	r.cancel()
	<-r.done
}

// loop lives one life after the other until the runtime is stopped.
func (r *runtime) loop(ctx context.Context) {
	for {
		began := time.Now()
		err := r.live(ctx)
		r.once.Do(func() { close(r.tried) })
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		if time.Since(began) > steady {
			r.failures = 0
		}
		r.failures++
		r.restarts++
		r.state, r.reason = Waiting, reasonOf(err)
		if fault.Is(err, fault.PreconditionFailed) {
			r.state = Changed
		}
		rest := pause(r.failures)
		r.mu.Unlock()
		r.log.Warn("a capsule ended", "reason", reasonOf(err), "again_in", rest.String())
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-time.After(rest):
		}
	}
}

func reasonOf(err error) string {
	if err == nil {
		return "it ended"
	}
	return fault.From(err).Text
}

// live is one life: a seat, and what answers the requests that come to it.
func (r *runtime) live(ctx context.Context) error {
	if r.capsule.Folder != "" { // what runs must be what was installed, each time
		p, err := r.host.plan(r.capsule)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.plan = p
		r.mu.Unlock()
	}
	lost := make(chan struct{}, 1)
	r.mu.Lock()
	r.inbox, r.open, r.over = make(chan Request, r.plan.bounds.Calls), map[string]Request{}, nil
	r.working, r.off = map[string]context.CancelFunc{}, map[string]bool{}
	r.state, r.reason, r.since, r.life = Starting, "", time.Now(), r.host.lives.Add(1)
	r.mu.Unlock()
	place := Place{r.host.principal, r.source, r.plan.claim, r.capsule.Build}
	seat, err := r.host.ports.Admit(place, r.take, func() { lost <- struct{}{} })
	if err != nil {
		return err
	}
	seat.Answer = served.Answer(&r.served, isList, capsulefile.Answer(r.plan.bounds, seat.Answer))
	r.mu.Lock()
	r.seat = seat
	r.mu.Unlock()
	r.sit(true)
	defer func() {
		r.sit(false) // before the seat goes, so that nobody is asked who cannot answer
		seat.Close()
		r.host.ports.Left(r.host.principal, r.source)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	switch {
	case r.plan.handler != nil:
		return r.answerInside(ctx, seat, *r.plan.handler)
	case r.plan.runtime == capsulefile.MCP:
		return r.runServer(ctx, seat)
	case r.plan.runtime == capsulefile.WASM:
		return r.runModule(ctx, seat)
	}
	return r.runProcess(ctx, seat)
}

func (r *runtime) sit(seated bool) {
	r.mu.Lock()
	r.seated = seated
	r.mu.Unlock()
	r.once.Do(func() { close(r.tried) })
}

// becomeReady says that requests are taken at once from now on.
func (r *runtime) becomeReady() {
	r.mu.Lock()
	r.state, r.reason = Ready, ""
	r.mu.Unlock()
	r.host.ports.Joined(r.host.principal)
}

// take queues a request. It is called by the bus and does not wait: a capsule
// that has as many requests as it may hears of no more.
func (r *runtime) take(q Request) {
	r.mu.Lock()
	inbox := r.inbox
	if name := q.Topic.String(); name == topic.DescribeRequest || name == topic.ReadRequest {
		q.Deadline = r.plan.bounds.Until(q.Deadline, time.Now())
	}
	handled := r.plan.handler != nil || r.plan.runtime == capsulefile.MCP || r.plan.runtime == capsulefile.WASM
	if handled && isCancel(q) { // a program hears of it in its turn
		r.callOff(q.Round)
		r.mu.Unlock()
		return
	}
	seat, other := r.seat, q.Life != 0 && q.Life != r.life
	r.mu.Unlock()
	if other { // nobody has looked at what runs now
		r.lose(seat, q, false)
		return
	}
	select {
	case inbox <- q:
	default:
		r.lose(seat, q, false)
		r.log.Warn("a request is dropped: the capsule has too many", "topic", q.Topic.String())
	}
}

func (r *runtime) member() (describe.Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seated || r.state != Ready && r.failures > 0 || !r.plan.claim.Serves(topic.DescribeRequest) {
		return describe.Member{}, false
	}
	return describe.Member{Source: r.source, Name: r.capsule.Name, Order: r.capsule.Order, Since: r.since, Warming: r.state != Ready, Families: r.plan.families}, true
}

func (r *runtime) alive() (life int64, ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seated {
		return 0, false
	}
	return r.life, r.state == Ready
}

func (r *runtime) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Installed: r.capsule, Source: r.source, State: r.state, Reason: r.reason, Restarts: r.restarts, Serves: folder.Serves(r.plan.claim), Log: r.words}
	if r.process != nil {
		s.PID = r.process.PID()
		if words := r.process.StderrTail(); words != "" {
			s.Log = words
		}
	}
	if r.remark != "" {
		s.Log += "\nsteward: " + r.remark + "\n"
	}
	return s
}

// begin makes a request one that may be answered, under a fresh name, and makes room
// of those that nobody waits for any more.
func (r *runtime) begin(q Request) (string, bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, old := range r.open {
		if now.After(old.Deadline) {
			r.end(id)
		}
	}
	if !now.Before(q.Deadline) || len(r.open) >= r.plan.bounds.Calls {
		return "", false
	}
	id := rand.Text()
	r.open[id] = q
	return id, true
}

// finish gives the request that an answer names, once.
func (r *runtime) finish(id string) (Request, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q, ok := r.open[id]; ok {
		delete(r.open, id)
		return q, true
	}
	for i, late := range r.over {
		if late.id == id {
			r.over = slices.Delete(r.over, i, i+1)
			return late.Request, true
		}
	}
	return Request{}, false
}

// overdue is a call of a tool for which nobody waits, under the name of its frame.
type overdue struct {
	id string
	Request
}

// end closes a request for which nobody waits. The answer to a call may end the
// doubt about it all the same, if it is one of the last (pool page, section 6). The
// lock is held.
func (r *runtime) end(id string) {
	q := r.open[id]
	delete(r.open, id)
	if _, call := q.Topic.After(topic.Execute); !call {
		return
	}
	r.over = append(r.over, overdue{id, q})
	if bound.CapsuleLate.Check(len(r.over)) != nil {
		r.over = slices.Delete(r.over, 0, 1)
	}
}

// callOff ends the work of a handler at once, since all who work may be busy, or
// keeps it from beginning. The lock is held.
func (r *runtime) callOff(round string) {
	if cancel := r.working[round]; cancel != nil {
		cancel()
		return
	}
	if len(r.off) >= bound.CapsuleCalls.Int() { // of other capsules' reads, most of them
		clear(r.off)
	}
	r.off[round] = true
}

// work notes that a handler begins, unless that was called off.
func (r *runtime) work(round string, cancel context.CancelFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.off[round] {
		delete(r.off, round)
		return false
	}
	r.working[round] = cancel
	return true
}

func (r *runtime) rest(round string) {
	r.mu.Lock()
	delete(r.working, round)
	r.mu.Unlock()
}

func isCancel(q Request) bool { return strings.HasPrefix(q.Topic.String(), topic.Cancel+".") }

// calledOff gives the open requests that a cancellation is about.
func (r *runtime) calledOff(q Request) (ids []string) {
	round, ok := strings.CutPrefix(q.Topic.String(), topic.Cancel+".")
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, open := range r.open {
		if open.Round == round {
			ids = append(ids, id)
			r.end(id)
		}
	}
	return ids
}
