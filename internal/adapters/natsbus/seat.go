package natsbus

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/capsulewire"
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
	Life     int64     // of a call: of the capsule that it is for
	Payload  []byte    // a record of the contract
}

// Seat is the place of one runtime on the bus. Close must be called.
type Seat struct {
	bus     *Bus
	runtime Runtime
	rights  topic.Rights
	name    string
	conn    *nats.Conn

	mu     sync.RWMutex // the gate: held for reading while something is published
	closed bool

	front sync.Mutex               // over what follows
	owed  int                      // answers: no more go out than questions came
	heard map[string]chan struct{} // by the name of what is on its way
}

// Admit gives a runtime its place. take is called with each request, one after
// the other, from now on and until Close; it must not block. lost is called once
// if the host's own server ends the connection by itself; to servers of others it
// comes back.
func (b *Bus) Admit(r Runtime, take func(Request), lost func()) (*Seat, error) {
	if r.Principal.IsZero() || r.Source.IsZero() || r.Source == topic.Broker() {
		return nil, fault.New(fault.CapabilityDenied, "a runtime needs a principal and a source of its own")
	}
	s := &Seat{bus: b, runtime: r, rights: topic.RuntimeRights(r.Principal, r.Source, r.Claim), heard: make(map[string]chan struct{})}
	var password string
	s.name, password = b.users.add(s.rights)
	options := []nats.Option{nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) {
		if !s.isClosed() {
			lost()
		}
	})}
	if b.away {
		options = append(returning(), nats.ReconnectHandler(func(*nats.Conn) { s.cameBack() }))
	}
	var err error
	s.conn, err = b.connect(s.name, password, r.Source, options...)
	if err != nil {
		b.users.drop(s.name)
		return nil, err
	}
	err = s.subscribe(take)
	if err == nil && b.away {
		err = s.reached()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// subscribe takes what the rights allow. Runtimes of one source share a queue, so
// that replicas of a capsule count once.
func (s *Seat) subscribe(take func(Request)) error {
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

// cameBack tells that the seat can be asked again, once it can. Where the seat goes
// away meanwhile, its next return tells it.
func (s *Seat) cameBack() {
	for !s.isClosed() && s.conn.IsConnected() {
		if s.reached() == nil {
			s.bus.isBack(s.runtime.Principal)
			return
		}
	}
}

// knockEvery is how often the broker knocks until it is heard.
const knockEvery = 20 * time.Millisecond

// reached waits until something that the broker says reaches the seat. Between the
// servers of a cluster, who subscribes is known a moment later than to its own; a
// question that comes before that would be lost without a word (bus reference,
// section 5.8).
func (s *Seat) reached() error {
	name := strings.ToLower(rand.Text())
	heard := make(chan struct{})
	s.front.Lock()
	s.heard[name] = heard
	s.front.Unlock()
	defer func() {
		s.front.Lock()
		delete(s.heard, name)
		s.front.Unlock()
	}()
	again := time.NewTicker(knockEvery)
	defer again.Stop()
	patience := time.NewTimer(flushWait)
	defer patience.Stop()
	for !s.isClosed() {
		// The broker may be on its way back as well.
		_ = s.bus.ask(s.runtime.Principal, s.knocks()+"."+name, name, time.Time{}, capsulewire.DescribeRequest{})
		select {
		case <-heard:
			return nil
		case <-again.C:
		case <-patience.C:
			return fault.New(fault.Unavailable, "the bus does not carry questions to a capsule")
		}
	}
	return fault.New(fault.Unavailable, "the capsule was unloaded")
}

// knocks is the topic under which the broker knocks at this seat.
func (s *Seat) knocks() string { return topic.Cancel + "." + s.runtime.Source.String() }

// wasKnock takes what was said only to see whether it arrives, here or elsewhere.
func (s *Seat) wasKnock(t topic.Topic) bool {
	name, here := t.After(s.knocks())
	if !here {
		_, asked := t.After(topic.Cancel)
		return strings.HasPrefix(t.String(), topic.Cancel+".") && !asked
	}
	s.front.Lock()
	defer s.front.Unlock()
	if heard := s.heard[name]; heard != nil {
		delete(s.heard, name)
		close(heard)
	}
	return true
}

func (s *Seat) deliver(m *nats.Msg, take func(Request)) {
	subject, err := topic.ParseSubject(m.Subject)
	if err != nil {
		return
	}
	e, err := decodeEnvelope(m.Data)
	if err != nil || subject.Principal != s.runtime.Principal || subject.Source != topic.Broker() || s.isClosed() || s.wasKnock(subject.Topic) {
		return
	}
	inside, mine := subject.Topic.Inside(s.runtime.Source)
	if !mine {
		return
	}
	s.note(subject.Topic)
	take(Request{Topic: inside, Round: e.Round, Deadline: e.deadline(), Life: e.Life, Payload: e.Payload})
}

// note counts what may be answered. Most reads are about what another capsule has,
// so that most of what is owed is never said.
func (s *Seat) note(t topic.Topic) {
	if strings.HasPrefix(t.String(), topic.Cancel+".") {
		return
	}
	s.front.Lock()
	defer s.front.Unlock()
	s.owed = min(s.owed+1, bound.SeatAnswers.Int())
}

// spend takes one of the answers that are owed.
func (s *Seat) spend() bool {
	s.front.Lock()
	defer s.front.Unlock()
	if s.owed == 0 {
		return false
	}
	s.owed--
	return true
}

// Answer publishes the answer to a request, stamped with the seat's principal and
// source. Faults: capability_denied, too_large, unavailable after Close, or
// rate_limited where more was answered than asked: whatever a capsule says, it cannot
// flood the bus (bus reference, section 5.4).
func (s *Seat) Answer(r Request, payload []byte) error {
	if err := bound.CapsuleBytes.Check(len(payload)); err != nil {
		return err
	}
	return s.say(r, envelope{Payload: payload}, s.spend)
}

// Lose says of a call that there will be no answer, so that nobody waits, and whether
// the capsule was told of it. It is the host that says it, whatever the capsule has
// said. Faults: those of Answer.
func (s *Seat) Lose(r Request, sent bool) error {
	lost := lostUnsent
	if sent {
		lost = lostEnded
	}
	return s.say(r, envelope{Lost: lost, Payload: []byte("{}")}, func() bool { return true })
}

var saidEnough = bound.SeatAnswers.Exceeded()

// Decline says of a read that the capsule has no such URI, so that nobody waits for who
// is thought to have it. It is the host that says it. Faults: those of Answer.
func (s *Seat) Decline(r Request) error {
	return s.say(r, envelope{Lost: declined, Payload: []byte("{}")}, s.spend)
}

// say publishes something about a request, if it may and more may be said.
func (s *Seat) say(r Request, e envelope, more func() bool) error {
	// The first thing that is looked at, and at no cost: whoever floods is here all the time.
	if !s.isClosed() && !more() {
		return saidEnough
	}
	to, err := s.answerTo(r)
	if err != nil {
		return err
	}
	if err := s.rights.CheckPublish(topic.Subject{Principal: s.runtime.Principal, Source: s.runtime.Source, Topic: to}); err != nil {
		return err
	}
	e.ID, e.Round, e.Build = rand.Text(), r.Round, s.runtime.Build
	return s.publish(to, e)
}

// answerTo is the topic of the answer to a request.
func (s *Seat) answerTo(r Request) (topic.Topic, error) {
	switch r.Topic.String() {
	case topic.DescribeRequest:
		return topic.Under(topic.DescribeResponse, s.runtime.Source.String())
	case topic.ReadRequest:
		return topic.Under(topic.ReadResponse, r.Round)
	case topic.ToolsRequest:
		return topic.Under(topic.ToolsResponse, s.runtime.Source.String())
	}
	if _, ok := r.Topic.After(topic.Execute); ok {
		return topic.Under(topic.Executed, r.Round)
	}
	return topic.Topic{}, fault.New(fault.InvalidRequest, "this topic has no answer")
}

func (s *Seat) publish(to topic.Topic, e envelope) error {
	subject := topic.Subject{Principal: s.runtime.Principal, Source: s.runtime.Source, Topic: to}
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
// the server end the connection, in this order. A successor may be admitted
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
	s.bus.place.disconnect(s.conn)
	s.conn.Close()
}
