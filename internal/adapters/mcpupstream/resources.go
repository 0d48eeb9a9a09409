package mcpupstream

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// Resources asks for everything that the upstream has to be read, opening a session
// if need be. Faults: those of Open and of answer.Resources.
func (c *Client) Resources(ctx context.Context) ([]answer.Resource, error) {
	s, err := c.inquiry(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bound.CallDeadline.Duration())
	defer cancel()
	return answer.Resources(func(cursor []byte) answer.Answer { return s.Inquire(ctx, question.Resources(cursor)) })
}

// ReadResource asks for a resource, by one message, opening a session if need be.
// It waits bound.CallDeadline at most. Faults: those of Open, question.ReadResource
// and answer.Contents.
func (c *Client) ReadResource(ctx context.Context, uri string) ([]answer.Content, error) {
	q, err := question.ReadResource(uri)
	if err != nil {
		return nil, err
	}
	s, err := c.inquiry(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bound.CallDeadline.Duration())
	defer cancel()
	return answer.Contents(s.Inquire(ctx, q))
}

// inquiry is a conversation to ask in.
func (c *Client) inquiry(ctx context.Context) (conversation, error) {
	if err := c.Open(ctx); err != nil {
		return nil, err
	}
	s, f := c.live()
	if f != nil {
		return nil, f
	}
	return s, nil
}
