package signin

import (
	"context"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Account is what steward has of one entry's credential. Whoever holds the slot owns
// what is below it, so that one of many callers renews and the others wait.
type Account struct {
	desk  *Desk
	owner id.Owner
	name  string
	slot  chan struct{} // room for one

	loaded bool
	has    bool
	now    credential.Credential
	forced time.Time // when the server last refused a token that was not over

	view  sync.Mutex
	shown credential.Credential // for views: what now was when the slot was last given back
}

func (d *Desk) account(owner id.Owner, name string) *Account {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := flowKey{owner, name}
	a := d.accounts[key]
	if a == nil {
		a = &Account{desk: d, owner: owner, name: name, slot: make(chan struct{}, 1)}
		d.accounts[key] = a
	}
	return a
}

// Forget drops what is remembered of an entry that was removed.
func (d *Desk) Forget(owner id.Owner, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.accounts, flowKey{owner, name})
}

// Standing is how an entry's credential stands, for views.
type Standing struct {
	Issuer     string // empty where there is none
	NeedsOwner bool
}

// Standing tells of the credential of an entry at an address, as it was when it was
// last used or changed; it waits for nobody.
func (l Lending) Standing() Standing {
	a := l.account
	a.view.Lock()
	defer a.view.Unlock()
	if a.shown.URL != l.url {
		return Standing{}
	}
	return Standing{a.shown.Server.Issuer, a.shown.Refused}
}

// Lending gives an entry's credential to who speaks to its server.
type Lending struct {
	account        *Account
	url, exception string
}

// Lend is the credential of an entry at an address, and at no other.
func (d *Desk) Lend(owner id.Owner, name, url, exception string) Lending {
	return Lending{d.account(owner, name), url, exception}
}

// NeedsOwner is the fault of a server that lets steward in only after the owner has
// signed in, with the command for that.
func (l Lending) NeedsOwner() error { return l.account.needsOwner() }

func (a *Account) needsOwner() error {
	fix := a.desk.Fix(a.name)
	return fault.New(fault.Unavailable, "the server must be authorized by its owner: "+fix).
		With("reason", credential.NeedsOwner).With("fix", fix)
}

func (a *Account) hold(ctx context.Context) error {
	select {
	case a.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "the credential is being renewed").Because(ctx.Err())
	}
}

func (a *Account) release() {
	a.view.Lock()
	a.shown = a.now
	a.view.Unlock()
	<-a.slot
}

// load reads the credential once; the slot is held.
func (a *Account) load(ctx context.Context) (err error) {
	if !a.loaded {
		a.now, a.has, err = a.desk.Store.Credential(ctx, a.owner, a.name)
		a.loaded = err == nil
	}
	return err
}

// put replaces the credential by what an owner said yes to.
func (a *Account) put(ctx context.Context, c credential.Credential) error {
	if err := a.hold(ctx); err != nil {
		return err
	}
	defer a.release()
	if err := a.desk.Store.PutCredential(ctx, a.owner, a.name, c); err != nil {
		return err
	}
	a.now, a.has, a.loaded, a.forced = c, true, true, time.Time{}
	return nil
}

// Token is the access token of the moment, renewed where it is due; zero where the
// entry has none. Many callers renew once. Faults: unavailable, with details.reason
// credential.NeedsOwner and the command that mends it where the issuer gives no more.
func (l Lending) Token(ctx context.Context) (secret.Secret, error) {
	a := l.account
	if err := a.hold(ctx); err != nil {
		return secret.Secret{}, err
	}
	defer a.release()
	if err := a.load(ctx); err != nil {
		return secret.Secret{}, err
	}
	now := a.desk.now()
	switch {
	case !a.has || a.now.URL != l.url:
		return secret.Secret{}, nil
	case a.now.Refused:
		return secret.Secret{}, a.needsOwner()
	case !a.now.Token.Due(now):
		return a.now.Token.Access, nil
	}
	err := a.renew(ctx, l.exception, now)
	switch {
	case err == nil, !a.now.Refused && !a.now.Token.Over(now):
		return a.now.Token.Access, nil
	case a.now.Refused:
		return secret.Secret{}, a.needsOwner()
	default:
		return secret.Secret{}, fault.New(fault.Unavailable, "the credential cannot be renewed now").Because(err)
	}
}

// renew trades the refresh token; the slot is held. What comes of it is stored before
// it is used: the old refresh token may be of no use any more.
func (a *Account) renew(ctx context.Context, exception string, now time.Time) error {
	next := a.now
	issuers, err := a.desk.Issuers(exception)
	if err != nil {
		return err
	}
	if a.now.Token.Refresh.IsZero() {
		next.Refused = a.now.Token.Over(now)
		err = fault.New(fault.Unavailable, "the issuer gave no refresh token")
	} else if next.Token, err = issuers.Refresh(ctx, a.now, now); err != nil {
		next.Token, next.Refused = a.now.Token, issuers.Dead(err)
		a.desk.Log.Warn("a credential was not renewed", "name", a.name, "err", err)
	}
	if err != nil && !next.Refused {
		return err
	}
	a.now = next
	if bad := a.desk.Store.PutCredential(context.WithoutCancel(ctx), a.owner, a.name, next); bad != nil {
		a.desk.Log.Error("a credential could not be stored", "name", a.name, "err", bad)
	}
	return err
}

// again is how soon a server must refuse twice for its word to be believed over the
// token's own.
const again = time.Minute

// Refused takes a server's word that a token is of no use: it is renewed before it is
// used again, and needs the owner where the new one is refused too.
func (l Lending) Refused(sent secret.Secret) {
	a := l.account
	if a.hold(a.desk.life) != nil {
		return
	}
	defer a.release()
	if sent.IsZero() || !a.has || a.now.Refused || sent.Reveal() != a.now.Token.Access.Reveal() {
		return // there is a newer one already
	}
	now := a.desk.now()
	if !a.forced.IsZero() && now.Sub(a.forced) < again {
		a.now.Refused = true
	}
	a.forced = now
	a.now.Token.Until = now
	if a.now.Token.At.After(now) || a.now.Token.At.IsZero() {
		a.now.Token.At = now
	}
	if err := a.desk.Store.PutCredential(a.desk.life, a.owner, a.name, a.now); err != nil {
		a.desk.Log.Error("a credential could not be stored", "name", a.name, "err", err)
	}
}
