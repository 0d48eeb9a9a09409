package sessions

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// inUse are the sessions that are controlled or have work, sorted.
func (s *Service) inUse() []string {
	all := s.books.Control.Held()
	all = append(all, slices.Collect(maps.Keys(s.works))...)
	slices.Sort(all)
	return slices.Compact(all)
}

// outside runs a request's job on the store, under the request's deadline.
func (s *Service) outside(job func(ctx context.Context) func(now time.Time)) {
	s.inbox.Spawn(func() func(now time.Time) {
		ctx, cancel := context.WithTimeout(s.base, bound.RequestTime.Duration())
		defer cancel()
		return job(ctx)
	})
}

// List gives a page of stored sessions.
type List struct {
	always
	After string
	Limit int
}

func (c List) run(s *Service, r *Request, _ time.Time) {
	s.outside(func(ctx context.Context) func(time.Time) {
		listed, err := s.ports.Log.List(ctx, c.After, c.Limit+1)
		return func(now time.Time) {
			page := reply.Page{Sessions: []reply.Owned{}}
			for i, l := range listed {
				if i == c.Limit {
					page.Next = listed[i-1].Session
					break
				}
				page.Sessions = append(page.Sessions, reply.Owned{Session: l.Session, Title: l.Title, Updated: l.Updated, Controller: s.controller(l.Session, r.Connection)})
			}
			s.finish(r, page, nil, err, now)
		}
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

func (c Create) run(s *Service, r *Request, _ time.Time) {
	session := fresh()
	s.outside(func(ctx context.Context) func(time.Time) {
		err := s.ports.Log.Create(ctx, session, c.Title)
		return func(now time.Time) {
			s.finish(r, reply.Created{Session: session}, reply.Created{Session: session}, err, now)
		}
	})
}

// Replay reads a page of a session's durable record.
type Replay struct {
	always
	After transcript.Place
	Limit int
}

func (c Replay) run(s *Service, r *Request, _ time.Time) {
	page := transcript.NewPage(c.After, c.Limit, s.peers[r.Connection].selected)
	s.outside(func(ctx context.Context) func(time.Time) {
		err := read(ctx, s.ports.Log, r.Session, page)
		return func(now time.Time) {
			s.finish(r, reply.Replayed{Events: page.Events, Next: page.Next}, nil, err, now)
		}
	})
}

// readAhead is how many records are read at once.
const readAhead = 64

func read(ctx context.Context, log Log, session string, page *transcript.Page) error {
	for after := page.From(); ; {
		records, err := log.Read(ctx, session, after, readAhead)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, record := range records {
			if full, err := page.Add(record); full || err != nil {
				return err
			}
			after = record.Seq
		}
	}
}
