package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
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

// What the last look found stands until the next one that could look, whether that is
// worse or well.
func TestDamageIsKnownFromLookToLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		var i upkeep.Inspection
		answers := [][]string{nil, {"row 3 missing"}, {"unreadable"}, nil}
		var looks atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			i.Run(ctx, func(context.Context) ([]string, error) {
				at := looks.Add(1)
				if at == 3 {
					return answers[2], errors.New("busy")
				}
				return answers[at-1], nil
			}, slog.New(slog.DiscardHandler))
		}()
		wants := func(wait time.Duration, n int64, found string) {
			t.Helper()
			<-time.After(wait)
			synctest.Wait()
			if got := strings.Join(i.Found(), ""); looks.Load() != n || got != found {
				t.Errorf("after %d looks %q is known, want %q after %d", looks.Load(), got, found, n)
			}
		}
		wants(upkeep.FirstLook-1, 0, "")
		wants(2, 1, "")
		wants(upkeep.EachDay, 2, "row 3 missing")
		wants(upkeep.EachDay, 3, "row 3 missing")
		wants(upkeep.EachDay, 4, "")
		end()
		<-done
	})
}
