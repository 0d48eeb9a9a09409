package signin

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const (
	storing = 5 * time.Second // the longest that a credential is waited to be stored
	parting = 2 * time.Second // for a renewal that is under way when the desk closes
)

// errand is the time that a renewal has, whoever asked for it. A desk that closes
// lets it come to its end for a moment: what it brings is lost with the answer.
func (d *Desk) errand() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.life), bound.Renewal.Duration())
	stop := context.AfterFunc(d.life, func() { time.AfterFunc(parting, cancel) })
	return ctx, func() { stop(); cancel() }
}

// renew trades the refresh token of a credential. What comes of it is stored before
// it is used, or used all the same where it cannot be, since the old refresh token may
// be of no use any more; it is neither where the credential is another one by now, or
// was removed.
func (a *account) renew(r *renewal, was credential.Credential, exception string) {
	ctx, cancel := a.desk.errand()
	defer cancel()
	next, err := a.desk.renewed(ctx, was, exception)
	if err != nil {
		a.desk.ports.Log.Warn("a credential was not renewed", "name", a.name, "err", err)
	}
	a.slot <- struct{}{}
	defer a.release()
	defer close(r.done)
	if a.renewal != r {
		r.err = errReplaced()
		return
	}
	a.renewal = nil
	if err == nil || next.Refused {
		next.Wanted = a.now.Wanted // which may have grown meanwhile
		a.now = next
		kept, cancel := context.WithTimeout(context.WithoutCancel(a.desk.life), storing)
		a.loaded = a.store(kept)
		cancel()
		if !a.loaded {
			r.err = errReplaced()
			return
		}
	}
	switch {
	case err == nil, !a.now.Refused && !a.now.Token.Over(a.desk.now()):
		r.token = a.now.Token.Access
	case a.now.Refused:
		r.err = a.desk.needsOwner(a.name)
	default:
		r.err = fault.New(fault.Unavailable, "the credential cannot be renewed now").Because(err)
	}
}

func errReplaced() error {
	return fault.New(fault.Unavailable, "the credential was replaced or removed while it was renewed")
}

// store stores the credential of the moment, and reports false where it was replaced
// or removed in the store; the slot is held.
func (a *account) store(ctx context.Context) bool {
	err := a.desk.ports.Store.ReplaceCredential(ctx, a.owner, a.name, a.stored, a.now)
	switch {
	case err == nil:
		a.stored = a.now
	case fault.Is(err, fault.NotFound):
		return false
	default:
		a.desk.ports.Log.Error("a credential could not be stored", "name", a.name, "err", err)
	}
	return true
}

// renewed is what a credential is after its refresh token was traded. With an error
// it is as it was, but for Refused.
func (d *Desk) renewed(ctx context.Context, was credential.Credential, exception string) (credential.Credential, error) {
	next, now := was, d.now()
	issuers, err := d.ports.Issuers(exception)
	if err != nil {
		return was, err
	}
	if was.Token.Refresh.IsZero() {
		next.Refused = was.Token.Over(now)
		return next, fault.New(fault.Unavailable, "the issuer gave no refresh token")
	}
	if next.Token, err = issuers.Refresh(ctx, was, now); err != nil {
		next.Token, next.Refused = was.Token, issuers.Dead(err)
	}
	return next, err
}
