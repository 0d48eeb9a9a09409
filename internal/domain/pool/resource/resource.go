// Package resource holds the things in an owner's pool and the methods that
// each of them implements.
//
// A descriptor tells what a thing is without any secret, header, route or
// endpoint. Its executable part and its presentation have digests of their own,
// so that a new label never touches what was approved (pool page, section 3;
// invariant I40). A method is offered, approved, drifted or refused on its own.
package resource

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Kind says what sort of thing a resource is.
type Kind string

// The kinds.
const (
	Builtin    Kind = "builtin"
	Connection Kind = "connection" // an application or upstream server
	Capsule    Kind = "capsule"    // a program that serves resources over the bus
)

// State is where a resource stands.
type State string

// The states. Removed is terminal.
const (
	Active   State = "active"
	Disabled State = "disabled"
	Removed  State = "removed"
)

// Storage says who keeps the resource's data.
type Storage string

// The places of storage.
const (
	AtHost       Storage = "host"
	AtThirdParty Storage = "third-party"
)

// The owner's built-in resources are also known by names that only the host
// gives; rows always store the id (pool page, section 3).
const (
	AliasItems   = "@items"
	AliasProfile = "@profile"
	AliasGrants  = "@grants"
	AliasJournal = "@journal"
)

// CapsuleContract is by what the resources of a capsule are read (bus page,
// section 6). AliasCapsule and the capsule's name make its alias.
const (
	CapsuleContract = "https://steward.invalid/contracts/astrid-bus-resource/v1"
	AliasCapsule    = "@capsule-"
)

// The labels of the built-in resources, which nothing else may have.
const (
	LabelItems   = "Items"
	LabelProfile = "Profile"
	LabelGrants  = "Own grants"
	LabelJournal = "Own journal"
)

// Row is one resource. Adapter is zero for a built-in; Alias is empty for all
// others.
type Row struct {
	ID        id.Resource
	Owner     id.Owner
	Kind      Kind
	Label     string
	Alias     string
	Adapter   id.Adapter
	Storage   Storage
	Revision  id.Revision
	State     State
	CreatedAt time.Time
}

// Presentation pins what is only shown.
func (r Row) Presentation() digest.Digest {
	return digest.Join(r.Label).Sum(digest.Presentation)
}

// Descriptor pins what is executed: the kind, the place of storage and the pins
// of all methods, in the given order.
func (r Row) Descriptor(methods []Method) digest.Digest {
	parts := []string{string(r.Kind), string(r.Storage)}
	for _, m := range methods {
		pin := m.Pin()
		parts = append(parts, m.Contract, m.Definition.ID, pin.Method.String(), pin.Binding.String())
	}
	return digest.Join(parts...).Sum(digest.Descriptor)
}

// MethodState is where one method of a resource stands.
type MethodState string

// The states of a method. Proposed waits for the owner's first yes;
// NeedsConsent drifted after it; Refused cannot be imported; Gone is no longer
// offered by the upstream.
const (
	Proposed     MethodState = "proposed"
	Live         MethodState = "active"
	NeedsConsent MethodState = "needs_consent"
	Refused      MethodState = "refused"
	Off          MethodState = "disabled"
	Gone         MethodState = "gone"
)

// Method is one method of a resource as it stands.
type Method struct {
	Contract   string // URL
	Document   digest.Digest
	Definition contract.Method
	Binding    Binding
	State      MethodState
	Reason     string // why it is refused, drifted or gone; for the owner
}

// BindingKind says how a method is executed.
type BindingKind string

// The kinds of bindings that exist (pool page, section 7).
const (
	ByHost    BindingKind = "builtin"
	ByMCP     BindingKind = "mcp"
	ByCapsule BindingKind = "capsule"
)

// Binding is how a method is executed. For ByMCP it names one tool of one
// upstream, exactly, and pins the tool's whole definition as it was received; so
// it does for the tools of a capsule. ByCapsule without a tool is how the
// capsule's resources are read.
type Binding struct {
	Kind    BindingKind   `json:"kind"`
	Adapter id.Adapter    `json:"adapter,omitzero"`
	Tool    string        `json:"tool,omitzero"`
	Tooldef digest.Digest `json:"tool_digest,omitzero"`

	// DeadlineMS is how long a call of this method may take, as the owner set it; zero
	// is bound.CallDeadline. It is the host's patience and no part of what is pinned.
	DeadlineMS int64 `json:"deadline_ms,omitzero"`
}

// Patience is how long a call may take of which the caller gives it so long.
func (b Binding) Patience(given time.Duration) time.Duration {
	if own := time.Duration(b.DeadlineMS) * time.Millisecond; own > 0 {
		return min(own, given)
	}
	return given
}

// Digest pins the binding.
func (b Binding) Digest() digest.Digest {
	return digest.Join(string(b.Kind), b.Adapter.String(), b.Tool, b.Tooldef.String()).Sum(digest.Binding)
}

// Pin gives what a grant of this method is pinned to.
func (m Method) Pin() grant.Pin {
	return grant.Pin{Method: m.Definition.Digest(), Binding: m.Binding.Digest()}
}
