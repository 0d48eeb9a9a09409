// Package local is one conversation with an MCP server that speaks in lines over a pair
// of streams, from its first byte to its end: a local command over its standard input
// and output.
//
// Promised: CallReporting sends at most one tools/call message, ever, and says what
// became of it by one invocation.Event; no caller waits beyond its deadline; whatever
// the upstream sends, the memory that it costs is bounded by bound.UpstreamLineBytes,
// and what it says unasked by bound.UpstreamChatter; of what it asks only the ping is
// answered. A session is never repaired: whatever makes the streams unusable ends it.
//
// Not promised: an order between calls in flight, or that the upstream reads a
// cancellation. How lines are cut and read is in envelope, what an answer means in
// answer. One lock guards a session's state, and a line is written by whoever holds its
// slot; Run owns its goroutines and waits for them.
package local

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/bell"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/chatter"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Link is a pair of byte streams to a running upstream and what ends it.
type Link struct {
	In interface { // to the upstream
		io.Writer
		SetWriteDeadline(time.Time) error
	}
	Out    io.Reader       // from the upstream
	PID    int             // for views
	Stop   func()          // ends the upstream and both streams, returns when that is done
	Done   <-chan struct{} // closed when the upstream has ended
	Exit   func() string   // how it ended, once Done is closed
	Stderr func() string   // the end of what it said beside the protocol
}

// Session is one conversation with one running upstream, from its first byte to
// its end. It is never repaired: whatever makes the streams unusable ends it.
//
// mu guards what is written below it; a line is written by whoever holds the
// slot; everything else is set before run.
type Session struct {
	link     Link
	changed  func()          // told of changed tools
	greeting answer.Greeting // set by handshake, as is meta
	meta     question.Meta   // nil but in the stateless era
	batches  atomic.Bool     // a line may hold an array of messages
	slot     chan struct{}   // room for one writer
	replies  chan []byte     // lines for the upstream's own requests
	bell     bell.Bell       // rung when tools may have changed
	gone     chan struct{}   // closed when the session is of no more use
	ended    chan struct{}   // closed when the upstream and all work has ended
	errands  sync.WaitGroup  // started under mu while the session is not gone

	mu      sync.Mutex
	why     string // of the end, as endedAt; written before gone is closed
	endedAt time.Time
	next    int64
	waiting map[int64]*waiter
	big     int     // waiters whose reply may be as long as a line
	left    []int64 // waiters that nobody waits for, oldest first
	noise   int64   // lines that are no message
	strays  int64   // answers to nothing that was asked
	chatter chatter.Meter
}

// waiter is one request without an answer.
type waiter struct {
	kind     answer.Kind
	answer   chan answer.Answer     // room for one
	late     func(invocation.Event) // may be nil
	leftAt   time.Time              // zero while somebody waits
	progress func(invocation.Progress)
}

// LateCalls is how many calls of a session, without an answer, are remembered.
const LateCalls = 1024

// Bounds of a session that no document names.
const (
	openReplies = 16          // answers to the upstream's own requests that wait
	sendNotice  = time.Second // for cancellations and replies (field faults, FF44)
	awaitExit   = time.Second // from the end of a stream to the exit code
)

// New is a conversation that has yet to begin; changed is told that the upstream's tools
// should be listed again.
func New(l Link, changed func()) *Session {
	return &Session{
		link:    l,
		changed: changed,
		slot:    make(chan struct{}, 1),
		replies: make(chan []byte, openReplies),
		bell:    bell.New(),
		gone:    make(chan struct{}),
		ended:   make(chan struct{}),
		waiting: make(map[int64]*waiter),
	}
}

// Run owns the session's goroutines and returns when all of them and the
// upstream have ended.
func (s *Session) Run() {
	var own sync.WaitGroup
	own.Go(s.read)
	own.Go(s.serve)
	own.Go(func() { s.bell.PassOn(s.gone, s.changed) })
	<-s.gone
	s.link.Stop()
	own.Wait()
	s.errands.Wait()
	close(s.ended)
}

// End makes the session unusable; only the first reason counts.
func (s *Session) End(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.gone:
	default:
		s.why, s.endedAt = why, time.Now()
		close(s.gone)
	}
}

// Alive reports whether another call may go out.
func (s *Session) Alive() bool {
	select {
	case <-s.gone:
		return false
	default:
		return true
	}
}

func (s *Session) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// unasked accounts for a line of so many bytes that answers nothing. An upstream
// that says more than bound.UpstreamChatter loses its connection.
func (s *Session) unasked(size int) {
	s.mu.Lock()
	over := s.chatter.Hear(size, time.Now())
	s.mu.Unlock()
	if over {
		s.End("the upstream says more than it is asked for: " + bound.UpstreamChatter.Exceeded().Text)
	}
}

// errand runs work that outlives its caller but not the session; the lock is
// held, so that nothing starts after the end.
func (s *Session) errand(work func()) {
	if s.Alive() {
		s.errands.Go(work)
	}
}

// serve answers the upstream's requests, so that the reader never waits for it.
func (s *Session) serve() {
	for {
		select {
		case <-s.gone:
			return
		case line := <-s.replies:
			ctx, cancel := context.WithTimeout(context.Background(), sendNotice)
			_, _ = s.write(ctx, line) // one that cannot be told has ended or will
			cancel()
		}
	}
}

// write sends one line and returns how much of it went out. A line that went out
// in part ends the session, since the next one would be read as its rest.
func (s *Session) write(ctx context.Context, line []byte) (int, error) {
	select {
	case s.slot <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-s.gone:
		return 0, io.ErrClosedPipe
	}
	defer func() { <-s.slot }()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	deadline, _ := ctx.Deadline()            // none leaves the write to the context alone
	_ = s.link.In.SetWriteDeadline(deadline) // fails for a closed end, which the write finds
	interrupted := make(chan struct{})
	release := context.AfterFunc(ctx, func() {
		_ = s.link.In.SetWriteDeadline(time.Unix(1, 0))
		close(interrupted)
	})
	n, err := s.link.In.Write(line)
	if !release() {
		<-interrupted // the next writer's deadline must not be overwritten
	}
	switch {
	case err == nil:
	case n > 0:
		s.End("a line to the upstream was cut off")
	case ctx.Err() == nil && !isTimeout(err):
		s.End(s.howItEnded("the upstream closed its input"))
	}
	return n, err
}

// expect makes a request known before it is sent.
func (s *Session) expect(k answer.Kind, late func(invocation.Event)) (int64, *waiter) {
	w := &waiter{kind: k, answer: make(chan answer.Answer, 1), late: late}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.waiting[s.next] = w
	if k.Long() {
		s.big++
	}
	return s.next, w
}

// number is a fresh request id for which nobody waits.
func (s *Session) number() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next
}

// forget drops a request whose answer is of no interest.
func (s *Session) forget(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// drop is the only place where a waiter goes; the lock is held.
func (s *Session) drop(id int64) {
	if w := s.waiting[id]; w != nil {
		delete(s.waiting, id)
		if w.kind.Long() {
			s.big--
		}
	}
}

// leave ends the waiting. An answer that came in the same moment is returned;
// otherwise a later one goes to the waiter's late func, for as long as the
// owner's hold-back of equal calls lasts.
func (s *Session) leave(id int64, w *waiter) (answer.Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case a := <-w.answer:
		return a, true
	default:
	}
	if w.late == nil {
		s.drop(id)
	} else if w.leftAt.IsZero() {
		s.keepLate(id, w)
	}
	return answer.Answer{}, false
}

// keepLate remembers a waiter that nobody waits for; the lock is held.
func (s *Session) keepLate(id int64, w *waiter) {
	w.leftAt = time.Now()
	s.left = append(s.left, id)
	for len(s.left) > 0 {
		oldest := s.waiting[s.left[0]]
		if oldest != nil && len(s.left) <= LateCalls && !tooLate(oldest) {
			return
		}
		s.drop(s.left[0])
		s.left = s.left[1:]
	}
}

func tooLate(w *waiter) bool { return time.Since(w.leftAt) > bound.RepeatGuard.Duration() }

// deliver gives an answer to whoever waits, exactly once.
func (s *Session) deliver(id int64, a answer.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiting[id]
	s.drop(id)
	switch {
	case w == nil || !w.leftAt.IsZero() && tooLate(w):
		s.strays++
	case w.leftAt.IsZero():
		w.answer <- a // has room, and leave must not look before it is there
	case a.Event.Kind == invocation.Answered || a.Event.Kind == invocation.ToolError:
		s.errand(func() { w.late(a.Event) })
	}
}

// ask sends a request that has no effect and waits for its answer.
func (s *Session) ask(ctx context.Context, k answer.Kind, method string, params []byte) answer.Answer {
	a, _, _ := s.put(ctx, k, method, params)
	return a
}

// put is ask, and gives the request's number and whether it was answered.
func (s *Session) put(ctx context.Context, k answer.Kind, method string, params []byte) (a answer.Answer, id int64, answered bool) {
	id, w := s.expect(k, nil)
	defer s.forget(id)
	if _, err := s.write(ctx, envelope.Request(id, method, params)); err != nil {
		return s.unanswered(), id, true // it knows nothing of a request
	}
	select {
	case a = <-w.answer:
		return a, id, true
	case <-s.gone:
	case <-ctx.Done():
	}
	if a, answered = s.leave(id, w); !answered {
		a = s.unanswered()
	}
	return a, id, answered
}

func (s *Session) unanswered() answer.Answer {
	if s.Alive() {
		return answer.Of(invocation.TimedOut, "no answer in time")
	}
	return answer.Of(invocation.Broken, s.reason())
}
