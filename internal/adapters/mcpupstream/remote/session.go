// Package remote is one conversation with an MCP server over streamable HTTP, in
// both eras: a session that a handshake begins and Mcp-Session-Id names, or
// requests that stand alone (MCP 2026-07-28), which is tried first.
//
// Promised: CallReporting sends at most one tools/call message, ever, on a
// connection of its own, and says what became of it by one invocation.Event: not
// one byte went out (Unreached), or exactly what is known. No redirect is followed,
// no stream resumed for an answer, no flow of authorization run inside a call. What
// goes out carries the headers that this package names, those that the owner
// configured, and steward's own credential, and nothing of whoever calls (threats,
// A54). Every answer is bounded while it is read; no caller waits beyond its
// deadline.
//
// Not promised: that a server keeps what it said of a session. Where none of its
// streams is open and it was not heard for bound.RemoteIdle, Verify asks before
// the next call.
//
// One lock guards what is below mu; requests belong to their goroutines, all of
// which Run waits for.
package remote

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/bell"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/chatter"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/means/egress"
)

// Spec is a server as the owner configured it.
type Spec struct {
	Gate   *egress.Gate
	Target egress.Target
	Header http.Header // may be secret; goes out with every request
	// Authorize gives the credential of a request, or none. It is asked before a
	// byte goes out and may take as long as ctx does. May be nil.
	Authorize func(ctx context.Context) (secret.Secret, error)
	// NeedsOwner is the fault of a server that wants a credential and has none of
	// ours. May be nil.
	NeedsOwner func() error
	// Refused is told that the server did not take a request's credential (401), or
	// refuses what it asks (403), and the challenge that came with that. It gives why,
	// in our words, where the server wants a wider credential. May be nil.
	Refused func(status int, sent secret.Secret, challenge string) (tooNarrow string)
}

// Session is one conversation; use New.
type Session struct {
	spec Spec

	// Set by Handshake.
	version  string // steward's own
	greeting answer.Greeting
	meta     question.Meta // nil but in the stateless era
	name     string        // of the session, as the server gave it
	protocol string        // sent in a header from the handshake on

	life    context.Context // of everything that is under way
	die     context.CancelFunc
	gone    chan struct{} // closed when no other call may go out
	vacant  chan struct{} // closed from the start: sessions do not exclude each other
	bell    bell.Bell     // rung when tools may have changed
	replies chan []byte   // for what the server asks
	changed func()
	tasks   sync.WaitGroup // started under mu while the session is not gone

	mu        sync.Mutex
	why       string // of the end, as endedAt; written before gone is closed
	endedAt   time.Time
	next      int64
	heardAt   time.Time // of the last proof that the server knows the session
	streaming bool      // a stream of it is open
	doubted   bool      // it may have been forgotten
	forgotten bool      // it was
	greeted   bool      // what Handshake sets is set for good
	late      int       // answers that nobody waits for any more
	noise     int64
	strays    int64
	chatter   chatter.Meter
}

const (
	openReplies = 16 // to the server's own requests that wait
	sendNotice  = time.Second
)

// New is a conversation that has yet to begin, and ends with ctx at the latest.
// changed is told that the server's tools should be listed again.
func New(ctx context.Context, spec Spec, changed func()) *Session {
	s := &Session{spec: spec, changed: changed, gone: make(chan struct{}), vacant: make(chan struct{}),
		bell: bell.New(), replies: make(chan []byte, openReplies)}
	s.life, s.die = context.WithCancel(ctx)
	close(s.vacant)
	return s
}

// Run owns the session's goroutines and returns when all of them have ended.
func (s *Session) Run() {
	stop := context.AfterFunc(s.life, func() { s.lose("closed", false) })
	defer stop()
	s.bell.PassOn(s.gone, s.changed)
	s.tasks.Wait()
	s.farewell()
	s.die()
}

// Vacated lets another session begin at any time.
func (s *Session) Vacated() <-chan struct{} { return s.vacant }

// Over is closed when no other call may go out.
func (s *Session) Over() <-chan struct{} { return s.gone }

// End makes the session unusable and ends what is under way.
func (s *Session) End(why string) {
	s.lose(why, false)
	s.die()
}

// lose lets no other call go out; those under way go on. forgotten says that the
// server knows nothing of the session any more.
func (s *Session) lose(why string, forgotten bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Alive() {
		return
	}
	s.why, s.endedAt, s.forgotten = why, time.Now(), forgotten
	close(s.gone)
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

// Demise is why and when it ended.
func (s *Session) Demise() (why string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why, s.endedAt
}

// Forgotten reports whether the session ended because its server lost it, as it
// does when it starts again: then another can begin at once.
func (s *Session) Forgotten() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgotten
}

// Words are none: a server says nothing beside the protocol.
func (s *Session) Words() string { return "" }

// Vitals are what views show.
func (s *Session) Vitals() answer.Vitals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return answer.Vitals{Noise: s.noise, Strays: s.strays}
}

// Fresh reports whether a call may go out without Verify.
func (s *Session) Fresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta != nil || !s.doubted && (s.streaming || time.Since(s.heardAt) < bound.RemoteIdle.Duration())
}

// heard notes that the server knows the session.
func (s *Session) heard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heardAt, s.doubted = time.Now(), false
}

func (s *Session) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubted = true
}

// task runs work that outlives its caller but not Run; false once the session has
// ended.
func (s *Session) task(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Alive() {
		return false
	}
	s.tasks.Go(work)
	return true
}

func (s *Session) countNoise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noise++
}

// unasked accounts for so many bytes that answer nothing, and reports whether the
// server says more than bound.UpstreamChatter.
func (s *Session) unasked(size int) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chatter.Hear(size, time.Now())
}

// number is a fresh request id.
func (s *Session) number() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next
}
