package lookout_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/importer/lookout"
)

// Each server is looked at alone, at first at a time of its own, then seldom, sooner
// where it failed, and not once it is switched off (threats, A48; field faults, FF28).
func TestServersAreLookedAtInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 20 * time.Second
		ctx, cancel := context.WithCancel(t.Context())
		bad := id.New[id.Adapter]()
		all := []id.Adapter{bad}
		for range 19 {
			all = append(all, id.New[id.Adapter]())
		}
		began := time.Now()
		looks := map[id.Adapter][]time.Duration{}
		inside := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			lookout.Run(ctx, lookout.Ports{
				Enabled: func(context.Context) ([]id.Adapter, error) {
					if time.Since(began) > 20*time.Hour {
						return all[:1], nil
					}
					return all, nil
				},
				Visit: func(_ context.Context, a id.Adapter) error {
					if inside++; inside > 1 {
						t.Error("two at once")
					}
					looks[a] = append(looks[a], time.Since(began))
					<-time.After(takes)
					if inside--; a == bad {
						return errors.New("it is down")
					}
					return nil
				},
			}, slog.New(slog.DiscardHandler))
		}()
		<-time.After(48 * time.Hour)
		cancel()
		<-ended
		between := func(what string, got, least, most time.Duration) {
			t.Helper()
			// A look waits for a round, and for those before it.
			if slack := 30*time.Second + time.Duration(len(all))*takes; got < least || got > most+slack {
				t.Errorf("%s after %v, not within %v and %v", what, got, least, most)
			}
		}
		firsts := map[time.Duration]bool{}
		for _, a := range all {
			at := looks[a]
			between("the first look", at[0], bound.FirstLookLeast.Duration(), bound.FirstLookMost.Duration())
			firsts[at[0].Truncate(time.Minute)] = true
			pause, count := bound.LookEvery.Duration(), 4
			if a == bad {
				pause, count = bound.LookAgain.Duration(), 170
			}
			if len(at) > 2*count || len(at) < count/2 {
				t.Errorf("%d looks", len(at))
			}
			for i := 1; i < len(at); i++ {
				between("another look", at[i]-at[i-1], pause-pause/10, pause+pause/10+takes)
			}
			if last := at[len(at)-1]; a != bad && last > 20*time.Hour+time.Minute {
				t.Errorf("looked at after %v, and switched off", last)
			}
		}
		if len(firsts) < 4 {
			t.Errorf("all first looks are within %d minutes", len(firsts))
		}
	})
}
