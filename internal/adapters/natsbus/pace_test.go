package natsbus

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// What comes at once is read at once up to the burst, and then at the rate; rest
// gives the burst back.
func TestAnswersArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const piece = 1 << 20
		var p pace
		read := func(pieces int) time.Duration {
			began := time.Now()
			for range pieces {
				p.take(piece)
			}
			return time.Since(began)
		}
		burst, second := int(bound.AnswerBytesBurst.Max/piece), int(bound.AnswerBytesSecond.Max/piece)
		for range 2 {
			if took := read(burst); took != 0 {
				t.Errorf("a burst took %v", took)
			}
			if took := read(second); took != time.Second {
				t.Errorf("a second's worth took %v", took)
			}
			<-time.After(time.Minute)
		}
	})
}
