package local

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
)

// Handshake agrees on a protocol revision; the session cannot call before. No
// client capability is declared in either era.
func (s *Session) Handshake(ctx context.Context, ownVersion string) error {
	params, err := question.Initialize(ownVersion)
	if err != nil {
		return err
	}
	g, ask, err := answer.Initialized(s.ask(ctx, answer.Question, "initialize", params))
	switch {
	case ask:
		return s.discover(ctx, ownVersion)
	case err != nil:
		return err
	}
	s.greeting = g
	s.batches.Store(g.Protocol == answer.Batching)
	if _, err := s.write(ctx, envelope.Notification("notifications/initialized", []byte("{}"))); err != nil {
		return s.unanswered().Fault("initialized")
	}
	return nil
}

// discover opens the stateless era: nothing is agreed on, but from here on every
// request says who asks and in which revision.
func (s *Session) discover(ctx context.Context, ownVersion string) (err error) {
	if s.meta, err = question.Stateless(ownVersion); err != nil {
		return err
	}
	g, err := answer.Discovered(s.ask(ctx, answer.Question, "server/discover", s.meta.Discover()))
	if err != nil {
		return err
	}
	s.greeting = g
	if !g.TellsChanges {
		return nil
	}
	// The answer comes when the upstream stops telling, if ever.
	listen := envelope.Request(s.number(), "subscriptions/listen", s.meta.Listen())
	if _, err := s.write(ctx, listen); err != nil {
		return s.unanswered().Fault("subscriptions/listen")
	}
	return nil
}
