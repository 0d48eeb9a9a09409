package natsbus

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/test/modelsize"
)

// limit is far longer than anything here takes.
const limit = time.Minute

func open(t testing.TB) (*Bus, heard) {
	t.Helper()
	h := newHeard()
	b, err := Open("tenant", h.listener(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, h
}

// inner is the server in the process.
func inner(b *Bus) *server.Server { return b.place.(*inside).server }

func clientOf(t testing.TB, c *nats.Conn) uint64 {
	t.Helper()
	n, err := c.GetClientID()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// observed lets somebody in who sees everything; all others are looked at as ever.
type observed struct {
	server.Authentication
	in func() *server.Server
}

func (o observed) Check(c server.ClientAuthentication) bool {
	if c.GetOpts().Username != "observer" {
		return o.Authentication.Check(c)
	}
	account, err := o.in().LookupAccount("tenant")
	c.RegisterUser(&server.User{Username: "observer", Account: account})
	return err == nil
}

func next[T any](t testing.TB, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(limit):
		t.Fatal("nothing came")
	}
	return v
}

func owner() topic.Principal { return topic.PrincipalOf(id.New[id.Owner]()) }

func serving(t testing.TB) topic.Claim {
	t.Helper()
	c, err := topic.ParseClaim([]string{"resource.v1.response.describe.*", "resource.v1.response.read.*"},
		[]string{"resource.v1.request.describe", "resource.v1.request.read"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// admit seats a capsule that gives its requests to a channel.
func admit(t testing.TB, b *Bus, p topic.Principal, name string) (*Seat, chan Request) {
	t.Helper()
	requests := make(chan Request, 100)
	s, err := b.Admit(Runtime{Principal: p, Source: topic.SourceOf("tenant", name, ""), Claim: serving(t)},
		func(r Request) { requests <- r }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, requests
}

const oneResource = `{"resources":[{"uri":"n:a","name":"a"}]}`

func TestAQuestionReachesTheCapsulesOfItsPrincipalAlone(t *testing.T) {
	b, h := open(t)
	alice, bob := owner(), owner()
	a, asked := admit(t, b, alice, "notes")
	_, bobs := admit(t, b, bob, "notes")
	deadline := time.Now().Add(time.Second).Truncate(time.Millisecond)
	if err := b.AskDescribe(alice, "round", deadline); err != nil {
		t.Fatal(err)
	}
	r := next(t, asked)
	if r.Topic.String() != topic.DescribeRequest || r.Round != "round" || !r.Deadline.Equal(deadline) || string(r.Payload) != "{}" {
		t.Errorf("asked %+v", r)
	}
	if err := a.Answer(r, []byte(oneResource)); err != nil {
		t.Fatal(err)
	}
	got := next(t, h.described)
	if got.Principal != alice || got.Source != a.runtime.Source || got.Suffix != a.runtime.Source.String() || got.Round != "round" ||
		got.Err != nil || got.Count != 1 || len(got.Definitions) != 1 || got.Bytes != len(oneResource) {
		t.Errorf("heard %+v", got)
	}
	if err := b.AskRead(alice, "correlation", "n:a", deadline); err != nil {
		t.Fatal(err)
	}
	r = next(t, asked)
	if string(r.Payload) != `{"uri":"n:a","correlation-id":"correlation"}` {
		t.Errorf("asked %s", r.Payload)
	}
	if err := a.Answer(r, []byte(`{"uri":"n:a","contents":[{"text":{"uri":"n:a","text":"x"}},{"blob":{"uri":"n:a","blob":""}}]}`)); err != nil {
		t.Fatal(err)
	}
	content := next(t, h.read)
	if content.Source != a.runtime.Source || content.Correlation != "correlation" || len(content.Contents) != 2 || content.Contents[0].Blob != nil || content.Contents[1].Blob == nil {
		t.Errorf("heard %+v", content)
	}
	if err := b.AskRead(alice, "another", "n:gone", deadline); err != nil {
		t.Fatal(err)
	}
	if err := a.Decline(next(t, asked)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h.read); got.Source != a.runtime.Source || got.Correlation != "another" || !got.Declined || got.Err != nil {
		t.Errorf("heard %+v", got)
	}
	if err := b.AskCancel(alice, "correlation"); err != nil {
		t.Fatal(err)
	}
	if r = next(t, asked); r.Topic.String() != "_ctl.cancel.correlation" {
		t.Errorf("asked %v", r.Topic)
	}
	if len(bobs) != 0 {
		t.Errorf("another principal's capsule was asked: %v", <-bobs)
	}
}

// I84, A75: for random manifests and subjects, what Go says is what the servers
// do, the one in the process and those of somebody else. An observer with every
// right sees what got through.
func TestTheServerAndGoAgree(t *testing.T) {
	alarms := make(chan string, 100_000)
	l := Listener{Alarm: func(_ topic.Source, text string) { alarms <- text }}
	for name, open := range map[string]func(t *testing.T) (*Bus, *nats.Conn, error){
		"inside": func(t *testing.T) (b *Bus, _ *nats.Conn, err error) {
			b, err = Open("tenant", l, Options{adjust: func(o *server.Options) {
				o.CustomClientAuthentication = observed{o.CustomClientAuthentication, func() *server.Server { return inner(b) }}
			}})
			if err != nil {
				return nil, nil, err
			}
			observer, err := b.connect("observer", "", topic.Source{})
			return b, observer, err
		},
		"outside": func(t *testing.T) (*Bus, *nats.Conn, error) {
			k := keysOf(t)
			srv := somebody(t, strings.NewReplacer("steward {}", `steward { users: [ { user: observer, password: "x" } ] }`,
				"allowed_accounts: [ steward, ", "allowed_accounts: [ ").Replace(k.Config()), nil)
			b, err := OpenOutside(l, Outside{URL: srv.ClientURL(), Keys: k})
			if err != nil {
				return nil, nil, err
			}
			observer, err := nats.Connect(srv.ClientURL(), nats.UserInfo("observer", "x"))
			return b, observer, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			modelsize.Set(t)
			b, observer, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			defer observer.Close()
			serverAndGoAgree(t, b, observer)
			if len(alarms) == 0 {
				t.Error("no violation that the server saw became an alarm")
			}
			for len(alarms) > 0 {
				<-alarms
			}
		})
	}
}

func serverAndGoAgree(t *testing.T, b *Bus, observer *nats.Conn) {
	p, source := owner(), topic.SourceOf("tenant", "random", "")
	segment := rapid.SampledFrom([]string{"a", "c", "notes", "x-1"})
	pattern := rapid.OneOf(segment, rapid.Just("*"))
	join := func(t *rapid.T, g *rapid.Generator[string], label string) string {
		return strings.Join(rapid.SliceOfN(g, 1, 4).Draw(t, label), ".")
	}
	rapid.Check(t, func(rt *rapid.T) {
		var publish, subscribe []string
		for range rapid.IntRange(0, 3).Draw(rt, "publishes") {
			publish = append(publish, "q."+join(rt, pattern, "pattern"))
		}
		for range rapid.IntRange(0, 2).Draw(rt, "subscribes") {
			subscribe = append(subscribe, "q."+join(rt, pattern, "pattern"))
		}
		publish = append(publish, rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"resource.v1.response.describe.*", "resource.v1.response.read.*"}), 0, 2, rapid.ID).Draw(rt, "answers")...)
		claim, err := topic.ParseClaim(publish, subscribe)
		if err != nil {
			rt.Fatal(err)
		}
		rights := topic.RuntimeRights(p, source, claim)
		name, password := b.users.add(rights)
		defer b.users.drop(name)
		conn, err := b.connect(name, password, source)
		if err != nil {
			rt.Fatal(err)
		}
		defer conn.Close()
		var want, got []string
		sub, err := observer.SubscribeSync(">")
		if err != nil {
			rt.Fatal(err)
		}
		defer sub.Unsubscribe()
		if err := observer.Flush(); err != nil {
			rt.Fatal(err)
		}
		for range 10 {
			s := topic.Subject{Principal: p, Source: source}
			if rapid.IntRange(0, 5).Draw(rt, "who") == 0 {
				s.Principal = owner()
			}
			if rapid.IntRange(0, 5).Draw(rt, "what") == 0 {
				s.Source = topic.SourceOf("tenant", "other", "")
			}
			name := rapid.OneOf(rapid.Just("resource.v1.response.read.abc"), rapid.Just("resource.v1.response.read.abc.d"), rapid.Just("resource.v1.request.read"),
				rapid.Just("resource.v1.response.describe."+source.String()), rapid.Just("resource.v1.response.describe.a"),
				rapid.Custom(func(t *rapid.T) string { return "q." + join(t, segment, "topic") })).Draw(rt, "topic")
			if s.Topic, err = topic.Parse(name); err != nil {
				rt.Fatal(err)
			}
			if rights.CheckPublish(s) == nil {
				want = append(want, s.String())
			}
			if err := conn.Publish(s.String(), []byte("x")); err != nil {
				rt.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			rt.Fatal(err)
		}
		if err := observer.Flush(); err != nil {
			rt.Fatal(err)
		}
		for {
			if n, _, _ := sub.Pending(); n == 0 {
				break
			}
			m, err := sub.NextMsg(limit)
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, m.Subject)
		}
		if !slices.Equal(want, got) {
			rt.Fatalf("Go lets through %q, the server %q", want, got)
		}
	})
}

// I84: no subscription reaches another principal, or the answers to the broker.
func TestSubscriptionsStayInside(t *testing.T) {
	b, h := open(t)
	p, source := owner(), topic.SourceOf("tenant", "curious", "")
	name, password := b.users.add(topic.RuntimeRights(p, source, serving(t)))
	conn, err := b.connect(name, password, source)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, subject := range []string{
		">", "b.>", "b.*.>", "b.*.*.resource.v1.request.describe", "b." + p.String() + ".>", "b." + p.String() + ".*.resource.v1.response.>",
		"b." + p.String() + ".*.resource.v1.request.describe", "b." + owner().String() + "._broker.resource.v1.request.describe", "_INBOX.>", "$SYS.>", "$JS.API.>",
	} {
		if _, err := conn.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if text := next(t, h.alarms); !strings.Contains(text, "Permissions Violation for Subscription") {
			t.Errorf("%s: %s", subject, text)
		}
	}
}

// I80, A73: a client that bypasses the adapter can say nothing as anybody else,
// and what it can say as itself the rules drop.
func TestARawClientForgesNothing(t *testing.T) {
	b, h := open(t)
	p, source := owner(), topic.SourceOf("tenant", "forger", "")
	name, password := b.users.add(topic.RuntimeRights(p, source, serving(t)))
	conn, err := b.connect(name, password, source)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := b.AskDescribe(p, "r", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	victim := topic.SourceOf("tenant", "victim", "").String()
	own := "b." + p.String() + "." + source.String() + "."
	for _, subject := range []string{
		"b." + p.String() + "." + victim + ".resource.v1.response.describe." + victim, own + "resource.v1.response.describe." + victim, own + "resource.v1.response.describe.*",
		"b." + owner().String() + "." + source.String() + ".resource.v1.response.describe." + source.String(), "b." + p.String() + "._broker.resource.v1.request.read",
		"b.*." + source.String() + ".resource.v1.response.read.c", "_INBOX.x",
	} {
		if err := conn.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if text := next(t, h.alarms); !strings.Contains(text, "Permissions Violation for Publish") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	// The server takes a literal star for a segment; the broker does not.
	for _, subject := range []string{own + "resource.v1.response.read.*", own + "resource.v1.response.read.>"} {
		if err := conn.PublishRequest(subject, "b.x", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if text := next(t, h.alarms); text != "an answer under a malformed subject" {
			t.Errorf("%s: %s", subject, text)
		}
	}
	if err := conn.Publish(own+"resource.v1.response.describe."+source.String(), []byte(oneResource)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h.described); got.Err == nil || got.Round != "" || len(got.Definitions) != 0 {
		t.Errorf("an answer without an envelope is %+v", got)
	}
}

func TestDenialsAreTypedFaults(t *testing.T) {
	b, _ := open(t)
	s, _ := admit(t, b, owner(), "notes")
	read := Request{Round: "c"}
	read.Topic, _ = topic.Parse(topic.ReadRequest)
	for range 2 {
		s.note(read.Topic) // who owes no answer is told of nothing else
	}
	if err := s.Answer(read, make([]byte, bound.CapsuleBytes.Int()+1)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a payload over the cap: %v", err)
	}
	if err := s.Answer(Request{Topic: read.Topic, Round: "a.b"}, []byte("{}")); !fault.Is(err, fault.CapabilityDenied) {
		t.Errorf("an answer outside the rights: %v", err)
	}
	if err := s.Answer(Request{Topic: read.Topic, Round: "*"}, []byte("{}")); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("an answer to everybody: %v", err)
	}
	for _, r := range []Runtime{{}, {Principal: owner()}, {Principal: owner(), Source: topic.Broker()}, {Source: topic.SourceOf("t", "n", "")}} {
		if _, err := b.Admit(r, nil, nil); !fault.Is(err, fault.CapabilityDenied) {
			t.Errorf("%+v was admitted: %v", r, err)
		}
	}
	if err := b.AskDescribe(topic.Principal{}, "r", time.Now()); !fault.Is(err, fault.CapabilityDenied) {
		t.Errorf("nobody asks: %v", err)
	}
}

// I85: after Close nothing gets through, also not over a stolen connection.
func TestNothingGetsThroughAClosedGate(t *testing.T) {
	b, h := open(t)
	p := owner()
	s, asked := admit(t, b, p, "notes")
	if err := b.AskDescribe(p, "r", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	r := next(t, asked)
	s.Close()
	if err := s.Answer(r, []byte(oneResource)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an answer after the end: %v", err)
	}
	if s.conn.IsConnected() || inner(b).NumClients() != 1 {
		t.Errorf("connected %v, %d clients", s.conn.IsConnected(), inner(b).NumClients())
	}
	if _, err := nats.Connect("", nats.InProcessServer(inner(b)), nats.UserInfo(s.name, "x")); err == nil {
		t.Error("credentials outlive their seat")
	}
	successor, asked := admit(t, b, p, "notes")
	if err := b.AskDescribe(p, "r2", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := successor.Answer(next(t, asked), []byte(oneResource)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h.described); got.Round != "r2" {
		t.Errorf("heard %+v", got)
	}
}

// rawly gives a capsule that speaks past its seat.
func rawly(t testing.TB, b *Bus, p topic.Principal, name string) func(string, []byte) {
	t.Helper()
	source := topic.SourceOf("tenant", name, "")
	user, password := b.users.add(topic.RuntimeRights(p, source, serving(t)))
	conn, err := b.connect(user, password, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return func(name string, payload []byte) {
		if err := conn.Publish("b."+p.String()+"."+source.String()+"."+name, payload); err != nil {
			t.Error(err)
		}
	}
}

// A74: a seat says no more than it was asked, whatever its capsule does, and what it
// was asked long ago does not add up.
func TestASeatSaysNoMoreThanItWasAsked(t *testing.T) {
	b, h := open(t)
	p := owner()
	s, asked := admit(t, b, p, "notes")
	if err := b.AskDescribe(p, "r", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := next(t, asked)
	for i, code := range []fault.Code{"", fault.RateLimited} {
		if err := s.Answer(r, []byte(oneResource)); code == "" && err != nil || code != "" && !fault.Is(err, code) {
			t.Errorf("answer %d: %v", i, err)
		}
	}
	next(t, h.described)
	owed := bound.SeatAnswers.Int()
	for range owed + 10 {
		if err := b.AskDescribe(p, "r", time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		next(t, asked)
	}
	for i := range owed + 1 {
		if err := s.Answer(r, []byte(oneResource)); (err == nil) != (i < owed) {
			t.Fatalf("answer %d of %d: %v", i, owed, err)
		}
	}
}

// I79: Alice's answers are stuck in front of a listener that does not return;
// Bob's come all the same. What her full queue dropped is told (I83).
func TestAFloodDelaysNobodyElseAndIsTold(t *testing.T) {
	alice, bob := owner(), owner()
	release := make(chan struct{})
	bobs, lost := make(chan describe.Reply, 1), make(chan int, 1000)
	b, err := Open("tenant", Listener{
		Described: func(r describe.Reply) { bobs <- r },
		Read:      func(read.Reply) { <-release },
		Lost: func(p topic.Principal, n int) {
			if p == alice {
				lost <- n
			}
		},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	defer close(release)
	flooding := rawly(t, b, alice, "flood")
	quiet, bobAsked := admit(t, b, bob, "quiet")
	for _, p := range []topic.Principal{alice, bob} {
		if err := b.AskDescribe(p, "r", time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	big := []byte(`{"resources":[{"uri":"n:a","name":"` + strings.Repeat("x", 1<<20-100) + `"}]}`)
	for range 2 * int(bound.BusPendingBytes.Max) / len(big) {
		flooding("resource.v1.response.read.c", big)
	}
	if err := quiet.Answer(next(t, bobAsked), []byte(oneResource)); err != nil {
		t.Fatal(err)
	}
	next(t, bobs)
	if n := next(t, lost); n < 1 {
		t.Errorf("%d lost", n)
	}
}

func TestTheBrokerComesBackAfterItsConnectionIsCut(t *testing.T) {
	b, h := open(t)
	p := owner()
	s, asked := admit(t, b, p, "notes")
	if err := b.AskDescribe(p, "r0", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	next(t, asked)
	client := clientOf(t, b.active[p].conn)
	back := make(chan struct{})
	b.active[p].conn.SetReconnectHandler(func(*nats.Conn) { close(back) })
	if err := inner(b).DisconnectClientByID(client); err != nil {
		t.Fatal(err)
	}
	next(t, back)
	if err := b.AskDescribe(p, "r1", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(next(t, asked), []byte(oneResource)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h.described); got.Round != "r1" {
		t.Errorf("heard %+v", got)
	}
}

func TestASeatThatTheServerEndsIsTold(t *testing.T) {
	b, _ := open(t)
	lost := make(chan struct{})
	s, err := b.Admit(Runtime{Principal: owner(), Source: topic.SourceOf("tenant", "n", ""), Claim: serving(t)}, func(Request) {}, func() { close(lost) })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := inner(b).DisconnectClientByID(clientOf(t, s.conn)); err != nil {
		t.Fatal(err)
	}
	next(t, lost)
}

func TestTwoHundredAnswerAndNoneIsLost(t *testing.T) {
	b, h := open(t)
	p := owner()
	for i := range 200 {
		var s *Seat
		ready := make(chan struct{})
		s, err := b.Admit(Runtime{Principal: p, Source: topic.SourceOf("tenant", fmt.Sprint(i), ""), Claim: serving(t)}, func(r Request) {
			<-ready
			if err := s.Answer(r, []byte(oneResource)); err != nil {
				t.Error(err)
			}
		}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		close(ready)
		t.Cleanup(s.Close)
	}
	if err := b.AskDescribe(p, "r", time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	sources := map[topic.Source]bool{}
	for range 200 {
		r := next(t, h.described)
		mu.Lock()
		sources[r.Source] = true
		mu.Unlock()
	}
	if len(sources) != 200 || len(h.lost) != 0 {
		t.Errorf("%d answered, %d losses", len(sources), len(h.lost))
	}
}
