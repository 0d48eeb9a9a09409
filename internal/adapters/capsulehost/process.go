package capsulehost

import (
	"bufio"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

const (
	readyWait   = 10 * time.Second // what a program may take to say that it is there
	straysOfOne = 1000             // answers to nothing within straysSpan, after which a capsule is ended
	straysSpan  = 10 * time.Second
)

// runProcess starts the program, greets it, and carries frames until it ends.
func (r *runtime) runProcess(ctx context.Context, seat Seat) error {
	p, err := r.launch()
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	ctx, end := context.WithCancelCause(ctx)
	var parts sync.WaitGroup
	parts.Go(func() { end(r.readFrames(p, seat, ready)) })
	parts.Go(func() { end(r.writeFrames(ctx, p, seat, ready)) })
	<-ctx.Done()
	r.reap(p, &parts)
	if cause := context.Cause(ctx); !errors.Is(cause, errEnded) {
		return cause
	}
	return fault.New(fault.Unavailable, "the program ended: "+p.Exit())
}

// launch starts what the plan names, whoever speaks with it.
func (r *runtime) launch() (*childprocess.Process, error) {
	p, err := childprocess.Start(r.plan.spec, childprocess.Options{})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process = p
	return p, nil
}

// reap ends the program, waits for who spoke with it, and keeps its last words.
func (r *runtime) reap(p *childprocess.Process, parts *sync.WaitGroup) {
	p.Stop()
	parts.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.words = nil, p.StderrTail()
}

var errEnded = errors.New("the output ended")

// readFrames takes what the capsule says until it ends or breaks the wire.
func (r *runtime) readFrames(p *childprocess.Process, seat Seat, ready chan<- struct{}) error {
	lines := bufio.NewScanner(p.Stdout())
	lines.Buffer(make([]byte, 0, 4096), bound.CapsuleFrameBytes.Int())
	greeted, strays, counted := false, 0, time.Now()
	for lines.Scan() {
		f, err := capsulewire.DecodeCapsuleFrame(lines.Bytes())
		if err != nil {
			return fault.New(fault.UpstreamFailed, "the program wrote something that is no frame: "+fault.From(err).Text).Because(err)
		}
		if f.Type == capsulewire.Ready {
			if greeted {
				return fault.New(fault.UpstreamFailed, "the program said twice that it is ready")
			}
			greeted = true
			close(ready)
			r.becomeReady()
			continue
		}
		q, open := r.finish(f.ID)
		if !open {
			if now := time.Now(); now.Sub(counted) > straysSpan {
				strays, counted = 0, now
			}
			if strays++; strays > straysOfOne {
				return fault.New(fault.UpstreamFailed, "the program floods the host with answers to nothing")
			}
			continue
		}
		if f.Type == capsulewire.Silent {
			r.lose(seat, q, true)
			r.decline(seat, q)
		} else if err := seat.Answer(q, f.Payload); err != nil {
			r.log.Warn("an answer cannot be published", "err", err)
			r.lose(seat, q, true)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return bound.CapsuleFrameBytes.Exceeded()
	}
	return errEnded
}

// writeFrames greets the capsule and gives it one request after the other. A
// program that does not read is ended.
func (r *runtime) writeFrames(ctx context.Context, p *childprocess.Process, seat Seat, ready <-chan struct{}) error {
	if err := r.send(p, capsulewire.HostFrame{Type: capsulewire.Hello, Version: capsulewire.Version,
		Principal: r.host.principal.String(), Capsule: r.capsule.Name}); err != nil {
		return err
	}
	patience := time.NewTimer(readyWait)
	defer patience.Stop()
	select {
	case <-ready:
	case <-patience.C:
		return fault.New(fault.Unavailable, "the program did not say that it is ready")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case q := <-r.inbox:
			if err := r.pass(p, seat, q); err != nil {
				return err
			}
		}
	}
}

// lose tells who waits for a call, or for the tools, that there will be no answer. It
// does nothing for other requests, whose askers do not wait for one capsule.
func (r *runtime) lose(seat Seat, q Request, sent bool) {
	_, call := q.Topic.After(topic.Execute)
	if !call && q.Topic.String() != topic.ToolsRequest || seat.Lose == nil { // before the seat is there
		return
	}
	if err := seat.Lose(q, sent); err != nil {
		r.log.Warn("an answer cannot be published", "err", err)
	}
}

// patienceFor is how long a capsule may take for a request of a topic, false for
// what is no request.
func patienceFor(t topic.Topic) (time.Duration, bool) {
	switch t.String() {
	case topic.DescribeRequest, topic.ReadRequest, topic.ToolsRequest:
		return bound.CapsuleDeadline.Duration(), true
	}
	_, call := t.After(topic.Execute)
	return bound.CallDeadline.Duration(), call
}

// pass turns a request into a frame.
func (r *runtime) pass(p *childprocess.Process, seat Seat, q Request) error {
	if patience, known := patienceFor(q.Topic); known {
		id, ok := r.begin(q)
		if !ok {
			r.lose(seat, q, false)
			return nil
		}
		left := min(time.Until(q.Deadline), patience)
		return r.send(p, capsulewire.HostFrame{Type: capsulewire.Request, ID: id, Topic: q.Topic.String(),
			DeadlineMS: max(left.Milliseconds(), 1), Payload: q.Payload})
	}
	for _, id := range r.calledOff(q) {
		if err := r.send(p, capsulewire.HostFrame{Type: capsulewire.Cancel, ID: id}); err != nil {
			return err
		}
	}
	return nil
}

func (r *runtime) send(p *childprocess.Process, f capsulewire.HostFrame) error {
	line, err := capsulewire.EncodeFrame(f)
	if err != nil {
		return err
	}
	if err := p.Stdin().SetWriteDeadline(time.Now().Add(bound.BusWrite.Duration())); err != nil {
		return errEnded
	}
	if _, err := p.Stdin().Write(line); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fault.New(fault.Unavailable, "the program stopped reading")
		}
		return errEnded
	}
	return nil
}
