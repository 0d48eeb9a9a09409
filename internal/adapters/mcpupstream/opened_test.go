package mcpupstream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Whoever looks at what is offered has done so before a session takes a call,
// and the one who asked for the start gets that very listing.
func TestASessionIsLookedAtBeforeItTakesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{})
		seen := make(chan Listing, 2)
		release := make(chan struct{})
		r.OnOpened(func(_ context.Context, l Listing) error {
			seen <- l
			<-release
			return nil
		})
		listed := make(chan Listing)
		go func() {
			l, err := r.List(t.Context())
			if err != nil {
				t.Error(err)
			}
			listed <- l
		}()
		var looked Listing
		select {
		case looked = <-seen:
		case <-time.After(bound.StartDeadline.Duration()):
			t.Error("nobody looked")
		}
		synctest.Wait()
		if r.Ready() || r.Call(t.Context(), "tool", nil, nil).Kind != invocation.Unreached {
			t.Error("a session takes calls while its tools are looked at")
		}
		close(release)
		if diff := cmp.Diff(looked, <-listed); diff != "" {
			t.Error(diff)
		}
		if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Answered {
			t.Errorf("event %+v", got)
		}
		if n := r.count("tools/list"); n != 1 {
			t.Errorf("%d listings, want 1", n)
		}
		if _, err := r.List(t.Context()); err != nil || r.count("tools/list") != 2 {
			t.Errorf("%v; a later listing is a new one: %d", err, r.count("tools/list"))
		}
	})
}

// A session that cannot be listed, or whose listing could not be merged, is no
// session.
func TestASessionThatCannotBeLookedAtIsNotReady(t *testing.T) {
	for name, tc := range map[string]struct {
		script script
		look   func(context.Context, Listing) error
	}{
		"no listing":   {script{list: func(u *upstream, m request) int { return u.error(m, `{"code":-32603,"message":"no"}`) }}, func(context.Context, Listing) error { return nil }},
		"never lists":  {script{list: func(*upstream, request) int { return goOn }}, func(context.Context, Listing) error { return nil }},
		"exits":        {script{list: func(*upstream, request) int { return 3 }}, func(context.Context, Listing) error { return nil }},
		"not recorded": {script{}, func(context.Context, Listing) error { return errors.New("no room") }},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := onPipes(t, tc.script)
			r.OnOpened(tc.look)
			began := time.Now()
			err := r.Open(t.Context())
			if !fault.Is(err, fault.Unavailable) || r.Ready() || time.Since(began) > bound.StartDeadline.Duration() {
				t.Errorf("%s: %v, ready %v after %v", name, err, r.Ready(), time.Since(began))
			}
			if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Unreached || r.count("tools/call") != 0 {
				t.Errorf("%s: event %+v, %d calls", name, got, r.count("tools/call"))
			}
		})
	}
}

// An upstream that never says that its tools changed is looked at all the same.
func TestALivingSessionIsListedAgainInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{})
		var told atomic.Int64
		r.OnChanged(func() { told.Add(1) })
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		for want := range int64(3) {
			synctest.Wait()
			if n := told.Load(); n != want {
				t.Errorf("told %d times, want %d", n, want)
			}
			<-time.After(bound.RelistEvery.Duration() + bound.RelistPause.Duration())
		}
		r.Close()
	})
}
