package local

import (
	"context"
	"errors"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// CallReporting sends one tools/call and says what became of it; it tells how far
// it is, where progress is not nil.
//
//	write ── nothing went out ─────────────> Unreached
//	  │ └─── cut off ──> session ends ─────> TimedOut, Cancelled, Broken
//	wait ─── answer ───────────────────────> as the answer is
//	  ├───── session ends ─────────────────> Broken
//	  ├───── deadline ──> notice ──────────> TimedOut          (late answer kept)
//	  └───── cancelled ─> notice ─> grace ─> answer, Cancelled (late answer kept)
func (s *Session) CallReporting(ctx context.Context, tool string, args []byte, late func(invocation.Event), progress func(invocation.Progress)) invocation.Event {
	id, w := s.expect(answer.Call, late)
	meta := s.meta
	if progress != nil {
		meta = meta.Reporting(id)
		s.mu.Lock()
		w.progress = progress
		s.mu.Unlock()
	}
	params, err := meta.Call(tool, args)
	if err != nil {
		s.forget(id)
		return unreached(fault.From(err).Text)
	}
	n, err := s.write(ctx, envelope.Request(id, "tools/call", params))
	if err != nil {
		s.forget(id)
		return s.unsent(ctx, n, err)
	}
	if err := failpoint.Hit(failpoint.Sent); err != nil {
		s.End(err.Error())
	}
	select {
	case a := <-w.answer:
		return a.Event
	case <-s.gone:
		return s.broken(id, w)
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		a, answered := s.leave(id, w)
		if answered {
			return a.Event
		}
		s.notifyCancelled(id)
		return invocation.Event{Kind: invocation.TimedOut, Detail: "no answer before the deadline"}
	}
	return s.cancelled(id, w)
}

// cancelled asks the upstream to stop and gives it a moment to answer.
func (s *Session) cancelled(id int64, w *waiter) invocation.Event {
	select {
	case a := <-w.answer: // in the same moment
		return a.Event
	default:
	}
	s.notifyCancelled(id)
	grace := time.NewTimer(bound.CallGrace.Duration())
	defer grace.Stop()
	var a answer.Answer
	var answered bool
	select {
	case a = <-w.answer:
		answered = true
	case <-s.gone:
		return s.broken(id, w)
	case <-grace.C:
		a, answered = s.leave(id, w)
	}
	switch {
	case !answered:
		return invocation.Event{Kind: invocation.Cancelled, Detail: "no answer after the cancellation"}
	case a.Event.Kind == invocation.Rejected:
		// Some servers answer a cancellation so. It does not say that nothing was done.
		return invocation.Event{Kind: invocation.Cancelled, Detail: a.Event.Detail}
	default:
		return a.Event
	}
}

// broken prefers an answer that came before the end.
func (s *Session) broken(id int64, w *waiter) invocation.Event {
	if a, answered := s.leave(id, w); answered {
		return a.Event
	}
	return invocation.Event{Kind: invocation.Broken, Detail: s.reason()}
}

// unsent is the event of a call whose line did not go out whole.
func (s *Session) unsent(ctx context.Context, n int, err error) invocation.Event {
	switch {
	case n == 0 && !s.Alive():
		return unreached(s.reason())
	case n == 0:
		return unreached("the upstream takes no input")
	case errors.Is(ctx.Err(), context.Canceled):
		return invocation.Event{Kind: invocation.Cancelled, Detail: s.reason()}
	case ctx.Err() != nil || isTimeout(err):
		return invocation.Event{Kind: invocation.TimedOut, Detail: s.reason()}
	default:
		return invocation.Event{Kind: invocation.Broken, Detail: s.reason()}
	}
}

func unreached(detail string) invocation.Event {
	return invocation.Event{Kind: invocation.Unreached, Detail: detail}
}

// notifyCancelled tells the upstream, without waiting, that nobody waits.
func (s *Session) notifyCancelled(id int64) {
	line := envelope.Cancelled(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errand(func() {
		ctx, cancel := context.WithTimeout(context.Background(), sendNotice)
		defer cancel()
		_, _ = s.write(ctx, line) // a notice; the call is over in any case
	})
}
