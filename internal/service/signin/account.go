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

// account is what steward has of one entry's credential. Whoever holds the slot owns
// what is below it, and waits for nothing but the store meanwhile.
type account struct {
	desk  *Desk
	owner id.Owner
	name  string
	slot  chan struct{} // room for one

	loaded  bool
	has     bool
	now     credential.Credential
	stored  credential.Credential // what the store has: now, but where that could not be stored
	forced  time.Time             // when the server last refused a token that was not over
	renewal *renewal              // of now, under way; else nil

	view  sync.Mutex
	shown credential.Credential // for views: what now was when the slot was last given back
}

// renewal is one trade of a refresh token. It belongs to the desk, so that it goes on
// when nobody waits for it any more: the issuer may have taken the old one already.
type renewal struct {
	done  chan struct{} // closed when token and err are written
	token secret.Secret
	err   error
}

func (d *Desk) account(owner id.Owner, name string) *account {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := entryKey{owner, name}
	a := d.accounts[key]
	if a == nil {
		a = &account{desk: d, owner: owner, name: name, slot: make(chan struct{}, 1)}
		d.accounts[key] = a
	}
	return a
}

// Stop ends the sign-in of an entry that is to be removed, if one is under way, and
// returns when nothing more comes of it.
func (d *Desk) Stop(owner id.Owner, name string) {
	key := entryKey{owner, name}
	d.mu.Lock()
	f := d.flows[key]
	delete(d.flows, key)
	d.mu.Unlock()
	if f != nil {
		f.cancel()
		<-f.done
	}
}

// Forget drops what is remembered of an entry that was removed, and a sign-in that
// somebody began for it meanwhile.
func (d *Desk) Forget(owner id.Owner, name string) {
	d.Stop(owner, name)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.accounts, entryKey{owner, name})
}

// Standing is how an entry's credential stands, for views.
type Standing struct {
	Issuer     string // empty where there is none
	NeedsOwner bool
	Wants      []string // scopes without which the server refuses some calls
}

// Standing tells of the credential of an entry at an address, as it was when it was
// last used or changed; it waits for nobody.
func (l Lending) Standing() Standing {
	a := l.account()
	a.view.Lock()
	defer a.view.Unlock()
	if a.shown.URL != l.url {
		return Standing{}
	}
	return Standing{a.shown.Server.Issuer, a.shown.Refused, a.shown.Wanted}
}

// Lending gives an entry's credential to who speaks to its server.
type Lending struct {
	desk                 *Desk
	owner                id.Owner
	name, url, exception string
}

// Lend is the credential of an entry at an address, and at no other.
func (d *Desk) Lend(owner id.Owner, name, url, exception string) Lending {
	return Lending{d, owner, name, url, exception}
}

func (l Lending) account() *account { return l.desk.account(l.owner, l.name) }

// End says that the entry is not spoken to any more. Nothing is remembered of one
// that has no credential.
func (l Lending) End() {
	d := l.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	key := entryKey{l.owner, l.name}
	a := d.accounts[key]
	if a == nil {
		return
	}
	select {
	case a.slot <- struct{}{}:
		if !a.has {
			delete(d.accounts, key)
		}
		<-a.slot
	default: // somebody else uses it
	}
}

// NeedsOwner is the fault of a server that lets steward in only after the owner has
// signed in, with the command for that.
func (l Lending) NeedsOwner() error { return l.desk.needsOwner(l.name) }

func (d *Desk) needsOwner(name string) error {
	fix := d.ports.Fix(name)
	return fault.New(fault.Unavailable, "the server must be authorized by its owner: "+fix).
		With("reason", credential.NeedsOwner).With("fix", fix)
}

func (a *account) hold(ctx context.Context) error {
	select {
	case a.slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "the credential is being stored").Because(ctx.Err())
	}
}

func (a *account) release() {
	a.view.Lock()
	a.shown = a.now
	a.view.Unlock()
	<-a.slot
}

// load reads the credential once; the slot is held.
func (a *account) load(ctx context.Context) (err error) {
	if !a.loaded {
		a.now, a.has, err = a.desk.ports.Store.Credential(ctx, a.owner, a.name)
		a.loaded, a.stored = err == nil, a.now
	}
	return err
}

// put replaces the credential by what an owner said yes to.
func (a *account) put(ctx context.Context, c credential.Credential) error {
	if err := a.hold(ctx); err != nil {
		return err
	}
	defer a.release()
	if err := a.desk.ports.Store.PutCredential(ctx, a.owner, a.name, c); err != nil {
		return err
	}
	a.now, a.stored, a.has, a.loaded, a.forced, a.renewal = c, c, true, true, time.Time{}, nil
	return nil
}

// Token is the access token of the moment, renewed where it is due; zero where the
// entry has none. Many callers renew once, and one who waits no longer ends nothing.
// Faults: unavailable, with details.reason credential.NeedsOwner and the command that
// mends it where the issuer gives no more.
func (l Lending) Token(ctx context.Context) (secret.Secret, error) {
	token, r, err := l.account().lend(ctx, l)
	if r == nil {
		return token, err
	}
	select {
	case <-r.done:
		return r.token, r.err
	case <-ctx.Done():
		return secret.Secret{}, fault.New(fault.Unavailable, "the credential is being renewed").Because(ctx.Err())
	}
}

// lend gives the token as it is, or the renewal that must be waited for.
func (a *account) lend(ctx context.Context, l Lending) (secret.Secret, *renewal, error) {
	if err := a.hold(ctx); err != nil {
		return secret.Secret{}, nil, err
	}
	defer a.release()
	if err := a.load(ctx); err != nil {
		return secret.Secret{}, nil, err
	}
	switch {
	case !a.has || a.now.URL != l.url:
		return secret.Secret{}, nil, nil
	case a.now.Refused:
		return secret.Secret{}, nil, a.desk.needsOwner(a.name)
	case !a.now.Token.Due(a.desk.now()):
		return a.now.Token.Access, nil, nil
	case a.renewal == nil:
		r, was := &renewal{done: make(chan struct{})}, a.now
		if !a.desk.task(func() { a.renew(r, was, l.exception) }) {
			return secret.Secret{}, nil, fault.New(fault.Unavailable, "the host is stopping")
		}
		a.renewal = r
	}
	return secret.Secret{}, a.renewal, nil
}

// again is how soon a server must refuse twice for its word to be believed over the
// token's own.
const again = time.Minute

// Refused takes a server's word that a token is of no use: it is renewed before it is
// used again, and needs the owner where the new one is refused too.
func (l Lending) Refused(sent secret.Secret) {
	ctx, cancel := context.WithTimeout(l.desk.life, storing)
	defer cancel()
	a := l.account()
	if a.hold(ctx) != nil {
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
	a.loaded = a.store(ctx)
}

// TooNarrow takes a server's word that a call needs scopes that the credential does not
// have, which the owner's next sign-in asks for beside the others; nothing is asked
// again by itself. It gives what whoever called is told, nothing where no credential of
// ours was sent.
func (l Lending) TooNarrow(sent secret.Secret, scopes []string) (why string) {
	ctx, cancel := context.WithTimeout(l.desk.life, storing)
	defer cancel()
	a := l.account()
	if sent.IsZero() || a.hold(ctx) != nil {
		return ""
	}
	defer a.release()
	if !a.has || a.now.URL != l.url {
		return ""
	}
	if next, isNew := a.now.Wider(scopes); isNew && sent.Reveal() == a.now.Token.Access.Reveal() {
		a.now = next
		a.loaded = a.store(ctx)
	}
	return "the server wants more for this call than steward is let in for; the owner runs: " + l.desk.ports.Fix(l.name)
}
