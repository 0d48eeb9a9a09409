package natsbus

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/adapters/natsbus/callout"
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/test/figure"
)

// somebody runs a server that has a configuration, on loopback.
func somebody(t testing.TB, config string, adjust func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{}
	if err := o.ProcessConfigString(config); err != nil {
		t.Fatalf("%v\n%s", err, config)
	}
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = -1
	}
	if adjust != nil {
		adjust(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(limit) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

func keysOf(t testing.TB) callout.Keys {
	t.Helper()
	k, err := callout.Keep(filepath.Join(t.TempDir(), "keys", "bus"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// openOutside opens a bus on a server of somebody else.
func openOutside(t testing.TB, url string, k callout.Keys) (*Bus, heard) {
	t.Helper()
	h := newHeard()
	b, err := OpenOutside(h.listener(), Outside{URL: url, Keys: k})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, h
}

// The servers of somebody else hold what the one in the process does: what the
// suites of this package say of a capsule's rights and end is true there as well.
func TestServersOfOthersHoldTheRights(t *testing.T) {
	k := keysOf(t)
	srv := somebody(t, k.Config(), nil)
	b, h := openOutside(t, srv.ClientURL(), k)
	p := owner()
	s, asked := admit(t, b, p, "notes")
	if err := b.AskDescribe(p, "r", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := next(t, asked)
	if err := s.Answer(r, []byte(oneResource)); err != nil {
		t.Fatal(err)
	}
	if got := next(t, h.described); got.Err != nil || got.Principal != p || got.Source != s.runtime.Source || len(got.Definitions) != 1 {
		t.Errorf("heard %+v", got)
	}
	if len(asked) != 0 {
		t.Errorf("a knock reached the capsule: %+v", <-asked)
	}

	// What Go would not let through the server does not either.
	own := "b." + p.String() + "." + s.runtime.Source.String() + "."
	for subject, kind := range map[string]string{
		"b." + p.String() + "._broker.resource.v1.request.read": "Publish", own + "resource.v1.response.describe.other": "Publish", "$SYS.REQ.SERVER.PING": "Publish",
		"b.>": "Subscription", "b." + owner().String() + "._broker.resource.v1.request.describe": "Subscription", callout.Subject: "Subscription",
	} {
		var err error
		if kind == "Publish" {
			err = s.conn.Publish(subject, []byte("{}"))
		} else {
			_, err = s.conn.SubscribeSync(subject)
		}
		if err != nil {
			t.Fatal(err)
		}
		if text := next(t, h.alarms); !strings.Contains(text, "Permissions Violation for "+kind) {
			t.Errorf("%s: %s", subject, text)
		}
	}

	// I85: after Close the server has forgotten the connection, and the credentials open nothing.
	user, _ := b.users.find(s.name)
	s.Close()
	if n := srv.NumClients(); n != 3 { // the doorkeeper, the hand and the broker
		t.Errorf("%d clients", n)
	}
	for name, password := range map[string]string{s.name: user.Password.Reveal(), "": ""} {
		if conn, err := nats.Connect(srv.ClientURL(), nats.UserInfo(name, password), nats.NoReconnect()); err == nil {
			conn.Close()
			t.Errorf("%q is let in", name)
		}
	}
	if err := s.Answer(r, []byte(oneResource)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an answer after the end: %v", err)
	}
}

// BF29: servers that would not protect the bus are found out before it is used,
// and told from those that are away.
func TestServersThatAreNotSetUpAreRefused(t *testing.T) {
	k := keysOf(t)
	open := func(config string) string { return somebody(t, config, nil).ClientURL() }
	gone := somebody(t, k.Config(), nil)
	where := gone.ClientURL()
	gone.Shutdown()
	gone.WaitForShutdown()
	noAccounts := "max_payload: 4194304"
	everybody := somebody(t, noAccounts, func(o *server.Options) { o.CustomClientAuthentication, o.AlwaysEnableNonce = anybody{}, true }).ClientURL()
	for name, tc := range map[string]struct {
		url  string
		code fault.Code
		text string
	}{
		"nobody is asked":           {open(noAccounts), fault.PreconditionFailed, "do not know this host"},
		"everybody is let in":       {everybody, fault.PreconditionFailed, "strangers"},
		"the keys of another host":  {open(keysOf(t).Config()), fault.PreconditionFailed, "do not know this host"},
		"messages are too short":    {open(strings.Replace(k.Config(), "max_payload: 4194304", "max_payload: 1048576", 1)), fault.PreconditionFailed, "too short"},
		"the doorkeeper hears none": {open(strings.Replace(k.Config(), callout.Subject, "x", 1)), fault.PreconditionFailed, "answer for its connections"},
		"no server":                 {where, fault.Unavailable, "can be reached"},
	} {
		b, err := OpenOutside(Listener{}, Outside{URL: tc.url, Keys: k})
		if err == nil {
			b.Close()
		}
		if !fault.Is(err, tc.code) || !strings.Contains(err.Error(), tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// anybody lets everybody in.
type anybody struct{}

func (anybody) Check(server.ClientAuthentication) bool { return true }

// R11: a server that goes away takes no question with it in silence, and one that
// is back carries the same seats again.
func TestTheServerGoesAwayAndComesBack(t *testing.T) {
	k := keysOf(t)
	srv := somebody(t, k.Config(), nil)
	back, cut := make(chan topic.Principal, 100), make(chan struct{}, 100)
	h := newHeard()
	l := h.listener()
	l.Cut, l.Back = func(topic.Principal) { cut <- struct{}{} }, func(p topic.Principal) { back <- p }
	b, err := OpenOutside(l, Outside{URL: srv.ClientURL(), Keys: k})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	p := owner()
	s, asked := admit(t, b, p, "notes") // whose knock has the broker connect as well
	at, err := url.Parse(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	rounds, slowest := figure.Of(t, 2, 10, 100), time.Duration(0)
	for range rounds {
		srv.Shutdown()
		srv.WaitForShutdown()
		next(t, cut)
		if err := b.AskDescribe(p, "r", time.Now().Add(time.Minute)); !fault.Is(err, fault.Unavailable) {
			t.Errorf("a question to nobody: %v", err)
		}
		srv = somebody(t, "port: "+at.Port()+"\n"+k.Config(), nil)
		began := time.Now()
		for told := 0; told < 2; told++ { // of the broker's connection and of the seat's
			if got := next(t, back); got != p {
				t.Errorf("somebody else is back: %v", got)
			}
		}
		if err := b.AskDescribe(p, "again", time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := s.Answer(next(t, asked), []byte(oneResource)); err != nil {
			t.Fatal(err)
		}
		if got := next(t, h.described); got.Round != "again" || got.Err != nil {
			t.Errorf("heard %+v", got)
		}
		slowest = max(slowest, time.Since(began))
	}
	figure.Tell(t, "R11", "%d restarts of an outside server, slowest recovery %v", rounds, slowest.Round(time.Millisecond))
}

// heard collects what a listener is told.
type heard struct {
	described chan describe.Reply
	read      chan read.Reply
	lost      chan int
	alarms    chan string
}

func newHeard() heard {
	return heard{make(chan describe.Reply, 1000), make(chan read.Reply, 1000), make(chan int, 1000), make(chan string, 1000)}
}

func (h heard) listener() Listener {
	return Listener{
		Described: func(r describe.Reply) { h.described <- r }, Read: func(r read.Reply) { h.read <- r },
		Lost: func(_ topic.Principal, n int) { h.lost <- n }, Alarm: func(_ topic.Source, text string) { h.alarms <- text },
	}
}
