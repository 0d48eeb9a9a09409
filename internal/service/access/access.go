// Package access turns a presented token into a caller. It only says who asks;
// what the caller may do is decided by authority, which looks at the token again
// inside the transaction of every call.
//
// Tokens are opaque and carry no rights. The package keeps nothing; it is safe
// for concurrent use.
package access

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// FindToken looks a token up by its hash; false where no live token of a
// connected client has it.
type FindToken func(ctx context.Context, hash secret.Hash) (authority.Caller, bool, error)

// Doorman checks tokens for one audience.
type Doorman struct {
	find     FindToken
	audience authority.Audience
}

// New returns the check for one door.
func New(find FindToken, audience authority.Audience) *Doorman {
	return &Doorman{find, audience}
}

// Caller establishes who presents a token. Unknown, revoked, expired and
// foreign tokens give the same Unauthenticated fault.
func (d *Doorman) Caller(ctx context.Context, token secret.Secret) (authority.Caller, error) {
	hash, ok := secret.HashToken(secret.Access, token)
	if !ok {
		return authority.Caller{}, refused()
	}
	caller, found, err := d.find(ctx, hash)
	if err != nil {
		return authority.Caller{}, err
	}
	if !found || caller.Audience != d.audience {
		return authority.Caller{}, refused()
	}
	return caller, nil
}

func refused() *fault.Fault {
	return fault.New(fault.Unauthenticated, "present a live token for this door").With("fix", "steward apps add NAME")
}
