package capsulehost

import (
	"bytes"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// noting keeps the last list that goes out by way of answer.
func (r *runtime) noting(answer func(Request, []byte) error) func(Request, []byte) error {
	return func(q Request, payload []byte) error {
		if q.Topic.String() == topic.DescribeRequest {
			r.mu.Lock()
			r.list = bytes.Clone(payload)
			r.mu.Unlock()
		}
		return answer(q, payload)
	}
}

// decline tells who asks for a URI that the capsule has no such one. A capsule that
// nobody can take for its owner stays silent, as the contract has it.
func (r *runtime) decline(seat Seat, q Request) {
	if q.Topic.String() != topic.ReadRequest {
		return
	}
	question, err := capsulewire.DecodeReadRequest(q.Payload)
	if err != nil || !r.isTakenFor(question.URI) {
		return
	}
	if err := seat.Decline(q); err != nil {
		r.log.Warn("an answer cannot be published", "err", err)
	}
}

// isTakenFor reports whether the broker may wait for this capsule: the URI is of a
// family of the capsule's, or stands somewhere in its last list.
func (r *runtime) isTakenFor(uri string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Contains(r.list, []byte(uri)) || slices.ContainsFunc(r.plan.families, func(prefix string) bool { return strings.HasPrefix(uri, prefix) })
}
