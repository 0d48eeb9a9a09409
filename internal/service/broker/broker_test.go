package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/broker"
)

var (
	alice = topic.PrincipalOf(id.New[id.Owner]())
	bob   = topic.PrincipalOf(id.New[id.Owner]())
)

// capsule is one runtime of the bus in memory.
type capsule struct {
	describe.Member
	owner  topic.Principal
	serves []string
	after  time.Duration // it answers so much later
	deaf   bool          // it never answers
	reads  map[string]string
	fails  string // what it answers a read with
	says   bool   // that it has not what it is asked for
}

// wire is a bus in memory, with the broker on it.
type wire struct {
	*broker.Broker
	mu        sync.Mutex
	capsules  []*capsule
	describes []string
	asked     map[string]string // correlation to URI
	cancelled []string
	events    []broker.Event
	changed   map[topic.Principal]int
	down      error
}

func newWire(t testing.TB, capsules ...*capsule) *wire {
	t.Helper()
	w := &wire{capsules: capsules, asked: map[string]string{}, changed: map[topic.Principal]int{}}
	var err error
	w.Broker, err = broker.New(broker.Ports{
		Members: w.members, AskDescribe: w.askDescribe, AskRead: w.askRead,
		AskCancel: func(_ topic.Principal, correlation string) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.cancelled = append(w.cancelled, correlation)
			return nil
		},
		Audit:   func(e broker.Event) { w.mu.Lock(); defer w.mu.Unlock(); w.events = append(w.events, e) },
		Changed: func(p topic.Principal) { w.mu.Lock(); defer w.mu.Unlock(); w.changed[p]++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *wire) members(p topic.Principal) (out []describe.Member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.capsules {
		if c.owner == p {
			out = append(out, c.Member)
		}
	}
	return out
}

func (w *wire) of(p topic.Principal) (out []*capsule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.capsules {
		if c.owner == p {
			out = append(out, c)
		}
	}
	return out
}

func (w *wire) askDescribe(p topic.Principal, round string, _ time.Time) error {
	w.mu.Lock()
	w.describes = append(w.describes, round)
	down := w.down
	w.mu.Unlock()
	for _, c := range w.of(p) {
		if !c.deaf && down == nil {
			time.AfterFunc(c.after, func() { w.Described(c.describe(round)) })
		}
	}
	return down
}

func (c *capsule) describe(round string) describe.Reply {
	r := describe.Reply{Principal: c.owner, Source: c.Source, Suffix: c.Source.String(), Round: round, Count: len(c.serves), Bytes: 10}
	for _, uri := range c.serves {
		r.Definitions = append(r.Definitions, describe.Definition{URI: uri, Name: uri})
	}
	return r
}

func (w *wire) askRead(p topic.Principal, correlation, uri string, _ time.Time) error {
	w.mu.Lock()
	w.asked[correlation] = uri
	w.mu.Unlock()
	for _, c := range w.of(p) {
		text, ok := c.reads[uri]
		if ok && !c.deaf {
			time.AfterFunc(c.after, func() { w.WasRead(c.read(correlation, uri, text)) })
		} else if c.says {
			time.AfterFunc(c.after, func() {
				w.WasRead(read.Reply{Principal: c.owner, Source: c.Source, Correlation: correlation, Declined: true})
			})
		} else if c.fails != "" {
			time.AfterFunc(c.after, func() { w.WasRead(c.refuse(correlation, uri)) })
		}
	}
	return nil
}

func (c *capsule) read(correlation, uri, text string) read.Reply {
	return read.Reply{Principal: c.owner, Source: c.Source, Correlation: correlation, URI: uri, Contents: []read.Content{{URI: uri, Text: text}}}
}

func (c *capsule) refuse(correlation, uri string) read.Reply {
	return read.Reply{Principal: c.owner, Source: c.Source, Correlation: correlation, URI: uri, Error: &c.fails}
}

func warm(name string, owner topic.Principal, order int64, serves ...string) *capsule {
	c := &capsule{owner: owner, serves: serves, reads: map[string]string{}}
	c.Member = describe.Member{Source: topic.SourceOf("t", name, ""), Name: name, Order: order, Since: time.Now().Add(-time.Hour)}
	for _, uri := range serves {
		c.reads[uri] = name
	}
	return c
}

func asker(p topic.Principal) broker.Asker {
	return broker.Asker{Principal: p, Ingress: broker.Face, May: func(string) bool { return true }}
}

func uris(r describe.Result) (out []string) {
	for _, l := range r.Listed {
		out = append(out, l.URI)
	}
	return out
}

// took says how long something took in the time of the bubble.
func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

func TestListsAtOnceShareARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := warm("slow", alice, 1, "n:1")
		slow.after = 450 * time.Millisecond // at 90 % of the window, after a gap
		w := newWire(t, slow, warm("quick", alice, 2, "n:2"), warm("bobs", bob, 1, "n:3"))
		var lists sync.WaitGroup
		for range 20 {
			lists.Go(func() {
				got, err := w.List(t.Context(), alice)
				if err != nil || !got.Complete || !slices.Equal(uris(got), []string{"n:1", "n:2"}) {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		if d := took(lists.Wait); d != slow.after || len(w.describes) != 1 {
			t.Errorf("%d rounds in %v", len(w.describes), d)
		}
		if _, err := w.List(t.Context(), alice); err != nil || len(w.describes) != 2 {
			t.Errorf("a list is not live: %d rounds, %v", len(w.describes), err)
		}
	})
}

func TestNobodyToAskIsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, warm("bobs", bob, 1, "n:3"))
		d := took(func() {
			if got, err := w.List(t.Context(), alice); err != nil || !got.Complete || len(got.Listed) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
			if _, err := w.Read(t.Context(), asker(alice), "n:3"); !fault.Is(err, fault.NotFound) {
				t.Error(err)
			}
		})
		if d != 0 || len(w.describes)+len(w.asked) != 0 {
			t.Errorf("waited %v for nobody; %d questions", d, len(w.describes)+len(w.asked))
		}
	})
}

// BF1: the first list right after boot holds what warms up in time.
func TestTheFirstListWaitsForWhoWarmsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cold := warm("cold", alice, 1, "n:1")
		cold.Since, cold.after = time.Now(), 2400*time.Millisecond
		w := newWire(t, cold)
		got, err := w.List(t.Context(), alice)
		if err != nil || !got.Complete || len(got.Listed) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// BF1: who is missing is told of, with why, and not again before it has answered.
func TestWhoIsMissingIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cold, deaf := warm("cold", alice, 1, "n:1"), warm("deaf", alice, 2)
		cold.Warming, cold.after, deaf.deaf = true, 2600*time.Millisecond, true
		w := newWire(t, cold, deaf, warm("quick", alice, 3, "n:3"))
		began := time.Now()
		for range 2 {
			got, err := w.List(t.Context(), alice)
			if err != nil || got.Complete || len(got.Missing) != 2 || !slices.Equal(uris(got), []string{"n:3"}) {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("two lists took %v", took)
		}
		synctest.Wait() // it is told beside the list
		var told []string
		for _, e := range w.events {
			if e.Kind == broker.Missing {
				told = append(told, e.Detail)
			}
		}
		// The first answer of the cold one came in the second round, so it is missing anew.
		if want := []string{"cold warming", "deaf silent", "cold warming"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// BF1, BF5: an incomplete list is served, not kept, and made good.
func TestALateAnswerIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := warm("late", alice, 1, "n:1")
		late.after = 700 * time.Millisecond
		w := newWire(t, late, warm("quick", alice, 2, "n:2"))
		got, err := w.List(t.Context(), alice)
		if err != nil || got.Complete || len(got.Missing) != 1 || !slices.Equal(uris(got), []string{"n:2"}) {
			t.Errorf("%+v, %v", got, err)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if w.changed[alice] != 1 || w.changed[bob] != 0 {
			t.Errorf("changes: %v", w.changed)
		}
		w.Described(late.describe("old")) // once more, of nothing
		if w.changed[alice] != 1 {
			t.Error("a second late answer is a change again")
		}
	})
}

// BF5: who asks after a capsule has come is told of it, also while a round is open
// that did not ask it; and what that round found is not relied on.
func TestAListAsksWhoWasThereWhenItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, elder := warm("slow", alice, 2, "n:1"), warm("elder", alice, 1, "n:1", "n:2")
		slow.after = 400 * time.Millisecond
		w := newWire(t, slow)
		var lists sync.WaitGroup
		list := func(want ...string) {
			lists.Go(func() {
				if got, err := w.List(t.Context(), alice); err != nil || !got.Complete || !slices.Equal(uris(got), want) {
					t.Errorf("%q, complete %v, %v, want %q", uris(got), got.Complete, err, want)
				}
			})
			synctest.Wait()
		}
		list("n:1")
		<-time.After(100 * time.Millisecond)
		w.mu.Lock()
		w.capsules = append(w.capsules, elder)
		w.mu.Unlock()
		w.Joined(alice)
		list("n:1", "n:2")
		list("n:1", "n:2")
		<-time.After(350 * time.Millisecond) // the first round is over, the second one is not
		got, err := w.Read(t.Context(), asker(alice), "n:1")
		if err != nil || got.Contents[0].Text != "elder" {
			t.Errorf("n:1 is read from %+v, %v", got.Contents, err)
		}
		lists.Wait()
		if len(w.describes) != 2 {
			t.Errorf("%d rounds", len(w.describes))
		}
	})
}

// A71, I78: what crosses over is dropped, counted and audited.
func TestAnswersThatCrossOverAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := warm("same", alice, 1, "n:alice"), warm("same", bob, 1, "n:bob")
		a.deaf, b.deaf = true, true
		w := newWire(t, a, b)
		type list struct {
			got describe.Result
			err error
		}
		results := map[topic.Principal]chan list{alice: make(chan list, 1), bob: make(chan list, 1)}
		for p, result := range results {
			go func() {
				got, err := w.List(t.Context(), p)
				result <- list{got, err}
			}()
			synctest.Wait()
		}
		rounds := slices.Clone(w.describes)
		if len(rounds) != 2 {
			t.Fatalf("%d rounds", len(rounds))
		}
		for _, round := range rounds { // each answers both rounds
			w.Described(a.describe(round))
			w.Described(b.describe(round))
		}
		for p, want := range map[topic.Principal]string{alice: "n:alice", bob: "n:bob"} {
			if got := <-results[p]; got.err != nil || !got.got.Complete || !slices.Equal(uris(got.got), []string{want}) {
				t.Errorf("%+v", got)
			}
		}
		synctest.Wait()
		dropped := 0
		for _, e := range w.events {
			if e.Kind == broker.Dropped {
				dropped += e.Count
			}
		}
		if dropped != 2 {
			t.Errorf("%d drops audited: %+v", dropped, w.events)
		}
		for _, e := range w.events {
			if rows := e.Rows(); len(rows) != 1 || rows[0] != (broker.Row{Source: e.Source, Text: "dropped: stale round", Count: e.Count}) {
				t.Errorf("the trail keeps %+v", rows)
			}
		}
	})
}

func TestACollisionIsAnEventEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elder, squatter := warm("elder", alice, 1, "n:1"), warm("squatter", alice, 2, "n:1")
		elder.after = 100 * time.Millisecond
		w := newWire(t, squatter, elder)
		for range 20 {
			got, err := w.List(t.Context(), alice)
			if owner, _ := got.Owner("n:1"); err != nil || owner != elder.Source {
				t.Errorf("owned by %v, %v", owner, err)
			}
		}
		synctest.Wait()
		if len(w.events) != 20 || w.events[0].Kind != broker.Collision || w.events[0].Source != elder.Source {
			t.Errorf("%d events", len(w.events))
		}
		if rows := w.events[0].Rows(); !slices.Equal(rows, []broker.Row{{Source: elder.Source, Text: "collision: won", Count: 1}, {Source: squatter.Source, Text: "collision: lost", Count: 1}}) {
			t.Errorf("the trail keeps %+v", rows)
		}
		contents, err := w.Read(t.Context(), asker(alice), "n:1")
		if err != nil || contents.Contents[0].Text != "elder" {
			t.Errorf("%v, %v; the squatter answered first", contents, err)
		}
		if got := w.Collisions(alice); len(got) != 1 || got[0].URI != "n:1" || got[0].Winner != elder.Source || len(w.Collisions(bob)) != 0 {
			t.Errorf("what is shared now: %+v", got)
		}
		w.mu.Lock()
		w.capsules = []*capsule{elder}
		w.mu.Unlock()
		w.Left(alice, squatter.Source)
		if got := w.Collisions(alice); len(got) != 0 {
			t.Errorf("what was shared once: %+v", got)
		}
	})
}

func TestReadsEndInTimeAndSayWhy(t *testing.T) {
	for _, c := range []struct {
		name   string
		uri    string
		change func(owner, other *capsule)
		want   fault.Code
		at     time.Duration
	}{
		{"the owner answers", "n:1", func(*capsule, *capsule) {}, "", 0},
		{"nobody's", "m:1", func(*capsule, *capsule) {}, fault.NotFound, time.Second},
		{"another principal's", "n:bob", func(*capsule, *capsule) {}, fault.NotFound, time.Second},
		{"nobody's, and all refuse", "m:1", func(a, b *capsule) { a.fails, b.fails = "no", "no" }, fault.NotFound, time.Second},
		{"climbing", "n:/../1", func(*capsule, *capsule) {}, fault.NotFound, 0},
		{"a family", "f:x", func(a, _ *capsule) { a.Families = []string{"f:"}; a.reads["f:x"] = "owner" }, "", 0},
		{"unlisted and served", "m:1", func(a, _ *capsule) { a.reads["m:1"] = "owner" }, "", 25 * time.Millisecond},
		{"a race by another", "n:1", func(a, b *capsule) { b.reads["n:1"] = "other"; a.after = 100 * time.Millisecond }, "", 200 * time.Millisecond},
		{"another refuses", "n:1", func(a, b *capsule) { b.fails = "not yours"; a.after = 100 * time.Millisecond }, "", 200 * time.Millisecond},
		{"the owner refuses", "n:1", func(a, _ *capsule) { a.fails = "broken"; delete(a.reads, "n:1") }, fault.UpstreamFailed, 0},
		{"the owner is silent", "n:1", func(a, _ *capsule) { delete(a.reads, "n:1") }, fault.TimedOut, 10 * time.Second},
		{"the owner has it no more", "n:1", func(a, _ *capsule) { delete(a.reads, "n:1"); a.says = true }, fault.NotFound, 0},
		{"nobody's of a family", "f:x", func(a, _ *capsule) { a.Families = []string{"f:"}; a.says = true }, fault.NotFound, 0},
		{"nobody's, and all say so", "m:1", func(a, b *capsule) { a.says, b.says = true, true }, fault.NotFound, time.Second},
		{"a slow list", "m:1", func(a, _ *capsule) { a.after = 600 * time.Millisecond }, fault.NotFound, 1500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			owner, other := warm("owner", alice, 1, "n:1"), warm("other", alice, 2, "n:2")
			c.change(owner, other)
			w := newWire(t, owner, other, warm("bobs", bob, 1, "n:bob"))
			var contents broker.Found
			var err error
			d := took(func() { contents, err = w.Read(t.Context(), asker(alice), c.uri) })
			if c.want == "" && (err != nil || len(contents.Contents) != 1 || contents.Contents[0].Text != "owner") || c.want != "" && (!fault.Is(err, c.want) || contents.Contents != nil) || d != c.at {
				t.Errorf("%s: %v, %v after %v", c.name, contents, err, d)
			}
			if timed := c.want == fault.TimedOut || c.want == fault.NotFound && len(w.asked) > 0; timed != (len(w.cancelled) == 1) {
				t.Errorf("%s: called off %q", c.name, w.cancelled)
			}
			events := len(w.events)
			for correlation := range w.asked { // which comes too late, and is nothing to tell of
				w.WasRead(read.Reply{Principal: alice, Source: other.Source, Correlation: correlation, Declined: true})
			}
			if len(w.events) != events {
				t.Errorf("%s: %+v", c.name, w.events[events:])
			}
		})
	}
}

func TestAReadIsCalledOffWithItsAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := warm("owner", alice, 1, "n:1")
		owner.reads = nil
		w := newWire(t, owner)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel)
		var err error
		d := took(func() { _, err = w.Read(ctx, asker(alice), "n:1") })
		if !fault.Is(err, fault.TimedOut) || !errors.Is(err, context.Canceled) || d != 300*time.Millisecond {
			t.Errorf("%v after %v", err, d)
		}
		for correlation := range w.asked {
			if !slices.Equal(w.cancelled, []string{correlation}) {
				t.Errorf("asked %q, called off %q", correlation, w.cancelled)
			}
			w.WasRead(owner.read(correlation, "n:1", "late"))
		}
		if len(w.events) != 1 || w.events[0].Kind != broker.Dropped {
			t.Errorf("a late answer: %+v", w.events)
		}
	})
}

// I85, and unload in the middle of describe and read.
func TestUnloadingEndsWhatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := warm("gone", alice, 1, "n:1")
		w := newWire(t, gone)
		if _, err := w.List(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
		gone.reads, gone.deaf = nil, true
		unload := func() {
			w.mu.Lock()
			w.capsules = nil
			w.mu.Unlock()
			w.Left(alice, gone.Source)
		}
		time.AfterFunc(200*time.Millisecond, unload)
		var err error
		d := took(func() { _, err = w.Read(t.Context(), asker(alice), "n:1") })
		if !fault.Is(err, fault.Unavailable) || d != 200*time.Millisecond {
			t.Errorf("%v after %v", err, d)
		}
		d = took(func() { _, err = w.Read(t.Context(), asker(alice), "n:1") })
		if !fault.Is(err, fault.NotFound) || d != 0 {
			t.Errorf("afterwards %v, %v", err, d)
		}
		w.mu.Lock()
		w.capsules = []*capsule{gone}
		w.mu.Unlock()
		w.Joined(alice)
		time.AfterFunc(200*time.Millisecond, unload)
		var got describe.Result
		d = took(func() { got, err = w.List(t.Context(), alice) })
		if err != nil || got.Complete || len(got.Listed) != 0 || d != 200*time.Millisecond {
			t.Errorf("%+v, %v after %v", got, err, d)
		}
		synctest.Wait()
		if w.changed[alice] != 3 {
			t.Errorf("%d changes", w.changed[alice])
		}
	})
}

// BF39: a read that takes its time keeps no other waiting, nor a list.
func TestASlowReadKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := warm("slow", alice, 1, "n:slow"), warm("quick", alice, 2, "n:quick")
		w := newWire(t, slow, quick)
		if _, err := w.List(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
		slow.after = 9 * time.Second
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if d := took(func() {
				if _, err := w.Read(t.Context(), asker(alice), "n:slow"); err != nil {
					t.Error(err)
				}
			}); d != slow.after {
				t.Errorf("the slow one took %v", d)
			}
		})
		synctest.Wait()
		if d := took(func() {
			if _, err := w.Read(t.Context(), asker(alice), "n:quick"); err != nil {
				t.Error(err)
			}
		}); d != 0 {
			t.Errorf("the quick one took %v", d)
		}
		waiting.Wait()
	})
}

// BF34: what happens to one principal's capsules is told of that one alone.
func TestAChangeIsOfOnePrincipal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := warm("a", alice, 1, "n:1")
		w := newWire(t, a, warm("b", bob, 1, "n:2"))
		if _, err := w.List(t.Context(), bob); err != nil {
			t.Fatal(err)
		}
		rounds := len(w.describes)
		w.Joined(alice)
		w.Severed(alice)
		w.Left(alice, a.Source)
		if w.changed[alice] != 2 || w.changed[bob] != 0 {
			t.Errorf("changes: %v", w.changed)
		}
		if _, err := w.Read(t.Context(), asker(bob), "n:2"); err != nil || len(w.describes) != rounds {
			t.Errorf("%v; %d more rounds for the other", err, len(w.describes)-rounds)
		}
	})
}

// A bus that goes away ends at once what waits for it, and what was known before is
// asked again.
func TestASeveredBusIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := warm("a", alice, 1, "n:1")
		w := newWire(t, deaf)
		if _, err := w.List(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
		deaf.deaf = true
		for name, ask := range map[string]func() error{
			"a list": func() error { _, err := w.List(t.Context(), alice); return err },
			"a read": func() error { _, err := w.Read(t.Context(), asker(alice), "n:1"); return err },
		} {
			time.AfterFunc(100*time.Millisecond, func() { w.Severed(alice) })
			var err error
			if d := took(func() { err = ask() }); !fault.Is(err, fault.Unavailable) || d != 100*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, d)
			}
			deaf.deaf = false
			if _, err := w.List(t.Context(), alice); err != nil { // so that the next read knows whom to ask
				t.Fatal(err)
			}
			deaf.deaf = true
		}
		w.Severed(alice)
		rounds := len(w.describes)
		deaf.deaf = false
		if got, err := w.Read(t.Context(), asker(alice), "n:1"); err != nil || got.Contents[0].Text == "" || len(w.describes) != rounds+1 {
			t.Errorf("%+v, %v, %d rounds", got, err, len(w.describes)-rounds)
		}
	})
}

// The gate (bus page, section 4): on refusal nothing is asked.
func TestWhoMayNotAskAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, warm("a", alice, 1, "n:1"))
		if _, err := w.List(t.Context(), topic.Principal{}); !fault.Is(err, fault.Unauthenticated) {
			t.Error(err)
		}
		for _, c := range []struct {
			who  broker.Asker
			want fault.Code
		}{
			{broker.Asker{}, fault.Unauthenticated}, {broker.Asker{Ingress: broker.Face}, fault.Unauthenticated},
			{broker.Asker{Principal: alice}, fault.CapabilityDenied}, {broker.Asker{Principal: alice, Ingress: "elsewhere"}, fault.CapabilityDenied},
		} {
			if _, err := w.Read(t.Context(), c.who, "n:1"); !fault.Is(err, c.want) {
				t.Errorf("%+v: %v", c.who, err)
			}
		}
		if len(w.describes)+len(w.asked) != 0 {
			t.Error("a refusal asked somebody")
		}
	})
}

func TestABrokenBusIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, warm("a", alice, 1, "n:1"))
		w.down = fault.New(fault.Unavailable, "down")
		_, listed := w.List(t.Context(), alice)
		_, read := w.Read(t.Context(), asker(alice), "n:1")
		if !fault.Is(listed, fault.Unavailable) || !fault.Is(read, fault.Unavailable) {
			t.Errorf("%v, %v", listed, read)
		}
		w.down = nil
		if got, err := w.List(t.Context(), alice); err != nil || !got.Complete {
			t.Errorf("afterwards: %+v, %v", got, err)
		}
	})
}

func TestOpenReadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf, quiet := warm("deaf", alice, 1, "n:1"), warm("quiet", bob, 1, "n:1")
		deaf.reads = nil
		w := newWire(t, deaf, quiet)
		if _, err := w.List(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
		var reads sync.WaitGroup
		for range 64 {
			reads.Go(func() { _, _ = w.Read(t.Context(), asker(alice), "n:1") })
		}
		synctest.Wait()
		if _, err := w.Read(t.Context(), asker(alice), "n:1"); !fault.Is(err, fault.RateLimited) {
			t.Error(err)
		}
		if d := took(func() {
			if _, err := w.Read(t.Context(), asker(bob), "n:1"); err != nil {
				t.Error(err)
			}
		}); d != 0 {
			t.Errorf("another principal waited %v", d)
		}
		reads.Wait()
	})
}

func TestAFloodOfStraysIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := warm("flood", alice, 1, "n:1")
		w := newWire(t, c)
		if _, err := w.List(t.Context(), alice); err != nil {
			t.Fatal(err)
		}
		for i := range 1000 {
			w.Described(c.describe(fmt.Sprint(i)))
		}
		<-time.After(time.Second)
		w.Described(c.describe("x"))
		if len(w.events) != 2 || w.events[0].Count+w.events[1].Count != 1001 {
			t.Errorf("%+v", w.events)
		}
	})
}

// An app sees the capsules that it may read, and nothing tells it of others: not
// the time, not the answer, and not a capsule that serves the same URI.
func TestACapsuleThatMayNotBeReadIsNotThere(t *testing.T) {
	for _, c := range []struct {
		uri  string
		may  string
		want fault.Code
		at   time.Duration
		asks int
	}{
		{"n:both", "elder", "", 0, 1}, {"n:both", "younger", fault.NotFound, time.Second, 0}, {"n:none", "younger", fault.NotFound, time.Second, 1},
		{"n:family", "younger", fault.NotFound, time.Second, 1}, {"n:both", "nobody", fault.NotFound, 0, 0}, {"n:none", "nobody", fault.NotFound, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			elder, younger := warm("elder", alice, 1, "n:both"), warm("younger", alice, 2, "n:both")
			elder.Families, elder.reads["n:family"] = []string{"n:family"}, "elder"
			w := newWire(t, elder, younger)
			who := asker(alice)
			who.May = func(name string) bool { return name == c.may }
			var err error
			d := took(func() { _, err = w.Read(t.Context(), who, c.uri) })
			got := fault.Code("")
			if err != nil {
				got = fault.From(err).Code
			}
			if got != c.want || d != c.at || len(w.asked) != c.asks {
				t.Errorf("%s for who may read %s: %v after %v, %d questions", c.uri, c.may, err, d, len(w.asked))
			}
		})
	}
}
