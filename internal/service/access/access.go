// Package access turns a presented token into a caller. It only says who asks;
// what the caller may do is decided by authority, which looks at the token again
// inside the transaction of every call.
//
// Tokens are opaque and carry no rights. The package keeps nothing; it is safe
// for concurrent use.
package access

import (
	"context"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// FindToken looks a token up by its hash; false where no live token of a
// connected client has it.
type FindToken func(ctx context.Context, hash secret.Hash) (authority.Caller, bool, error)

// Deny records an attempt that was refused before the journal saw it; a zero
// caller is nobody who is known. It does not wait.
type Deny func(c authority.Caller, code fault.Code)

// Doorman checks tokens for one audience.
type Doorman struct {
	find     FindToken
	deny     Deny
	audience authority.Audience
}

// New returns the check for one door.
func New(find FindToken, deny Deny, audience authority.Audience) *Doorman {
	return &Doorman{find, deny, audience}
}

// Denied records that the door refused a caller's request.
func (d *Doorman) Denied(c authority.Caller, code fault.Code) { d.deny(c, code) }

// Caller establishes who presents a token. Unknown, revoked, expired and
// foreign tokens give the same Unauthenticated fault, and a row in the trail.
func (d *Doorman) Caller(ctx context.Context, token secret.Secret) (authority.Caller, error) {
	hash, ok := secret.HashToken(secret.Access, token)
	if !ok {
		d.deny(authority.Caller{}, fault.Unauthenticated)
		return authority.Caller{}, refused()
	}
	caller, found, err := d.find(ctx, hash)
	if err != nil {
		return authority.Caller{}, err
	}
	if !found || caller.Audience != d.audience {
		d.deny(caller, fault.Unauthenticated)
		return authority.Caller{}, refused()
	}
	return caller, nil
}

// Bearer is the token that a request presents: it has one Authorization header, of
// one scheme (RFC 6750, section 2.1). Anything else is no token.
func Bearer(authorization []string) secret.Secret {
	if len(authorization) != 1 {
		return secret.Secret{}
	}
	scheme, token, ok := strings.Cut(authorization[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return secret.Secret{}
	}
	return secret.Of(strings.TrimSpace(token))
}

func refused() *fault.Fault {
	return fault.New(fault.Unauthenticated, "present a live token for this door").With("fix", "steward apps add NAME")
}
