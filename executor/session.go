package executor

import (
	"context"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

// CreateSession makes a session; the title may be empty.
func (c *Client) CreateSession(ctx context.Context, title string) (string, error) {
	var p sessionwire.CreatePayload
	if title != "" {
		p.Title = &title
	}
	var a sessionwire.CreateAnswer
	err := c.Call(ctx, sessionwire.SessionCreate, "", nil, NewOperation(), p, &a)
	return a.SessionID, err
}

// Session is a session under this client's control.
type Session struct {
	ID       string
	Snapshot sessionwire.Snapshot // at the instant of the claim
	client   *Client
	control  sessionwire.Control
}

// Claim takes control of a session; takeover takes it from whoever has it.
func (c *Client) Claim(ctx context.Context, session string, takeover bool) (*Session, error) {
	p := sessionwire.ClaimPayload{Mode: "claim"}
	if takeover {
		p.Mode = "takeover"
	}
	var a sessionwire.ClaimAnswer
	if err := c.Call(ctx, sessionwire.SessionClaim, session, nil, NewOperation(), p, &a); err != nil {
		return nil, err
	}
	return &Session{session, a.Snapshot, c, a.Control}, nil
}

// read asks for a method that changes nothing.
func (s *Session) read(ctx context.Context, method string, payload, answer any) error {
	return s.client.Call(ctx, method, s.ID, &s.control, "", payload, answer)
}

// change asks for a method that changes something, under a fresh operation.
func (s *Session) change(ctx context.Context, method string, payload, answer any) error {
	return s.client.Call(ctx, method, s.ID, &s.control, NewOperation(), payload, answer)
}

// Detach gives control back.
func (s *Session) Detach(ctx context.Context) error {
	return s.change(ctx, sessionwire.SessionDetach, sessionwire.Empty{}, nil)
}

// Resources lists what is lent to the session.
func (s *Session) Resources(ctx context.Context) (sessionwire.ResourcesListAnswer, error) {
	var a sessionwire.ResourcesListAnswer
	err := s.read(ctx, sessionwire.ResourcesList, sessionwire.Empty{}, &a)
	return a, err
}

// Inline is a source whose content goes with the registration.
func Inline(content string) sessionwire.Source {
	return sessionwire.Source{Kind: "inline", Content: &content}
}

// File is a source that the daemon captures from its workspace, once.
func File(path string) sessionwire.Source {
	return sessionwire.Source{Kind: "workspace_file", Path: &path}
}

// Lend registers a resource, in the place of one of its name if there is one.
func (s *Session) Lend(ctx context.Context, r sessionwire.Resource) (sessionwire.Descriptor, error) {
	have, err := s.Resources(ctx)
	if err != nil {
		return sessionwire.Descriptor{}, err
	}
	var before *string
	for _, d := range have.Entries {
		if d.Name == r.Name {
			before = &d.RevisionID
		}
	}
	var a sessionwire.RegisterAnswer
	err = s.change(ctx, sessionwire.ResourcesRegister, sessionwire.RegisterPayload{ExpectedRevision: before, Resource: r}, &a)
	return a.Entry, err
}

// Withdraw removes one revision of a resource. Turns that were accepted with it
// keep it.
func (s *Session) Withdraw(ctx context.Context, d sessionwire.Descriptor) error {
	return s.change(ctx, sessionwire.ResourcesUnregister, sessionwire.UnregisterPayload{ResourceID: d.ResourceID, ExpectedRevision: d.RevisionID}, nil)
}

// Start starts a turn with everything that is lent now, and allows the agent each
// of those tools. Its events follow on Events.
func (s *Session) Start(ctx context.Context, prompt string) (sessionwire.StartAnswer, error) {
	p := sessionwire.StartPayload{Prompt: prompt}
	if !s.client.options.Plain {
		selection, err := s.Selection(ctx)
		if err != nil {
			return sessionwire.StartAnswer{}, err
		}
		p.Application = &selection
	}
	var a sessionwire.StartAnswer
	err := s.change(ctx, sessionwire.TurnStart, p, &a)
	return a, err
}

// Selection names everything that is lent now, for a turn.
func (s *Session) Selection(ctx context.Context) (sessionwire.Selection, error) {
	have, err := s.Resources(ctx)
	if err != nil {
		return sessionwire.Selection{}, err
	}
	out := sessionwire.Selection{ExpectedRegistryRevision: have.RegistryRevision, ToolAuthorizations: []sessionwire.Authorization{}}
	for _, d := range have.Entries {
		if d.Kind == "tool" {
			out.ToolAuthorizations = append(out.ToolAuthorizations,
				sessionwire.Authorization{ResourceID: d.ResourceID, RevisionID: d.RevisionID, RevisionSHA256: d.RevisionSHA256})
		}
	}
	if len(out.ToolAuthorizations) > 0 {
		at := s.client.attached()
		out.ExecutorID, out.ExecutorGeneration = &at.ExecutorID, &at.ExecutorGeneration
	}
	return out, nil
}

// Stop tells a turn to stop.
func (s *Session) Stop(ctx context.Context, turn string) error {
	return s.change(ctx, sessionwire.TurnCancel, sessionwire.TurnPayload{TurnID: turn}, nil)
}

// Evidence tells what ran of a turn and what did not.
func (s *Session) Evidence(ctx context.Context, turn string) (sessionwire.EvidenceAnswer, error) {
	var a sessionwire.EvidenceAnswer
	err := s.read(ctx, sessionwire.Evidence, sessionwire.TurnPayload{TurnID: turn}, &a)
	return a, err
}
