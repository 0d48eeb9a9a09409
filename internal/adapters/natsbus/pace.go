package natsbus

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// pace keeps one principal's answers from using up the processors: they are read as
// they come up to bound.AnswerBytesBurst, and beyond that as fast as
// bound.AnswerBytesSecond. What waits meanwhile waits in that principal's queue. A
// pace belongs to one goroutine.
type pace struct{ paid time.Time } // until when what was read is paid for

func (p *pace) take(n int) {
	if wait := p.owes(n, time.Now()); wait > 0 {
		time.Sleep(wait) // at most what one message costs
	}
}

// owes counts n bytes and tells how long to wait before they are read.
func (p *pace) owes(n int, now time.Time) time.Duration {
	cost := func(n int64) time.Duration {
		return time.Duration(n) * time.Second / time.Duration(bound.AnswerBytesSecond.Max)
	}
	if from := now.Add(-cost(bound.AnswerBytesBurst.Max)); p.paid.Before(from) {
		p.paid = from
	}
	p.paid = p.paid.Add(cost(int64(n)))
	return p.paid.Sub(now)
}
