package sessions

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/sessions/turn"
)

// Hands are what a running turn acts with. Its methods are called by the
// goroutine of RunTurn or by goroutines that end before it; each waits until the
// daemon has answered or ctx has ended.
type Hands struct {
	say  func(ctx context.Context, text string) error
	show func(ctx context.Context, kind, name, summary string)
	call func(ctx context.Context, c turn.Call) turn.Answer
}

// Say tells the controller more of what the assistant says. It is limit_exceeded
// where the text would not fit into the turn's budget: then nothing of it is
// accepted, the caller does not record it and the turn ends with
// CodeLimitExceeded.
func (h *Hands) Say(ctx context.Context, text string) error { return h.say(ctx, text) }

// Show tells the controller what is being done. Summary is cut to its bound.
func (h *Hands) Show(ctx context.Context, kind, name, summary string) {
	h.show(ctx, kind, name, summary)
}

// Call runs an application tool, at most once: its binding is durable before it
// is dispatched, its result before the answer. It waits for an absent executor
// and for the execution, as long as the guide lets it.
func (h *Hands) Call(ctx context.Context, c turn.Call) turn.Answer { return h.call(ctx, c) }
