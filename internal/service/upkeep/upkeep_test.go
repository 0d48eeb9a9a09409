package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/service/upkeep"
)

// It goes on after a failure, and returns only when its last sweep has.
func TestItSweepsUntilItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		sweeps, over := 0, false
		done := make(chan struct{})
		go func() {
			defer close(done)
			upkeep.Run(ctx, func(ctx context.Context) (view.Swept, error) {
				if sweeps++; sweeps == 3 {
					<-ctx.Done()
					<-time.After(time.Second) // of the fake clock
					over = true
					return view.Swept{}, ctx.Err()
				}
				return view.Swept{Results: 1}, errors.New("no room")
			}, slog.New(slog.DiscardHandler))
		}()
		<-time.After(3*upkeep.Every + time.Second)
		synctest.Wait()
		end()
		<-done
		if sweeps != 3 || !over {
			t.Errorf("%d sweeps, over %v", sweeps, over)
		}
	})
}
