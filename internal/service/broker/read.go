package broker

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/read"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Asker is who wants to read: a principal that a door has established. The zero
// value is nobody, and without May no capsule may be read.
type Asker struct {
	Principal topic.Principal
	Ingress   Ingress
	May       func(capsule string) bool // whether the asker may read a capsule, by name
}

// Found is what a URI holds, and which capsule said so.
type Found struct {
	Contents []read.Content
	Capsule  string
}

// Ingress names the door; a read needs one that is trusted to establish callers.
type Ingress string

// Face is the MCP door of the host itself.
const Face Ingress = "mcp"

// Read asks for the contents of a URI. Faults: unauthenticated or
// capability_denied where nothing was asked; not_found for what does not exist
// and what is somebody else's; upstream_failed, too_large, unavailable or
// timed_out where the capsule failed; rate_limited.
func (b *Broker) Read(ctx context.Context, who Asker, uri string) (Found, error) {
	p := who.Principal
	if p.IsZero() {
		return Found{}, nobody()
	}
	if who.Ingress != Face {
		return Found{}, fault.New(fault.CapabilityDenied, "this door may not read resources")
	}
	if who.May == nil || describe.CheckURI(uri) != nil {
		return Found{}, read.NotFound()
	}
	ctx, cancel := context.WithTimeout(ctx, bound.BrokerDeadline.Duration())
	defer cancel()
	deadline, _ := ctx.Deadline()
	plan, err := b.aim(ctx, who, uri)
	if err != nil {
		return Found{}, err
	}
	answer, err := b.ask(ctx, p, uri, plan, deadline)
	if err != nil {
		return Found{}, err
	}
	if len(answer.Rivals) > 0 {
		b.ports.Audit(Event{Principal: p, Kind: Conflict, Source: answer.Owner, Others: answer.Rivals, Detail: uri, Count: 1})
	}
	found := Found{Contents: answer.Contents}
	for _, m := range b.ports.Members(p) {
		if m.Source == answer.Owner {
			found.Capsule = m.Name
		}
	}
	if answer.Fault != nil {
		return Found{Capsule: found.Capsule}, answer.Fault
	}
	return found, nil
}

// aim finds who may answer. Where no fresh and complete list names the URI, the
// capsules are asked again what they serve. A URI of a capsule that the asker may
// not read takes the same way as one that nobody has, and nobody else may answer
// for it.
func (b *Broker) aim(ctx context.Context, who Asker, uri string) (read.Plan, error) {
	p := who.Principal
	if known := b.recent(p); known != nil {
		if plan := aimAmong(uri, *known, b.ports.Members(p), who.May); plan.Mode != read.Open {
			return plan, nil
		}
	}
	f := b.fly(p)
	timer := time.NewTimer(bound.ReadDescribe.Duration())
	defer timer.Stop()
	select {
	case <-f.landed:
		if f.err != nil {
			return read.Plan{}, f.err
		}
	case <-timer.C:
	case <-ctx.Done():
		return read.Plan{}, gaveUp(ctx)
	}
	return aimAmong(uri, b.soFar(f), b.ports.Members(p), who.May), nil
}

// aimAmong is read.Aim among the members that may be read.
func aimAmong(uri string, found describe.Result, members []describe.Member, may func(string) bool) read.Plan {
	var allowed []describe.Member
	owner, listed := found.Owner(uri)
	mine := !listed
	for _, m := range members {
		if may(m.Name) {
			allowed = append(allowed, m)
			mine = mine || m.Source == owner
		}
	}
	if !mine && len(allowed) > 0 {
		return read.Plan{Mode: read.Open, Candidates: []topic.Source{topic.Broker()}} // who never answers
	}
	if len(allowed) == 0 {
		return read.Plan{Mode: read.Open}
	}
	return read.Aim(uri, found, allowed)
}

// recent is the last complete list, if it is fresh.
func (b *Broker) recent(p topic.Principal) *describe.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.room(p)
	if r.snapshot == nil || time.Since(r.taken) > bound.ReadSnapshot.Duration() {
		return nil
	}
	return r.snapshot
}

// soFar is what a round has found, be it over or not.
func (b *Broker) soFar(f *flight) describe.Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-f.landed:
		return f.result
	default:
		return f.round.Result()
	}
}

// ask sends one read and waits for its answer.
func (b *Broker) ask(ctx context.Context, p topic.Principal, uri string, plan read.Plan, deadline time.Time) (read.Answer, error) {
	correlation := newName()
	o := &openRead{wait: read.Ask(p, correlation, uri, plan, time.Now(), deadline), wake: make(chan struct{}, 1)}
	b.mu.Lock()
	r := b.room(p)
	if bound.OpenReads.Check(len(r.reads)+1) != nil {
		b.mu.Unlock()
		return read.Answer{}, bound.OpenReads.Exceeded()
	}
	r.reads[correlation] = o
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(r.reads, correlation)
		b.mu.Unlock()
	}()
	// A plan without candidates is settled before anybody was asked.
	if answer, over := b.settled(o); over {
		return answer, nil
	}
	if plan.Candidates[0] != topic.Broker() {
		if err := b.ports.AskRead(p, correlation, uri, deadline); err != nil {
			return read.Answer{}, err
		}
	}
	for {
		answer, over := b.settled(o)
		if over {
			if answer.Owner.IsZero() {
				_ = b.ports.AskCancel(p, correlation) // whoever still works on it need not
			}
			return answer, nil
		}
		b.mu.Lock()
		next := time.Until(o.wait.Next())
		b.mu.Unlock()
		timer := time.NewTimer(next)
		select {
		case <-o.wake:
		case <-timer.C:
		case <-ctx.Done():
			if _, over := b.settled(o); !over { // else it ends as any that is settled
				timer.Stop()
				_ = b.ports.AskCancel(p, correlation) // the read has ended, told or not
				return read.Answer{}, gaveUp(ctx)
			}
		}
		timer.Stop()
	}
}

func (b *Broker) settled(o *openRead) (read.Answer, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	answer, over := o.wait.Settled(time.Now())
	if !over && o.severed {
		return read.Answer{Fault: severed()}, true
	}
	return answer, over
}

// stir makes the reader look again.
func (o *openRead) stir() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// WasRead takes an answer from the bus.
func (b *Broker) WasRead(reply read.Reply) {
	now := time.Now()
	b.mu.Lock()
	r := b.rooms[reply.Principal]
	if r == nil {
		b.mu.Unlock()
		if reply.Declined {
			return
		}
		b.ports.Audit(dropped(reply.Principal, reply.Source, describe.StaleRound, "", 1))
		return
	}
	drop := describe.Drop{Source: reply.Source, Reason: describe.StaleRound}
	o, open := r.reads[reply.Correlation]
	taken := reply.Declined && !open // too late to be of interest
	if open {
		drop, taken = o.wait.Accept(reply, now)
		o.stir()
	}
	event, tell := Event{}, false
	if !taken {
		event, tell = r.strayed(reply.Principal, stray{drop.Source, drop.Reason}, now)
	}
	b.mu.Unlock()
	if tell {
		b.ports.Audit(event)
	}
}
