package capsulehost

import (
	"context"
	"sync"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// insideCalls is how many requests one of the host's own capsules works on.
const insideCalls = 4

// answerInside answers with a handler of the host. Its end is waited for.
func (r *runtime) answerInside(ctx context.Context, seat Seat, h Handler) error {
	return r.answerWith(ctx, insideCalls, func(q Request) { r.answerOne(ctx, seat, h, q) })
}

// answerWith is ready, and has so many hands, or fewer where the manifest says so, take
// requests and answer them until ctx ends. Every answer is waited for.
func (r *runtime) answerWith(ctx context.Context, hands int, answer func(Request)) error {
	var working sync.WaitGroup
	defer working.Wait()
	r.becomeReady()
	for range min(hands, r.plan.bounds.Calls) {
		working.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case q := <-r.inbox:
					answer(q)
				}
			}
		})
	}
	<-ctx.Done()
	return ctx.Err()
}

func (r *runtime) answerOne(ctx context.Context, seat Seat, h Handler, q Request) {
	ctx, cancel := context.WithDeadline(ctx, q.Deadline)
	defer cancel()
	if !r.work(q.Round, cancel) {
		return
	}
	defer r.rest(q.Round)
	var record any
	switch q.Topic.String() {
	case topic.DescribeRequest:
		list, err := h.Describe(ctx, r.host.principal)
		if err != nil {
			r.log.Warn("a capsule cannot say what it serves", "err", err)
			return
		}
		record = capsulewire.DescribeResponse{Resources: list}
	case topic.ReadRequest:
		question, err := capsulewire.DecodeReadRequest(q.Payload)
		if err != nil {
			return
		}
		contents, mine, err := h.Read(ctx, r.host.principal, question.URI)
		if !mine {
			if err == nil { // else nobody knows
				r.decline(seat, q)
			}
			return
		}
		answer := capsulewire.ReadResponse{URI: question.URI, Contents: contents}
		if err != nil {
			r.log.Warn("a capsule cannot read", "err", err)
			text := "it cannot be read now"
			if fault.Is(err, fault.UpstreamFailed) {
				text = fault.From(err).Text // of a server, not of the host
			}
			answer = capsulewire.ReadResponse{URI: question.URI, Error: &text}
		}
		record = answer
	default:
		return
	}
	payload, err := capsulewire.Encode(record)
	if err == nil {
		err = seat.Answer(q, payload)
	}
	if err != nil {
		r.log.Warn("an answer cannot be published", "err", err)
	}
}
