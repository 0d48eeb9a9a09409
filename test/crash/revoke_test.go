package crash_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
)

// callersInRace call while their right is taken (threats, A20).
const callersInRace = 4

// A20. Once a revocation has been acknowledged, no call that is sent from then on
// is dispatched; the logs say the same of the dispatch marks.
func TestNoCallIsDispatchedAfterARevocation(t *testing.T) {
	rounds := figure.Of(t, 60, 1_000, 10_000)
	seed := figure.Seed(t)
	s := newStage(t, 1)
	s.opens()
	app, chance := s.clients[0], figure.Rand(seed, 0)
	app.sync = false
	owner := s.owner()
	defer owner.Close()
	w := warden{&worker{actor: app, chance: chance}}
	var before, after atomic.Int64
	for round := range rounds {
		var revoked atomic.Bool
		var callers sync.WaitGroup
		for c := range callersInRace {
			callers.Go(func() {
				for i, late := 0, false; !late && !t.Failed(); i++ {
					late = revoked.Load()
					nonce := fmt.Sprintf("%d-%d-%d", round, c, i)
					a, err := app.send(t.Context(), app.effect(app.newTx(), nonce, 0, 0, ""))
					if err != nil {
						t.Errorf("round %d: %v", round, err)
						return
					}
					if !late {
						before.Add(1)
						continue
					}
					after.Add(1)
					if a.Error == nil || a.Error.Code != "not_found" || a.Effects != "none" {
						t.Errorf("round %d: a call that was sent after the revocation gets %s %+v", round, a.Status, a.Error)
					}
				}
			})
		}
		moment(t.Context(), time.Duration(chance.IntN(4_000))*time.Microsecond)
		taken := w.change(t.Context(), "revoke", "revoked", func() error {
			_, err := client.Call(t.Context(), owner, adminwire.GrantsRevoke, adminwire.RevokeGrants{App: app.ID, Resource: s.oracle.Resource})
			return err
		})
		revoked.Store(true)
		callers.Wait()
		if !taken || !w.give(t.Context(), owner) {
			t.Fatalf("round %d: the right was not taken or not given back", round)
		}
		if t.Failed() {
			break
		}
	}
	count := s.judge()
	s.stop()
	figure.Tell(t, "A20", "seed=%d rounds=%d calls_before=%d calls_after=%d %s", seed, rounds, before.Load(), after.Load(), count)
}
