package sandbox

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// Question is one request of a capsule, and for whom.
type Question struct {
	Principal, Capsule, Topic string
	Payload                   capsulewire.Raw
}

// requestID names the one request of a run.
const requestID = "1"

// Ask runs an instance that hears a hello and the question, and then the end of its
// input. The payload is nil where the capsule stays silent. Faults: those of Run, and
// upstream_failed for what is no answer.
func (m *Module) Ask(ctx context.Context, q Question) (payload capsulewire.Raw, log []byte, err error) {
	left := int64(math.MaxInt32)
	if deadline, ok := ctx.Deadline(); ok {
		left = max(time.Until(deadline).Milliseconds(), 1)
	}
	var input []byte
	for _, f := range []capsulewire.HostFrame{
		{Type: capsulewire.Hello, Version: capsulewire.Version, Principal: q.Principal, Capsule: q.Capsule},
		{Type: capsulewire.Request, ID: requestID, Topic: q.Topic, DeadlineMS: left, Payload: q.Payload},
	} {
		line, err := capsulewire.EncodeFrame(f)
		if err != nil {
			return nil, nil, err
		}
		input = append(input, line...)
	}
	result, err := m.Run(ctx, input)
	if err == nil {
		payload, err = replyIn(result.Output)
	}
	return payload, result.Log, err
}

// replyIn reads what a run wrote: that it is ready, and its one answer.
func replyIn(output []byte) (capsulewire.Raw, error) {
	ready := false
	for line := range bytes.Lines(output) {
		f, err := capsulewire.DecodeCapsuleFrame(bytes.TrimSuffix(line, []byte("\n")))
		switch {
		case err != nil:
			return nil, fault.New(fault.UpstreamFailed, "the module wrote something that is no frame: "+fault.From(err).Text).Because(err)
		case f.Type == capsulewire.Ready && !ready:
			ready = true
		case f.Type == capsulewire.Silent && ready && f.ID == requestID:
			return nil, nil
		case f.Type == capsulewire.Reply && ready && f.ID == requestID:
			return f.Payload, nil
		default:
			return nil, fault.New(fault.UpstreamFailed, "the module answered something else")
		}
	}
	return nil, fault.New(fault.UpstreamFailed, "the module ended without an answer")
}
