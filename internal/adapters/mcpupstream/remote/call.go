package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// waiting is one call, between whoever waits and the goroutine that carries it.
type waiting struct {
	began  chan struct{} // closed when the first byte goes out
	answer chan outcome  // room for one
	cancel context.CancelFunc
}

// CallReporting sends one tools/call and says what became of it; it tells how far it
// is, where progress is not nil.
//
//	connect ── nothing went out ───────────> Unreached
//	wait ───── answer ─────────────────────> as the answer is
//	  ├─────── connection ends ────────────> Broken
//	  ├─────── deadline ──> notice ────────> TimedOut          (late answer kept)
//	  └─────── cancelled ─> notice ─> grace > answer, Cancelled (late answer kept)
//
// In the stateless era the end of the connection is the notice, so that what is
// cancelled has no late answer, and what is late is not yet cancelled.
func (s *Session) CallReporting(ctx context.Context, tool string, args []byte, late func(invocation.Event), progress func(invocation.Progress)) invocation.Event {
	x := exchange{id: s.number(), kind: answer.Call, method: "tools/call", about: tool}
	meta := s.meta
	if progress != nil {
		meta = meta.Reporting(x.id)
	}
	params, err := meta.Call(tool, args)
	if err != nil {
		return invocation.Event{Kind: invocation.Unreached, Detail: fault.From(err).Text}
	}
	x.params = params
	x.progress = whileWaiting(ctx, progress)
	w := &waiting{began: make(chan struct{}), answer: make(chan outcome, 1)}
	x.began = func() { close(w.began) }
	var life context.Context
	life, w.cancel = context.WithTimeout(s.life, lateFor)
	if !s.task(func() { defer w.cancel(); w.answer <- s.do(life, x) }) {
		w.cancel()
		why, _ := s.Demise()
		return invocation.Event{Kind: invocation.Unreached, Detail: why}
	}
	select {
	case o := <-w.answer:
		return s.called(o)
	case <-ctx.Done():
		return s.giveUp(ctx, x.id, w, late)
	}
}

// lateFor is the longest that a call's answer is read for (threats, A28: as long as
// equal calls are held back).
var lateFor = bound.CallDeadline.Duration() + bound.RepeatGuard.Duration()

// whileWaiting lets nothing through once the wait is over.
func whileWaiting(ctx context.Context, progress func(invocation.Progress)) func(invocation.Progress) {
	if progress == nil {
		return nil
	}
	return func(p invocation.Progress) {
		if ctx.Err() == nil {
			progress(p)
		}
	}
}

// called is the event of a call, from which the session learns how it stands.
func (s *Session) called(o outcome) invocation.Event {
	switch {
	case s.meta != nil || o.unsent:
	case o.status == http.StatusNotFound && s.name != "":
		s.lose("the server has forgotten the session", true)
	case o.status == http.StatusBadRequest || o.status == 0 || o.status >= 500:
		s.doubt()
	case o.status == http.StatusOK:
		s.heard()
	}
	return o.Event
}

// giveUp ends the wait for an answer. Nothing is said of a call of which no byte has
// gone out: it is taken back.
func (s *Session) giveUp(ctx context.Context, id int64, w *waiting, late func(invocation.Event)) invocation.Event {
	select {
	case <-w.began:
	default:
		w.cancel()
		return s.takeBack(ctx, id, <-w.answer) // at once: the connection is not there yet, or was cut
	}
	expired := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if s.meta == nil {
		s.notice(id)
	}
	if !expired {
		if o, ok := w.within(bound.CallGrace.Duration()); ok {
			return cancelledOr(s.called(o))
		}
	}
	select {
	case o := <-w.answer: // in the same moment
		return s.called(o)
	default:
	}
	if late == nil || !expired && s.meta != nil || !s.keepLate(w, late) {
		w.cancel()
	}
	if expired {
		return invocation.Event{Kind: invocation.TimedOut, Detail: "no answer before the deadline"}
	}
	return invocation.Event{Kind: invocation.Cancelled, Detail: "no answer after the cancellation"}
}

// takeBack is the event of a call that was cut off before a byte of it was seen to go
// out. One may have gone out in the same moment; then nothing comes after what was
// received, and an answer among it counts.
func (s *Session) takeBack(ctx context.Context, id int64, o outcome) invocation.Event {
	e := s.called(o)
	if o.unsent {
		return e
	}
	if e.Kind == invocation.Cancelled && s.meta == nil {
		s.notice(id)
	}
	if e.Kind == invocation.Cancelled && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return invocation.Event{Kind: invocation.TimedOut, Detail: "no answer before the deadline"}
	}
	return cancelledOr(e)
}

// cancelledOr keeps an answer to the cancellation from being taken for one to the
// call: some servers answer so, which does not say that nothing was done.
func cancelledOr(e invocation.Event) invocation.Event {
	if e.Kind == invocation.Rejected {
		e.Kind = invocation.Cancelled
	}
	return e
}

func (w *waiting) within(d time.Duration) (outcome, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case o := <-w.answer:
		return o, true
	case <-timer.C:
		return outcome{}, false
	}
}

// keepLate has an answer read on after its caller has gone, if there are not too
// many of those.
func (s *Session) keepLate(w *waiting, late func(invocation.Event)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bound.RemoteLate.Check(s.late+1) != nil || !s.Alive() {
		return false
	}
	s.late++
	s.tasks.Go(func() {
		o := <-w.answer
		s.mu.Lock()
		s.late--
		s.mu.Unlock()
		if o.Event.Kind == invocation.Answered || o.Event.Kind == invocation.ToolError {
			late(o.Event)
		}
	})
	return true
}

// notice tells the server, without waiting, that nobody waits.
func (s *Session) notice(id int64) {
	s.task(func() { s.notify(envelope.Cancelled(id)) })
}

// notify sends a message that has no answer, whatever becomes of it.
func (s *Session) notify(message []byte) {
	ctx, cancel := context.WithTimeout(s.life, sendNotice)
	defer cancel()
	if resp, _ := s.post(ctx, "", "", message, nil); resp != nil {
		resp.Close()
	}
}
