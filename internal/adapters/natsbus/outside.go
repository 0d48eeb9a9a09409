package natsbus

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/adapters/natsbus/callout"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Outside says where servers of somebody else are.
type Outside struct {
	URL  string       // one or more, with commas between them
	CA   string       // a file of the authorities that vouch for the servers; empty: those of the system
	Keys callout.Keys // whose public halves the servers know
	Log  *slog.Logger
}

// outside is the way to servers that somebody else runs.
type outside struct {
	o     Outside
	users *userTable
	door  *nats.Conn  // answers who may come in
	hand  *nats.Conn  // ends connections
	open  atomic.Bool // somebody is at the door
}

const (
	dialWait  = 2 * time.Second
	kickWait  = 2 * time.Second
	pingEvery = time.Second // finds a road that ends nowhere in two of them
	tries     = 3           // of a connection that must be let in
	longDelay = time.Second // between two tries to come back
)

// OpenOutside connects to servers that somebody else runs, once they
// have shown that they ask this host about each connection and hold the rights that
// it gives. Faults: unavailable while no server can be reached, precondition_failed
// where the servers are not set up for this host.
func OpenOutside(l Listener, o Outside) (*Bus, error) {
	out := &outside{o: o, users: newUserTable()}
	b := newBus(out, out.users, l, o.Log)
	b.away = true
	if o.CA != "" {
		raw, err := os.ReadFile(o.CA)
		if err != nil || !x509.NewCertPool().AppendCertsFromPEM(raw) {
			return nil, fault.New(fault.PreconditionFailed, "there is no authority in the file "+o.CA).Because(err)
		}
	}
	if err := out.enter(b.log); err != nil {
		out.close()
		return nil, err
	}
	if err := b.prove(out.door.MaxPayload()); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// enter connects the host's own two users.
func (out *outside) enter(log *slog.Logger) (err error) {
	url, options := out.own(out.o.Keys.Doorkeeper(),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { out.open.Store(false) }),
		nats.ReconnectHandler(func(c *nats.Conn) { out.open.Store(c.FlushTimeout(flushWait) == nil) }))
	if out.door, err = nats.Connect(url, options...); err != nil {
		return notSetUp(err, "they do not know this host")
	}
	if _, err = out.door.Subscribe(callout.Subject, func(m *nats.Msg) { out.answer(m, log) }); err == nil {
		err = out.door.FlushTimeout(flushWait)
	}
	if err == nil {
		out.open.Store(true)
		_, options = out.own(out.o.Keys.Hand(), nats.CustomInboxPrefix(callout.Inbox))
		out.hand, err = nats.Connect(url, options...)
	}
	if err == nil {
		err = errors.Join(out.door.LastError(), out.hand.FlushTimeout(flushWait), out.hand.LastError())
	}
	if err != nil {
		return notSetUp(err, "they do not let this host answer for its connections")
	}
	return nil
}

// own are the options of the host's own two users, which nobody is asked about.
func (out *outside) own(more ...nats.Option) (string, []nats.Option) {
	url, options := out.road()
	return url, append(append(options, returning()...), more...)
}

// notSetUp tells servers that are away from those that know nothing of this host.
func notSetUp(err error, why string) error {
	var who *tls.CertificateVerificationError
	if errors.As(err, &who) {
		return fault.New(fault.PreconditionFailed, "the servers of the bus do not prove who they are: "+who.Err.Error()).Because(err)
	}
	if errors.Is(err, nats.ErrSecureConnWanted) {
		why, err = "they have no TLS", nats.ErrAuthorization
	}
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrPermissionViolation) || errors.Is(err, nats.ErrNkeysNotSupported) {
		return fault.New(fault.PreconditionFailed, "the servers of the bus are not set up for this host: "+why).Because(err)
	}
	return fault.New(fault.Unavailable, "no server of the bus can be reached").Because(err)
}

// answer answers a server's question, or says nothing.
func (out *outside) answer(m *nats.Msg, log *slog.Logger) {
	answer, err := out.o.Keys.Answer(m.Data, m.Header.Get(callout.KeyHeader), out.users.find)
	if err == nil {
		err = m.Respond(answer)
	}
	if err != nil {
		log.Warn("a connection to the bus is not let in", "err", err)
	}
}

// road is how every connection goes.
func (out *outside) road() (string, []nats.Option) {
	options := []nats.Option{
		nats.Name("steward"), nats.Timeout(dialWait), nats.FlusherTimeout(bound.BusWrite.Duration()), nats.ReconnectBufSize(-1),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2), nats.CustomReconnectDelay(pause),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // else it writes to standard error
	}
	if strings.Contains(out.o.URL, "tls://") {
		options = append(options, nats.Secure())
	}
	if out.o.CA != "" {
		options = append(options, nats.RootCAs(out.o.CA))
	}
	return out.o.URL, options
}

// dial is the road of those about whom the servers ask. While nobody is at the door
// they stay away: a server that asks in vain would keep them waiting.
func (out *outside) dial() (string, []nats.Option) {
	url, options := out.road()
	return url, append(options, nats.SetCustomDialer(out))
}

// Dial opens a connection. NATS calls it.
func (out *outside) Dial(network, address string) (net.Conn, error) {
	if !out.open.Load() {
		return nil, errors.New("nobody answers for connections now")
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialWait)
	defer cancel()
	return new(net.Dialer).DialContext(ctx, network, address)
}

// pause is how long a connection waits once it has tried every server. It never
// grows over longDelay, so that servers that are back are found soon.
func pause(tries int) time.Duration {
	return min(time.Duration(float64(reconnect)*math.Pow(2, float64(min(tries-1, 10)))), longDelay)
}

// disconnect has the server of a connection end it. Where that cannot be asked for,
// the connection's own end has to do.
func (out *outside) disconnect(c *nats.Conn) {
	id, err := c.GetClientID()
	if err != nil || !c.IsConnected() {
		return
	}
	_, _ = out.hand.Request("$SYS.REQ.SERVER."+c.ConnectedServerId()+".KICK", fmt.Appendf(nil, `{"cid":%d}`, id), kickWait)
}

func (out *outside) there() bool { return out.open.Load() }

func (out *outside) close() {
	for _, c := range []*nats.Conn{out.hand, out.door} {
		if c != nil {
			c.Close()
		}
	}
}

// prove has the servers show that they are set up as they should be; one that lets
// everybody in would carry the bus as well, and nobody would notice.
func (b *Bus) prove(payload int64) error {
	wrong := func(text string) error {
		return fault.New(fault.PreconditionFailed, "the servers of the bus are not set up for this host: "+text)
	}
	if payload < bound.BusMessageBytes.Max {
		return wrong("their messages are too short")
	}
	name, password := b.users.add(topic.Rights{})
	defer b.users.drop(name)
	url, options := b.place.dial()
	if conn, err := nats.Connect(url, append(options, nats.NoReconnect(), nats.UserInfo(name, rand.Text()))...); err == nil {
		conn.Close()
		return wrong("they let strangers in")
	}
	var conn *nats.Conn
	err := nats.ErrAuthorization
	for try := 0; try < tries && errors.Is(err, nats.ErrAuthorization); try++ { // a busy machine may answer too late
		_, options = b.place.dial()
		conn, err = nats.Connect(url, append(options, nats.NoReconnect(), nats.UserInfo(name, password))...)
	}
	if err != nil {
		return notSetUp(err, "they refuse whom this host lets in")
	}
	defer conn.Close()
	for what, try := range map[string]func() error{
		"Subscription": func() error { _, err := conn.SubscribeSync("b.>"); return err },
		"Publish":      func() error { return conn.Publish("b.x", nil) },
	} {
		if err := errors.Join(try(), conn.FlushTimeout(flushWait)); err != nil {
			return fault.New(fault.Unavailable, "no server of the bus can be reached").Because(err)
		}
		// The refusal came before the answer to the flush.
		if err := conn.LastError(); !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), what) {
			return wrong("they do not hold the rights that this host gives")
		}
	}
	return nil
}
