// Package sessions is the session daemon's coordinator: what happens to sessions,
// registries, executors, calls and turns over time (sessions page; guide).
//
// The rules are those of domain/sessions. The package keeps their state behind
// one inbox: one goroutine takes one message at a time, looks at the clock, lets
// everything expire whose instant has come, and only then decides; so at the exact
// instant of a deadline the deadline wins. Slow work (capturing, the durable
// stream, a turn) runs outside and comes back as a message, which checks anew what
// it depends on. Answers and events are handed to the door in the order in which
// they were decided and never wait for a peer.
//
// Promises: a result is durable before it is acknowledged and before the turn goes
// on; a binding before its call is dispatched; the input before a turn is
// accepted; the end before it is told. No call is dispatched twice. Nothing but the
// durable streams outlives the process.
package sessions

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/domain/sessions/evidence"
	"github.com/stewardhost/steward/internal/domain/sessions/executor"
	"github.com/stewardhost/steward/internal/domain/sessions/operation"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Service is the coordinator. Its methods may be called by any goroutine.
type Service struct {
	ports    Ports
	instance string
	inbox    chan func(now time.Time)
	abort    chan struct{} // closed when waiting for work is given up
	done     chan struct{} // closed when the owner has returned
	idle     chan struct{} // closed when nothing was connected or at work for long
	workers  sync.WaitGroup
	base     context.Context
	cancel   context.CancelFunc

	// What follows is the owner's alone.
	peers      map[string]*peer
	operations *operation.Table
	control    *control.Book
	registry   *registry.Book
	executors  *executor.Book
	callbacks  *callback.Book
	evidence   *evidence.Book
	ends       *turn.Ends
	works      map[string]*work // by session, from the request to the worker's return
	waits      map[string]*wait // by call
	capture    *capture
	jobs       int
	restSince  time.Time // when the last connection and work ended
	rested     bool
	closing    bool
}

// peer is one initialized connection.
type peer struct {
	selected bool
	events   func(Event)
}

// New starts a coordinator. Close ends it.
func New(ports Ports) *Service {
	base, cancel := context.WithCancel(context.Background())
	s := &Service{
		ports: ports, instance: fresh(), inbox: make(chan func(time.Time)), abort: make(chan struct{}), done: make(chan struct{}),
		idle: make(chan struct{}), base: base, cancel: cancel,
		peers: map[string]*peer{}, operations: operation.New(), control: control.New(), registry: registry.New(),
		executors: executor.New(), callbacks: callback.New(), evidence: evidence.New(), ends: turn.NewEnds(),
		works: map[string]*work{}, waits: map[string]*wait{}, restSince: time.Now(),
	}
	go s.own()
	return s
}

// Instance is the ID of this start of the daemon.
func (s *Service) Instance() string { return s.instance }

// Idle is closed once there was neither a connection nor work for
// bound.DaemonIdle.
func (s *Service) Idle() <-chan struct{} { return s.idle }

// own is the owner of all state.
func (s *Service) own() {
	defer close(s.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !s.finished() {
		s.arm(timer)
		select {
		case <-s.abort:
			return
		case <-timer.C:
			s.expire(time.Now())
		case message := <-s.inbox:
			now := time.Now()
			s.expire(now)
			message(now)
		}
		s.notice(time.Now())
	}
}

func (s *Service) finished() bool { return s.closing && len(s.works) == 0 && s.jobs == 0 }

// expire lets everything end whose instant has come.
func (s *Service) expire(now time.Time) {
	s.operations.Expire(now)
	s.executors.Expire(now)
	s.ends.Expire(now)
	s.evidence.Expire(now)
	for _, c := range s.callbacks.Expire(now) {
		s.expired(c)
	}
	s.registry.Expire(now)
	if s.capture != nil {
		s.capture.expire(s, now)
	}
	for _, w := range s.works {
		w.expire(s, now)
	}
}

// arm sets the timer to the next instant at which something ends.
func (s *Service) arm(timer *time.Timer) {
	next := time.Now().Add(time.Hour)
	sooner := func(at time.Time, ok bool) {
		if ok && at.Before(next) {
			next = at
		}
	}
	sooner(s.operations.Next())
	sooner(s.executors.Next())
	sooner(s.ends.Next())
	sooner(s.evidence.Next())
	sooner(s.callbacks.Next())
	sooner(s.registry.Next())
	sooner(s.rest())
	if s.capture != nil {
		sooner(s.capture.until, !s.capture.answered)
	}
	for _, w := range s.works {
		sooner(w.deadline())
	}
	timer.Reset(time.Until(next))
}

// rest is the instant at which the daemon has been idle for long.
func (s *Service) rest() (time.Time, bool) {
	return s.restSince.Add(bound.DaemonIdle.Duration()), !s.restSince.IsZero() && !s.rested
}

// notice keeps the time since which nothing is connected and nothing works.
func (s *Service) notice(now time.Time) {
	if len(s.peers) > 0 || len(s.works) > 0 || s.jobs > 0 {
		s.restSince = time.Time{}
		return
	}
	if s.restSince.IsZero() {
		s.restSince = now
	}
	if at, ok := s.rest(); ok && !now.Before(at) {
		s.rested = true
		close(s.idle)
	}
}

// post hands a message to the owner, and reports whether there is one.
func (s *Service) post(message func(now time.Time)) bool {
	select {
	case s.inbox <- message:
		return true
	case <-s.done:
		return false
	}
}

// ask has the owner do something and waits for it; false means that the owner is
// gone and nothing was done.
func (s *Service) ask(do func(now time.Time)) bool {
	done := make(chan struct{})
	if !s.post(func(now time.Time) { defer close(done); do(now) }) {
		return false
	}
	<-done
	return true
}

// spawn runs a job outside the owner and has its conclusion done inside.
func (s *Service) spawn(job func() func(now time.Time)) {
	s.jobs++
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		then := job()
		s.post(func(now time.Time) {
			s.jobs--
			then(now)
		})
	}()
}

// Connect takes an initialized connection in. Events are handed over in order and
// must not block.
func (s *Service) Connect(connection string, selected bool, events func(Event)) {
	s.ask(func(time.Time) { s.peers[connection] = &peer{selected, events} })
}

// Disconnect ends a connection: its grants are revoked, its executor detached.
func (s *Service) Disconnect(connection string) {
	s.ask(func(now time.Time) { s.disconnected(connection, now) })
}

// Close takes no new work, stops turns with the code shutdown, and returns when
// their ends are durable and all work has returned, or when ctx has ended.
func (s *Service) Close(ctx context.Context) error {
	s.post(func(now time.Time) {
		s.closing = true
		for _, w := range s.works {
			s.stop(w, turn.CodeShutdown, now)
		}
	})
	defer s.cancel()
	select {
	case <-s.done:
		s.workers.Wait()
		return nil
	case <-ctx.Done():
		close(s.abort)
		<-s.done
		return ctx.Err()
	}
}

// idBytes is how much randomness an ID has.
const idBytes = 16

// fresh mints an unpredictable ID.
func fresh() string {
	var b [idBytes]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// NewConnection mints the ID of a connection.
func NewConnection() string { return fresh() }
