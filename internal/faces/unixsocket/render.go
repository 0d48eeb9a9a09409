package unixsocket

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/evidence"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/operation"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/sessions/reply"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// view is what decides how much a connection is shown.
type view struct {
	about    About
	selected bool
}

// answer gives an answer of the coordinator its form on the wire, secrets
// included: each is asked for once, by the one request that it answers.
func (v view) answer(a any) any {
	switch a := a.(type) {
	case reply.Claimed:
		return sessionwire.ClaimAnswer{
			Control:  sessionwire.Control{GrantID: a.Grant.Reveal(), Generation: a.Snapshot.Generation},
			Snapshot: v.snapshot(a.Snapshot),
		}
	case reply.Lent:
		return sessionwire.ExecutorSecretAnswer{ExecutorID: a.ID, ExecutorGeneration: a.Generation, ResumeSecret: a.Secret.Reveal()}
	case reply.Rotation:
		return sessionwire.ExecutorRotationAnswer{
			ExecutorID: a.ID, ExecutorGeneration: a.Generation, ResumeSecret: a.Secret.Reveal(), Status: "rotation_pending", PendingTimeoutMS: a.PendingMS,
		}
	case reply.Resumed:
		return sessionwire.ExecutorResumedAnswer{ExecutorID: a.ID, ExecutorGeneration: a.Generation, PendingCalls: pending(a.Calls)}
	case reply.Held:
		return sessionwire.ExecutorAt{ExecutorID: a.ID, ExecutorGeneration: a.Generation}
	case reply.Looked:
		return v.lookup(a.Entry)
	case reply.Resources:
		return sessionwire.ResourcesListAnswer{RegistryRevision: a.Revision, Entries: descriptors(a.Entries)}
	case evidence.Answer:
		return sessionwire.EvidenceAnswer{TurnID: a.TurnID, ApplicationManifest: sessionwire.Raw(a.Manifest), Calls: proofs(a.Calls)}
	case reply.Counts:
		return sessionwire.StatusAnswer{
			Ready: a.Ready, Version: v.about.Version, Workspace: v.about.Workspace, StateRoot: v.about.StateRoot,
			ActiveTurns: a.ActiveTurns, Connections: a.Connections, ClaimedSessions: a.ClaimedSessions,
		}
	case reply.Page:
		return page(a)
	case reply.InUse:
		return inUse(a)
	case reply.Replayed:
		return replayed(a)
	}
	return v.kept(a)
}

// kept gives the form of what a lookup keeps; without secrets, it is the answer too.
func (v view) kept(a any) any {
	switch a := a.(type) {
	case reply.Regained:
		return sessionwire.ClaimKept{Generation: a.Generation}
	case reply.Acknowledged:
		out := sessionwire.ExecutorAcknowledged{Status: a.Status, ExecutorID: a.ID, ExecutorGeneration: a.Generation}
		if a.PendingMS > 0 {
			out.PendingTimeoutMS = &a.PendingMS
		}
		return out
	case reply.Created:
		return sessionwire.CreateAnswer{SessionID: a.Session}
	case reply.Detached:
		return sessionwire.DetachAnswer{Status: "detached", Generation: a.Generation}
	case reply.Started:
		return sessionwire.StartAnswer{Status: "accepted", TurnID: a.Turn, ApplicationManifest: v.manifest(a.Accepted)}
	case reply.CancelRequested:
		return sessionwire.CancelAnswer{Status: "cancel_requested", TurnID: a.Turn}
	case reply.Registered:
		if !v.selected {
			return sessionwire.RegisterKept{RegistryRevision: a.Revision, ResourceID: a.Entry.ResourceID, RevisionID: a.Entry.RevisionID}
		}
		return sessionwire.RegisterAnswer{RegistryRevision: a.Revision, Entry: descriptor(a.Entry)}
	case reply.Unregistered:
		return sessionwire.UnregisterAnswer{ResourceID: a.Resource, RemovedRevision: a.Removed, RegistryRevision: a.Revision}
	case reply.Cleared:
		return sessionwire.ClearAnswer{RegistryRevision: a.Revision, RemovedCount: a.Removed}
	case reply.Settled:
		return sessionwire.ResultAnswer{CallID: a.Call, Status: "accepted"}
	case turn.Terminal:
		return *v.terminal(&a)
	}
	return nil
}

// event gives an event its name and form on the wire.
func (v view) event(payload any) (string, any) {
	switch p := payload.(type) {
	case reply.Began:
		return sessionwire.TurnStarted, sessionwire.TurnPayload{TurnID: p.Turn}
	case reply.Delta:
		return sessionwire.TurnDelta, sessionwire.DeltaPayload{TurnID: p.Turn, Text: p.Text}
	case reply.Activity:
		return sessionwire.TurnActivity, sessionwire.ActivityPayload{TurnID: p.Turn, Kind: p.Kind, Name: p.Name, Summary: p.Summary}
	case reply.Revoked:
		return sessionwire.ControlRevoked, sessionwire.RevokedPayload{Reason: p.Reason, Generation: p.Generation}
	case reply.Dispatched:
		return sessionwire.ToolCall, sessionwire.CallPayload{
			TurnID: p.Turn, CallID: p.Call, ProviderCallID: p.ProviderCall, ExecutorID: p.Executor, ExecutorGeneration: p.Generation,
			ResourceID: p.Resource, RevisionID: p.Revision, RevisionSHA256: p.Hash, Name: p.Name,
			Arguments: sessionwire.Raw(p.Arguments), TimeoutMS: p.TimeoutMS,
		}
	case reply.Withdrawn:
		return sessionwire.ToolCancel, sessionwire.CallCancelPayload{
			TurnID: p.Turn, CallID: p.Call, ExecutorID: p.Executor, ExecutorGeneration: p.Generation, Reason: p.Reason,
		}
	case turn.Terminal:
		t := v.terminal(&p)
		return sessionwire.TurnTerminal, sessionwire.TerminalPayload{
			TurnID: t.TurnID, Status: t.Status, Error: t.Error, AssistantText: t.AssistantText, ApplicationManifest: t.ApplicationManifest,
		}
	}
	return "", nil
}

// manifest is absent on ordinary connections, whoever started the turn.
func (v view) manifest(a *manifest.Accepted) sessionwire.Raw {
	if !v.selected {
		return nil
	}
	return sessionwire.Raw(a.Raw())
}

func (v view) snapshot(s reply.Snapshot) sessionwire.Snapshot {
	out := sessionwire.Snapshot{SessionID: s.Session, Generation: s.Generation, LiveSequence: s.Sequence, Terminal: v.terminal(s.Terminal)}
	if t := s.Turn; t != nil {
		out.Turn = &sessionwire.Turn{TurnID: t.Turn, OperationID: t.Operation, State: string(t.State), AssistantText: t.Text, ApplicationManifest: v.manifest(t.Accepted)}
	}
	return out
}

func (v view) terminal(t *turn.Terminal) *sessionwire.Terminal {
	if t == nil {
		return nil
	}
	out := &sessionwire.Terminal{TurnID: t.Turn, OperationID: t.Operation, Status: t.Status, AssistantText: t.Text, ApplicationManifest: v.manifest(t.Accepted)}
	if t.Code != "" {
		out.Error = &sessionwire.Error{Code: t.Code, Message: turn.Meaning(t.Code)}
	}
	return out
}

func (v view) lookup(e operation.Entry) sessionwire.LookupAnswer {
	out := sessionwire.LookupAnswer{OperationID: e.ID, State: string(e.State), Result: sessionwire.Raw("null"), Error: wireError(e.Fault)}
	if e.Method != "" {
		out.Method = &e.Method
	}
	if e.Session != "" {
		out.SessionID = &e.Session
	}
	if e.Result != nil {
		out.Result = encode(v.kept(e.Result))
	}
	return out
}

// wireError gives a fault its code and the fixed text of the code.
func wireError(f *fault.Fault) *sessionwire.Error {
	if f == nil {
		return nil
	}
	row, _ := fault.Lookup(fault.InternalError)
	if f.Code == fault.Conflict || isOurs(f.Code) {
		row = f.Row()
	}
	return &sessionwire.Error{Code: string(row.Code), Message: row.Meaning}
}

func isOurs(code fault.Code) bool {
	for _, row := range fault.SessionRows() {
		if row.Code == code {
			return true
		}
	}
	return false
}

func descriptor(d registry.Descriptor) sessionwire.Descriptor {
	return sessionwire.Descriptor{
		ResourceID: d.ResourceID, RevisionID: d.RevisionID, Kind: string(d.Kind), Name: d.Name, Description: d.Description,
		ContentSHA256: d.ContentSHA256, RevisionSHA256: d.RevisionSHA256, CapturedBytes: d.CapturedBytes,
		RegisteredBy: sessionwire.Attribution(d.RegisteredBy),
	}
}

func descriptors(in []registry.Descriptor) []sessionwire.Descriptor {
	out := make([]sessionwire.Descriptor, len(in))
	for i, d := range in {
		out[i] = descriptor(d)
	}
	return out
}

func pending(in []callback.Open) []sessionwire.PendingCall {
	out := make([]sessionwire.PendingCall, len(in))
	for i, c := range in {
		out[i] = sessionwire.PendingCall{
			SessionID: c.SessionID, TurnID: c.TurnID, CallID: c.CallID, ProviderCallID: c.ProviderCallID, Name: c.Name, ResourceID: c.ResourceID,
			RevisionID: c.RevisionID, RevisionSHA256: c.RevisionSHA256, Status: string(c.Status), Effects: string(c.Effects),
			WaitKind: string(c.WaitKind), RemainingMS: c.RemainingMS,
		}
	}
	return out
}

func proofs(in []evidence.Proof) []sessionwire.CallProof {
	out := make([]sessionwire.CallProof, len(in))
	for i, c := range in {
		out[i] = sessionwire.CallProof{
			CallID: c.CallID, ProviderCallID: c.ProviderCallID, Name: c.Name, ExecutorID: c.ExecutorID, ExecutorGeneration: c.ExecutorGeneration,
			ResourceID: c.ResourceID, RevisionID: c.RevisionID, RevisionSHA256: c.RevisionSHA256, Status: string(c.Status),
			ExternalEffects: string(c.ExternalEffects), WaitKind: (*string)(c.WaitKind), RemainingMS: c.RemainingMS,
		}
	}
	return out
}

func page(a reply.Page) sessionwire.SessionListAnswer {
	out := sessionwire.SessionListAnswer{Sessions: []sessionwire.SessionRow{}, Next: orNull(a.Next)}
	for _, o := range a.Sessions {
		out.Sessions = append(out.Sessions, sessionwire.SessionRow{
			SessionID: o.Session, Title: o.Title, UpdatedAt: o.Updated.UTC().Format(time.RFC3339Nano), Ownership: o.Controller,
		})
	}
	return out
}

func inUse(a reply.InUse) sessionwire.ActiveAnswer {
	out := sessionwire.ActiveAnswer{Sessions: []sessionwire.ActiveRow{}}
	for _, u := range a.Sessions {
		out.Sessions = append(out.Sessions, sessionwire.ActiveRow{
			SessionID: u.Session, Generation: u.Generation, Controlled: u.Controlled, TurnID: orNull(u.Turn), State: u.State,
		})
	}
	return out
}

func replayed(a reply.Replayed) sessionwire.ReplayAnswer {
	out := sessionwire.ReplayAnswer{Events: []sessionwire.Recorded{}, Next: orNull(a.Next)}
	for _, e := range a.Events {
		out.Events = append(out.Events, sessionwire.Recorded{
			EventID: e.ID, At: time.UnixMilli(e.At).UTC().Format(time.RFC3339Nano), Kind: string(e.Kind), Data: sessionwire.Raw(e.Data),
		})
	}
	return out
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
