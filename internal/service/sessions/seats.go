package sessions

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/control"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Claim takes control of a session.
type Claim struct {
	opens
	Takeover bool
	Expected *int64
}

func (c Claim) run(s *Service, r *Request, now time.Time) {
	grant := secret.NewProof()
	generation, revoked, err := s.control.Claim(control.Claim{
		Session: r.Session, Connection: r.Connection, Takeover: c.Takeover, Expected: c.Expected, Grant: secret.HashProof(grant),
	})
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	if revoked != nil {
		s.discard(r.Session, now)
		s.send(revoked.Connection, Event{Session: r.Session, Generation: revoked.Held, Sequence: s.control.Number(r.Session),
			Payload: Revoked{"takeover", revoked.Generation}})
	}
	s.registry.Claimed(r.Session)
	s.finish(r, Claimed{grant, s.snapshot(r.Session)}, Regained{generation}, nil, now)
}

// snapshot is the session at this instant.
func (s *Service) snapshot(session string) Snapshot {
	generation, _ := s.control.At(session)
	snap := Snapshot{Session: session, Generation: generation, Sequence: s.control.Sequence(session)}
	if w := s.works[session]; w != nil && w.accepted() {
		l := w.life
		snap.Turn = &Ongoing{l.ID, l.Operation, l.State, l.Text(), l.Accepted}
		return snap
	}
	snap.Terminal = s.ends.Newest(session)
	return snap
}

// Detach gives control back.
type Detach struct{ always }

func (Detach) run(s *Service, r *Request, now time.Time) {
	revoked, _ := s.control.Detach(r.Session)
	s.left(r.Session, now)
	answer := Detached{revoked.Generation}
	s.finish(r, answer, answer, nil, now)
}

// left lets go of what a controller protected.
func (s *Service) left(session string, now time.Time) {
	s.discard(session, now)
	s.registry.Unclaimed(session, now)
}

func (s *Service) disconnected(connection string, now time.Time) {
	for _, revoked := range s.control.Disconnect(connection) {
		s.left(revoked.Session, now)
	}
	s.executors.Disconnect(connection, now)
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
	generation, connection := s.control.At(session)
	if connection == "" {
		return
	}
	s.send(connection, Event{session, operation, generation, s.control.Number(session), payload})
}

func (s *Service) send(connection string, e Event) {
	if p := s.peers[connection]; p != nil {
		p.events(e)
	}
}

// Status tells how the daemon is.
type Status struct{ always }

func (Status) run(s *Service, r *Request, now time.Time) {
	c := Counts{Connections: len(s.peers), ClaimedSessions: len(s.control.Held())}
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
	out := InUse{Sessions: []Used{}}
	for _, session := range s.inUse() {
		generation, connection := s.control.At(session)
		u := Used{Session: session, Generation: generation, Controlled: connection != "", State: "idle"}
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
	s.finish(r, Looked{s.operations.Lookup(c.Operation)}, nil, nil, now)
}
