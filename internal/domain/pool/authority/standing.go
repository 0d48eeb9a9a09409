// Package authority is the one place where it is decided what may happen: who
// may call what, whether a call is dispatched, replayed, held back or refused,
// and what the owner's commands change.
//
// Every decision is a pure function of facts, a command and the time. The store
// loads the facts and applies the changes inside one transaction, so a decision
// is never older than what it changes (product page, "Authority"; invariants
// I38, I46). Every door and every service goes through here; there is no other
// check.
package authority

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Audience is the door that a token is good for; doors never interchange
// (threats, A4).
type Audience string

// The audiences.
const (
	ForRPC Audience = "rpc"
	ForMCP Audience = "mcp"
)

// Caller is who asks, as the access service established it from a token, or the
// owner at the admin socket, whose Token is zero.
type Caller struct {
	Owner    id.Owner
	Client   id.Client
	Audience Audience
	Token    secret.Hash
}

// ClientKind tells the owner's own hand from applications.
type ClientKind string

// The kinds of clients.
const (
	OwnersHand  ClientKind = "owner"
	Application ClientKind = "app"
)

// Client is what is known of the calling client.
type Client struct {
	Kind      ClientKind
	Connected bool
}

// Token is what is known of the presented token.
type Token struct {
	Audience  Audience
	ExpiresAt time.Time // zero: no expiry
	Revoked   bool
}

// Standing is everything that authorization looks at, as loaded in one
// transaction. A nil pointer means that there is no such row for this owner.
type Standing struct {
	Client      *Client
	Token       *Token // loaded only where the caller has one
	Resource    *resource.Row
	AdapterLive bool // true for what has no adapter
	Method      *resource.Method
	Pin         grant.Pin // the method's, as it is stored beside it; zero: computed from Method
	Grant       *grant.Row
	Assigned    bool // the grant's assignment stands
	HoldsOther  bool // the client holds another live row on this resource
}

// pin is what a grant of the method must hold. The definitions that a store keeps
// are never changed without their digests, so that no call hashes them again.
func (s Standing) pin() grant.Pin {
	if s.Pin == (grant.Pin{}) {
		return s.Method.Pin()
	}
	return s.Pin
}

// Authenticate checks that the caller is still who the door let in.
func Authenticate(s Standing, c Caller, now time.Time) *fault.Fault {
	refused := fault.New(fault.Unauthenticated, "the token is not live for this door")
	if s.Client == nil || !s.Client.Connected {
		return refused
	}
	if s.Client.Kind == OwnersHand {
		return nil
	}
	t := s.Token
	if t == nil || t.Revoked || t.Audience != c.Audience || !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) {
		return refused
	}
	return nil
}

// Authorize is the one answer to "may this caller call this method now"
// (invariant I43). What does not exist and what is not the caller's to see give
// the same fault.
func Authorize(s Standing, c Caller, now time.Time) *fault.Fault {
	if f := Authenticate(s, c, now); f != nil {
		return f
	}
	if s.Client.Kind == OwnersHand {
		return authorizeOwner(s)
	}
	if s.Resource == nil || s.Resource.State == resource.Removed || s.Grant == nil && !s.HoldsOther {
		return NotFound()
	}
	if s.Method == nil || s.Grant == nil {
		return fault.New(fault.GrantRequired, "the owner has not granted this method to this app")
	}
	state, bad := rests(s, now)
	if (state == grant.Revoked || state == grant.Expired) && !s.HoldsOther {
		return NotFound()
	}
	return bad
}

// StateOf derives what a row of authority comes to now, for lists of rows: it is
// Active if and only if Authorize lets the row's client call the row's method. Of
// the standing it looks at what the row rests on, not at who asks.
func StateOf(s Standing, now time.Time) grant.State {
	if s.Resource == nil || s.Resource.State == resource.Removed {
		return grant.Revoked
	}
	if s.Method == nil {
		return s.Grant.StateAt(grant.Pin{}, now)
	}
	state, _ := rests(s, now)
	return state
}

// rests derives a row's state from all that it rests on, and what its client is
// told where it allows nothing.
func rests(s Standing, now time.Time) (grant.State, *fault.Fault) {
	switch state := s.Grant.StateAt(s.pin(), now); state {
	case grant.Revoked, grant.Expired:
		return state, fault.New(fault.GrantRequired, "the grant has ended")
	case grant.Suspended, grant.NeedsConsent:
		return state, needsConsent("what the grant pinned has changed or was suspended")
	}
	if !s.Assigned {
		return grant.NeedsConsent, needsConsent("the resource is no longer assigned to this app")
	}
	return usable(s)
}

func authorizeOwner(s Standing) *fault.Fault {
	if s.Resource == nil || s.Resource.State == resource.Removed || s.Method == nil {
		return NotFound()
	}
	_, bad := usable(s)
	return bad
}

// usable checks what must hold for every caller: the definition is approved, its
// effects are known and its resource and adapter are in service. The state is that
// of a row that holds otherwise.
func usable(s Standing) (grant.State, *fault.Fault) {
	if s.Method.State != resource.Live || s.Method.Definition.Effects.Empty() {
		return grant.NeedsConsent, needsConsent("the method is not approved as it is defined now").With("fix", "steward review")
	}
	if s.Resource.State != resource.Active {
		return grant.Suspended, needsConsent("the owner has switched the resource off")
	}
	if !s.AdapterLive {
		return grant.Suspended, fault.New(fault.Unavailable, "the owner has switched the connection off")
	}
	return grant.Active, nil
}

// NotFound is the one answer for what does not exist and what is not the
// caller's to see (invariant I51).
func NotFound() *fault.Fault {
	return fault.New(fault.NotFound, "there is no such thing here")
}

func needsConsent(text string) *fault.Fault { return fault.New(fault.NeedsConsent, text) }
