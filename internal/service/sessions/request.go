package sessions

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Request is one request whose form the door has checked: what its method needs of
// session, operation and control is there, and nothing else.
type Request struct {
	Connection string
	Method     string
	Session    string         // empty: none
	Operation  string         // empty: none
	Control    *control.Token // nil: none
	// Reply is called once, by the owner; it must not block. Exactly one of
	// answer and fault is not nil.
	Reply func(answer any, f *fault.Fault)
}

// Command is what a method does.
type Command interface {
	// ready says whether the state allows the method at all; it changes nothing.
	ready(s *Service, r *Request, now time.Time) error
	// run does it, and sees to it that the request is answered.
	run(s *Service, r *Request, now time.Time)
}

// Submit hands a request to the owner. It waits while the owner is busy.
func (s *Service) Submit(r Request, c Command) {
	s.inbox.Post(func(now time.Time) {
		if s.peers[r.Connection] == nil {
			return
		}
		if err := s.admit(&r, c, now); err != nil {
			r.Reply(nil, fault.From(err))
			return
		}
		c.run(s, &r, now)
	})
}

// admit checks what a door cannot: operation known, session exists, control,
// method state, operation capacity, in this order (sessions page, section 2). The
// last step consumes the operation ID.
func (s *Service) admit(r *Request, c Command, now time.Time) error {
	if r.Operation != "" {
		if err := s.books.Operations.Check(r.Operation); err != nil {
			return err
		}
	}
	if r.Session != "" && !s.ports.Log.Known(r.Session) {
		return fault.New(fault.UnknownSession, "there is no such session")
	}
	if r.Control != nil {
		if err := s.books.Control.Check(r.Session, r.Connection, *r.Control); err != nil {
			return err
		}
	}
	if err := c.ready(s, r, now); err != nil {
		return err
	}
	if r.Operation == "" {
		return nil
	}
	return s.books.Operations.Begin(r.Operation, r.Method, r.Session, ends(c))
}

// ends reports whether a command ends what was begun before, for which there is room
// even where there is none to begin anything.
func ends(c Command) bool {
	switch c.(type) {
	case Cancel, Result:
		return true
	}
	return false
}

// finish answers a request and settles its operation. Kept is what a lookup gives
// of the answer: no secret.
func (s *Service) finish(r *Request, answer, kept any, err error, now time.Time) {
	f := fault.From(err)
	if r.Operation != "" {
		s.books.Operations.Settle(r.Operation, kept, f, now)
	}
	if f != nil {
		answer = nil
	}
	r.Reply(answer, f)
}

// always is the part of a command that the state never stands in the way of.
type always struct{}

func (always) ready(*Service, *Request, time.Time) error { return nil }

// opens is the part of a command that begins something: not while the daemon
// stops.
type opens struct{}

func (opens) ready(s *Service, _ *Request, _ time.Time) error {
	if s.closing {
		return gone()
	}
	return nil
}
