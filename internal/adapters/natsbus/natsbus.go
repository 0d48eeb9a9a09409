// Package natsbus is the bus between the host's broker and its capsules: a NATS
// server inside the process, without a listener, or servers that somebody else runs
// with the configuration of package callout (bus page, section 3).
//
// It promises: one account a tenant and one user a runtime, with credentials of
// 256 random bits that live as long as the runtime's seat; the user may publish
// and subscribe exactly what topic.Rights says, held by the server and asked in
// Go first, so that a denial is a typed fault and a violation that the server
// still sees is an alarm; principal and source of what arrives are read from the
// subject alone; for each active principal the broker has a connection of its own,
// which reaches nobody else's subjects, so that one who floods delays nobody else,
// and what a full queue dropped is reported; a seat answers what it was asked, once.
// Once
// a seat's Close has returned, nothing of it gets through. Servers of others are
// used only after they have shown that they refuse a stranger and hold the rights,
// and a seat there only after a question has reached it. While they are away every
// question fails at once; connections come back by themselves, and Back follows.
//
// It does not promise delivery or order between sources, and keeps nothing: who
// is not subscribed does not hear.
//
// Bounds: the rows of the bus wing for messages, queues and writes. A Bus and a
// Seat are safe for concurrent use; one lock guards the users and one the
// subscriptions, and no callback runs under either.
package natsbus

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Listener is told what arrives for the broker. Calls for one principal come one
// after the other; calls for several come at once. They must not block.
type Listener struct {
	Described func(describe.Reply)
	Read      func(read.Reply)
	Tool      func(tool.Answer)          // about a tool: what there is, or what came of a call; may be nil
	Lost      func(topic.Principal, int) // so many answers were dropped from a full queue
	Alarm     func(topic.Source, string) // the server refused what Go let through, or somebody forged
	Cut       func(topic.Principal)      // the broker is cut off: what was asked for a principal has no answer
	Back      func(topic.Principal)      // capsules of a principal may answer that did not before
}

// Options are what a host may choose; the zero value works.
type Options struct {
	Log *slog.Logger

	adjust func(*server.Options) // makes it one of several servers, in tests
}

// Bus is the broker's connections to the servers, and the users that it lets in.
type Bus struct {
	place    place
	away     bool // the servers are somebody else's
	listener Listener
	log      *slog.Logger
	users    *userTable

	mu     sync.Mutex
	active map[topic.Principal]*audience
	closed bool
}

// place is where the servers are.
type place interface {
	dial() (url string, options []nats.Option)
	disconnect(*nats.Conn) // has the server forget a connection before it returns
	there() bool           // whether somebody can be asked
	close()
}

const (
	flushWait    = 5 * time.Second
	audienceIdle = time.Minute
	reconnect    = 50 * time.Millisecond
)

// Open starts a server for one tenant.
func Open(tenant string, l Listener, opt Options) (*Bus, error) {
	users := newUserTable()
	in, err := openInside(tenant, users, opt.adjust)
	if err != nil {
		return nil, err
	}
	return newBus(in, users, l, opt.Log), nil
}

func newBus(p place, users *userTable, l Listener, log *slog.Logger) *Bus {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Bus{place: p, users: users, listener: l, log: log, active: make(map[topic.Principal]*audience)}
}

// returning makes a connection come back for as long as it takes.
func returning() []nats.Option {
	return []nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(reconnect), nats.ReconnectJitter(0, 0), nats.IgnoreAuthErrorAbort()}
}

func (b *Bus) isBack(p topic.Principal) {
	if b.listener.Back != nil {
		b.listener.Back(p)
	}
}

// connect opens a connection of a user. Who must be let in tries again where servers
// of somebody else say no: on a busy machine they may be answered too late.
func (b *Bus) connect(name, password string, s topic.Source, more ...nats.Option) (*nats.Conn, error) {
	url, where := b.place.dial()
	options := append(where, nats.UserInfo(name, password), nats.NoEcho(), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) { b.asynchronous(s, sub, err) }))
	conn, err := nats.Connect(url, append(options, more...)...)
	for try := 1; b.away && try < tries && errors.Is(err, nats.ErrAuthorization); try++ {
		conn, err = nats.Connect(url, append(options, more...)...)
	}
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
	if !errors.Is(err, nats.ErrPermissionViolation) { // of the road, and not of anybody's making
		b.log.Warn("the bus has trouble", "source", s.String(), "err", err)
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

// Away is why nobody can be asked now, or nil.
func (b *Bus) Away() error {
	if b.place.there() {
		return nil
	}
	return fault.New(fault.Unavailable, "no server of the bus can be reached")
}

// Close ends every connection, and the server if it is the host's own.
func (b *Bus) Close() {
	b.mu.Lock()
	all := b.active
	b.active, b.closed = nil, true
	b.mu.Unlock()
	for _, a := range all {
		b.dismiss(a)
	}
	b.place.close()
}
