// Package mcpupstream is steward's own MCP client, for one upstream server that
// the owner configured: a local command that speaks over standard input and
// output, or a remote one over HTTP.
//
// Promised: a Call sends at most one tools/call message, ever, and says what
// became of it by one invocation.Event; nothing is repeated. Arguments, results
// and tool definitions pass as bytes. At most one process of an upstream exists
// at any time, however many callers and apps ask for it; a failed one is started
// again when somebody asks or, once it was asked for and KeepOpen was called, by
// itself, and not before a growing pause is over. No
// capability is declared, and of what an upstream asks only the ping is
// answered. Whatever it sends, the memory that it costs is bounded by
// bound.UpstreamLineBytes, what it says unasked by bound.UpstreamChatter, and no
// caller waits beyond its deadline.
//
// Not promised: an order between calls in flight, that an upstream reads a
// cancellation, or anything about the meaning of a result; output schemas are
// checked elsewhere. Nor that apps are kept apart by their upstream: it is one
// program that all of them share, as the owner configured it, and what it remembers
// of one it may tell another. An owner who wants it twice imports it twice; each
// entry has a process, tools and grants of its own (field faults, FF32, FF67).
//
// What an answer means is in answer, whatever it travelled on; one conversation over
// a pair of streams in local, and over HTTP in remote; starting, pausing and status
// in this file. A Client is safe for concurrent use.
package mcpupstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/local"
	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// Options may be left zero.
type Options struct {
	Version string               // steward's own, told to the upstream
	Process childprocess.Options // for programs that carry the supervisor elsewhere
}

// Status is what views show of an upstream.
type Status struct {
	Name      string // as the owner configured it
	State     view.ConnectionState
	Reason    string    // why it failed, with its last words; for the owner's eyes only
	PID       int       // zero unless ready
	StartedAt time.Time // of the session that is ready, else zero
	Restarts  int       // starts after the first
	Noise     int64     // lines of this session that were no message
	Strays    int64     // answers of this session to nothing that was asked
}

// Client is the connection to one upstream. One lock guards what is below mu.
type Client struct {
	name    string
	version string
	begin   func() (conversation, error)
	work    sync.WaitGroup
	open    context.Context // ends with Close
	shut    context.CancelFunc
	news    chan struct{} // to the keeper, if there is one

	mu        sync.Mutex
	changed   func()
	opened    func(context.Context, Listing) error
	starting  *attempt     // nil unless one is under way
	session   conversation // nil unless one was ready when last looked at
	startedAt time.Time    // of session
	previous  conversation // which must have vacated before the next begins
	asked     bool         // somebody wants it open, not only looked at
	starts    int          // since then
	failures  int          // in a row
	failedAt  time.Time
	retryAt   time.Time
	failure   *fault.Fault // the last one; its cause is for the owner
}

// attempt is one start that any number of callers wait for.
type attempt struct {
	done    chan struct{}
	err     error   // written before done is closed, as is listing
	listing Listing // what was offered at the start, where somebody looks at that
}

// The pause after n failures in a row is firstPause doubled n-1 times, at most
// longestPause. A session that has lived for provenAfter ends the row.
const (
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	provenAfter  = 10 * time.Second
)

// reasonBytes bounds how much of an upstream's last words a reason repeats.
const reasonBytes = 1 << 10

// newClient is a client of an upstream that speaks in lines.
func newClient(name, version string, dial func() (local.Link, error)) *Client {
	c := conversing(name, version)
	c.begin = func() (conversation, error) {
		l, err := dial()
		if err != nil {
			return nil, err
		}
		return local.New(l, c.tellChanged), nil
	}
	return c
}

// conversing is a client that has yet to be told how conversations begin.
func conversing(name, version string) *Client {
	if version == "" {
		version = "unreleased"
	}
	c := &Client{name: name, version: version, news: make(chan struct{}, 1)}
	c.open, c.shut = context.WithCancel(context.Background())
	return c
}

// OnChanged sets what is called when the upstream says that its tools have
// changed, on a goroutine of the session. Calls of it do not overlap and several
// changes may become one. Close waits for it, so it must not call Close.
func (c *Client) OnChanged(tell func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = tell
}

// OnOpened sets what looks at everything that the upstream offers when a new
// session begins. A session that cannot be listed, or that look refuses, never
// becomes ready, so that no call goes out before it has seen the tools that the
// call would meet. It runs within the start's deadline; Close waits for it, so it
// must not use the Client.
func (c *Client) OnOpened(look func(context.Context, Listing) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = look
}

func (c *Client) tellChanged() {
	c.mu.Lock()
	tell := c.changed
	c.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// Ready reports whether a call could be sent now.
func (c *Client) Ready() bool {
	s, _ := c.live()
	return s != nil && isFresh(s)
}

// live is the session, or why there is none.
func (c *Client) live() (conversation, *fault.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	switch {
	case c.session != nil:
		return c.session, nil
	case c.open.Err() != nil || c.failure == nil:
		return nil, errSwitchedOff
	default:
		return nil, c.failure
	}
}

var errSwitchedOff = fault.New(fault.Unavailable, "the upstream is not running")

// look notices a session that has ended; the lock is held.
func (c *Client) look() {
	s := c.session
	if s == nil || s.Alive() {
		return
	}
	c.session = nil
	_, at := s.Demise()
	if at.Sub(c.startedAt) >= provenAfter {
		c.failures = 0
	}
	first := c.failures == 0
	c.fail(at, notRunning(s))
	if d, ok := s.(doubtful); ok && d.Forgotten() && first {
		c.retryAt = at
	}
}

// fail begins a pause; the lock is held.
func (c *Client) fail(at time.Time, f *fault.Fault) {
	c.failure, c.failedAt = f, at
	c.retryAt = at.Add(min(longestPause, firstPause<<min(c.failures, 10)))
	c.failures++
}

func notRunning(s conversation) *fault.Fault {
	why, _ := s.Demise()
	return fault.New(fault.Unavailable, "the upstream is not running: "+why).Because(confide(lastWords(s)))
}

// lastWords are for the owner alone: an upstream may say anything.
func lastWords(s conversation) string {
	words := s.Words()
	if _, ok := s.(doubtful); ok {
		return "" // it has no other way to speak
	}
	words = strings.ToValidUTF8(words[max(0, len(words)-reasonBytes):], "")
	if words == "" {
		return "it said nothing"
	}
	return words
}

// confided is a cause that only Status tells. Logs are read by others than the
// owner, and what an upstream says may hold the secrets that it was given
// (threats, A77); so a log gets the fact alone.
type confided struct{ words func() string }

func confide(words string) error { return confided{func() string { return words }} }

func (confided) Error() string { return "the upstream has its own words for it" }

// reasonOf is what the owner is told of a failure.
func reasonOf(f *fault.Fault) string {
	var c confided
	if errors.As(f, &c) {
		return strings.TrimSuffix(f.Text+": "+c.words(), ": ")
	}
	if cause := f.Unwrap(); cause != nil {
		return f.Text + ": " + cause.Error()
	}
	return f.Text
}

// Open makes sure that there is a session. Callers share one start, which goes
// on for the others when one of them gives up. Faults: unavailable, with
// details.retry_after_ms where a later attempt is worth it.
func (c *Client) Open(ctx context.Context) error {
	if c.verified(ctx) != nil {
		return nil
	}
	a, _, err := c.attempt(true)
	if a == nil {
		return err
	}
	return a.wait(ctx)
}

func (a *attempt) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "the upstream is still starting").Because(ctx.Err())
	}
}

// attempt is the start to wait for, and whether it begins now; or nil and why
// there is nothing to wait for. Keep says that the session is wanted, not only a look
// at it.
func (c *Client) attempt(keep bool) (a *attempt, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	switch asked := c.asked; {
	case asked && !keep:
		return nil, false, nil
	default:
		c.asked = asked || keep
	}
	switch {
	case c.open.Err() != nil:
		return nil, false, errSwitchedOff
	case c.session != nil:
		return nil, false, nil
	case c.starting != nil:
		return c.starting, false, nil
	case time.Until(c.retryAt) > 0:
		return nil, false, c.paused()
	}
	a, previous := &attempt{done: make(chan struct{})}, c.previous
	c.starting = a
	if c.asked {
		c.starts++
	}
	c.work.Go(func() { c.start(a, previous) })
	c.tellKeeper()
	return a, true, nil
}

// paused is the last failure and when to come again; the lock is held.
func (c *Client) paused() error {
	return c.failure.RetryAfter(time.Until(c.retryAt))
}

// start brings up one session and tells everybody who waits.
func (c *Client) start(a *attempt, previous conversation) {
	ctx, cancel := context.WithTimeout(c.open, bound.StartDeadline.Duration())
	defer cancel()
	s, f := c.connect(ctx, previous)
	if f == nil {
		f = c.examine(ctx, s, a)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.starting = nil
	switch {
	case f != nil:
		c.fail(time.Now(), f)
		a.err = c.paused()
	case c.open.Err() != nil:
		s.End("closed")
		a.err = errSwitchedOff
	case !c.asked:
		s.End("nobody asks for it")
		c.failure, c.failures = nil, 0
	default:
		c.session, c.startedAt = s, time.Now()
	}
	close(a.done)
}

// connect begins a conversation and agrees on the protocol.
func (c *Client) connect(ctx context.Context, previous conversation) (conversation, *fault.Fault) {
	if previous != nil {
		select {
		case <-previous.Vacated():
		case <-ctx.Done():
			return nil, fault.New(fault.Unavailable, "the upstream's former process has not ended").Because(ctx.Err())
		}
	}
	s, err := c.begin()
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the upstream cannot be started").Because(plain(err))
	}
	c.mu.Lock()
	c.previous = s
	c.mu.Unlock()
	c.work.Go(s.Run)

	if err := s.Handshake(ctx, c.version); err != nil {
		return nil, abandon(s, err)
	}
	return s, nil
}

// examine shows what a fresh session offers to whoever looks at it.
func (c *Client) examine(ctx context.Context, s conversation, a *attempt) *fault.Fault {
	c.mu.Lock()
	look := c.opened
	c.mu.Unlock()
	if look == nil {
		return nil
	}
	offered, err := s.Offered(ctx)
	if err == nil {
		err = look(ctx, offered)
	}
	if err != nil {
		return abandon(s, err)
	}
	a.listing = offered
	return nil
}

// abandon ends a session that does not become ready.
func abandon(s conversation, err error) *fault.Fault {
	if !s.Alive() {
		return notRunning(s)
	}
	s.End("the start failed")
	if f := fault.From(err); f.Details["reason"] == credential.NeedsOwner {
		return f // whoever asks may know what the owner has to do
	}
	return fault.New(fault.Unavailable, "the upstream cannot be used").Because(confide(strings.TrimSuffix(plain(err).Error()+"; "+lastWords(s), "; ")))
}

// plain is an error without the code that a fault would put before its text.
func plain(err error) error { return errors.New(fault.From(err).Text) }

// List asks for everything that the upstream offers now, opening a session if
// need be. Faults: those of Open, unavailable when the upstream ends or does not
// answer in time, too_large over a bound of the listing, upstream_failed for an
// answer that is no listing. Without a deadline of its own, ctx gets
// bound.StartDeadline.
func (c *Client) List(ctx context.Context) (Listing, error) {
	a, fresh, err := c.attempt(true)
	if a != nil {
		err = a.wait(ctx)
	}
	switch {
	case err != nil:
		return Listing{}, err
	case fresh && a.listing.Tools != nil:
		return a.listing, nil // it began after we were asked
	}
	s, f := c.live()
	if f != nil {
		return Listing{}, f
	}
	ctx, cancel := withDeadline(ctx, bound.StartDeadline)
	defer cancel()
	return s.Offered(ctx)
}

// Call sends one tools/call to the session that exists now; it opens none, so
// that the caller can do so before it marks the call as sent. args is one JSON
// object, sent as it is; empty means {}. The exact name of the tool goes out.
//
// late, if not nil, gets the result of this call at most once, when it comes
// after Call has returned TimedOut or Cancelled, or TooLarge where it was not
// certain whose answer was too large. It runs on a goroutine of the session and
// Close waits for it. Without a deadline of its own, ctx gets
// bound.CallDeadline.
func (c *Client) Call(ctx context.Context, tool string, args []byte, late func(invocation.Event)) invocation.Event {
	return c.CallReporting(ctx, tool, args, late, nil)
}

// CallReporting is Call, and has the upstream tell how far it is. progress, if not
// nil, is called for each thing that the upstream says, on the goroutine that reads
// from it, so it must not wait; and not after the call has its answer.
func (c *Client) CallReporting(ctx context.Context, tool string, args []byte, late func(invocation.Event), progress func(invocation.Progress)) invocation.Event {
	s, f := c.live()
	if f != nil {
		return invocation.Event{Kind: invocation.Unreached, Detail: f.Text}
	}
	ctx, cancel := withDeadline(ctx, bound.CallDeadline)
	defer cancel()
	return s.CallReporting(ctx, tool, args, late, progress)
}

func withDeadline(ctx context.Context, row bound.Row) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, row.Duration())
}

// Status tells how the upstream is.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	st := Status{Name: c.name, State: view.ConnectionIdle, Restarts: max(0, c.starts-1)}
	switch {
	case c.session != nil:
		v := c.session.Vitals()
		st.State, st.PID, st.StartedAt = view.ConnectionReady, v.PID, c.startedAt
		st.Noise, st.Strays = v.Noise, v.Strays
	case c.open.Err() != nil:
	case c.starting != nil:
		st.State = view.ConnectionStarting
	case c.failure != nil:
		st.State, st.Reason = view.ConnectionFailed, reasonOf(c.failure)
	}
	return st
}

// Close ends the upstream and returns when its process and all work have ended.
// Calls in flight get Broken; no other session is opened.
func (c *Client) Close() {
	c.shut()
	c.mu.Lock()
	if c.session != nil {
		c.session.End("switched off")
	}
	c.mu.Unlock()
	c.work.Wait()
}
