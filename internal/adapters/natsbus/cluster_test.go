package natsbus

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/service/broker"
	"github.com/stewardhost/steward/test/figure"
)

// road is a way between servers that a test can cut.
type road struct {
	listener net.Listener
	mu       sync.Mutex
	to       string
	cut      bool
	open     map[net.Conn]bool
}

func newRoad(t *testing.T) *road {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{listener: l, open: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { r.carry(c) })
		}
	})
	t.Cleanup(func() {
		r.set(true)
		l.Close()
		running.Wait()
	})
	return r
}

func (r *road) carry(in net.Conn) {
	defer in.Close()
	r.mu.Lock()
	to, cut := r.to, r.cut
	r.mu.Unlock()
	if cut {
		return
	}
	out, err := new(net.Dialer).DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	defer out.Close()
	r.mu.Lock()
	r.open[in], r.open[out] = true, true
	cut = r.cut
	r.mu.Unlock()
	if !cut {
		go func() {
			_, _ = io.Copy(out, in)
			out.Close()
		}()
		_, _ = io.Copy(in, out)
	}
	r.mu.Lock()
	delete(r.open, in)
	delete(r.open, out)
	r.mu.Unlock()
}

// set cuts the road, with all that is on it, or opens it again.
func (r *road) set(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
	for c := range r.open {
		if cut {
			c.Close()
		}
	}
}

// cluster is three servers with a capsule of Alice's and one of Bob's on each, and
// a broker on the first.
type cluster struct {
	*broker.Broker
	first      *Bus
	roads      []*road
	alice, bob topic.Principal
	members    map[topic.Principal][]describe.Member
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{alice: owner(), bob: owner(), members: map[topic.Principal][]describe.Member{}}
	var err error
	c.Broker, err = broker.New(broker.Ports{
		Members:     func(p topic.Principal) []describe.Member { return c.members[p] },
		AskDescribe: func(p topic.Principal, round string, at time.Time) error { return c.first.AskDescribe(p, round, at) },
		AskRead: func(p topic.Principal, correlation, uri string, at time.Time) error {
			return c.first.AskRead(p, correlation, uri, at)
		},
		AskCancel: func(p topic.Principal, correlation string) error { return c.first.AskCancel(p, correlation) },
		Audit:     func(broker.Event) {}, Changed: func(topic.Principal) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) listener() Listener {
	return Listener{Described: c.Described, Read: c.WasRead, Lost: c.Lost}
}

// join makes a server a member of the cluster; what it gives is called once the
// server runs.
func (c *cluster) join(t *testing.T, o *server.Options) func(*server.Server) {
	t.Helper()
	r := newRoad(t)
	for _, other := range c.roads {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: other.listener.Addr().String()})
	}
	c.roads = append(c.roads, r)
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", -1 // routing waits for a listener
	o.ServerName = fmt.Sprint("node", len(c.roads))
	o.Cluster = server.ClusterOpts{Name: "steward", Host: "127.0.0.1", Port: -1, Advertise: r.listener.Addr().String(), PoolSize: -1, NoAdvertise: true}
	return func(s *server.Server) {
		r.mu.Lock()
		r.to = s.ClusterAddr().String()
		r.mu.Unlock()
	}
}

// newInsideCluster is three hosts whose servers are one cluster.
func newInsideCluster(t *testing.T) *cluster {
	c := newCluster(t)
	for i := range 3 {
		var joined func(*server.Server)
		b, err := Open("tenant", c.listener(), Options{adjust: func(o *server.Options) { joined = c.join(t, o) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		joined(inner(b))
		if c.first == nil {
			c.first = b
		}
		c.seats(t, b, i)
	}
	return c
}

// newOutsideCluster is one host at the first of three servers of somebody else; its
// capsules are at all three.
func newOutsideCluster(t *testing.T) *cluster {
	c := newCluster(t)
	k := keysOf(t)
	var urls []string
	for range 3 {
		var joined func(*server.Server)
		s := somebody(t, k.Config(), func(o *server.Options) { joined = c.join(t, o) })
		joined(s)
		urls = append(urls, s.ClientURL())
	}
	var err error
	if c.first, err = OpenOutside(c.listener(), Outside{URL: urls[0], Keys: k}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.first.Close)
	for i, at := range urls {
		c.first.place.(*outside).o.URL = at
		c.admit(t, c.alice, func(Request) {}).Close() // once the servers know each other
		c.seats(t, c.first, i)
	}
	return c
}

// admit tries until a new capsule has its place: the servers may not know each other
// yet, and on a busy machine they may be answered too late.
func (c *cluster) admit(t *testing.T, p topic.Principal, take func(Request)) *Seat {
	t.Helper()
	for began := time.Now(); ; {
		s, err := c.first.Admit(Runtime{Principal: p, Source: topic.SourceOf("tenant", "new", ""), Claim: serving(t)}, take, func() {})
		if err == nil {
			return s
		}
		if time.Since(began) > limit {
			t.Fatal(err)
		}
	}
}

func (c *cluster) seats(t *testing.T, b *Bus, i int) {
	t.Helper()
	c.seat(t, b, c.alice, "alice", i)
	c.seat(t, b, c.bob, "bob", i)
}

func (c *cluster) seat(t *testing.T, b *Bus, p topic.Principal, whose string, i int) {
	t.Helper()
	name := fmt.Sprint(whose, i)
	uri := fmt.Sprintf("n:%s", name)
	source := topic.SourceOf("tenant", name, "")
	ready := make(chan struct{})
	var s *Seat
	s, err := b.Admit(Runtime{Principal: p, Source: source, Claim: serving(t)}, func(r Request) {
		<-ready
		payload := fmt.Sprintf(`{"resources":[{"uri":%q,"name":%q}]}`, uri, name)
		if r.Topic.String() == topic.ReadRequest {
			payload = fmt.Sprintf(`{"uri":%q,"contents":[{"text":{"uri":%q,"text":%q}}]}`, uri, uri, name)
		}
		_ = s.Answer(r, []byte(payload)) // a closed seat at the end of the test
	}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	t.Cleanup(s.Close)
	c.members[p] = append(c.members[p], describe.Member{Source: source, Name: name, Order: int64(i), Since: time.Now().Add(-time.Hour)})
}

// BF2: in a cluster a subscription is known at the other servers a moment later than
// at its own; a capsule that was admitted is reached all the same by the first
// question, at whichever server it is.
func TestAnAdmittedCapsuleIsReachedByTheFirstQuestion(t *testing.T) {
	c := newOutsideCluster(t)
	rounds := figure.Of(t, 20, 200, 1000)
	for i := range rounds {
		asked := make(chan Request, 1)
		p := owner()
		s := c.admit(t, p, func(r Request) { asked <- r })
		if err := c.first.AskDescribe(p, "first", time.Now().Add(limit)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-asked:
		case <-time.After(limit):
			t.Fatalf("the first question to capsule %d was lost", i)
		}
		s.Close()
	}
	figure.Tell(t, "BF2", "%d capsules at a far server, each reached by the first question", rounds)
}

// R11: with the roads cut a list is incomplete and says so, a read of what is
// beyond fails within its time, nothing of another principal shows, and it is all
// there again soon after the roads are open.
func TestAPartitionFailsClosedAndHeals(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *cluster{"inside": newInsideCluster, "outside": newOutsideCluster} {
		t.Run(name, func(t *testing.T) { partitionFailsClosedAndHeals(t, open(t), name) })
	}
}

func partitionFailsClosedAndHeals(t *testing.T, c *cluster, name string) {
	may := func(string) bool { return true }
	list := func() describe.Result {
		t.Helper()
		got, err := c.List(t.Context(), c.alice)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range got.Listed {
			if l.Capsule != l.Name || l.URI != "n:"+l.Name || l.Name[:5] != "alice" {
				t.Fatalf("Alice lists %+v", l)
			}
		}
		return got
	}
	heal := func() time.Duration {
		t.Helper()
		began := time.Now()
		for !list().Complete {
			if time.Since(began) > limit {
				t.Fatal("it does not heal")
			}
		}
		return time.Since(began)
	}
	heal()
	rounds, slowest := figure.Of(t, 3, 20, 300), time.Duration(0)
	for range rounds {
		for _, r := range c.roads {
			r.set(true)
		}
		got := list()
		for got.Complete { // what was on the way already
			got = list()
		}
		if len(got.Listed)+len(got.Missing) != 3 || len(got.Listed) == 0 {
			t.Errorf("cut off: %d listed, %d missing", len(got.Listed), len(got.Missing))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		found, err := c.Read(ctx, broker.Asker{Principal: c.alice, Ingress: broker.Face, May: may}, "n:alice2")
		cancel()
		if err == nil || found.Contents != nil {
			t.Errorf("what is beyond the cut is read: %+v", found)
		}
		for _, r := range c.roads {
			r.set(false)
		}
		slowest = max(slowest, heal())
		found, err = c.Read(t.Context(), broker.Asker{Principal: c.alice, Ingress: broker.Face, May: may}, "n:alice2")
		if err != nil || found.Contents[0].Text != "alice2" {
			t.Errorf("afterwards %+v, %v", found, err)
		}
	}
	if figure.Of(t, 0, 1, 1) == 1 && slowest > 3*time.Second { // the quick size runs on whatever machine there is
		t.Errorf("the slowest recovery took %v", slowest)
	}
	figure.Tell(t, "R11", "%d partitions of a cluster %s, slowest recovery %v", rounds, name, slowest.Round(time.Millisecond))
}

// BenchmarkDescribeOf100 is a list over a hundred warm capsules, from the broker's
// question to the sorted result (quality page: at most 10 ms).
func BenchmarkDescribeOf100(b *testing.B) {
	p := owner()
	var members []describe.Member
	var bus *Bus
	service, err := broker.New(broker.Ports{
		Members:     func(topic.Principal) []describe.Member { return members },
		AskDescribe: func(p topic.Principal, round string, at time.Time) error { return bus.AskDescribe(p, round, at) },
		AskRead:     func(topic.Principal, string, string, time.Time) error { return nil }, AskCancel: func(topic.Principal, string) error { return nil },
		Audit: func(broker.Event) {}, Changed: func(topic.Principal) {},
	})
	if err != nil {
		b.Fatal(err)
	}
	if bus, err = Open("tenant", Listener{Described: service.Described, Read: service.WasRead}, Options{}); err != nil {
		b.Fatal(err)
	}
	defer bus.Close()
	for i := range 100 {
		source := topic.SourceOf("tenant", fmt.Sprint(i), "")
		payload := fmt.Appendf(nil, `{"resources":[{"uri":"n:%d/a","name":"a","mime-type":"text/plain"},{"uri":"n:%d/b","name":"b"}]}`, i, i)
		ready := make(chan struct{})
		var s *Seat
		s, err := bus.Admit(Runtime{Principal: p, Source: source, Claim: serving(b)}, func(r Request) {
			<-ready
			_ = s.Answer(r, payload)
		}, func() {})
		if err != nil {
			b.Fatal(err)
		}
		close(ready)
		defer s.Close()
		members = append(members, describe.Member{Source: source, Name: fmt.Sprint(i), Order: int64(i), Since: time.Now().Add(-time.Hour)})
	}
	for b.Loop() {
		if got, err := service.List(b.Context(), p); err != nil || !got.Complete || len(got.Listed) != 200 {
			b.Fatalf("%d, %v", len(got.Listed), err)
		}
	}
}
