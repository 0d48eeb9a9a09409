package sessions

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/sessions/archive"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// work is a turn with all that it holds, from its request to the return of its
// worker.
type work struct {
	life     *turn.Life
	request  *Request // until it is answered
	selected bool     // the profile, on the connection that asked
	snapshot *registry.Snapshot
	executor *manifest.Executor
	stream   archive.Stream
	history  []conversation.Message
	ctx      context.Context
	cancel   context.CancelFunc

	until    time.Time     // the preparation's deadline
	admitted bool          // authority was checked for the last time
	ending   bool          // its end is decided
	stopped  string        // why it was told to stop: a terminal code
	fatal    string        // a terminal code that its work cannot change
	grace    time.Time     // when a stopped turn ends without its worker
	told     chan struct{} // closed once it has ended so; nil until its grace is over
}

// preparing reports whether the turn can still be discarded.
func (w *work) preparing() bool { return w.request != nil && !w.admitted }

// accepted reports whether clients know of the turn.
func (w *work) accepted() bool {
	return w.life.State == turn.Running || w.life.State == turn.Cancelling
}

// hold protects what the turn needs until its worker has returned.
func (w *work) hold(s *Service) {
	s.works[w.life.Session] = w
	s.books.Registry.Work(w.life.Session)
	if w.snapshot != nil {
		s.books.Registry.Pin(w.snapshot)
	}
	if w.executor != nil {
		s.books.Executors.Pin(w.executor.ExecutorID)
	}
}

// release is the reverse of hold.
func (w *work) release(s *Service, now time.Time) {
	w.life.State = turn.Over
	w.cancel()
	delete(s.works, w.life.Session)
	s.books.Registry.Rest(w.life.Session, now)
	if w.snapshot != nil {
		s.books.Registry.Unpin(w.snapshot)
	}
	if w.executor != nil {
		s.books.Executors.Unpin(w.executor.ExecutorID, now)
	}
}

// refuse answers the request of a turn that is not accepted.
func (w *work) refuse(s *Service, err error, now time.Time) {
	r := w.request
	w.request = nil
	w.cancel()
	s.finish(r, nil, nil, err, now)
}

// abandon lets go of a turn that was refused, once its stream is closed.
func (s *Service) abandon(w *work, now time.Time) {
	if w.stream == nil {
		w.release(s, now)
		return
	}
	s.inbox.Spawn(func() func(time.Time) {
		_ = w.stream.Close() // what it holds is given back or lost with the process
		return func(now time.Time) { w.release(s, now) }
	})
}

// expire ends a preparation that takes too long, and a stopped turn whose worker
// does not return.
func (w *work) expire(s *Service, now time.Time) {
	if w.preparing() && !now.Before(w.until) {
		w.refuse(s, fault.New(fault.PersistenceFailed, "the session could not be opened in time"), now)
	}
	if !w.grace.IsZero() && !w.ending && !now.Before(w.grace) {
		final := s.conclude(w, turn.Outcome{})
		w.told = make(chan struct{})
		s.inbox.Spawn(func() func(time.Time) {
			err := w.recordEnd(s.base, final)
			return func(now time.Time) {
				s.ended(w, final, err, now)
				close(w.told)
			}
		})
	}
}

// deadline is the next instant at which expire has something to do.
func (w *work) deadline() (time.Time, bool) {
	if w.preparing() {
		return w.until, true
	}
	return w.grace, !w.grace.IsZero() && !w.ending
}

// Cancel stops a turn: the guide's Stop.
type Cancel struct{ Turn string }

func (c Cancel) ready(s *Service, r *Request, _ time.Time) error {
	if w := s.works[r.Session]; w == nil || !w.accepted() || w.life.ID != c.Turn {
		return fault.New(fault.UnknownTurn, "the session has no such turn")
	}
	return nil
}

func (c Cancel) run(s *Service, r *Request, now time.Time) {
	answer := reply.CancelRequested{Turn: c.Turn}
	s.finish(r, answer, answer, nil, now)
	s.stop(s.works[r.Session], turn.CodeCancelled, now)
}

// stop tells a turn to end. Its calls are cancelled; its worker has a grace to
// return in.
func (s *Service) stop(w *work, code string, now time.Time) {
	if w.preparing() {
		w.refuse(s, gone(), now)
		return
	}
	if !w.accepted() || w.stopped != "" || w.ending {
		return
	}
	w.life.State, w.stopped, w.grace = turn.Cancelling, code, now.Add(bound.TurnStop.Duration())
	s.withdraw(w)
	w.cancel()
}

// withdraw cancels the turn's open calls.
func (s *Service) withdraw(w *work) {
	for _, c := range s.books.Callbacks.Cancel(w.life.ID) {
		s.expired(c)
	}
}

// perform is the worker: it runs the turn, records its end and cleans up.
func (s *Service) perform(w *work, plan turn.Plan) func(now time.Time) {
	record := func(ctx context.Context, kind transcript.Kind, data any) error {
		return w.stream.Append(ctx, w.life.ID, kind, data)
	}
	outcome := s.ports.RunTurn(w.ctx, plan, s.hands(w), record)
	mine, final := false, turn.Outcome{}
	s.inbox.Ask(func(time.Time) {
		if mine = !w.ending; mine {
			final = s.conclude(w, outcome)
		}
	})
	var err error
	switch {
	case mine:
		err = w.recordEnd(s.base, final)
	case w.told != nil: // its end is being recorded in the stream that is closed below
		select {
		case <-w.told:
		case <-s.inbox.Done():
		}
	}
	_ = w.stream.Close() // every record of it is durable already
	return func(now time.Time) {
		if mine {
			s.ended(w, final, err, now)
		}
		w.release(s, now) // at once, so that whoever hears the end may start the next turn
	}
}

// conclude decides how a turn ends; from here on nothing of it is accepted.
func (s *Service) conclude(w *work, o turn.Outcome) turn.Outcome {
	w.ending = true
	s.withdraw(w)
	return o.Under(w.stopped, w.fatal)
}

func (w *work) recordEnd(ctx context.Context, o turn.Outcome) error {
	return w.stream.Append(ctx, w.life.ID, transcript.TurnStatus, transcript.Status{Status: o.Status, Code: o.Code})
}

// ended tells the end, which is durable unless err says otherwise.
func (s *Service) ended(w *work, o turn.Outcome, err error, now time.Time) {
	if err != nil {
		o = turn.Outcome{Status: turn.Failed, Code: turn.CodePersistenceFailed}
	}
	terminal := w.life.End(o)
	s.books.Callbacks.End(w.life.ID)
	s.books.Evidence.End(w.life.ID, now)
	s.books.Ends.Add(w.life.Session, terminal, now)
	s.books.Operations.Settle(w.life.Operation, terminal, nil, now)
	s.tell(w.life.Session, w.life.Operation, terminal)
}

// expired is told of each call that ended without a report: its turn is, and the
// executor that it was sent to.
func (s *Service) expired(c *callback.Call) {
	if x := s.waits[c.ID]; x != nil {
		x.nudge()
	}
	if c.Status == callback.Failed {
		if w := s.works[c.Session]; w != nil && w.life.ID == c.Turn && w.fatal == "" {
			w.fatal = turn.CodeToolFailed
		}
	}
	seat := s.books.Executors.At(c.Executor)
	if !c.Dispatched() || seat.Connection == "" {
		return
	}
	s.send(seat.Connection, reply.Event{Session: c.Session, Payload: reply.Withdrawn{Turn: c.Turn, Call: c.ID, Executor: c.Executor, Generation: seat.Generation, Reason: c.Code}})
}
