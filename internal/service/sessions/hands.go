package sessions

import (
	"context"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/service/sessions/errand"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
)

// Hands are what a running turn acts with. Its methods are called by the
// goroutine of RunTurn or by goroutines that end before it; each waits until the
// daemon has answered.
type Hands struct {
	service *Service
	work    *work
}

func (s *Service) hands(w *work) *Hands { return &Hands{s, w} }

// Say tells the controller more of what the assistant says. It is limit_exceeded
// where the text would not fit into the turn's budget: then nothing of it is
// accepted, the caller does not record it and the turn ends with
// CodeLimitExceeded. Any other fault means that the turn is over.
func (h *Hands) Say(_ context.Context, text string) error {
	if text == "" {
		return nil
	}
	err := gone()
	h.service.inbox.Ask(func(time.Time) { err = h.service.said(h.work, text) })
	return err
}

func (s *Service) said(w *work, text string) error {
	if w.ending {
		return gone()
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if err := w.life.Say(text); err != nil {
		if w.fatal == "" {
			w.fatal = turn.CodeLimitExceeded
		}
		return err
	}
	for text != "" {
		var part string
		part, text = transcript.Cut(text, bound.TurnDeltaBytes.Int())
		s.tell(w.life.Session, w.life.Operation, reply.Delta{Turn: w.life.ID, Text: part})
	}
	return nil
}

// Show tells the controller what is being done. Summary is cut to its bound.
func (h *Hands) Show(_ context.Context, kind, name, summary string) {
	summary, _ = transcript.Cut(strings.ToValidUTF8(summary, "\uFFFD"), bound.SummaryBytes.Int())
	h.service.inbox.Ask(func(time.Time) {
		if w := h.work; !w.ending {
			h.service.tell(w.life.Session, w.life.Operation, reply.Activity{Turn: w.life.ID, Kind: kind, Name: name, Summary: summary})
		}
	})
}

// Call runs an application tool, at most once: its binding is durable before it
// is dispatched, its result before the answer. It waits for an absent executor
// and for the execution, as long as the guide lets it; where ctx ends before, the
// call is cancelled.
func (h *Hands) Call(ctx context.Context, c turn.Call) turn.Answer {
	l := h.work.life
	need := callback.Need{ID: fresh(), Session: l.Session, Turn: l.ID, ProviderCall: c.ProviderCallID, Arguments: c.Arguments}
	return errand.Run(ctx, h.service.desk(h.work), need, c)
}
