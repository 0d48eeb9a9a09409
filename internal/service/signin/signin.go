// Package signin has the owner let steward into remote servers that others guard,
// and keeps steward let in: it begins the owner's sign-in with a link, keeps the
// credential that comes of it, and renews that ahead of its end (pool page,
// section 7; field faults, F).
//
// A credential is for one entry at one address and from one issuer. Only Begin, which
// an owner asks for, makes another; nothing that a server says changes it (threats,
// A53). No flow runs inside a call: a call has a credential, or needs the owner.
//
// One lock guards the flows, and one for each entry its credential. Flows and renewals
// belong to the Desk and end with Close. A Desk is safe for concurrent use.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/credential"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Issuers are the authorization servers of others.
type Issuers interface {
	Discover(ctx context.Context, address string) (credential.Server, error)
	Register(ctx context.Context, s credential.Server, redirect string) (credential.Registration, error)
	Known(s credential.Server, client string, proof secret.Secret) credential.Registration
	Request(s credential.Server, r credential.Registration, redirect, state, challenge string) (string, error)
	Exchange(ctx context.Context, s credential.Server, r credential.Registration, code, verifier, redirect string, now time.Time) (credential.Token, error)
	Refresh(ctx context.Context, k credential.Credential, now time.Time) (credential.Token, error)
	// Dead reports whether an error says that a grant is of no use any more.
	Dead(err error) bool
}

// Browser waits for the owner's browser to come back.
type Browser interface {
	Redirect() string
	Answer() <-chan credential.Callback
	Close()
}

// Store keeps credentials, sealed, by owner and name of the entry.
type Store interface {
	Credential(ctx context.Context, owner id.Owner, name string) (credential.Credential, bool, error)
	PutCredential(ctx context.Context, owner id.Owner, name string, c credential.Credential) error
	// ReplaceCredential stores what came of a credential in its place, and is NotFound
	// where that is not there any more.
	ReplaceCredential(ctx context.Context, owner id.Owner, name string, was, now credential.Credential) error
}

// Ports are what a Desk needs; all are required.
type Ports struct {
	Store   Store
	Issuers func(exception string) (Issuers, error)                  // that may reach what an entry may
	Listen  func(ctx context.Context, state string) (Browser, error) // for the answer to a state
	Fix     func(name string) string                                 // the command by which an owner signs in
	Log     *slog.Logger
}

// Desk keeps flows and credentials.
type Desk struct {
	ports Ports
	now   func() time.Time
	life  context.Context
	end   context.CancelFunc
	work  sync.WaitGroup

	mu       sync.Mutex
	flows    map[entryKey]*flow // the newest of each entry
	accounts map[entryKey]*account
}

// entryKey names an imported entry, or one that is to be imported.
type entryKey struct {
	owner id.Owner
	name  string
}

// flow is one sign-in under way.
type flow struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error     // written before done is closed, as the next
	ended  time.Time // when it was
}

// told is how long what came of a flow is kept for who asks.
const told = time.Minute

// isOver reports whether a flow has ended, and so long ago that nobody asks.
func (f *flow) isOver(now time.Time) (over, long bool) {
	select {
	case <-f.done:
		return true, now.Sub(f.ended) > told
	default:
		return false, false
	}
}

// New returns a desk.
func New(p Ports) *Desk {
	d := &Desk{ports: p, now: time.Now, flows: map[entryKey]*flow{}, accounts: map[entryKey]*account{}}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// Close ends every flow and waits for them, and a moment for renewals.
func (d *Desk) Close() {
	d.mu.Lock()
	d.end()
	d.mu.Unlock()
	d.work.Wait()
}

// task runs work that Close waits for; false once the desk is closed.
func (d *Desk) task(work func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		return false
	}
	d.work.Go(work)
	return true
}

// open counts the flows that are under way, and drops those that ended long ago; the
// lock is held.
func (d *Desk) open() (n int) {
	now := d.now()
	for key, f := range d.flows {
		over, long := f.isOver(now)
		if !over {
			n++
		}
		if long {
			delete(d.flows, key)
		}
	}
	return n
}

// Ask says where an owner wants to sign in, and as which client, if not one that
// steward becomes by itself.
type Ask struct {
	Owner                id.Owner
	Name, URL, Exception string
	Client               string
	Secret               secret.Secret
	Scopes               []string // beside those that the server names
}

// Link is where an owner signs in. Former is the issuer of the credential that is
// there, where another guards the server now.
type Link struct {
	URL, Issuer, Former string
	Scopes              []string
	Until               time.Time
}

// Begin finds out who guards an address and gives the link at which the owner says
// yes. A flow of the same entry that is under way ends. Faults: those of Issuers.
func (d *Desk) Begin(ctx context.Context, a Ask) (Link, error) {
	issuers, err := d.ports.Issuers(a.Exception)
	if err != nil {
		return Link{}, err
	}
	server, err := issuers.Discover(ctx, a.URL)
	if err != nil {
		return Link{}, err
	}
	before, found, err := d.ports.Store.Credential(ctx, a.Owner, a.Name)
	if err != nil {
		return Link{}, err
	}
	if found && before.URL == a.URL {
		server.Scopes = before.Asked(server)
	}
	server.Scopes = credential.Union(server.Scopes, a.Scopes)
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	browser, err := d.ports.Listen(ctx, state)
	if err != nil {
		return Link{}, err
	}
	var client credential.Registration
	if a.Client != "" {
		client = issuers.Known(server, a.Client, a.Secret)
	} else if client, err = issuers.Register(ctx, server, browser.Redirect()); err != nil {
		browser.Close()
		return Link{}, err
	}
	sum := sha256.Sum256([]byte(verifier))
	link := Link{Issuer: server.Issuer, Scopes: server.Scopes, Until: d.now().Add(bound.SignIn.Duration())}
	link.URL, err = issuers.Request(server, client, browser.Redirect(), state, base64.RawURLEncoding.EncodeToString(sum[:]))
	if err != nil {
		browser.Close()
		return Link{}, err
	}
	if found && before.URL == a.URL && !before.Server.Stands(server) {
		link.Former = before.Server.Issuer
	}
	return link, d.run(a, func(ctx context.Context) error {
		defer browser.Close()
		var back credential.Callback
		select {
		case back = <-browser.Answer():
		case <-ctx.Done():
			return fault.New(fault.Unavailable, "nobody signed in in time")
		}
		code, err := server.Code(back, state)
		if err != nil {
			return err
		}
		token, err := issuers.Exchange(ctx, server, client, code, verifier, browser.Redirect(), d.now())
		if err != nil {
			return err
		}
		c := credential.Credential{URL: a.URL, Server: server, Registration: client, Token: token}
		return d.account(a.Owner, a.Name).put(ctx, c)
	}, browser)
}

// run makes a flow the newest of its entry and lets it go on by itself.
func (d *Desk) run(a Ask, work func(context.Context) error, browser Browser) error {
	key := entryKey{a.Owner, a.Name}
	ctx, cancel := context.WithTimeout(d.life, bound.SignIn.Duration())
	f := &flow{cancel: cancel, done: make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	others := d.open()
	old := d.flows[key]
	if old != nil {
		if over, _ := old.isOver(d.now()); !over {
			others-- // it ends now
		}
	}
	if bound.SignIns.Check(others+1) != nil || d.life.Err() != nil {
		cancel()
		browser.Close()
		return bound.SignIns.Exceeded()
	}
	if old != nil {
		old.cancel()
	}
	d.flows[key] = f
	d.work.Go(func() {
		defer cancel()
		if f.err = work(ctx); f.err != nil {
			d.ports.Log.Warn("an owner's sign-in failed", "name", a.Name, "err", f.err)
		}
		f.ended = d.now()
		close(f.done)
	})
	return nil
}

// Wait returns when the newest flow of an entry has ended, with its fault.
func (d *Desk) Wait(ctx context.Context, owner id.Owner, name string) error {
	key := entryKey{owner, name}
	d.mu.Lock()
	f := d.flows[key]
	d.mu.Unlock()
	if f == nil {
		return fault.New(fault.NotFound, "no sign-in is under way for it")
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "nobody has signed in yet").Because(ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flows[key] == f {
		delete(d.flows, key)
	}
	return f.err
}
