package unixsocket

import (
	"strings"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/sessions"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// handler turns a payload into a command, or says what is wrong with it.
type handler func(raw sessionwire.Raw) (sessions.Command, error)

// verb makes a handler of a function of the payload's struct.
func verb[P any](build func(P) (sessions.Command, error)) handler {
	return func(raw sessionwire.Raw) (sessions.Command, error) {
		p, err := decode[P](raw)
		if err != nil {
			return nil, err
		}
		return build(p)
	}
}

// plain is a method whose payload has no members.
func plain(c sessions.Command) handler {
	return verb(func(sessionwire.Empty) (sessions.Command, error) { return c, nil })
}

// handlers has every method of the table but the two that a connection answers
// itself; a test says so.
func handlers() map[string]handler {
	return map[string]handler{
		sessionwire.Status:              plain(sessions.Status{}),
		sessionwire.SessionList:         verb(list),
		sessionwire.SessionCreate:       verb(create),
		sessionwire.SessionActive:       plain(sessions.Active{}),
		sessionwire.SessionClaim:        verb(claim),
		sessionwire.SessionDetach:       plain(sessions.Detach{}),
		sessionwire.SessionReplay:       verb(replay),
		sessionwire.TurnStart:           verb(start),
		sessionwire.TurnCancel:          verb(cancel),
		sessionwire.OperationLookup:     verb(lookup),
		sessionwire.ResourcesList:       plain(sessions.ListResources{}),
		sessionwire.ResourcesRegister:   verb(register),
		sessionwire.ResourcesUnregister: verb(unregister),
		sessionwire.ResourcesClear:      verb(clearAll),
		sessionwire.ExecutorCreate:      plain(sessions.CreateExecutor{}),
		sessionwire.ExecutorConfirm:     verb(confirm),
		sessionwire.ExecutorResume:      verb(resume),
		sessionwire.ExecutorRotate:      verb(rotate),
		sessionwire.ExecutorRotated:     verb(rotated),
		sessionwire.ExecutorRelease:     verb(release),
		sessionwire.ToolResult:          verb(result),
		sessionwire.Evidence:            verb(evidenceOf),
	}
}

// limitOf is a page's length: the most where it is left out.
func limitOf(asked *int, row bound.Row) (int, error) {
	switch {
	case asked == nil:
		return row.Int(), nil
	case *asked < 1:
		return 0, badPayload("a page has at least one entry")
	}
	return *asked, row.Check(*asked)
}

func list(p sessionwire.ListPayload) (sessions.Command, error) {
	limit, err := limitOf(p.Limit, bound.SessionPage)
	if err != nil {
		return nil, err
	}
	c := sessions.List{Limit: limit}
	if p.After != nil {
		if !isIdentifier(*p.After) {
			return nil, badPayload("after is no page's next")
		}
		c.After = *p.After
	}
	return c, nil
}

func create(p sessionwire.CreatePayload) (sessions.Command, error) {
	c := sessions.Create{}
	if p.Title != nil {
		if strings.ContainsFunc(*p.Title, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, badPayload("a title is one line")
		}
		if err := bound.SessionTitleBytes.Check(len(*p.Title)); err != nil {
			return nil, err
		}
		c.Title = *p.Title
	}
	return c, nil
}

func claim(p sessionwire.ClaimPayload) (sessions.Command, error) {
	if p.Mode != "claim" && p.Mode != "takeover" {
		return nil, badPayload("mode is claim or takeover")
	}
	return sessions.Claim{Takeover: p.Mode == "takeover", Expected: p.ExpectedGeneration}, nil
}

func replay(p sessionwire.ReplayPayload) (sessions.Command, error) {
	limit, err := limitOf(p.Limit, bound.ReplayPage)
	if err != nil {
		return nil, err
	}
	c := sessions.Replay{Limit: limit}
	if p.After != nil {
		if c.After, err = transcript.ParsePlace(*p.After); err != nil || *p.After == "" {
			return nil, badPayload("after is no page's next")
		}
	}
	return c, nil
}

func start(p sessionwire.StartPayload) (sessions.Command, error) {
	if p.Prompt == "" {
		return nil, badPayload("a prompt says something")
	}
	if err := bound.PromptBytes.Check(len(p.Prompt)); err != nil {
		return nil, err
	}
	c := sessions.Start{Prompt: p.Prompt}
	if p.Application == nil {
		return c, nil
	}
	a := p.Application
	if (a.ExecutorID == nil) != (a.ExecutorGeneration == nil) || a.ToolAuthorizations == nil {
		return nil, badPayload("an executor has an ID and a generation")
	}
	c.Application = &sessions.Selection{Revision: a.ExpectedRegistryRevision}
	if a.ExecutorID != nil {
		c.Application.Executor = &manifest.Executor{ExecutorID: *a.ExecutorID, ExecutorGeneration: *a.ExecutorGeneration}
	}
	for _, w := range a.ToolAuthorizations {
		c.Application.Authorizations = append(c.Application.Authorizations, manifest.Authorization{Resource: w.ResourceID, Revision: w.RevisionID, Hash: w.RevisionSHA256})
	}
	return c, nil
}

func cancel(p sessionwire.TurnPayload) (sessions.Command, error) {
	return sessions.Cancel{Turn: p.TurnID}, nil
}

func lookup(p sessionwire.LookupPayload) (sessions.Command, error) {
	if !isIdentifier(p.OperationID) {
		return nil, badPayload("this is no operation ID")
	}
	return sessions.Lookup{Operation: p.OperationID}, nil
}

// The kinds of sources.
const (
	sourceInline = "inline"
	sourceFile   = "workspace_file"
)

func register(p sessionwire.RegisterPayload) (sessions.Command, error) {
	c := sessions.Register{
		Expected: p.ExpectedRevision,
		Proposal: registry.Proposal{Kind: registry.Kind(p.Resource.Kind), Name: p.Resource.Name, Description: p.Resource.Description},
	}
	switch s := p.Resource.Source; {
	case s.Kind == sourceInline && s.Content != nil && s.Path == nil:
		c.Content = *s.Content
	case s.Kind == sourceFile && s.Path != nil && s.Content == nil:
		c.Proposal.Path = *s.Path
		if *s.Path == "" {
			return nil, badPayload("a path names a file")
		}
	default:
		return nil, badPayload("a source is inline content or the path of a workspace file")
	}
	return c, c.Proposal.Check()
}

func unregister(p sessionwire.UnregisterPayload) (sessions.Command, error) {
	return sessions.Unregister{Resource: p.ResourceID, Expected: p.ExpectedRevision}, nil
}

func clearAll(p sessionwire.ClearPayload) (sessions.Command, error) {
	return sessions.Clear{Expected: p.ExpectedRegistryRevision}, nil
}

func confirm(p sessionwire.ExecutorProof) (sessions.Command, error) {
	return sessions.ConfirmExecutor{ID: p.ExecutorID, Proof: secret.Of(p.ResumeSecret)}, nil
}

func resume(p sessionwire.ExecutorProof) (sessions.Command, error) {
	return sessions.ResumeExecutor{ID: p.ExecutorID, Proof: secret.Of(p.ResumeSecret)}, nil
}

func rotate(p sessionwire.ExecutorAt) (sessions.Command, error) {
	return sessions.RotateExecutor{ID: p.ExecutorID, Generation: p.ExecutorGeneration}, nil
}

func rotated(p sessionwire.ExecutorProofAt) (sessions.Command, error) {
	return sessions.RotatedExecutor{ID: p.ExecutorID, Generation: p.ExecutorGeneration, Proof: secret.Of(p.ResumeSecret)}, nil
}

func release(p sessionwire.ExecutorAt) (sessions.Command, error) {
	return sessions.ReleaseExecutor{ID: p.ExecutorID, Generation: p.ExecutorGeneration}, nil
}

func result(p sessionwire.ResultPayload) (sessions.Command, error) {
	s := callback.Submission{
		Turn: p.TurnID, Call: p.CallID, Executor: p.ExecutorID, Resource: p.ResourceID, Revision: p.RevisionID, Hash: p.RevisionSHA256,
	}
	switch o := p.Outcome; {
	case o.Status == "success" && o.Value != nil && o.Code == nil && o.Message == nil:
		s.Result.Value = string(o.Value)
	case o.Status == "error" && o.Value == nil && o.Code != nil && o.Message != nil:
		s.Result.Code, s.Result.Message = *o.Code, *o.Message
	default:
		return nil, badPayload("an outcome is a success with a value, or an error with code and message")
	}
	return sessions.Result{Submission: s, Generation: p.ExecutorGeneration}, nil
}

func evidenceOf(p sessionwire.TurnPayload) (sessions.Command, error) {
	return sessions.Proofs{Turn: p.TurnID}, nil
}
