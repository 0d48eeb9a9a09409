package callback

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Wait is what a call waits for.
type Wait string

// The kinds of waits; none is empty.
const (
	Availability Wait = "availability"
	Execution    Wait = "execution"
)

// Wait tells what a call waits for and how long that may still take, 0 or more;
// of a settled call it is empty.
func (c *Call) Wait(now time.Time) (Wait, time.Duration) {
	switch {
	case c.Settled():
		return "", 0
	case c.Dispatched():
		return Execution, max(0, c.run.Sub(now))
	default:
		return Availability, max(0, c.available.Sub(now))
	}
}

// Open is a call as its executor is told on resume: never its arguments.
type Open struct {
	SessionID      string         `json:"session_id"`
	TurnID         string         `json:"turn_id"`
	CallID         string         `json:"call_id"`
	ProviderCallID string         `json:"provider_call_id"`
	Name           string         `json:"name"`
	ResourceID     string         `json:"resource_id"`
	RevisionID     string         `json:"revision_id"`
	RevisionSHA256 string         `json:"revision_sha256"`
	Status         Status         `json:"status"`
	Effects        effect.Outcome `json:"external_effects"`
	WaitKind       Wait           `json:"wait_kind"`
	RemainingMS    int64          `json:"remaining_ms"`
}

func (c *Call) open(now time.Time) Open {
	wait, left := c.Wait(now)
	return Open{c.Session, c.Turn, c.ID, c.ProviderCall, c.Tool.Name, c.Tool.Resource, c.Tool.Revision, c.Tool.Hash,
		c.Status, c.Effects, wait, left.Milliseconds()}
}

// Open lists the executor's calls that are not settled, in the order of their
// need. It fits bound.PendingCallBytes.
func (b *Book) Open(executor string, now time.Time) []Open {
	out := []Open{}
	for _, c := range b.of(func(c *Call) bool { return c.Executor == executor && !c.Settled() }) {
		out = append(out, c.open(now))
	}
	return out
}

// resumeEnvelope is what the answer of a resume takes besides its calls.
const resumeEnvelope = 256

// weigh is the most that a call takes in the answer of a resume, its comma
// included.
func (c *Call) weigh() int {
	o := c.open(time.Time{})
	o.Status, o.Effects, o.WaitKind, o.RemainingMS = Waiting, effect.NotDispatched, Availability, bound.CallbackTimeout.Max
	encoded, err := strictjson.Encode(o)
	if err != nil { // all of it was checked to be text
		panic(err)
	}
	return len(encoded) + 1
}
