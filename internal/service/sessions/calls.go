package sessions

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/sessions/errand"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// wait is a worker that waits for its call, and the request whose result is being
// made durable.
type wait struct {
	changed chan<- struct{} // holds one
	result  *Request
}

func (x *wait) nudge() {
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

func gone() error { return fault.New(fault.ShuttingDown, "the daemon is stopping") }

// desk is what the errands of a turn's calls are done at.
func (s *Service) desk(w *work) errand.Desk {
	book := s.books.Callbacks
	inside := func(do func(now time.Time)) { s.inbox.Ask(do) }
	return errand.Desk{
		Accept: func(n *callback.Need, name string, changed chan<- struct{}) (c *callback.Call, err error) {
			err = gone()
			inside(func(now time.Time) { c, err = s.need(w, n, name, &wait{changed: changed}, now) })
			return c, err
		},
		Bound: func(c *callback.Call) { inside(func(now time.Time) { book.Bound(c); s.dispatch(c, now) }) },
		Look: func(c *callback.Call) (seen callback.Call) {
			inside(func(time.Time) { seen = *c })
			return seen
		},
		Settle: func(c *callback.Call, err error) {
			inside(func(now time.Time) {
				book.Settle(c, err == nil)
				settled := reply.Settled{Call: c.ID}
				s.finish(s.waits[c.ID].result, settled, settled, err, now)
			})
		},
		Abandon: func(c *callback.Call) {
			inside(func(time.Time) {
				if book.Abandon(c) {
					s.expired(c)
				}
			})
		},
		Drop:   func(c *callback.Call) { inside(func(time.Time) { delete(s.waits, c.ID) }) },
		Broken: func() { inside(func(time.Time) { w.fatal = turn.CodePersistenceFailed }) },
		Append: func(kind transcript.Kind, data any) error { return w.stream.Append(s.base, w.life.ID, kind, data) },
		Gone:   s.inbox.Done(),
	}
}

// need takes a call in and reserves its places.
func (s *Service) need(w *work, n *callback.Need, name string, x *wait, now time.Time) (*callback.Call, error) {
	if w.ending || w.stopped != "" || w.fatal != "" {
		return nil, fault.New(fault.UnknownTurn, "the turn is over")
	}
	if !w.offers(name, n) {
		return nil, fault.New(fault.InvalidPayload, "the turn has no such tool")
	}
	if err := n.Judge(); err != nil {
		return nil, err
	}
	c, err := s.books.Callbacks.Accept(*n, now)
	if err != nil {
		return nil, err
	}
	if err := s.books.Evidence.Add(n.Turn, c); err != nil {
		s.books.Callbacks.Forget(c)
		return nil, err
	}
	s.waits[c.ID] = x
	return c, nil
}

// offers gives a need the contract of a tool that the turn was accepted with.
func (w *work) offers(name string, n *callback.Need) bool {
	if w.snapshot == nil || w.executor == nil {
		return false
	}
	for _, e := range w.snapshot.Tools() {
		if d := e.Descriptor; d.Name == name {
			n.Executor, n.Generation = w.executor.ExecutorID, w.executor.ExecutorGeneration
			n.Tool = callback.Tool{Name: d.Name, Resource: d.ResourceID, Revision: d.RevisionID, Hash: d.RevisionSHA256,
				Input: e.Resource.Input, Output: e.Resource.Output, Timeout: e.Resource.Timeout}
			return true
		}
	}
	return false
}

// dispatch sends a call that may be sent, if its executor is there.
func (s *Service) dispatch(c *callback.Call, now time.Time) {
	seat := s.books.Executors.At(c.Executor)
	if seat.Connection == "" || !seat.Confirmed || !s.books.Callbacks.Dispatch(c, now) {
		return
	}
	s.send(seat.Connection, reply.Event{Session: c.Session, Payload: reply.Dispatched{
		Turn: c.Turn, Call: c.ID, ProviderCall: c.ProviderCall, Executor: c.Executor, Generation: seat.Generation,
		Resource: c.Tool.Resource, Revision: c.Tool.Revision, Hash: c.Tool.Hash, Name: c.Tool.Name,
		Arguments: c.Arguments, TimeoutMS: c.Tool.Timeout.Milliseconds(),
	}})
}

// Result settles a call. Its sender must be the executor, under the generation
// that counts; it is answered once the result is durable.
type Result struct {
	Submission callback.Submission
	Generation int64
}

func (c Result) ready(s *Service, r *Request, _ time.Time) error {
	return s.books.Executors.Authority(c.Submission.Executor, c.Generation, r.Connection)
}

func (c Result) run(s *Service, r *Request, now time.Time) {
	c.Submission.Session = r.Session
	call, err := s.books.Callbacks.Submit(c.Submission)
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	x := s.waits[call.ID]
	x.result = r
	x.nudge()
}

// Proofs tells what ran of a turn and what did not.
type Proofs struct {
	always
	Turn string
}

func (c Proofs) run(s *Service, r *Request, now time.Time) {
	answer, err := s.books.Evidence.Read(c.Turn, r.Session, now)
	s.finish(r, answer, nil, err, now)
}
