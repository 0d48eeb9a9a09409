package sessions

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// ListResources lists the session's registry, and makes an empty one where there
// is none.
type ListResources struct{ always }

func (ListResources) run(s *Service, r *Request, now time.Time) {
	snapshot, err := s.books.Registry.List(r.Session, fresh())
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	s.finish(r, reply.Resources{Revision: snapshot.Revision, Entries: snapshot.Descriptors()}, nil, nil, now)
}

// Register captures a source as a new resource or revision.
type Register struct {
	opens
	Expected *string
	Proposal registry.Proposal
	Content  string // where the proposal has no path
}

func (c Register) ready(s *Service, r *Request, now time.Time) error {
	if err := c.opens.ready(s, r, now); err != nil {
		return err
	}
	if s.books.Registry.Capturing() {
		return fault.New(fault.ConfigurationBusy, "another source is being captured")
	}
	return nil
}

func (c Register) run(s *Service, r *Request, now time.Time) {
	if err := s.books.Registry.Check(c.change(s, r)); err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	if c.Proposal.Path == "" {
		c.publish(s, r, c.Content, now)
		return
	}
	if _, err := s.books.Registry.BeginCapture(); err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	s.outside(r, bound.RequestTime.Exceeded(), now, func(ctx context.Context) func(time.Time, bool) {
		content, err := s.ports.Capture(ctx, c.Proposal.Path, c.Proposal.Kind.MaxBytes().Int())
		return func(now time.Time, late bool) {
			s.books.Registry.EndCapture() // not before: the one slot is the worker's
			if !late {
				c.captured(s, r, content, err, now)
			}
		}
	})
}

// change is the command with the catalog of this instant.
func (c Register) change(s *Service, r *Request) registry.Register {
	return registry.Register{Session: r.Session, Expected: c.Expected, Proposal: c.Proposal, Names: s.ports.Names()}
}

// captured decides anew: control may be gone, the registry another.
func (c Register) captured(s *Service, r *Request, content []byte, err error, now time.Time) {
	if err == nil {
		err = s.books.Control.Check(r.Session, r.Connection, *r.Control)
	}
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	c.publish(s, r, string(content), now)
}

func (c Register) publish(s *Service, r *Request, content string, now time.Time) {
	parsed, err := registry.Parse(c.Proposal.Kind, content)
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	entry, revision, err := s.books.Registry.Apply(c.change(s, r), parsed, s.attribution(r), registry.Fresh{Resource: fresh(), Revision: fresh(), Registry: fresh()})
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	answer := reply.Registered{Revision: revision, Entry: entry.Descriptor}
	s.finish(r, answer, answer, nil, now)
}

// attribution names the connection's action, under its control token.
func (s *Service) attribution(r *Request) registry.Attribution {
	return registry.Attribution{InstanceID: s.instance, ConnectionID: r.Connection, OperationID: r.Operation, GrantGeneration: r.Control.Generation}
}

// Unregister removes a resource from later turns.
type Unregister struct {
	always
	Resource, Expected string
}

func (c Unregister) run(s *Service, r *Request, now time.Time) {
	revision, err := s.books.Registry.Unregister(r.Session, c.Resource, c.Expected, fresh())
	answer := reply.Unregistered{Resource: c.Resource, Removed: c.Expected, Revision: revision}
	s.finish(r, answer, answer, err, now)
}

// Clear removes every resource from later turns.
type Clear struct {
	always
	Expected string
}

func (c Clear) run(s *Service, r *Request, now time.Time) {
	revision, removed, err := s.books.Registry.Clear(r.Session, c.Expected, fresh())
	answer := reply.Cleared{Revision: revision, Removed: removed}
	s.finish(r, answer, answer, err, now)
}
