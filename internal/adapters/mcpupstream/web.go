package mcpupstream

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/remote"
)

// NewRemote is the client of a server at a URL. Nothing is sent yet.
func NewRemote(name string, spec remote.Spec, opt Options) *Client {
	c := conversing(name, opt.Version)
	c.begin = func() (conversation, error) { return remote.New(c.open, spec, c.tellChanged), nil }
	return c
}

// doubtful is what a conversation may be whose other side can forget it without a
// word.
type doubtful interface {
	Fresh() bool                // a call may go out without Verify
	Verify(ctx context.Context) // ends the conversation if it was forgotten
	Forgotten() bool            // it ended so, and another may begin at once
}

// isFresh reports whether a call may go out on a conversation as it is.
func isFresh(s conversation) bool {
	d, ok := s.(doubtful)
	return !ok || d.Fresh()
}

// verified is the session after it was asked for, where that is needed, or nil.
func (c *Client) verified(ctx context.Context) conversation {
	s, _ := c.live()
	if d, ok := s.(doubtful); ok && !d.Fresh() {
		d.Verify(ctx)
		s, _ = c.live()
	}
	return s
}
