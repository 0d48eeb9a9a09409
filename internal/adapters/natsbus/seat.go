package natsbus

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Runtime is one capsule that runs for one principal.
type Runtime struct {
	Principal topic.Principal
	Source    topic.Source
	Claim     topic.Claim
	Build     digest.Digest
}

// Request is a question of the broker to a runtime.
type Request struct {
	Topic    topic.Topic
	Round    string    // of a describe, or the correlation of a read
	Deadline time.Time // after which nobody waits
	Payload  []byte    // a record of the contract
}

// Seat is the place of one runtime on the bus. Close must be called.
type Seat struct {
	bus     *Bus
	runtime Runtime
	rights  topic.Rights
	name    string
	conn    *nats.Conn
	client  uint64

	mu     sync.RWMutex // the gate: held for reading while something is published
	closed bool
}

// Admit gives a runtime its place. take is called with each request, one after
// the other, from now on and until Close; it must not block. lost is called once
// if the server ends the connection by itself.
func (b *Bus) Admit(r Runtime, take func(Request), lost func()) (*Seat, error) {
	if r.Principal.IsZero() || r.Source.IsZero() || r.Source == topic.Broker() {
		return nil, fault.New(fault.CapabilityDenied, "a runtime needs a principal and a source of its own")
	}
	s := &Seat{bus: b, runtime: r, rights: topic.RuntimeRights(r.Principal, r.Source, r.Claim)}
	var password string
	s.name, password = b.users.add(permissions(s.rights))
	var err error
	s.conn, err = b.connect(s.name, password, r.Source, nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) {
		if !s.isClosed() {
			lost()
		}
	}))
	if err != nil {
		b.users.drop(s.name)
		return nil, err
	}
	if err := s.subscribe(take); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// subscribe takes what the rights allow. Runtimes of one source share a queue, so
// that replicas of a capsule count once.
func (s *Seat) subscribe(take func(Request)) error {
	id, err := s.conn.GetClientID()
	if err != nil {
		return fault.New(fault.Unavailable, "the bus does not name its client").Because(err)
	}
	s.client = id
	for _, f := range s.rights.Subscribe {
		sub, err := s.conn.QueueSubscribe(f.String(), s.runtime.Source.String(), func(m *nats.Msg) { s.deliver(m, take) })
		if err == nil {
			err = sub.SetPendingLimits(-1, bound.BusPendingBytes.Int())
		}
		if err != nil {
			return fault.New(fault.Unavailable, "the bus takes no subscription").Because(err)
		}
	}
	if err := s.conn.FlushTimeout(flushWait); err != nil {
		return fault.New(fault.Unavailable, "the bus does not confirm a subscription").Because(err)
	}
	return nil
}

func (s *Seat) deliver(m *nats.Msg, take func(Request)) {
	subject, err := topic.ParseSubject(m.Subject)
	if err != nil {
		return
	}
	e, err := decodeEnvelope(m.Data)
	if err != nil || subject.Principal != s.runtime.Principal || subject.Source != topic.Broker() || s.isClosed() {
		return
	}
	take(Request{Topic: subject.Topic, Round: e.Round, Deadline: e.deadline(), Payload: e.Payload})
}

// Answer publishes the answer to a request, stamped with the seat's principal and
// source. Faults: capability_denied, too_large, or unavailable after Close.
func (s *Seat) Answer(r Request, payload []byte) error {
	if err := bound.CapsuleBytes.Check(len(payload)); err != nil {
		return err
	}
	var to topic.Topic
	var err error
	switch r.Topic.String() {
	case topic.DescribeRequest:
		to, err = topic.Under(topic.DescribeResponse, s.runtime.Source.String())
	case topic.ReadRequest:
		to, err = topic.Under(topic.ReadResponse, r.Round)
	default:
		err = fault.New(fault.InvalidRequest, "this topic has no answer")
	}
	if err != nil {
		return err
	}
	return s.publish(to, envelope{ID: rand.Text(), Round: r.Round, Build: s.runtime.Build, Payload: payload})
}

func (s *Seat) publish(to topic.Topic, e envelope) error {
	subject := topic.Subject{Principal: s.runtime.Principal, Source: s.runtime.Source, Topic: to}
	if err := s.rights.CheckPublish(subject); err != nil {
		return err
	}
	data, err := e.encode()
	if err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return fault.New(fault.Unavailable, "the capsule was unloaded")
	}
	if err := s.conn.Publish(subject.String(), data); err != nil {
		return fault.New(fault.Unavailable, "the bus takes no message").Because(err)
	}
	return nil
}

func (s *Seat) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// Close takes the place away: it closes the gate, drops the credentials and has
// the server disconnect the client, in this order. A successor may be admitted
// once it has returned.
func (s *Seat) Close() {
	s.mu.Lock()
	already := s.closed
	s.closed = true
	s.mu.Unlock()
	if already {
		return
	}
	s.bus.users.drop(s.name)
	_ = s.bus.server.DisconnectClientByID(s.client) // its error is that the client is gone
	s.conn.Close()
}
