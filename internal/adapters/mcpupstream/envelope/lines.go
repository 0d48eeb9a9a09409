package envelope

import (
	"bytes"
	"errors"
	"io"
)

// Lines cuts a stream into lines.
type Lines struct {
	src     io.Reader
	buf     []byte
	r, w    int // unread bytes are buf[r:w]
	scanned int // bytes of them that hold no line end
}

// ErrLong says that the line is longer than it may be; Discard goes over it.
var ErrLong = errors.New("the line is over its bound")

const (
	smallBuffer = 16 << 10
	keptBuffer  = 256 << 10 // a larger one is given back after use
)

// NewLines reads from src.
func NewLines(src io.Reader) *Lines { return &Lines{src: src, buf: make([]byte, smallBuffer)} }

// Next returns the next line without its end; it is valid until the next use of
// the Lines. limit is asked while a line grows and says how long it may become;
// a longer one is ErrLong. What stands after the last line end is no line.
func (l *Lines) Next(limit func() int) ([]byte, error) {
	if l.r == l.w && len(l.buf) > keptBuffer {
		l.buf, l.r, l.w = make([]byte, smallBuffer), 0, 0
	}
	for {
		if i := bytes.IndexByte(l.buf[l.r+l.scanned:l.w], '\n'); i >= 0 {
			line := l.buf[l.r : l.r+l.scanned+i]
			if len(line) > limit() {
				return nil, ErrLong
			}
			l.r, l.scanned = l.r+len(line)+1, 0
			return line, nil
		}
		l.scanned = l.w - l.r
		most := limit()
		if l.scanned > most {
			return nil, ErrLong
		}
		if err := l.fill(most); err != nil {
			return nil, err
		}
	}
}

// Discard goes to the end of the current line and shows each piece of it to visit,
// keeping none. It ends early where visit returns false.
func (l *Lines) Discard(visit func(piece []byte) bool) error {
	for {
		piece, ended := l.buf[l.r:l.w], false
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			piece, ended = piece[:i], true
		}
		l.r, l.scanned = l.r+len(piece), 0
		more := visit(piece)
		if ended {
			l.r++
		}
		if ended || !more {
			return nil
		}
		if err := l.fill(0); err != nil {
			return err
		}
	}
}

// Keep makes the line that Next gave last the caller's for good, if it stands in a
// large buffer, which goes with it.
func (l *Lines) Keep() bool {
	if len(l.buf) <= keptBuffer {
		return false
	}
	rest := l.buf[l.r:l.w]
	l.buf = make([]byte, max(smallBuffer, 2*len(rest)))
	l.r, l.w, l.scanned = 0, copy(l.buf, rest), 0
	return true
}

// fill makes room for and reads at least one byte; a line may become most long.
func (l *Lines) fill(most int) error {
	if l.r > 0 {
		copy(l.buf, l.buf[l.r:l.w])
		l.r, l.w = 0, l.w-l.r
	}
	if l.w == len(l.buf) {
		grown := make([]byte, max(len(l.buf)+smallBuffer, min(2*len(l.buf), most+smallBuffer)))
		copy(grown, l.buf)
		l.buf = grown
	}
	for range maxEmptyReads {
		n, err := l.src.Read(l.buf[l.w:])
		if l.w += n; n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// maxEmptyReads is how often a reader may return nothing and no error.
const maxEmptyReads = 100

// Sieve takes the pieces of a line that is too long to be kept and finds out
// which request it answers. Use NewSieve.
type Sieve struct {
	scan Scan
	size int
}

// NewSieve starts a line.
func NewSieve() *Sieve {
	s := &Sieve{scan: NewScan(parts)}
	s.scan.keep = partID
	return s
}

// Feed takes the next piece.
func (s *Sieve) Feed(piece []byte) {
	s.scan.Feed(piece)
	s.size += len(piece)
}

// Size is how many bytes the line has had so far.
func (s *Sieve) Size() int { return s.size }

// Answers gives the request that the line answers, as soon as that is certain.
func (s *Sieve) Answers() (id int64, ok bool) {
	if _, request := s.scan.Member(partMethod); request || !s.begun(partResult) && !s.begun(partError) || s.scan.keptLen > keptBytes {
		return 0, false
	}
	if _, seen := s.scan.Member(partID); !seen {
		return 0, false
	}
	return Number(s.scan.kept[:s.scan.keptLen])
}

// begun reports whether a part was seen or is being read.
func (s *Sieve) begun(part int) bool {
	_, seen := s.scan.Member(part)
	return seen || s.scan.current == part
}
