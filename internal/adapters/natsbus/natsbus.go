// Package natsbus is the bus between the host's broker and its capsules: a NATS
// server inside the process, without a listener (bus page, section 3).
//
// It promises: one account a tenant and one user a runtime, with credentials of
// 256 random bits that live as long as the runtime's seat; the user may publish
// and subscribe exactly what topic.Rights says, held by the server and asked in
// Go first, so that a denial is a typed fault and a violation that the server
// still sees is an alarm; principal and source of what arrives are read from the
// subject alone; each active principal has a subscription of its own, so that one
// who floods delays nobody else, and what a full queue dropped is reported. Once
// a seat's Close has returned, nothing of it gets through.
//
// It does not promise delivery or order between sources, and keeps nothing: who
// is not subscribed does not hear.
//
// Bounds: the rows of the bus wing for messages, queues and writes. A Bus and a
// Seat are safe for concurrent use; one lock guards the users and one the
// subscriptions, and no callback runs under either.
package natsbus

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Listener is told what arrives for the broker. Calls for one principal come one
// after the other; calls for several come at once. They must not block.
type Listener struct {
	Described func(describe.Reply)
	Read      func(read.Reply)
	Lost      func(topic.Principal, int) // so many answers were dropped from a full queue
	Alarm     func(topic.Source, string) // the server refused what Go let through, or somebody forged
}

// Options are what a host may choose; the zero value works.
type Options struct {
	Log *slog.Logger

	adjust func(*server.Options) // makes it one of several servers, in tests
}

// Bus is one embedded server and the broker's connection to it.
type Bus struct {
	server   *server.Server
	account  string
	listener Listener
	log      *slog.Logger
	broker   *nats.Conn

	users userTable

	mu     sync.Mutex
	active map[topic.Principal]*audience
}

// audience is the broker's subscription to the answers of one principal.
type audience struct {
	sub  *nats.Subscription
	lost int // drops told so far
	used time.Time
}

const (
	startWait    = 10 * time.Second
	flushWait    = 5 * time.Second
	audienceIdle = time.Minute
	reconnect    = 50 * time.Millisecond
)

// Open starts a server for one tenant and connects the broker.
func Open(tenant string, l Listener, opt Options) (*Bus, error) {
	b := &Bus{account: tenant, listener: l, log: opt.Log, active: make(map[topic.Principal]*audience)}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.users.known = make(map[string]user)
	o := &server.Options{
		ServerName: "steward", DontListen: true, NoLog: true, NoSigs: true, MaxPayload: int32(bound.BusMessageBytes.Max),
		MaxPending: bound.BusPendingBytes.Max, WriteDeadline: bound.BusWrite.Duration(),
		Accounts: []*server.Account{server.NewAccount(tenant)}, CustomClientAuthentication: b,
	}
	if opt.adjust != nil {
		opt.adjust(o)
	}
	var err error
	if b.server, err = server.NewServer(o); err != nil {
		return nil, fault.New(fault.Internal, "the bus cannot be set up").Because(err)
	}
	b.server.Start()
	if !b.server.ReadyForConnections(startWait) {
		b.server.Shutdown()
		return nil, fault.New(fault.Internal, "the bus did not start")
	}
	if err := b.connectBroker(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Bus) connectBroker() (err error) {
	name, password := b.users.add(permissions(topic.BrokerRights()))
	b.broker, err = b.connect(name, password, topic.Broker(),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnect), nats.ReconnectJitter(0, 0), nats.IgnoreAuthErrorAbort())
	return err
}

// connect opens an in-process connection of a user.
func (b *Bus) connect(name, password string, s topic.Source, more ...nats.Option) (*nats.Conn, error) {
	conn, err := nats.Connect("", append([]nats.Option{
		nats.InProcessServer(b.server), nats.UserInfo(name, password), nats.NoEcho(), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { b.asynchronous(s, sub, err) }),
	}, more...)...)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the bus takes no connection").Because(err)
	}
	return conn, nil
}

// asynchronous takes what NATS reports after the call that caused it.
func (b *Bus) asynchronous(s topic.Source, sub *nats.Subscription, err error) {
	if sub != nil && errors.Is(err, nats.ErrSlowConsumer) {
		b.tellLost(sub)
		return
	}
	b.alarm(s, err.Error())
}

func (b *Bus) alarm(s topic.Source, text string) {
	b.log.Warn("bus alarm", "source", s.String(), "what", text)
	if b.listener.Alarm != nil {
		b.listener.Alarm(s, text)
	}
}

// Close ends the server and every connection.
func (b *Bus) Close() {
	if b.broker != nil {
		b.broker.Close()
	}
	b.server.Shutdown()
	b.server.WaitForShutdown()
}

// user is who one pair of credentials stands for.
type user struct {
	password string
	may      *server.Permissions
}

// userTable holds the credentials that are good now.
type userTable struct {
	mu    sync.Mutex
	known map[string]user
}

func (t *userTable) add(may *server.Permissions) (name, password string) {
	name, u := rand.Text(), user{rand.Text(), may}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[name] = u
	return name, u.password
}

func (t *userTable) drop(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, name)
}

func (t *userTable) find(name string) (user, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, ok := t.known[name]
	return u, ok
}

// Check admits a connection and gives it its rights. The server calls it.
func (b *Bus) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	u, ok := b.users.find(o.Username)
	if !ok || subtle.ConstantTimeCompare([]byte(u.password), []byte(o.Password)) != 1 {
		return false
	}
	account, err := b.server.LookupAccount(b.account)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{Username: o.Username, Account: account, Permissions: u.may})
	return true
}

// permissions are the rights in the server's form. An empty list would allow
// everything, so nothing is allowed by denying all.
func permissions(r topic.Rights) *server.Permissions {
	return &server.Permissions{Publish: permission(r.Publish), Subscribe: permission(r.Subscribe)}
}

func permission(list []topic.Filter) *server.SubjectPermission {
	if len(list) == 0 {
		return &server.SubjectPermission{Deny: []string{">"}}
	}
	p := &server.SubjectPermission{}
	for _, f := range list {
		p.Allow = append(p.Allow, f.String())
	}
	return p
}
