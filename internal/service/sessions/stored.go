package sessions

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/sessions/archive"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// inUse are the sessions that are controlled or have work, sorted.
func (s *Service) inUse() []string {
	all := s.books.Control.Held()
	all = append(all, slices.Collect(maps.Keys(s.works))...)
	slices.Sort(all)
	return slices.Compact(all)
}

// outside runs a request's job, under the request's deadline: at the instant it is
// refused, and what the job brings then is told that it is late.
func (s *Service) outside(r *Request, refusal error, now time.Time, job func(ctx context.Context) func(now time.Time, late bool)) {
	late := func(now time.Time) { s.finish(r, nil, nil, refusal, now) }
	s.inbox.SpawnUntil(now.Add(bound.RequestTime.Duration()), late, func() func(time.Time, bool) {
		ctx, cancel := context.WithTimeout(s.base, bound.RequestTime.Duration())
		defer cancel()
		return job(ctx)
	})
}

// stored answers a request with what a job on the store brings. While as many jobs
// as a peer may have requests do not come back, the store is not asked for more.
func (s *Service) stored(r *Request, now time.Time, job func(ctx context.Context) (answer func() (told, kept any), err error)) {
	refusal := fault.New(fault.PersistenceFailed, "the sessions' store does not answer")
	if bound.OutstandingRequests.Check(s.inbox.Lapsed()+1) != nil {
		s.finish(r, nil, nil, refusal, now)
		return
	}
	s.outside(r, refusal, now, func(ctx context.Context) func(time.Time, bool) {
		answer, err := job(ctx)
		return func(now time.Time, late bool) {
			if !late {
				told, kept := answer()
				s.finish(r, told, kept, err, now)
			}
		}
	})
}

// whole reports whether nothing in a session's record is left of a dead daemon.
func (s *Service) whole(session string) bool { return s.mended[session] || s.works[session] != nil }

// mend does something once a session's record is whole: at once where it is, and
// without that where the store cannot, or does not answer within the request's
// deadline. A session that is gone is told as such.
func (s *Service) mend(session string, now time.Time, then func(now time.Time, gone error)) {
	if s.whole(session) || bound.OutstandingRequests.Check(s.inbox.Lapsed()+1) != nil {
		then(now, nil)
		return
	}
	lapse := func(now time.Time) { then(now, nil) }
	s.inbox.SpawnUntil(now.Add(bound.RequestTime.Duration()), lapse, func() func(time.Time, bool) {
		err := s.ports.Log.Mend(s.base, session)
		return func(now time.Time, late bool) {
			s.mended[session] = err == nil
			if !fault.Is(err, fault.UnknownSession) {
				err = nil
			}
			if !late {
				then(now, err)
			}
		}
	})
}

// List gives a page of stored sessions.
type List struct {
	always
	After string
	Limit int
}

func (c List) run(s *Service, r *Request, now time.Time) {
	s.stored(r, now, func(ctx context.Context) (func() (any, any), error) {
		listed, err := s.ports.Log.List(ctx, c.After, c.Limit+1)
		return func() (any, any) {
			page := reply.Page{Sessions: []reply.Owned{}}
			for i, l := range listed {
				if i == c.Limit {
					page.Next = listed[i-1].Session
					break
				}
				page.Sessions = append(page.Sessions, reply.Owned{Session: l.Session, Title: l.Title, Updated: l.Updated, Controller: s.controller(l.Session, r.Connection)})
			}
			return page, nil
		}, err
	})
}

func (s *Service) controller(session, connection string) string {
	switch _, holder := s.books.Control.At(session); holder {
	case "":
		return "none"
	case connection:
		return "this_connection"
	default:
		return "other_connection"
	}
}

// Create makes a session.
type Create struct {
	opens
	Title string
}

func (c Create) run(s *Service, r *Request, now time.Time) {
	answer := reply.Created{Session: fresh()}
	s.stored(r, now, func(ctx context.Context) (func() (any, any), error) {
		return func() (any, any) { return answer, answer }, s.ports.Log.Create(ctx, answer.Session, c.Title)
	})
}

// Replay reads a page of a session's durable record.
type Replay struct {
	always
	After transcript.Place
	Limit int
}

func (c Replay) run(s *Service, r *Request, now time.Time) {
	page, whole := transcript.NewPage(c.After, c.Limit, s.peers[r.Connection].selected), s.whole(r.Session)
	s.stored(r, now, func(ctx context.Context) (func() (any, any), error) {
		whole = whole || s.ports.Log.Mend(ctx, r.Session) == nil
		err := archive.Fill(ctx, s.ports.Log, r.Session, page)
		return func() (any, any) {
			s.mended[r.Session] = whole
			return reply.Replayed{Events: page.Events, Next: page.Next}, nil
		}, err
	})
}
