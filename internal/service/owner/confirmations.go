package owner

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
)

// ConfirmationStore keeps the questions. Deciding one the same way again changes
// nothing.
type ConfirmationStore interface {
	App(ctx context.Context, owner id.Owner, ref string) (view.App, error)
	Resource(ctx context.Context, owner id.Owner, ref string) (view.Resource, error)
	Confirmations(ctx context.Context, owner id.Owner, all bool) ([]view.Confirmation, error)
	DecideConfirmation(ctx context.Context, owner id.Owner, which id.Confirmation, approve bool) (confirmation.Row, error)
}

// Confirmations are the questions that calls put to the owner.
type Confirmations struct{ store ConfirmationStore }

// NewConfirmations returns the commands about questions.
func NewConfirmations(store ConfirmationStore) *Confirmations { return &Confirmations{store} }

// List tells of the open questions, or of the decided ones too.
func (c *Confirmations) List(ctx context.Context, owner id.Owner, all bool) ([]view.Confirmation, error) {
	return c.store.Confirmations(ctx, owner, all)
}

// Approve lets the exact call of the question through, once.
func (c *Confirmations) Approve(ctx context.Context, owner id.Owner, which id.Confirmation) (view.Confirmation, error) {
	return c.decide(ctx, owner, which, true)
}

// Deny refuses it.
func (c *Confirmations) Deny(ctx context.Context, owner id.Owner, which id.Confirmation) (view.Confirmation, error) {
	return c.decide(ctx, owner, which, false)
}

// decide answers the question; the names that are told with it are no part of
// the answer and may be missing.
func (c *Confirmations) decide(ctx context.Context, owner id.Owner, which id.Confirmation, approve bool) (view.Confirmation, error) {
	row, err := c.store.DecideConfirmation(ctx, owner, which, approve)
	if err != nil {
		return view.Confirmation{}, err
	}
	out := view.Confirmation{Row: row}
	if app, err := c.store.App(ctx, owner, row.Key.Client.String()); err == nil {
		out.App = app.Name
	}
	if res, err := c.store.Resource(ctx, owner, row.Key.Resource.String()); err == nil {
		out.Resource = res.Row.Label
	}
	return out, nil
}
