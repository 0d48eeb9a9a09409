package owner

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
)

// ListConfirmations reads the open questions, or all of them.
type ListConfirmations func(ctx context.Context, owner id.Owner, all bool) ([]view.Confirmation, error)

// DecideConfirmation answers one question; answering it the same way again
// changes nothing.
type DecideConfirmation func(ctx context.Context, owner id.Owner, which id.Confirmation, approve bool) (confirmation.Row, error)

// Confirmations are the questions that calls put to the owner.
type Confirmations struct {
	list   ListConfirmations
	decide DecideConfirmation
}

// NewConfirmations returns the commands about questions.
func NewConfirmations(list ListConfirmations, decide DecideConfirmation) *Confirmations {
	return &Confirmations{list, decide}
}

// List tells of the open questions, or of the decided ones too.
func (c *Confirmations) List(ctx context.Context, owner id.Owner, all bool) ([]view.Confirmation, error) {
	return c.list(ctx, owner, all)
}

// Approve lets the exact call of the question through, once.
func (c *Confirmations) Approve(ctx context.Context, owner id.Owner, which id.Confirmation) (confirmation.Row, error) {
	return c.decide(ctx, owner, which, true)
}

// Deny refuses it.
func (c *Confirmations) Deny(ctx context.Context, owner id.Owner, which id.Confirmation) (confirmation.Row, error) {
	return c.decide(ctx, owner, which, false)
}
