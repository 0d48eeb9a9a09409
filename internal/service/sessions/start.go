package sessions

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/sessions/archive"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// Start starts a session's turn. It is answered once the input is durable.
type Start struct {
	opens
	Prompt      string
	Application *Selection // nil: an ordinary turn
}

// Selection is the registry that the turn is to see, who executes its tools, and
// the controller's word for each of them.
type Selection struct {
	Revision       string
	Executor       *manifest.Executor // nil where there is no tool
	Authorizations []manifest.Authorization
}

func (c Start) ready(s *Service, r *Request, now time.Time) error {
	if err := c.opens.ready(s, r, now); err != nil {
		return err
	}
	if c.Application != nil && !s.peers[r.Connection].selected {
		return fault.New(fault.UnsupportedCapability, "the profile is not selected")
	}
	if s.works[r.Session] != nil {
		return fault.New(fault.Conflict, "the session has a turn")
	}
	if err := bound.AttachedSessions.Check(len(s.works) + 1); err != nil {
		return err
	}
	current := s.books.Registry.Current(r.Session)
	if c.Application == nil && current != nil && !current.Empty() {
		return fault.New(fault.UnsupportedCapability, "the session's resources are left out")
	}
	return nil
}

// run captures the complete snapshot and has the session's stream opened.
func (c Start) run(s *Service, r *Request, now time.Time) {
	w := &work{
		request: r, selected: s.peers[r.Connection].selected, until: now.Add(bound.RequestTime.Duration()),
		life: &turn.Life{Session: r.Session, Operation: r.Operation, State: turn.Preparing},
	}
	if err := c.choose(s, r, w); err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	w.ctx, w.cancel = context.WithCancel(s.base)
	w.hold(s)
	s.inbox.Spawn(func() func(time.Time) {
		stream, history, err := s.ports.Log.Open(w.ctx, r.Session)
		return func(now time.Time) { c.prepared(s, w, stream, history, err, now) }
	})
}

// choose holds the selection to the registry, the catalog and the executor, and
// notes what the turn will see.
func (c Start) choose(s *Service, r *Request, w *work) error {
	if w.selected {
		if err := s.books.Evidence.Room(); err != nil {
			return err
		}
	}
	if c.Application == nil {
		return nil
	}
	current := s.books.Registry.Current(r.Session)
	if current == nil || current.Revision != c.Application.Revision {
		return fault.New(fault.Conflict, "the registry has another revision")
	}
	if err := manifest.Authorize(current, c.Application.Authorizations); err != nil {
		return err
	}
	w.snapshot, w.executor = current, c.Application.Executor
	if err := s.authority(r, w); err != nil {
		return err
	}
	_, err := manifest.Stamp(current, s.attribution(r), w.executor)
	return err
}

// authority checks, at capture and again at admission, who may have the turn: the
// catalog leaves the names free, and the connection holds the executor.
func (s *Service) authority(r *Request, w *work) error {
	if w.snapshot == nil {
		return nil
	}
	if err := manifest.Check(w.snapshot, w.executor, s.ports.Names()); err != nil || w.executor == nil {
		return err
	}
	return s.books.Executors.Authority(w.executor.ExecutorID, w.executor.ExecutorGeneration, r.Connection)
}

// prepared admits the turn, if it still may: it is stamped, and its input recorded.
func (c Start) prepared(s *Service, w *work, stream archive.Stream, history []conversation.Message, err error, now time.Time) {
	w.stream, w.history = stream, history
	s.mended[w.life.Session] = s.mended[w.life.Session] || err == nil
	if w.request == nil { // refused meanwhile
		s.abandon(w, now)
		return
	}
	if err == nil {
		err = s.books.Control.Check(w.request.Session, w.request.Connection, *w.request.Control)
	}
	if err == nil {
		err = s.authority(w.request, w)
	}
	if err == nil {
		err = s.stamp(w)
	}
	if err != nil {
		w.refuse(s, err, now)
		s.abandon(w, now)
		return
	}
	w.admitted = true
	s.inbox.Spawn(func() func(time.Time) {
		err := stream.Append(s.base, w.life.ID, transcript.UserInput, transcript.Input{
			OperationID: w.life.Operation, Prompt: c.Prompt, Manifest: w.life.Accepted.Raw(),
		})
		return func(now time.Time) { c.recorded(s, w, err, now) }
	})
}

// stamp gives the turn its ID, manifest and evidence.
func (s *Service) stamp(w *work) error {
	w.life.ID = fresh()
	if w.snapshot != nil {
		accepted, err := manifest.Stamp(w.snapshot, s.attribution(w.request), w.executor)
		if err != nil {
			return err
		}
		w.life.Accepted = accepted
	}
	if !w.selected {
		return nil
	}
	return s.books.Evidence.Begin(w.life.ID, w.life.Session, w.life.Accepted)
}

// recorded accepts the turn and begins its work.
func (c Start) recorded(s *Service, w *work, err error, now time.Time) {
	if err != nil {
		s.books.Evidence.Forget(w.life.ID)
		w.refuse(s, err, now)
		s.abandon(w, now)
		return
	}
	w.life.State = turn.Running
	r := w.request
	w.request = nil
	answer := reply.Started{Turn: w.life.ID, Accepted: w.life.Accepted}
	s.books.Operations.Accept(r.Operation, answer)
	r.Reply(answer, nil)
	s.tell(r.Session, r.Operation, reply.Began{Turn: w.life.ID})
	if s.closing {
		s.stop(w, turn.CodeShutdown, now)
	}
	s.inbox.Spawn(func() func(time.Time) { return s.perform(w, w.plan(c.Prompt)) })
}

// plan is what the agent loop runs on.
func (w *work) plan(prompt string) turn.Plan {
	p := turn.Plan{SessionID: w.life.Session, TurnID: w.life.ID, Prompt: prompt, History: w.history}
	if w.snapshot == nil {
		return p
	}
	p.Instructions = w.snapshot.Instructions
	for _, e := range w.snapshot.Tools() {
		p.Tools = append(p.Tools, conversation.Tool{
			Name: e.Descriptor.Name, Description: e.Descriptor.Description, Input: strictjson.Raw(e.Resource.Input.Canonical()),
		})
	}
	return p
}
