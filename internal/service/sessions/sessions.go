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
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/books"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/service/sessions/inbox"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// Service is the coordinator. Its methods may be called by any goroutine.
type Service struct {
	ports    Ports
	instance string
	inbox    *inbox.Inbox
	idle     chan struct{} // closed when nothing was connected or at work for long
	base     context.Context
	cancel   context.CancelFunc

	// What follows is the owner's alone.
	peers     map[string]*peer
	books     books.Books
	works     map[string]*work // by session, from the request to the worker's return
	waits     map[string]*wait // by call
	mended    map[string]bool  // by session: nothing of a dead daemon is open in its record
	restSince time.Time        // when the last connection and work ended
	rested    bool
	closing   bool
}

// peer is one initialized connection.
type peer struct {
	selected bool
	events   func(reply.Event)
}

// New starts a coordinator. Close ends it.
func New(ports Ports) *Service {
	base, cancel := context.WithCancel(context.Background())
	s := &Service{
		ports: ports, instance: fresh(), inbox: inbox.New(), idle: make(chan struct{}), base: base, cancel: cancel,
		peers: map[string]*peer{}, books: books.New(), works: map[string]*work{}, waits: map[string]*wait{}, mended: map[string]bool{}, restSince: time.Now(),
	}
	go s.inbox.Run(inbox.Keeper{Expire: s.expire, Next: s.next, Settle: s.notice, Finished: s.finished})
	return s
}

// Instance is the ID of this start of the daemon.
func (s *Service) Instance() string { return s.instance }

// Idle is closed once there was neither a connection nor work for
// bound.DaemonIdle.
func (s *Service) Idle() <-chan struct{} { return s.idle }

func (s *Service) finished() bool { return s.closing && len(s.works) == 0 && s.inbox.Jobs() == 0 }

// expire lets everything end whose instant has come.
func (s *Service) expire(now time.Time) {
	for _, c := range s.books.Expire(now) {
		s.expired(c)
	}
	for _, w := range s.works {
		w.expire(s, now)
	}
}

// next is the next instant at which something ends.
func (s *Service) next() (next time.Time, some bool) {
	next, some = s.books.Next()
	sooner := func(at time.Time, ok bool) {
		if ok && (!some || at.Before(next)) {
			next, some = at, true
		}
	}
	sooner(s.rest())
	for _, w := range s.works {
		sooner(w.deadline())
	}
	return next, some
}

// rest is the instant at which the daemon has been idle for long.
func (s *Service) rest() (time.Time, bool) {
	return s.restSince.Add(bound.DaemonIdle.Duration()), !s.restSince.IsZero() && !s.rested
}

// notice keeps the time since which nothing is connected and nothing works.
func (s *Service) notice(now time.Time) {
	if len(s.peers) > 0 || len(s.works) > 0 || s.inbox.Jobs() > 0 {
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

// Connect takes an initialized connection in. Events are handed over in order and
// must not block.
func (s *Service) Connect(connection string, selected bool, events func(reply.Event)) {
	s.inbox.Ask(func(time.Time) { s.peers[connection] = &peer{selected, events} })
}

// Disconnect ends a connection: its grants are revoked, its executor detached.
func (s *Service) Disconnect(connection string) {
	s.inbox.Ask(func(now time.Time) { s.disconnected(connection, now) })
}

// Close takes no new work, stops turns with the code shutdown, and returns when
// their ends are durable and all work has returned, or with an error when ctx has
// ended before.
func (s *Service) Close(ctx context.Context) error {
	s.inbox.Post(func(now time.Time) {
		s.closing = true
		for _, w := range s.works {
			s.stop(w, turn.CodeShutdown, now)
		}
	})
	defer s.cancel()
	select {
	case <-s.inbox.Done():
		if !s.inbox.Wait() {
			return gone()
		}
		return nil
	case <-ctx.Done():
		s.inbox.Abort()
		return ctx.Err()
	}
}

// idBytes is how much randomness an ID has.
const idBytes = 16

// fresh mints an unpredictable ID. None begins with a hyphen, since people type
// IDs behind verbs.
func fresh() string {
	for {
		var b [idBytes]byte
		rand.Read(b[:])
		if id := base64.RawURLEncoding.EncodeToString(b[:]); id[0] != '-' {
			return id
		}
	}
}

// NewConnection mints the ID of a connection.
func NewConnection() string { return fresh() }
