package capsulehost

import (
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

func isList(q Request) bool { return q.Topic.String() == topic.DescribeRequest }

// readOfOwn gives the URI of a read that the broker may wait for this capsule with.
func (r *runtime) readOfOwn(q Request) (uri string, own bool) {
	if q.Topic.String() != topic.ReadRequest {
		return "", false
	}
	question, err := capsulewire.DecodeReadRequest(q.Payload)
	return question.URI, err == nil && r.served.Has(question.URI, r.plan.families)
}

// decline tells who asks for a URI that the capsule has no such one. A capsule that
// nobody can take for its owner stays silent, as the contract has it.
func (r *runtime) decline(seat Seat, q Request) {
	if _, own := r.readOfOwn(q); !own {
		return
	}
	if err := seat.Decline(q); err != nil {
		r.log.Warn("an answer cannot be published", "err", err)
	}
}
