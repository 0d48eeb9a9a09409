package capsulefile

import (
	"fmt"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Bounds are what the host gives a capsule and takes from it, at most. A manifest
// can make them narrower than the host's own and never wider.
type Bounds struct {
	Time    time.Duration // for a list or a read
	Call    time.Duration // for a call of a tool
	Calls   int           // at once
	Payload int           // bytes of one answer
}

// Widest are the host's own bounds.
func Widest() Bounds {
	return Bounds{bound.CapsuleDeadline.Duration(), bound.CallDeadline.Duration(), bound.CapsuleCalls.Int(), bound.CapsuleBytes.Int()}
}

// Until is the deadline of a list or a read that has come at now.
func (b Bounds) Until(deadline, now time.Time) time.Time {
	if end := now.Add(b.Time); end.Before(deadline) {
		return end
	}
	return deadline
}

// Answer is a seat's way to answer, for answers that are not too long.
func Answer[Request any](b Bounds, answer func(Request, []byte) error) func(Request, []byte) error {
	return func(q Request, payload []byte) error {
		if len(payload) > b.Payload {
			return fault.Newf(fault.TooLarge, "an answer of %d bytes is longer than the %d of the capsule's manifest", len(payload), b.Payload)
		}
		return answer(q, payload)
	}
}

// claimedBounds are the bounds as they are written; nothing is the host's own.
type claimedBounds struct {
	TimeMS  *int64 `toml:"time_ms"`
	Calls   *int64 `toml:"calls"`
	Payload *int64 `toml:"payload_bytes"`
}

func (c claimedBounds) check() (Bounds, error) {
	b := Widest()
	for _, one := range []struct {
		key   string
		claim *int64
		row   bound.Row
		into  func(int64)
	}{
		{"time_ms", c.TimeMS, bound.CapsuleDeadline, func(n int64) { b.Time, b.Call = time.Duration(n)*time.Millisecond, time.Duration(n)*time.Millisecond }},
		{"calls", c.Calls, bound.CapsuleCalls, func(n int64) { b.Calls = int(n) }},
		{"payload_bytes", c.Payload, bound.CapsuleBytes, func(n int64) { b.Payload = int(n) }},
	} {
		if one.claim == nil {
			continue
		}
		if *one.claim < 1 || *one.claim > one.row.Max {
			return Bounds{}, refuse(fmt.Sprintf("[bounds]: %s is a number from 1 to %d", one.key, one.row.Max))
		}
		one.into(*one.claim)
	}
	return b, nil
}
