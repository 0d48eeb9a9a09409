package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
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
	good := func(want int) {
		t.Helper()
		if app, err := p.App(t.Context(), p.owner, "editor"); err != nil || app.Tokens != want {
			t.Errorf("the owner is told of %d tokens, want %d: %v", app.Tokens, want, err)
		}
	}
	p.clock.step(time.Minute - time.Millisecond)
	p.wantToken(t, hash, true)
	good(1)
	p.clock.step(time.Millisecond)
	p.wantToken(t, hash, false)
	good(0)
}

// New tokens take the place of all that an app had, in one step, and change nothing
// else: not its grants, not another app, not one that is gone (pool page, section 2).
func TestNewTokensTakeThePlaceOfTheOld(t *testing.T) {
	n := newNotes(t)
	other, gone := n.pool.app(t, n.owner, "other"), n.pool.app(t, n.owner, "gone")
	must(t, n.Disconnect(t.Context(), n.owner, gone.Client))
	fresh, old := freshHash(), n.app
	rotate := func(owner id.Owner, client id.Client, hash secret.Hash) error {
		return n.RotateTokens(t.Context(), owner, client, []view.NewToken{{Hash: hash, Audience: authority.ForRPC}})
	}
	stranger, _ := n.newOwner(t, "somebody else")
	for what, try := range map[fault.Code]error{
		fault.NotFound:       rotate(stranger, old.Client, freshHash()),
		fault.InvalidRequest: rotate(n.owner, n.hand.Client, freshHash()),
		fault.Conflict:       rotate(n.owner, gone.Client, freshHash()),
	} {
		wantFault(t, try, what)
	}
	n.wantToken(t, old.Token, true)
	_, err := n.raw(t).Exec("CREATE TRIGGER full BEFORE INSERT ON tokens BEGIN SELECT RAISE(FAIL, 'no more'); END")
	must(t, err)
	if rotate(n.owner, old.Client, fresh) == nil {
		t.Fatal("tokens were added to a full table")
	}
	n.wantToken(t, old.Token, true) // no moment has neither
	_, err = n.raw(t).Exec("DROP TRIGGER full")
	must(t, err)

	told := 0
	n.OnChange(func(owner id.Owner, client id.Client) {
		if owner == n.owner && client == old.Client {
			told++
		}
	})
	must(t, rotate(n.owner, old.Client, fresh))
	n.wantToken(t, old.Token, false)
	n.wantToken(t, fresh, true)
	n.wantToken(t, other.Token, true)
	if told != 1 {
		t.Errorf("what the app has open was told of it %d times", told)
	}
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.Unauthenticated)
	n.app.Token = fresh
	n.dispatch(t, n.call(t, n.tx(), `{}`))
	rows := 0
	must(t, n.raw(t).QueryRow("SELECT COUNT(*) FROM audit WHERE kind = 'app_rotated' AND subject = ?", old.Client.String()).Scan(&rows))
	if rows != 1 {
		t.Errorf("%d rows of the trail say so", rows)
	}
	n.holds(t)
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
