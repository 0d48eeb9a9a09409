package chatter

import (
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// What an upstream may say at once is some seconds' worth of its rate, whether that are
// many short messages or few long ones; at its rate it may speak for ever.
func TestAnUpstreamIsHeardAtItsRate(t *testing.T) {
	allowed := int(atOnce/time.Second) * bound.UpstreamChatter.Int()
	at := time.UnixMilli(1)
	for _, pieces := range []int{1, 10} {
		var m Meter
		heard := 1
		for !m.Hear((pieces-1)*piece, at) {
			heard++
		}
		if want := allowed/pieces + 1; heard != want {
			t.Errorf("of messages of %d pieces, number %d is too much, not %d", pieces, heard, want)
		}
	}
	var m Meter
	for now, i := at, 0; i < 2*allowed; i++ {
		if m.Hear(0, now) {
			t.Fatalf("at its rate, message %d is too much", i)
		}
		now = now.Add(time.Second / time.Duration(bound.UpstreamChatter.Max))
	}
}
