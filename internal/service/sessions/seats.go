package sessions

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// Claim takes control of a session.
type Claim struct {
	opens
	Takeover bool
	Expected *int64
}

func (c Claim) run(s *Service, r *Request, now time.Time) {
	s.mend(r.Session, now, func(now time.Time, err error) {
		if err == nil {
			err = c.ready(s, r, now)
		}
		if s.peers[r.Connection] == nil {
			err = fault.New(fault.StaleConnection, "the connection is gone")
		}
		if err != nil {
			s.finish(r, nil, nil, err, now)
			return
		}
		c.take(s, r, now)
	})
}

func (c Claim) take(s *Service, r *Request, now time.Time) {
	grant := secret.NewProof()
	generation, revoked, err := s.books.Control.Claim(control.Claim{
		Session: r.Session, Connection: r.Connection, Takeover: c.Takeover, Expected: c.Expected, Grant: secret.HashProof(grant),
	})
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	if revoked != nil {
		s.discard(r.Session, now)
		s.send(revoked.Connection, reply.Event{Session: r.Session, Generation: revoked.Held, Sequence: s.books.Control.Number(r.Session),
			Payload: reply.Revoked{Reason: "takeover", Generation: revoked.Generation}})
	}
	s.books.Registry.Claimed(r.Session)
	s.finish(r, reply.Claimed{Grant: grant, Snapshot: s.snapshot(r.Session)}, reply.Regained{Generation: generation}, nil, now)
}

// snapshot is the session at this instant.
func (s *Service) snapshot(session string) reply.Snapshot {
	generation, _ := s.books.Control.At(session)
	snap := reply.Snapshot{Session: session, Generation: generation, Sequence: s.books.Control.Sequence(session)}
	if w := s.works[session]; w != nil && w.accepted() {
		l := w.life
		snap.Turn = &reply.Ongoing{Turn: l.ID, Operation: l.Operation, State: l.State, Text: l.Text(), Accepted: l.Accepted}
		return snap
	}
	snap.Terminal = s.books.Ends.Newest(session)
	return snap
}

// Detach gives control back.
type Detach struct{ always }

func (Detach) run(s *Service, r *Request, now time.Time) {
	revoked, _ := s.books.Control.Detach(r.Session)
	s.left(r.Session, now)
	answer := reply.Detached{Generation: revoked.Generation}
	s.finish(r, answer, answer, nil, now)
}

// left lets go of what a controller protected.
func (s *Service) left(session string, now time.Time) {
	s.discard(session, now)
	s.books.Registry.Unclaimed(session, now)
}

func (s *Service) disconnected(connection string, now time.Time) {
	for _, revoked := range s.books.Control.Disconnect(connection) {
		s.left(revoked.Session, now)
	}
	s.books.Executors.Disconnect(connection, now)
	delete(s.peers, connection)
}

// discard ends a preparation whose controller is gone. What it holds stays
// charged until its worker has returned.
func (s *Service) discard(session string, now time.Time) {
	if w := s.works[session]; w != nil && w.preparing() {
		w.refuse(s, fault.New(fault.StaleControl, "control was lost while the turn was prepared"), now)
	}
}

// tell sends an event to the session's controller, if there is one.
func (s *Service) tell(session, operation string, payload any) {
	generation, connection := s.books.Control.At(session)
	if connection == "" {
		return
	}
	s.send(connection, reply.Event{Session: session, Operation: operation, Generation: generation, Sequence: s.books.Control.Number(session), Payload: payload})
}

func (s *Service) send(connection string, e reply.Event) {
	if p := s.peers[connection]; p != nil {
		p.events(e)
	}
}

// Status tells how the daemon is.
type Status struct{ always }

func (Status) run(s *Service, r *Request, now time.Time) {
	c := reply.Counts{Ready: !s.closing, Connections: len(s.peers), ClaimedSessions: len(s.books.Control.Held())}
	for _, w := range s.works {
		if w.accepted() {
			c.ActiveTurns++
		}
	}
	s.finish(r, c, nil, nil, now)
}

// Active lists the sessions that are controlled or at work.
type Active struct{ always }

func (Active) run(s *Service, r *Request, now time.Time) {
	out := reply.InUse{Sessions: []reply.Used{}}
	for _, session := range s.inUse() {
		generation, connection := s.books.Control.At(session)
		u := reply.Used{Session: session, Generation: generation, Controlled: connection != "", State: "idle"}
		if w := s.works[session]; w != nil && w.life.State != turn.Over {
			u.State = string(w.life.State)
			if w.accepted() {
				u.Turn = w.life.ID
			}
		}
		if u.Controlled || u.State != "idle" {
			out.Sessions = append(out.Sessions, u)
		}
	}
	s.finish(r, out, nil, nil, now)
}

// Lookup tells what is remembered of an operation.
type Lookup struct {
	always
	Operation string
}

func (c Lookup) run(s *Service, r *Request, now time.Time) {
	s.finish(r, reply.Looked{Entry: s.books.Operations.Lookup(c.Operation)}, nil, nil, now)
}
