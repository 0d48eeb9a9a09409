// Package owner holds the commands that the owner of a pool gives: which apps
// there are, what is approved, what is granted and confirmed, and what the
// journal says (pool page, sections 3, 6 and 8). Each resolves the names that a
// person uses, mints the ids that a change needs and calls one verb of the
// store, in whose transaction the change is decided.
//
// Every command is inside the owner that its caller names; what another owner
// has is not found. Faults are those of the store's decisions, and
// invalid_request for a name or an id of the wrong form. The package keeps
// nothing; it is safe for concurrent use.
package owner

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// AppStore keeps apps and the hashes of their tokens.
type AppStore interface {
	AddApp(ctx context.Context, owner id.Owner, app view.NewApp) error
	Apps(ctx context.Context, owner id.Owner) ([]view.App, error)
	App(ctx context.Context, owner id.Owner, ref string) (view.App, error)
	RotateTokens(ctx context.Context, owner id.Owner, client id.Client, tokens []view.NewToken) error
	Disconnect(ctx context.Context, owner id.Owner, client id.Client) error
}

// Apps are the applications that may call.
type Apps struct{ store AppStore }

// NewApps returns the commands about apps.
func NewApps(store AppStore) *Apps { return &Apps{store} }

// Added is an app with one new token for each door. The store has only their
// hashes; nobody can tell them again.
type Added struct {
	Client id.Client
	Name   string
	RPC    secret.Secret
	MCP    secret.Secret
}

// Add makes an app that holds nothing yet. Its tokens end at expires, or never
// if that is zero. A name is a label.
func (a *Apps) Add(ctx context.Context, owner id.Owner, name string, expires time.Time) (Added, error) {
	if err := resource.CheckLabel(name); err != nil {
		return Added{}, err
	}
	out, tokens, err := minted(id.New[id.Client](), name, expires)
	if err != nil {
		return Added{}, err
	}
	if err := a.store.AddApp(ctx, owner, view.NewApp{Client: out.Client, Name: name, Tokens: tokens}); err != nil {
		return Added{}, err
	}
	return out, nil
}

// Rotate gives an app new tokens and ends all that it had. Its grants stay as they
// are. The new ones end at expires, or never if that is zero.
func (a *Apps) Rotate(ctx context.Context, owner id.Owner, ref string, expires time.Time) (Added, error) {
	app, err := a.store.App(ctx, owner, ref)
	if err != nil {
		return Added{}, unknown(err, anApp, ref, listApps)
	}
	out, tokens, err := minted(app.Client, app.Name, expires)
	if err != nil {
		return Added{}, err
	}
	if err := a.store.RotateTokens(ctx, owner, app.Client, tokens); err != nil {
		return Added{}, err
	}
	return out, nil
}

// minted makes a token for each door, and what the store is to keep of them.
func minted(client id.Client, name string, expires time.Time) (Added, []view.NewToken, error) {
	if !expires.IsZero() && !expires.After(time.Now()) {
		return Added{}, nil, fault.New(fault.InvalidRequest, "the expiry is in the past")
	}
	out := Added{Client: client, Name: name, RPC: secret.NewToken(secret.Access), MCP: secret.NewToken(secret.Access)}
	return out, []view.NewToken{stored(out.RPC, authority.ForRPC, expires), stored(out.MCP, authority.ForMCP, expires)}, nil
}

func stored(token secret.Secret, audience authority.Audience, expires time.Time) view.NewToken {
	hash, _ := secret.HashToken(secret.Access, token) // a minted token has the form
	return view.NewToken{Hash: hash, Audience: audience, ExpiresAt: expires}
}

// List tells of all apps, disconnected ones too.
func (a *Apps) List(ctx context.Context, owner id.Owner) ([]view.App, error) {
	return a.store.Apps(ctx, owner)
}

// Disconnect takes everything from an app at once and for good: its tokens, its
// grants, its assignments and its open questions.
func (a *Apps) Disconnect(ctx context.Context, owner id.Owner, ref string) error {
	app, err := a.store.App(ctx, owner, ref)
	if err != nil {
		return unknown(err, anApp, ref, listApps)
	}
	return a.store.Disconnect(ctx, owner, app.Client)
}
