package natsbus

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// AskDescribe asks every serving capsule of a principal what it serves. Answers
// come to the listener.
func (b *Bus) AskDescribe(p topic.Principal, round string, deadline time.Time) error {
	return b.ask(p, topic.DescribeRequest, round, deadline, capsulewire.DescribeRequest{})
}

// AskRead asks every serving capsule of a principal for the contents of a URI.
func (b *Bus) AskRead(p topic.Principal, correlation, uri string, deadline time.Time) error {
	return b.ask(p, topic.ReadRequest, correlation, deadline, capsulewire.ReadRequest{URI: uri, CorrelationID: correlation})
}

// AskCancel says that nobody waits for the answer to a read any more.
func (b *Bus) AskCancel(p topic.Principal, correlation string) error {
	return b.ask(p, topic.Cancel+"."+correlation, correlation, time.Time{}, capsulewire.DescribeRequest{})
}

func (b *Bus) ask(p topic.Principal, name, round string, deadline time.Time, record any) error {
	t, err := topic.Parse(name)
	if err != nil {
		return err
	}
	_, err = b.put(p, t, envelope{Round: round}, deadline, record)
	return err
}

// put publishes a record as the broker's. sent reports whether it may have gone out.
func (b *Bus) put(p topic.Principal, t topic.Topic, e envelope, deadline time.Time, record any) (sent bool, err error) {
	if p.IsZero() {
		return false, fault.New(fault.CapabilityDenied, "nobody has capsules")
	}
	payload, err := capsulewire.Encode(record)
	if err != nil {
		return false, err
	}
	e.ID, e.Deadline, e.Payload = rand.Text(), deadline.UnixMilli(), payload
	data, err := e.encode()
	if err != nil {
		return false, err
	}
	a, err := b.listen(p)
	if err != nil {
		return false, err
	}
	if err := a.conn.Publish(topic.Subject{Principal: p, Source: topic.Broker(), Topic: t}.String(), data); err != nil {
		unsent := errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrReconnectBufExceeded) // said before anything is written
		return !unsent, fault.New(fault.Unavailable, "the bus takes no message").Because(err)
	}
	return true, nil
}

// audience is the broker's connection for one principal. What one sends through it
// as fast as can be fills no other's.
type audience struct {
	once sync.Once
	err  error // of once
	name string
	conn *nats.Conn

	sub  *nats.Subscription // with what follows under the lock of the bus
	lost int                // drops told so far
	used time.Time
}

// listen makes sure that the answers of a principal are subscribed to, and that
// the server knows it, before a question goes out. Who has been idle is dropped.
func (b *Bus) listen(p topic.Principal) (*audience, error) {
	now := time.Now()
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil, fault.New(fault.Unavailable, "the bus is closed")
	}
	var idle []*audience
	a := b.active[p]
	if a == nil {
		a = &audience{}
		b.active[p] = a
		for other, old := range b.active {
			if other != p && now.Sub(old.used) > audienceIdle {
				idle = append(idle, old)
				delete(b.active, other)
			}
		}
	}
	a.used = now
	b.mu.Unlock()
	for _, old := range idle {
		b.dismiss(old)
	}
	a.once.Do(func() { a.err = b.attend(p, a) })
	if a.err != nil {
		b.mu.Lock()
		if b.active[p] == a {
			delete(b.active, p)
		}
		b.mu.Unlock()
		b.dismiss(a)
	}
	return a, a.err
}

// attend opens the broker's connection for a principal.
func (b *Bus) attend(p topic.Principal, a *audience) error {
	var password string
	a.name, password = b.users.add(topic.BrokerRights(p))
	var err error
	a.conn, err = b.connect(a.name, password, topic.Broker(), append(returning(),
		nats.DisconnectErrHandler(func(*nats.Conn, error) {
			if b.listener.Cut != nil {
				b.listener.Cut(p)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { b.isBack(p) }))...)
	if err != nil {
		return err
	}
	sub, err := b.hear(p, a.conn, topic.Answers(p))
	if err == nil {
		_, err = b.hear(p, a.conn, topic.ToolAnswers(p)) // which no crowd of resources keeps waiting
	}
	if err == nil {
		err = a.conn.FlushTimeout(flushWait)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "the bus takes no subscription").Because(err)
	}
	b.mu.Lock()
	a.sub = sub
	b.mu.Unlock()
	return nil
}

// hear takes the answers of a kind, at their own pace.
func (b *Bus) hear(p topic.Principal, conn *nats.Conn, what topic.Filter) (*nats.Subscription, error) {
	var own pace
	sub, err := conn.Subscribe(what.String(), func(m *nats.Msg) {
		own.take(len(m.Data))
		b.arrived(p, m)
	})
	if err == nil {
		err = sub.SetPendingLimits(-1, bound.BusPendingBytes.Int())
	}
	return sub, err
}

// dismiss ends the broker's connection for a principal, which may never have been.
func (b *Bus) dismiss(a *audience) {
	a.once.Do(func() { a.err = fault.New(fault.Unavailable, "the bus is closed") })
	b.users.drop(a.name)
	if a.conn != nil {
		a.conn.Close()
	}
}

// tellLost reports what a principal's full queue dropped since the last time.
func (b *Bus) tellLost(sub *nats.Subscription) {
	b.mu.Lock()
	var whose topic.Principal
	lost := 0
	for p, a := range b.active {
		if a.sub == sub {
			total, _ := sub.Dropped()
			whose, lost, a.lost = p, total-a.lost, total
		}
	}
	b.mu.Unlock()
	if lost > 0 && b.listener.Lost != nil {
		b.listener.Lost(whose, lost)
	}
}

// arrived turns one answer into the value that the rules are about. The
// subscription lets through one principal; what says otherwise is an alarm.
func (b *Bus) arrived(p topic.Principal, m *nats.Msg) {
	subject, err := topic.ParseSubject(m.Subject)
	if err != nil {
		b.alarm(topic.Source{}, "an answer under a malformed subject")
		return
	}
	if subject.Principal != p {
		b.alarm(subject.Source, "an answer of another principal")
		return
	}
	e, err := decodeEnvelope(m.Data)
	if suffix, ok := subject.Topic.After(topic.DescribeResponse); ok {
		b.listener.Described(described(subject, suffix, e, err))
	} else if correlation, ok := subject.Topic.After(topic.ReadResponse); ok {
		b.listener.Read(wasRead(subject, correlation, e, err))
	} else if b.listener.Tool != nil {
		b.listener.Tool(aboutTools(subject, e, err))
	}
}

func described(s topic.Subject, suffix string, e envelope, err error) describe.Reply {
	r := describe.Reply{Principal: s.Principal, Source: s.Source, Suffix: suffix, Round: e.Round, Bytes: len(e.Payload), Err: err}
	if err != nil {
		return r
	}
	list, err := capsulewire.DecodeDescribe(e.Payload)
	r.Err, r.Count = err, len(list)
	if fault.Is(err, fault.TooLarge) {
		r.Count = bound.ReplyDefinitions.Int() + 1
	}
	for i, one := range list {
		d, err := definitionOf(one)
		if err != nil {
			r.Bad = append(r.Bad, describe.Bad{Index: i, Err: err})
			continue
		}
		r.Definitions = append(r.Definitions, d)
	}
	return r
}

func definitionOf(w capsulewire.Definition) (describe.Definition, error) {
	if w.Err != nil {
		return describe.Definition{}, w.Err
	}
	d := describe.Definition{URI: w.URI, Name: w.Name, Title: w.Title, Description: w.Description, MimeType: w.MimeType, Size: w.Size,
		Meta: metaOf(w.Meta)}
	if a := w.Annotations; a != nil {
		d.Audience, d.Priority, d.LastModified = a.Audience, a.Priority, a.LastModified
	}
	for _, i := range w.Icons {
		d.Icons = append(d.Icons, describe.Icon(i))
	}
	return describe.Admit(d)
}

func wasRead(s topic.Subject, correlation string, e envelope, err error) read.Reply {
	r := read.Reply{Principal: s.Principal, Source: s.Source, Correlation: correlation, Err: err}
	if err != nil {
		return r
	}
	if e.Lost == declined {
		r.Declined = true
		return r
	}
	w, err := capsulewire.DecodeRead(e.Payload)
	if err != nil {
		r.Err = err
		return r
	}
	r.URI, r.Error = w.URI, w.Error
	for _, c := range w.Contents {
		content, err := contentOf(c)
		if err != nil {
			return read.Reply{Principal: s.Principal, Source: s.Source, Correlation: correlation, Err: err}
		}
		r.Contents = append(r.Contents, content)
	}
	return r
}

func contentOf(c capsulewire.ResourceContents) (out read.Content, err error) {
	var meta *string
	if c.Text != nil {
		out = read.Content{URI: c.Text.URI, MimeType: c.Text.MimeType, Text: c.Text.Text}
		meta = c.Text.Meta
	} else {
		out = read.Content{URI: c.Blob.URI, MimeType: c.Blob.MimeType, Blob: append([]byte{}, c.Blob.Blob...)}
		meta = c.Blob.Meta
	}
	out.Meta, err = describe.AdmitMeta(metaOf(meta))
	return out, err
}

func metaOf(text *string) strictjson.Raw {
	if text == nil {
		return nil
	}
	return strictjson.Raw(*text)
}
