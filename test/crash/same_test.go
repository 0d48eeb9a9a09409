package crash_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/figure"
)

// sendersOfOneTx is how many send one tx at once (threats, A22).
const sendersOfOneTx = 100

// R8. However often one tx is sent at once, it has one effect and one outcome.
func TestOneTxManyTimesAtOnceHasOneEffect(t *testing.T) {
	rounds := figure.Of(t, 20, 200, 5_000)
	seed := figure.Seed(t)
	s := newStage(t, 1)
	s.opens()
	app, chance := s.clients[0], figure.Rand(seed, 0)
	app.sync = false
	waited := 0
	for round := range rounds {
		tx := app.newTx()
		q := app.effect(tx, "nonce "+tx, time.Duration(chance.IntN(6))*time.Millisecond, 0, "")
		if round%4 == 3 {
			q = app.put(tx, "key "+tx, "value", "")
		}
		answers := make([]*rpcwire.Response, sendersOfOneTx)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				got, err := app.send(t.Context(), q)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				answers[i] = got
			})
		}
		all.Wait()
		waited += oneOutcome(t, round, answers)
		if n := s.seen()[q.nonce]; q.nonce != "" && n != 1 {
			t.Errorf("round %d: %d effects", round, n)
		}
		if t.Failed() {
			break
		}
	}
	count := s.judge()
	s.stop()
	figure.Tell(t, "R8", "seed=%d rounds=%d senders=%d in_progress=%d %s", seed, rounds, sendersOfOneTx, waited, count)
}

// oneOutcome wants equal answers, exactly one of them not replayed, and counts
// those that were told to wait.
func oneOutcome(t *testing.T, round int, answers []*rpcwire.Response) (waited int) {
	t.Helper()
	var first *rpcwire.Response
	fresh := 0
	for _, a := range answers {
		if a == nil {
			return 0
		}
		if a.Error != nil && a.Error.Code == "tx_in_progress" {
			waited++
			continue
		}
		if !a.Replayed {
			fresh++
		}
		b := *a
		b.Replayed = true
		if first == nil {
			first = &b
		}
		if diff := cmp.Diff(*first, b); diff != "" || b.Status != rpcwire.OK {
			t.Errorf("round %d: the answers are not one: %s %s", round, b.Status, diff)
		}
	}
	if fresh != 1 {
		t.Errorf("round %d: %d answers say that this send was executed", round, fresh)
	}
	return waited
}

// FF103. What two apps send under one tx are two calls, and neither learns of
// the other's; other arguments under it are refused; what is recorded is not
// given out once the right is gone.
func TestOneTxOfTwoAppsIsTwoCalls(t *testing.T) {
	s := newStage(t, 2)
	s.opens()
	tx := s.clients[0].newTx()
	answers := make([]*rpcwire.Response, 2)
	var both sync.WaitGroup
	for i, app := range s.clients {
		both.Go(func() {
			got, err := app.send(t.Context(), app.effect(tx, fmt.Sprint("of ", i), 0, 0, ""))
			if err != nil {
				t.Error(err)
				return
			}
			answers[i] = got
		})
	}
	both.Wait()
	for i, app := range s.clients {
		want := fmt.Sprintf(`{"content":[{"type":"text","text":"done of %d"}],"isError":false,"validated":false}`, i)
		if a := answers[i]; a == nil || a.Status != rpcwire.OK || string(a.Result) != want || a.Replayed {
			t.Errorf("app %d is told %+v", i, a)
		}
		other := app.effect(tx, fmt.Sprint("of ", 1-i), 0, 0, "")
		other.never = true
		if a, err := app.send(t.Context(), other); err != nil || a.Error == nil || a.Error.Code != "tx_mismatch" {
			t.Errorf("the other's arguments: %+v %v", a, err)
		}
	}
	owner := s.owner()
	defer owner.Close()
	if _, err := client.Call(t.Context(), owner, adminwire.GrantsRevoke, adminwire.RevokeGrants{App: "app0", Resource: "oracle"}); err != nil {
		t.Fatal(err)
	}
	gone, err := s.clients[0].send(t.Context(), s.clients[0].effect(tx, "of 0", 0, 0, ""))
	if err != nil || gone.Result != nil || gone.Error == nil || gone.Error.Code != "not_found" {
		t.Errorf("without the right: %+v %v", gone, err)
	}
	if diff := cmp.Diff(map[string]int{"of 0": 1, "of 1": 1}, s.seen()); diff != "" {
		t.Error(diff)
	}
	s.stop()
}
