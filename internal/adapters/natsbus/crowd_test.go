package natsbus

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/service/broker"
	"github.com/stewardhost/steward/test/figure"
)

// crowd is a bus with a broker, and principals who have capsules on it.
type crowd struct {
	*broker.Broker
	bus     *Bus
	owners  []topic.Principal
	members map[topic.Principal][]describe.Member
	alarms  atomic.Int64
}

func newCrowd(t testing.TB) *crowd {
	t.Helper()
	c := &crowd{members: map[topic.Principal][]describe.Member{}}
	var err error
	c.Broker, err = broker.New(broker.Ports{
		Members:     func(p topic.Principal) []describe.Member { return c.members[p] },
		AskDescribe: func(p topic.Principal, round string, at time.Time) error { return c.bus.AskDescribe(p, round, at) },
		AskRead: func(p topic.Principal, correlation, uri string, at time.Time) error {
			return c.bus.AskRead(p, correlation, uri, at)
		},
		AskCancel: func(p topic.Principal, correlation string) error { return c.bus.AskCancel(p, correlation) },
		Audit:     func(broker.Event) {}, Changed: func(topic.Principal) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.bus, err = Open("tenant", Listener{Described: c.Described, Read: c.WasRead, Lost: c.Lost, Alarm: func(topic.Source, string) { c.alarms.Add(1) }}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.bus.Close)
	return c
}

// join adds a principal with so many capsules, each with one resource whose URI
// names them both. answer may do something else than answer.
func (c *crowd) join(t testing.TB, capsules int, answer func(*Seat, Request, []byte)) topic.Principal {
	t.Helper()
	p := owner()
	c.owners = append(c.owners, p)
	for i := range capsules {
		name := fmt.Sprint(i)
		uri := fmt.Sprintf("n:%s/%d", p, i)
		listed := fmt.Appendf(nil, `{"resources":[{"uri":%q,"name":%q}]}`, uri, name)
		contents := fmt.Appendf(nil, `{"uri":%q,"contents":[{"text":{"uri":%q,"text":%q}}]}`, uri, uri, name)
		source := topic.SourceOf("tenant", name, "")
		ready := make(chan struct{})
		var s *Seat
		s, err := c.bus.Admit(Runtime{Principal: p, Source: source, Claim: serving(t)}, func(r Request) {
			<-ready
			payload := listed
			if r.Topic.String() == topic.ReadRequest {
				if !strings.Contains(string(r.Payload), uri) {
					return
				}
				payload = contents
			}
			answer(s, r, payload)
		}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		close(ready)
		t.Cleanup(s.Close)
		c.members[p] = append(c.members[p], describe.Member{Source: source, Name: name, Order: int64(i), Since: time.Now().Add(time.Hour)}) // young for ever: a slow machine gets the longer window
	}
	return p
}

func answering(s *Seat, r Request, payload []byte) { _ = s.Answer(r, payload) } // a closed seat at the end

// look lists and reads as a principal, and holds what it is told to be its own and
// whole.
func (c *crowd) look(ctx context.Context, p topic.Principal, capsules int) (took time.Duration, err error) {
	began := time.Now()
	got, err := c.List(ctx, p)
	if err != nil {
		return 0, err
	}
	if !got.Complete || len(got.Listed) != capsules {
		return 0, fmt.Errorf("%d listed, %d missing", len(got.Listed), len(got.Missing))
	}
	for _, l := range got.Listed {
		if !strings.HasPrefix(l.URI, "n:"+p.String()+"/") {
			return 0, fmt.Errorf("%s sees %s", p, l.URI)
		}
	}
	uri := got.Listed[0].URI
	found, err := c.Read(ctx, broker.Asker{Principal: p, Ingress: broker.Face, May: func(string) bool { return true }}, uri)
	if err == nil && found.Contents[0].URI != uri {
		err = fmt.Errorf("read %+v", found)
	}
	return time.Since(began), err
}

func quantile(times []time.Duration, q float64) time.Duration {
	slices.Sort(times)
	return times[int(q*float64(len(times)-1))]
}

// R11, in its width: a thousand principals with ten capsules each are on one bus,
// at the cost that is told, and nobody ever sees what is another's.
func TestManyPrincipalsShareABus(t *testing.T) {
	const capsules = 10
	principals, callers := figure.Of(t, 20, 1000, 1000), 8
	memory := func() (bytes int64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	c := newCrowd(t)
	before, goroutines := memory(), runtime.NumGoroutine()
	for range principals {
		c.join(t, capsules, answering)
	}
	each := (memory() - before) / int64(principals*capsules)
	goroutines = (runtime.NumGoroutine() - goroutines) / (principals * capsules)
	times := make([][]time.Duration, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for round := range 3 {
				for i := caller; i < principals; i += callers {
					took, err := c.look(t.Context(), c.owners[i], capsules)
					if err != nil {
						t.Errorf("round %d, principal %d: %v", round, i, err)
						return
					}
					if round > 0 { // the first one subscribes
						times[caller] = append(times[caller], took)
					}
				}
			}
		})
	}
	all.Wait()
	flat := slices.Concat(times...)
	if len(flat) == 0 || c.alarms.Load() != 0 {
		t.Fatalf("%d looks, %d alarms", len(flat), c.alarms.Load())
	}
	if each > 128<<10 {
		t.Errorf("a seat takes %d bytes", each)
	}
	figure.Tell(t, "R11", "%d principals with %d capsules: %d KiB and %d goroutines a capsule, a list and a read of %d at once: p50 %v, p99 %v", principals, capsules,
		each>>10, goroutines, callers, quantile(flat, 0.5).Round(10*time.Microsecond), quantile(flat, 0.99).Round(10*time.Microsecond))
}

// I79, A74: Alice's capsules say what nobody asked for a hundred times a millisecond
// and answer each question with as much as they may, and a client of hers never
// stops asking; Bob's lists and reads are whole, and in the larger size of this test
// at most twice as slow at p99.
func TestAFloodCostsOthersLittle(t *testing.T) {
	const capsules = 10
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the program does
	c := newCrowd(t)
	rounds, looks := figure.Of(t, 2, 20, 60), figure.Of(t, 50, 400, 400)
	var flooding atomic.Bool
	stop := make(chan struct{})
	var floods sync.WaitGroup
	big := []byte(`{"resources":[{"uri":"n:big","name":"` + strings.Repeat("x", 1<<20-1000) + `"}]}`)
	alice := c.join(t, capsules, func(s *Seat, r Request, payload []byte) {
		if flooding.Load() && r.Topic.String() == topic.DescribeRequest {
			payload = big
		}
		_ = s.Answer(r, payload)
	})
	bob := c.join(t, capsules, answering)
	stray := Request{Round: "nobody"}
	var err error
	if stray.Topic, err = topic.Parse(topic.ReadRequest); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // capsules that have gone mad
		s, err := c.bus.Admit(Runtime{Principal: alice, Source: topic.SourceOf("tenant", fmt.Sprint("mad", i), ""), Claim: serving(t)}, func(Request) {}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		floods.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				for i := 0; i < 100 && flooding.Load(); i++ {
					_ = s.Answer(stray, []byte(`{"uri":"n:x","contents":[]}`)) // refused
				}
			}
		})
	}
	floods.Go(func() { // and a client of hers that never stops asking
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				if flooding.Load() {
					_, _ = c.List(context.Background(), alice) // whatever comes of it
				}
			}
		}
	})
	defer floods.Wait()
	defer close(stop)
	type side struct{ half, tail []time.Duration } // of each round
	var alone, beside side
	for range rounds {
		for _, into := range []*side{&alone, &beside} {
			flooding.Store(into == &beside)
			var times []time.Duration
			for range looks {
				took, err := c.look(t.Context(), bob, capsules)
				if err != nil {
					t.Fatalf("beside a flood (%v): %v", flooding.Load(), err)
				}
				times = append(times, took)
			}
			into.half, into.tail = append(into.half, quantile(times, 0.5)), append(into.tail, quantile(times, 0.99))
		}
	}
	// The middle round of each, since other work of the machine comes in bursts.
	quiet, loud := quantile(alone.tail, 0.5), quantile(beside.tail, 0.5)
	if figure.Of(t, 0, 1, 1) == 1 && loud > 2*quiet {
		t.Errorf("p99 %v alone and %v beside a flood", quiet, loud)
	}
	figure.Tell(t, "I79", "%d rounds of %d lists and reads: p99 %v alone, %v beside a flood of another principal, %.1f times; p50 %v and %v", rounds, looks,
		quiet.Round(10*time.Microsecond), loud.Round(10*time.Microsecond), float64(loud)/float64(quiet),
		quantile(alone.half, 0.5).Round(10*time.Microsecond), quantile(beside.half, 0.5).Round(10*time.Microsecond))
}
