package mcpupstream

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// FF21, FF28, FF30: an upstream that was asked for once comes back by itself, after
// growing pauses, and seldom where it fails again and again; one that nobody asked
// for is not started.
func TestAnUpstreamIsKeptOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Time
		var up atomic.Bool
		r := onPipes(t, script{initialize: func(u *upstream, m request) int {
			began = append(began, time.Now())
			if up.Load() {
				return u.result(m, greetingJSON)
			}
			return 4
		}, every: func(*upstream, request) int { return 3 }})
		r.KeepOpen()
		<-time.After(time.Hour)
		if r.starts() != 0 {
			t.Fatalf("%d starts before anybody asked", r.starts())
		}
		r.Open(t.Context())
		<-time.After(25 * time.Minute)
		synctest.Wait()
		var pauses []time.Duration
		for i, at := range began[1:] {
			pauses = append(pauses, at.Sub(began[i]))
		}
		const s = time.Second
		want := []time.Duration{s / 2, s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s, 300 * s, 300 * s, 300 * s, 300 * s}
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
		if got := r.Status(); got.State != view.ConnectionFailed || got.Reason != "the upstream is not running: exit code 4: last words" {
			t.Errorf("while it is down: %+v", got)
		}

		up.Store(true)
		<-time.After(bound.RelistEvery.Duration())
		synctest.Wait()
		if !r.Ready() {
			t.Fatal("it did not come back by itself")
		}
		if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Broken {
			t.Errorf("event %+v", got)
		}
		<-time.After(firstPause)
		synctest.Wait()
		if !r.Ready() {
			t.Error("it did not come back after a call that ended it")
		}
		r.Close()
		if n := r.starts(); n != len(began) {
			t.Errorf("%d starts", n)
		}
	})
}

// floods are upstreams that answer a call and never stop to say what nobody asked.
var floods = map[string]string{
	"strays":        `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n",
	"noise":         "working\n",
	"notifications": `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n",
	"questions":     `{"jsonrpc":"2.0","id":"q","method":"ping"}` + "\n",
	"large strays":  `{"jsonrpc":"2.0","id":99,"result":"` + strings.Repeat("x", 100<<10) + `"}` + "\n",
	"long lines":    strings.Repeat("x", 2<<20) + "\n",
}

// An upstream that never stops talking is cut off, whatever it says, and its
// neighbour is not: what may come at once, and each second, has a bound.
func TestAnUpstreamThatNeverStopsTalkingIsCutOff(t *testing.T) {
	for name, line := range floods {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := 0
				r := onPipes(t, script{every: func(u *upstream, m request) int {
					u.result(m, okJSON)
					go io.Copy(io.Discard, u.in)
					for {
						if _, err := io.WriteString(u.out, line); err != nil {
							return 0
						}
						said += 1 + len(line)/(4<<10)
					}
				}})
				if err := r.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Answered {
					t.Errorf("event %+v", got)
				}
				synctest.Wait()
				want := "the upstream is not running: the upstream says more than it is asked for: upstream_chatter_each_second is limited to 1000: last words"
				if got := r.Status(); got.State != view.ConnectionFailed || got.Reason != want {
					t.Errorf("status %+v", got)
				}
				r.Close()
				if most := 10 * bound.UpstreamChatter.Int(); said < most || said > most+2000 {
					t.Errorf("it was cut off after %d", said)
				}
			})
		})
	}
}

func TestAnUpstreamMayTalkWithinItsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{every: func(u *upstream, m request) int {
			for range 60 {
				for range bound.UpstreamChatter.Int() {
					u.say("working\n")
				}
				<-time.After(time.Second)
			}
			return u.result(m, okJSON)
		}})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Call(t.Context(), "tool", nil, nil)
		<-time.After(time.Minute)
		if !r.Ready() {
			t.Errorf("status %+v", r.Status())
		}
		r.Close()
	})
}

// A visit looks at what an upstream offers and ends it, says how that went, and is none
// once somebody has asked; who asks during one keeps what it began (threats, A48; field
// faults, FF28).
func TestAVisitEndsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, looked, ended := true, 0, make(chan struct{}, 8)
		r := onPipes(t, script{initialize: func(u *upstream, m request) int {
			<-time.After(time.Second)
			if up {
				return u.result(m, greetingJSON)
			}
			return 4
		}, list: func(u *upstream, m request) int {
			return u.result(m, `{"tools":[]}`)
		}, ended: func() { ended <- struct{}{} }})
		r.KeepOpen()
		r.OnOpened(func(context.Context, Listing) error { looked++; return nil })
		for range 2 {
			if err := r.Visit(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour) // it is not opened again by itself
			if len(ended) != 1 {
				t.Fatal("it was not ended")
			}
			<-ended
		}
		if got := r.Status(); looked != 2 || r.starts() != 2 || got.State != view.ConnectionIdle || got.Restarts != 0 || r.Ready() {
			t.Errorf("%d looks, %d starts, %+v", looked, r.starts(), got)
		}

		up = false
		if err := r.Visit(t.Context()); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
		<-time.After(time.Hour)
		if got := r.Status(); got.State != view.ConnectionFailed || !strings.Contains(got.Reason, "exit code 4") || r.starts() != 3 {
			t.Errorf("%d starts, %+v", r.starts(), got)
		}

		up = true
		visited := make(chan error, 1)
		go func() { visited <- r.Visit(t.Context()) }()
		synctest.Wait()
		if err := r.Open(t.Context()); err != nil || <-visited != nil {
			t.Error(err)
		}
		if err := r.Visit(t.Context()); err != nil || !r.Ready() || r.starts() != 4 || r.Status().Restarts != 0 {
			t.Errorf("%v, %d starts, %+v", err, r.starts(), r.Status())
		}
	})
}
