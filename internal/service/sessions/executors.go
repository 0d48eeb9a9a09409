package sessions

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/executor"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

const (
	completed       = "completed"
	rotationPending = "rotation_pending"
)

// acknowledged is what a lookup keeps of an executor's method.
func acknowledged(seat executor.Seat) reply.Acknowledged {
	return reply.Acknowledged{Status: completed, ID: seat.ID, Generation: seat.Generation}
}

// CreateExecutor makes a provisional executor.
type CreateExecutor struct{ opens }

func (CreateExecutor) run(s *Service, r *Request, now time.Time) {
	proof := secret.NewProof()
	seat, err := s.books.Executors.Create(fresh(), r.Connection, secret.HashProof(proof), now)
	s.finish(r, reply.Lent{ID: seat.ID, Generation: seat.Generation, Secret: proof}, acknowledged(seat), err, now)
}

// ConfirmExecutor makes it a confirmed one.
type ConfirmExecutor struct {
	always
	ID    string
	Proof secret.Secret
}

func (c ConfirmExecutor) run(s *Service, r *Request, now time.Time) {
	seat, err := s.books.Executors.Confirm(c.ID, r.Connection, secret.HashProof(c.Proof))
	s.resumed(r, seat, err, now)
}

// ResumeExecutor attaches it here.
type ResumeExecutor struct {
	always
	ID    string
	Proof secret.Secret
}

func (c ResumeExecutor) run(s *Service, r *Request, now time.Time) {
	seat, err := s.books.Executors.Resume(c.ID, r.Connection, secret.HashProof(c.Proof))
	s.resumed(r, seat, err, now)
}

// resumed answers with the open calls, and only then dispatches those that waited.
func (s *Service) resumed(r *Request, seat executor.Seat, err error, now time.Time) {
	s.finish(r, reply.Resumed{ID: seat.ID, Generation: seat.Generation, Calls: s.books.Callbacks.Open(seat.ID, now)}, acknowledged(seat), err, now)
	if err != nil {
		return
	}
	for _, c := range s.books.Callbacks.Waiting(seat.ID) {
		s.dispatch(c, now)
	}
}

// RotateExecutor gives a candidate proof.
type RotateExecutor struct {
	always
	ID         string
	Generation int64
}

func (c RotateExecutor) run(s *Service, r *Request, now time.Time) {
	proof := secret.NewProof()
	seat, err := s.books.Executors.Rotate(c.ID, c.Generation, r.Connection, secret.HashProof(proof), now)
	kept := acknowledged(seat)
	kept.Status, kept.PendingMS = rotationPending, bound.RotationPending.Max
	s.finish(r, reply.Rotation{ID: seat.ID, Generation: seat.Generation, Secret: proof, PendingMS: kept.PendingMS}, kept, err, now)
}

// RotatedExecutor makes the candidate the one proof.
type RotatedExecutor struct {
	always
	ID         string
	Generation int64
	Proof      secret.Secret
}

func (c RotatedExecutor) run(s *Service, r *Request, now time.Time) {
	seat, err := s.books.Executors.Rotated(c.ID, c.Generation, r.Connection, secret.HashProof(c.Proof))
	s.finish(r, reply.Held{ID: seat.ID, Generation: seat.Generation}, acknowledged(seat), err, now)
}

// ReleaseExecutor ends the executor.
type ReleaseExecutor struct {
	always
	ID         string
	Generation int64
}

func (c ReleaseExecutor) run(s *Service, r *Request, now time.Time) {
	seat, err := s.books.Executors.Release(c.ID, c.Generation, r.Connection)
	s.finish(r, reply.Held{ID: seat.ID, Generation: seat.Generation}, acknowledged(seat), err, now)
}
