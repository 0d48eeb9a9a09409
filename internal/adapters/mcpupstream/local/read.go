package local

import (
	"bytes"
	"errors"
	"os"
	"time"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// endless is how many lines of the largest size one line may be long before the
// session is ended; until then its bytes are read and dropped.
const endless = 8

// read takes every line of the upstream until its output ends.
func (s *Session) read() {
	lines := envelope.NewLines(s.link.Out)
	for s.Alive() {
		line, err := lines.Next(s.lineLimit)
		if errors.Is(err, envelope.ErrLong) {
			err = s.skip(lines)
		} else if err == nil {
			s.take(line, len(line) > largeLine && lines.Keep())
		}
		if err != nil {
			s.End(s.howItEnded("the upstream closed its output"))
		}
	}
}

// howItEnded waits a moment for the exit that goes with the end of a stream.
func (s *Session) howItEnded(otherwise string) string {
	timer := time.NewTimer(awaitExit)
	defer timer.Stop()
	select {
	case <-s.link.Done:
		return s.link.Exit()
	case <-s.gone:
		return "" // somebody else has said why
	case <-timer.C:
		return otherwise
	}
}

// lineLimit is how long the next line may be: as a result, unless a listing or a
// resource is awaited.
func (s *Session) lineLimit() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.big > 0 {
		return answer.Listing.Room()
	}
	return answer.Call.Room()
}

// skip goes over a line that is too long without keeping it. The request that it
// answers is told as soon as it is known.
func (s *Session) skip(lines *envelope.Lines) error {
	sieve, told := envelope.NewSieve(), false
	most := endless * bound.UpstreamLineBytes.Int()
	err := lines.Discard(func(piece []byte) bool {
		sieve.Feed(piece)
		if id, ok := sieve.Answers(); ok && !told {
			told = true
			k, _ := s.kindOf(id)
			s.deliver(id, answer.TooLarge(k))
		}
		return sieve.Size() <= most
	})
	if sieve.Size() > bound.UpstreamLineBytes.Int() && !told {
		s.failAll()
	}
	if sieve.Size() > most {
		s.End("the upstream sent a line without an end")
	}
	if !told {
		s.countNoise()
		s.unasked(sieve.Size())
	}
	return err
}

// failAll tells everybody who waits that an answer was too large, since it may
// have been theirs. What still comes for them is late.
func (s *Session) failAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, w := range s.waiting {
		if !w.leftAt.IsZero() {
			continue
		}
		w.answer <- answer.TooLarge(w.kind)
		if w.late == nil {
			s.drop(id)
		} else {
			s.keepLate(id, w)
		}
	}
}

func (s *Session) countNoise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noise++
}

// largeLine is longer than any line but that of a large listing, of which a second
// copy would be felt.
const largeLine = 512 << 10

// take reads one line, which is valid only during the call unless it is kept.
func (s *Session) take(line []byte, kept bool) {
	if s.batches.Load() && bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) {
		if strictjson.Check(line, strictjson.Limits{}) != nil {
			s.countNoise()
			s.unasked(len(line))
			return
		}
		envelope.Items(line, func(item []byte) bool {
			s.takeMessage(item, kept)
			return true
		})
		return
	}
	s.takeMessage(line, kept)
}

func (s *Session) takeMessage(line []byte, kept bool) {
	m := envelope.Read(line)
	m.Kept = kept
	switch {
	case m.IsReply():
		id, ok := envelope.Number(m.ID)
		k, asked := s.kindOf(id)
		if !ok || !asked {
			s.deliver(0, answer.Answer{}) // counted as a stray
			s.unasked(len(line))
			return
		}
		if k == answer.Call {
			if err := failpoint.Hit(failpoint.HalfRead); err != nil {
				s.End(err.Error())
				return
			}
		}
		s.deliver(id, answer.Read(k, m))
		return
	case m.Method == nil || m.Check(answer.Question.Limits()) != nil:
		s.countNoise()
	case m.ID != nil:
		s.takeRequest(m)
	case string(m.Method) == `"notifications/progress"`:
		s.takeProgress(m.Params)
	case string(m.Method) == `"notifications/tools/list_changed"`:
		s.bell.Ring()
	}
	s.unasked(len(line))
}

// takeProgress tells whoever waits for the call how far it is. Under the lock, so
// that nothing is told once the wait is over.
func (s *Session) takeProgress(params []byte) {
	request, p, ok := answer.Progress(params)
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.waiting[request]; ok && w != nil && w.progress != nil && w.leftAt.IsZero() {
		w.progress(p)
	}
}

func (s *Session) kindOf(id int64) (answer.Kind, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.waiting[id]
	if w == nil {
		return 0, false
	}
	return w.kind, true
}

// takeRequest answers what the upstream asks of us. We offer no capability, so
// there is nothing but the ping (threats, A52).
func (s *Session) takeRequest(m envelope.Message) {
	if !answer.IsID(m.ID) {
		s.countNoise()
		return
	}
	select {
	case s.replies <- answer.ToRequest(m):
	default: // an upstream that asks faster than it reads goes without
	}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }
