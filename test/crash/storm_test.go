package crash_test

import (
	"context"
	"testing"
	"time"

	"github.com/stewardhost/steward/test/figure"
)

// killsOfOneStore is how often one store is killed before the next is made.
const killsOfOneStore = 500

// R1. Four clients work while the host is killed again and again, also while it
// starts. Whatever anybody was told must be true, and stay true, when it is over.
func TestKilledAtRandomNothingIsLostOrDoubled(t *testing.T) {
	kills := figure.Of(t, 25, 500, 10_000)
	if testing.Short() {
		kills = 5
	}
	seed := figure.Seed(t)
	for round := 0; kills > 0 && !t.Failed(); round++ {
		n := min(kills, killsOfOneStore)
		kills -= n
		storm(t, seed+uint64(round), n)
	}
}

func storm(t *testing.T, seed uint64, kills int) {
	t.Helper()
	began := time.Now()
	s := newStage(t, 4)
	chance := figure.Rand(seed, 1000)
	s.opens()
	c := begin(s, seed)
	defer c.stop()
	starting := 0
	for i := range kills {
		moment(context.Background(), time.Duration(chance.IntN(300_000))*time.Microsecond)
		if s.over() {
			t.Fatalf("the host ended by itself, %v:\n%s", s.up.ProcessState, s.lastWords())
		}
		s.kill()
		s.start()
		if i < kills-1 && chance.IntN(5) == 0 { // the next kill comes while it starts
			starting++
			continue
		}
		s.await()
		if chance.IntN(8) == 0 {
			s.classified()
		}
	}
	s.await()
	c.end(s)
	count := s.judge()
	s.stop()
	figure.Tell(t, "R1", "seed=%d kills=%d (%d while starting) %s in %s", seed, kills, starting, count, time.Since(began).Round(time.Second))
}
