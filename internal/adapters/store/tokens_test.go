package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
)

func freshHash() secret.Hash {
	hash, _ := secret.HashToken(secret.Access, secret.NewToken(secret.Access))
	return hash
}

// wantToken fails unless the token is found, or is not.
func (p *pool) wantToken(t testing.TB, hash secret.Hash, want bool) {
	t.Helper()
	if _, found, err := p.FindToken(t.Context(), hash); err != nil || found != want {
		t.Fatalf("found %v, want %v: %v", found, want, err)
	}
}

func (p *pool) appOf(t testing.TB, name string, hash secret.Hash, until time.Time) id.Client {
	t.Helper()
	app := view.NewApp{Client: id.New[id.Client](), Name: name, Tokens: []view.NewToken{{Hash: hash, Audience: authority.ForMCP, ExpiresAt: until}}}
	must(t, p.AddApp(t.Context(), p.owner, app))
	return app.Client
}

func TestATokenThatWasUsedEndsAtOnce(t *testing.T) {
	p := newPool(t)
	hash := freshHash()
	p.wantToken(t, hash, false)
	app := p.appOf(t, "editor", hash, time.Time{})
	p.wantToken(t, hash, true)
	before := p.Stats().ReadStatements
	p.wantToken(t, hash, true)
	if after := p.Stats().ReadStatements; after != before {
		t.Errorf("a known token took %d statements", after-before)
	}
	must(t, p.Disconnect(t.Context(), p.owner, app))
	p.wantToken(t, hash, false)
}

func TestATokenThatWasUsedExpires(t *testing.T) {
	p := newPool(t)
	hash := freshHash()
	p.appOf(t, "editor", hash, p.clock.now().Add(time.Minute))
	p.wantToken(t, hash, true)
	p.clock.step(time.Minute - time.Millisecond)
	p.wantToken(t, hash, true)
	p.clock.step(time.Millisecond)
	p.wantToken(t, hash, false)
}

// Whatever looks a token up meanwhile, it is not found once the disconnection has
// returned.
func TestNoLookUpBringsAnEndedTokenBack(t *testing.T) {
	p := newPool(t)
	for range 40 {
		hash := freshHash()
		app := p.appOf(t, "editor", hash, time.Time{})
		over := make(chan struct{})
		var crowd sync.WaitGroup
		for range 3 {
			crowd.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					if _, _, err := p.FindToken(t.Context(), hash); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		must(t, p.Disconnect(t.Context(), p.owner, app))
		for range 20 {
			p.wantToken(t, hash, false)
		}
		close(over)
		crowd.Wait()
		p.wantToken(t, hash, false)
	}
}
