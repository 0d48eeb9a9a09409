package capsulehost

import (
	"context"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/sandbox"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// runModule compiles a module and answers each request with an instance of its own,
// which hears the hello and the request, and then the end of its input.
func (r *runtime) runModule(ctx context.Context, seat Seat) error {
	engine, err := r.host.openEngine()
	if err != nil {
		return err
	}
	r.mu.Lock()
	raw := r.plan.module
	r.plan.module = nil // it is read again for the next life
	r.state, r.reason = Compiling, "its module is compiled; lists wait for it, and say that it is missing"
	r.mu.Unlock()
	module, err := engine.Load(ctx, raw)
	if err != nil {
		return err
	}
	defer module.Close()
	return r.answerWith(ctx, bound.CapsuleInstances.Int(), func(q Request) { r.answerFrom(ctx, seat, module, q) })
}

func (r *runtime) answerFrom(ctx context.Context, seat Seat, module *sandbox.Module, q Request) {
	patience, known := patienceFor(q.Topic)
	if !known {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, q.Deadline)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if !r.work(q.Round, cancel) {
		return // nobody waits
	}
	defer r.rest(q.Round)
	payload, log, err := module.Ask(ctx, sandbox.Question{Principal: r.host.principal.String(), Capsule: r.capsule.Name, Topic: q.Topic.String(), Payload: q.Payload})
	if len(log) > 0 {
		r.mu.Lock()
		r.words = string(log)
		r.mu.Unlock()
	}
	if err == nil && payload == nil { // it is somebody else's
		r.lose(seat, q, true)
		r.decline(seat, q)
		return
	}
	if err == nil {
		err = seat.Answer(q, payload)
	}
	if err != nil {
		r.log.Warn("a capsule did not answer", "topic", q.Topic.String(), "err", err)
		r.fail(seat, q)
	}
}

// fail tells who asks for a read or a call that there will be no answer; of a read
// it is known that nothing came of it.
func (r *runtime) fail(seat Seat, q Request) {
	r.lose(seat, q, true)
	uri, own := r.readOfOwn(q)
	if !own {
		return
	}
	text := "it cannot be read now"
	payload, err := capsulewire.Encode(capsulewire.ReadResponse{URI: uri, Error: &text})
	if err == nil {
		err = seat.Answer(q, payload)
	}
	if err != nil {
		r.log.Warn("an answer cannot be published", "err", err)
	}
}
