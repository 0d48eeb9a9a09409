package workbench_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/workbench"
)

// shop is what is around a workbench, with one capsule.
type shop struct {
	*workbench.Workbench
	adapter   id.Adapter
	principal topic.Principal
	source    topic.Source

	mu      sync.Mutex
	life    int64
	time    time.Duration // for a call
	starts  bool          // it takes nothing yet
	bus     error
	until   time.Time // of the last call
	lost    error     // of a message that may have gone out
	merge   error
	asked   []string
	calls   chan tool.Question
	offered [][]tool.Definition
	dropped []string
}

func open(t *testing.T) *shop {
	t.Helper()
	s := &shop{adapter: id.New[id.Adapter](), principal: topic.PrincipalOf(id.New[id.Owner]()), source: topic.SourceOf("t", "a", ""), life: 1, time: bound.CallDeadline.Duration(), calls: make(chan tool.Question, 1000)}
	s.Workbench = workbench.New(workbench.Ports{
		Life: func(p topic.Principal, c topic.Source) (int64, bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.life, s.life != 0 && !s.starts
		},
		CallTime: func(topic.Source) time.Duration { return s.time },
		AskTools: func(q tool.Question, _ time.Time) error {
			s.note("tools")
			if s.bus == nil {
				go s.Answered(tool.Answer{Principal: s.principal, Source: s.source, ID: q.ID, Tools: []tool.Definition{{Name: "add"}}})
			}
			return s.bus
		},
		Execute: func(q tool.Question, name string, args []byte, deadline time.Time) (bool, error) {
			if life := s.looked(); q.Life != life {
				t.Errorf("a call for life %d, and %d was looked at", q.Life, life)
			}
			s.until = deadline
			s.note(name + " " + string(args))
			if s.bus != nil {
				return false, s.bus
			}
			s.calls <- q
			return true, s.lost
		},
		Cancel: func(topic.Principal, string) error { s.note("cancel"); return nil },
		Merge: func(_ context.Context, a id.Adapter, l []tool.Definition) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.offered = append(s.offered, l)
			return s.merge
		},
		Dropped: func(_ tool.Answer, why describe.Reason, n int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.dropped = append(s.dropped, string(why))
		},
	})
	t.Cleanup(s.Close)
	s.Place(s.adapter, s.principal, s.source, true)
	return s
}

func (s *shop) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
}

func (s *shop) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// looked is the life of the capsule.
func (s *shop) looked() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

func (s *shop) lives(life int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
}

// opened is a bench that has looked at its capsule.
func opened(t *testing.T) (*shop, *workbench.Bench) {
	t.Helper()
	s := open(t)
	b := s.bench(t)
	if err := b.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, b
}

func (s *shop) bench(t *testing.T) *workbench.Bench {
	t.Helper()
	b, ok := s.Bench(s.adapter)
	if !ok {
		t.Fatal("no bench")
	}
	return b
}

func (s *shop) good(q tool.Question) tool.Answer {
	return tool.Answer{Principal: s.principal, Source: s.source, ID: q.ID, Result: []byte(`{"content":[]}`)}
}

// A call goes out only to what was looked at: each life of the capsule is asked
// what it offers first, and so is one that was not asked for a while.
func TestNoCallBeforeTheToolsAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		b := s.bench(t)
		if ev := b.Call(t.Context(), "add", nil, nil); b.Ready() || ev.Kind != invocation.Unreached {
			t.Errorf("a call before the first look is %s", ev.Kind)
		}
		looks := 0
		for _, change := range []func(){func() {}, func() { s.lives(2) }, func() { <-time.After(bound.RelistEvery.Duration()) }} {
			change()
			if b.Ready() {
				t.Error("it is ready without a look")
			}
			if err := b.Open(t.Context()); err != nil || !b.Ready() {
				t.Errorf("it does not open: %v", err)
			}
			if err := b.Open(t.Context()); err != nil { // for nothing
				t.Error(err)
			}
			if looks++; len(s.offered) != looks {
				t.Errorf("%d looks, want %d", len(s.offered), looks)
			}
		}
		s.merge = errors.New("the disk is full")
		s.lives(3)
		if err := b.Open(t.Context()); !fault.Is(err, fault.Unavailable) || b.Ready() || b.Trouble() == nil {
			t.Errorf("what was not merged is ready: %v", err)
		}
		s.merge = nil
		s.Joined(s.principal)
		synctest.Wait()
		if !b.Ready() || b.Trouble() != nil {
			t.Error("a capsule that joined was not looked at")
		}
		s.Place(s.adapter, s.principal, s.source, false) // a build without tools
		if err := s.bench(t).Open(t.Context()); err != nil || len(s.offered[len(s.offered)-1]) != 0 {
			t.Errorf("what it offered is not gone: %v", err)
		}
		s.lives(0)
		if err := s.bench(t).Open(t.Context()); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a capsule that does not run: %v", err)
		}
	})
}

// Each way in which a call can end, and that it was sent at most once.
func TestACallEndsAsWhatHappened(t *testing.T) {
	for name, c := range map[string]struct {
		setup func(s *shop)
		after func(s *shop, q tool.Question, cancel func()) // once it was sent; nil if it is not
		want  invocation.EventKind
		last  string // what went out last
	}{
		"answered": {nil, func(s *shop, q tool.Question, _ func()) { s.Answered(s.good(q)) }, invocation.Answered, `add {"n":1}`},
		"failed": {nil, func(s *shop, q tool.Question, _ func()) {
			a := s.good(q)
			a.IsError = true
			s.Answered(a)
		}, invocation.ToolError, `add {"n":1}`},
		"too large": {nil, func(s *shop, q tool.Question, _ func()) {
			a := s.good(q)
			a.Err = bound.ResultBytes.Exceeded()
			s.Answered(a)
		}, invocation.TooLarge, `add {"n":1}`},
		"malformed": {nil, func(s *shop, q tool.Question, _ func()) {
			a := s.good(q)
			a.Err = fault.New(fault.InvalidRequest, "x")
			s.Answered(a)
		}, invocation.InvalidAnswer, `add {"n":1}`},
		"died": {nil, func(s *shop, q tool.Question, _ func()) { s.Left(s.principal, s.source) }, invocation.Broken, `add {"n":1}`},
		"answered and died": {nil, func(s *shop, q tool.Question, _ func()) {
			s.Left(s.principal, s.source)
			s.Left(s.principal, s.source)
			s.Answered(s.good(q))
		}, invocation.Answered, `add {"n":1}`},
		"lost": {nil, func(s *shop, q tool.Question, _ func()) {
			a := s.good(q)
			a.Result, a.Lost = nil, true
			s.Answered(a)
		}, invocation.Broken, `add {"n":1}`},
		"not passed on": {nil, func(s *shop, q tool.Question, _ func()) {
			a := s.good(q)
			a.Result, a.Lost, a.Unsent = nil, true, true
			s.Answered(a)
		}, invocation.Unreached, `add {"n":1}`},
		"the bus is away":   {nil, func(s *shop, _ tool.Question, _ func()) { s.Severed() }, invocation.Broken, `add {"n":1}`},
		"another died":      {nil, func(s *shop, q tool.Question, _ func()) { s.Left(s.principal, topic.Broker()); s.Answered(s.good(q)) }, invocation.Answered, `add {"n":1}`},
		"late":              {nil, func(*shop, tool.Question, func()) {}, invocation.TimedOut, "cancel"},
		"cancelled":         {nil, func(_ *shop, _ tool.Question, cancel func()) { cancel() }, invocation.Cancelled, "cancel"},
		"perhaps sent":      {func(s *shop) { s.lost = errors.New("x") }, nil, invocation.Broken, `add {"n":1}`},
		"not sent":          {func(s *shop) { s.bus = errors.New("x") }, nil, invocation.Unreached, `add {"n":1}`},
		"another life":      {func(s *shop) { s.lives(2) }, nil, invocation.Unreached, "tools"},
		"gone":              {func(s *shop) { s.lives(0) }, nil, invocation.Unreached, "tools"},
		"forged, then good": {nil, forge, invocation.Answered, `add {"n":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := opened(t)
				if c.setup != nil {
					c.setup(s)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan invocation.Event, 1)
				go func() { ended <- b.Call(ctx, "add", []byte(`{"n":1}`), nil) }()
				if c.after != nil {
					c.after(s, <-s.calls, cancel)
				}
				if ev := <-ended; ev.Kind != c.want || (ev.Result != nil) != (c.want == invocation.Answered || c.want == invocation.ToolError) {
					t.Errorf("it is %+v", ev)
				}
				all := s.seen()
				if all[len(all)-1] != c.last || strings.Count(strings.Join(all, "|"), "add ") > 1 {
					t.Errorf("it sent %q", all)
				}
			})
		})
	}
}

// forge says everything that does not count, before the answer.
func forge(s *shop, q tool.Question, _ func()) {
	good := s.good(q)
	for _, spoil := range []func(*tool.Answer){
		func(a *tool.Answer) { a.Principal = topic.PrincipalOf(id.New[id.Owner]()) },
		func(a *tool.Answer) { a.Source = topic.SourceOf("t", "b", "") },
		func(a *tool.Answer) { a.ID = "guessed" },
		func(a *tool.Answer) { a.Foreign = true },
	} {
		a := good
		spoil(&a)
		a.IsError = true
		s.Answered(a)
	}
	s.Answered(good)
	bad := good
	bad.IsError = true
	s.Answered(bad) // twice
}

func TestWhatDoesNotCountIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := opened(t)
		ended := make(chan invocation.Event, 1)
		go func() { ended <- b.Call(t.Context(), "add", nil, nil) }()
		forge(s, <-s.calls, nil)
		<-ended
		for range 1000 { // most of a flood is only counted
			s.Answered(tool.Answer{Principal: s.principal, Source: s.source, ID: "x"})
		}
		want := []string{"foreign principal", "unknown source", "stale round", "suffix is not the source"}
		if diff := cmp.Diff(want, s.dropped); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// After each kind of doubt the capsule's own answer is offered, once; what says
// nothing of what it did is not.
func TestALateAnswerIsOffered(t *testing.T) {
	quiet := func(*shop, tool.Question, func()) {}
	for name, c := range map[string]struct {
		lost  error
		doubt func(s *shop, q tool.Question, cancel func())
		late  func(s *shop, q tool.Question)
		want  []invocation.EventKind
	}{
		"after the deadline": {nil, quiet, func(s *shop, q tool.Question) { forge(s, q, nil) }, []invocation.EventKind{invocation.Answered}},
		"after the cancellation": {nil, func(_ *shop, _ tool.Question, cancel func()) { cancel() },
			func(s *shop, q tool.Question) { s.Answered(s.good(q)) }, []invocation.EventKind{invocation.Answered}},
		"after the bus was away": {nil, func(s *shop, _ tool.Question, _ func()) { s.Severed() },
			func(s *shop, q tool.Question) { s.Answered(s.good(q)) }, []invocation.EventKind{invocation.Answered}},
		"perhaps sent": {errors.New("x"), quiet,
			func(s *shop, q tool.Question) { s.Answered(s.good(q)) }, []invocation.EventKind{invocation.Answered}},
		"an error": {nil, quiet, func(s *shop, q tool.Question) {
			a := s.good(q)
			a.IsError = true
			s.Answered(a)
		}, []invocation.EventKind{invocation.ToolError}},
		"lost": {nil, quiet, func(s *shop, q tool.Question) {
			a := s.good(q)
			a.Result, a.Lost = nil, true
			s.Answered(a)
		}, nil},
		"too late": {nil, quiet, func(s *shop, q tool.Question) {
			<-time.After(bound.RepeatGuard.Duration() + 1)
			s.Answered(s.good(q))
		}, nil},
		"at the end": {nil, quiet, func(s *shop, q tool.Question) {
			s.Close()
			s.Answered(s.good(q))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := opened(t)
				s.lost = c.lost
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var got []invocation.EventKind
				ended := make(chan invocation.Event, 1)
				go func() {
					ended <- b.Call(ctx, "add", nil, func(ev invocation.Event) { got = append(got, ev.Kind) })
				}()
				q := <-s.calls
				c.doubt(s, q, cancel)
				if ev := <-ended; invocation.Classify(ev).State != invocation.Indeterminate {
					t.Fatalf("it is %+v", ev)
				}
				c.late(s, q)
				synctest.Wait()
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A call has as long as the capsule's manifest and its caller give it, whichever is
// less.
func TestACallHasTheTimeOfTheManifest(t *testing.T) {
	for name, c := range map[string]struct{ manifest, caller, want time.Duration }{
		"the manifest": {2 * time.Second, 20 * time.Second, 2 * time.Second},
		"the caller":   {2 * time.Second, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := opened(t)
				s.time = c.manifest
				ctx, cancel := context.WithTimeout(t.Context(), c.caller)
				defer cancel()
				began := time.Now()
				if ev := b.Call(ctx, "add", nil, nil); ev.Kind != invocation.TimedOut || time.Since(began) != c.want {
					t.Errorf("after %v: %+v", time.Since(began), ev)
				}
				if left := s.until.Sub(began); left != c.want {
					t.Errorf("the capsule is told of %v", left)
				}
			})
		})
	}
}

// Calls that are over take no room from others, and only the last of them count.
func TestOnlySoManyLateCallsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := opened(t)
		const more = 6
		late := 0
		var over []tool.Question
		for range bound.CapsuleLate.Int() + more {
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			if ev := b.Call(ctx, "add", nil, func(invocation.Event) { late++ }); ev.Kind != invocation.TimedOut {
				t.Fatalf("it is %+v", ev)
			}
			stop()
			over = append(over, <-s.calls)
		}
		for i, q := range over {
			s.Answered(s.good(q))
			synctest.Wait()
			if want := max(0, i+1-more); late != want {
				t.Fatalf("after %d answers %d were offered, want %d", i+1, late, want)
			}
		}
	})
}

// One over what a capsule may have at once is not sent.
func TestOpenCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := opened(t)
		ended := make(chan invocation.Event, 100)
		for range bound.CapsuleToolCalls.Max {
			go func() { ended <- b.Call(t.Context(), "add", nil, nil) }()
		}
		var open []tool.Question
		for range bound.CapsuleToolCalls.Max {
			open = append(open, <-s.calls)
		}
		if ev := b.Call(t.Context(), "add", nil, nil); ev.Kind != invocation.Unreached {
			t.Errorf("one over the bound is %+v", ev)
		}
		for _, q := range open {
			s.Answered(s.good(q))
		}
		for range open {
			if ev := <-ended; ev.Kind != invocation.Answered {
				t.Errorf("it is %+v", ev)
			}
		}
	})
}
