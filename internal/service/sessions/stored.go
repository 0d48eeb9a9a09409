package sessions

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// inUse are the sessions that are controlled or have work, sorted.
func (s *Service) inUse() []string {
	all := s.control.Held()
	all = append(all, slices.Collect(maps.Keys(s.works))...)
	slices.Sort(all)
	return slices.Compact(all)
}

// outside runs a request's job on the store, under the request's deadline.
func (s *Service) outside(job func(ctx context.Context) func(now time.Time)) {
	s.spawn(func() func(now time.Time) {
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
			page := Page{Sessions: []Owned{}}
			for i, l := range listed {
				if i == c.Limit {
					page.Next = listed[i-1].Session
					break
				}
				page.Sessions = append(page.Sessions, Owned{l, s.controller(l.Session, r.Connection)})
			}
			s.finish(r, page, nil, err, now)
		}
	})
}

func (s *Service) controller(session, connection string) string {
	switch _, holder := s.control.At(session); holder {
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
		return func(now time.Time) { s.finish(r, Created{session}, Created{session}, err, now) }
	})
}

// Replay reads a page of a session's durable record.
type Replay struct {
	always
	After transcript.Place
	Limit int
}

func (c Replay) run(s *Service, r *Request, _ time.Time) {
	selected := s.peers[r.Connection].selected
	s.outside(func(ctx context.Context) func(time.Time) {
		page, err := c.read(ctx, s.ports.Log, r.Session, selected)
		return func(now time.Time) { s.finish(r, page, nil, err, now) }
	})
}

// readAhead is how many records are read at once.
const readAhead = 64

// read fills a page; the record of the place before may have further parts.
func (c Replay) read(ctx context.Context, log Log, session string, selected bool) (Replayed, error) {
	page, after, last := Replayed{Events: []transcript.Event{}}, max(0, c.After.Seq-1), c.After
	for bytes := 0; ; {
		records, err := log.Read(ctx, session, after, readAhead)
		if err != nil || len(records) == 0 {
			return page, err
		}
		for _, record := range records {
			events, err := transcript.Events(record, selected)
			if err != nil {
				return page, err
			}
			for _, e := range events {
				place, err := transcript.ParsePlace(e.ID)
				if err != nil {
					return page, err
				}
				if !c.After.Before(place) {
					continue
				}
				bytes += len(e.Data) + eventEnvelope
				if len(page.Events) == c.Limit || len(page.Events) > 0 && bytes > bound.ReplayBytes.Int() {
					page.Next = last.String()
					return page, nil
				}
				page.Events, last = append(page.Events, e), place
			}
			after = record.Seq
		}
	}
}

// eventEnvelope is the most that an event takes beside its data.
const eventEnvelope = 160
