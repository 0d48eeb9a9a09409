// Package grant holds one row of authority: this client may call this method of
// this resource, as it was defined when the owner said yes.
//
// There is no wildcard: one row per (owner, client, resource, contract URL,
// method), pinned by the digests of the method and of its binding (pool page,
// section 3). Whether a row allows a call now is derived from the row, the
// method as it stands and the time, and is never stored.
package grant

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// State is where a row stands.
type State string

// The states of a row. Expired and NeedsConsent are usually derived.
const (
	Active       State = "active"
	Suspended    State = "suspended"
	NeedsConsent State = "needs_consent"
	Revoked      State = "revoked"
	Expired      State = "expired"
)

// Confirm says when a call under a row needs the owner's fresh yes.
type Confirm string

// The policies. ByEffect asks for communicate and spend, which is the default.
const (
	ByEffect Confirm = "by_effect"
	Always   Confirm = "always"
	Never    Confirm = "never"
)

// ParseConfirm reads a policy; the empty text is ByEffect.
func ParseConfirm(text string) (Confirm, error) {
	switch c := Confirm(text); c {
	case "":
		return ByEffect, nil
	case ByEffect, Always, Never:
		return c, nil
	}
	return "", fault.Newf(fault.InvalidRequest, "confirm is one of %s, %s, %s", ByEffect, Always, Never)
}

// Key names the one row that a call needs.
type Key struct {
	Owner    id.Owner
	Client   id.Client
	Resource id.Resource
	Contract string
	Method   string
}

// Pin is what the owner agreed to, as digests.
type Pin struct {
	Method  digest.Digest
	Binding digest.Digest
}

// Row is one row of authority. A zero ExpiresAt means no expiry.
type Row struct {
	ID         id.Grant
	Key        Key
	Pin        Pin
	Contract   digest.Digest // of the document at consent time; evidence only
	Effects    effect.Set    // as shown to the owner
	Confirm    Confirm
	Limit      budget.Limit // zero: no budget of its own
	State      State
	Assignment id.Assignment
	Consent    id.Consent
	CreatedAt  time.Time
	ExpiresAt  time.Time
	RevokedAt  time.Time
}

// StateAt derives the row's state from the method's pin as it stands now. At
// the exact expiry the row is expired.
func (r Row) StateAt(current Pin, now time.Time) State {
	switch {
	case r.State == Revoked:
		return Revoked
	case !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt):
		return Expired
	case r.State != Active:
		return r.State
	case r.Pin != current:
		return NeedsConsent
	}
	return Active
}

// Asks reports whether a call under this row needs a fresh confirmation.
func (r Row) Asks() bool {
	return r.Confirm == Always || r.Confirm == ByEffect && r.Effects.NeedsConfirmation()
}
