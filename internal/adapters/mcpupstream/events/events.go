// Package events cuts a stream of server-sent events into events, as MCP over
// HTTP uses them: each event's data is one message.
//
// No more of an event is kept than its reader allows; a longer one is gone over and
// told as ErrLong, up to a size from which on it is taken for one without an end.
// Comments and fields that have no meaning here are dropped. A Reader belongs to one
// goroutine.
package events

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Event is one event with data, or with an id or a retry alone.
type Event struct {
	Data  []byte        // valid until the next use of the Reader
	ID    string        // as it was given last on the stream, at most idBytes long
	Retry time.Duration // zero where none was given
	Size  int           // bytes of the stream that it took, comments before it included
}

var (
	// ErrLong says that an event was longer than it may be; the next one can be read.
	ErrLong = errors.New("the event is over its bound")
	// ErrEndless says that an event, with the comments before it, is so far over
	// every bound that nothing more of the stream is read.
	ErrEndless = errors.New("the stream has an event without an end")
)

// endless is how many lines of the largest size an event may be long before its
// stream is given up; each of its lines counts for some bytes more, since many short
// ones take longer to read than a long one.
const (
	endless  = 8
	perPiece = 32
)

const (
	idBytes    = 256
	fieldBytes = 64 // of a line whose field has no meaning yet
	longest    = 30 * time.Second
)

// Reader reads events.
type Reader struct {
	src  *bufio.Reader
	data []byte
	id   string
	cr   bool // the last line ended with a carriage return
	any  bool // a byte of the stream was read
}

// NewReader reads from src.
func NewReader(src io.Reader) *Reader { return &Reader{src: bufio.NewReader(src)} }

// event is one that is being read.
type event struct {
	retry time.Duration
	size  int
	work  int
	told  bool // it is one
	long  bool
	room  int
}

// Next returns the next event, whose data may have at most so many bytes. The error
// is ErrLong, ErrEndless, io.EOF at the end of the stream, or that of the source; what
// stands after the last empty line is no event.
func (r *Reader) Next(most int) (Event, error) {
	e := event{room: most}
	r.data = r.data[:0]
	for {
		empty, err := r.line(&e)
		if err != nil {
			return Event{}, err
		}
		switch {
		case !empty:
		case e.long:
			return Event{ID: r.id, Size: e.size}, ErrLong
		case e.told:
			return Event{Data: bytes.TrimSuffix(r.data, []byte("\n")), ID: r.id, Retry: e.retry, Size: e.size}, nil
		}
	}
}

// line reads one line into the event and reports whether it was empty.
func (r *Reader) line(e *event) (empty bool, err error) {
	var head [fieldBytes]byte // the beginning of the line
	n, value, length := 0, -1, 0
	before := len(r.data)
	for {
		piece, ended, err := r.piece()
		if err != nil {
			return false, err
		}
		e.size += len(piece) + 1
		if e.work += len(piece) + perPiece; e.work > endless*bound.UpstreamLineBytes.Int() {
			return false, ErrEndless
		}
		length += len(piece)
		if value < 0 {
			took := copy(head[n:], piece)
			n += took
			if name, _, ok := bytes.Cut(head[:n], []byte(":")); ok && string(name) == "data" {
				value = len("data:")
				piece = append(bytes.Clone(head[value:n]), piece[took:]...)
			}
		}
		if value >= 0 && !e.long {
			if len(r.data)+len(piece) > e.room+1 {
				e.long, r.data = true, r.data[:0]
			} else {
				r.data = append(r.data, piece...)
			}
		}
		if ended {
			break
		}
	}
	if value >= 0 {
		r.endData(e, before)
		return false, nil
	}
	if length > n {
		return false, nil // a comment, or a field of no meaning
	}
	r.field(e, head[:n])
	return length == 0, nil
}

// endData ends a line of data, of which one blank in front does not count.
func (r *Reader) endData(e *event, before int) {
	e.told = true
	if e.long {
		return
	}
	if len(r.data) > before && r.data[before] == ' ' {
		r.data = append(r.data[:before], r.data[before+1:]...)
	}
	if r.data = append(r.data, '\n'); len(r.data) > e.room+1 {
		e.long, r.data = true, r.data[:0]
	}
}

func (r *Reader) field(e *event, line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.told = true
		r.data = append(r.data, '\n')
	case "id":
		if len(value) <= idBytes && bytes.IndexByte(value, 0) < 0 {
			r.id, e.told = string(value), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			e.retry, e.told = min(longest, time.Duration(ms)*time.Millisecond), true
		}
	}
}

// piece is what is buffered of the current line, and whether the line ends with it.
func (r *Reader) piece() (piece []byte, ended bool, err error) {
	for {
		if first, err := r.src.Peek(1); err != nil {
			return nil, false, err
		} else if !r.any {
			r.any = true
			if first[0] == mark[0] {
				r.skipMark()
				continue
			}
		}
		buffered, _ := r.src.Peek(r.src.Buffered())
		if r.cr && buffered[0] == '\n' {
			_, _ = r.src.Discard(1)
			r.cr = false
			continue
		}
		r.cr = false
		at := bytes.IndexAny(buffered, "\r\n")
		if at < 0 {
			_, _ = r.src.Discard(len(buffered))
			return buffered, false, nil
		}
		r.cr = buffered[at] == '\r'
		_, _ = r.src.Discard(at + 1)
		return buffered[:at], true, nil
	}
}

// mark may stand in front of a stream.
var mark = []byte("\xef\xbb\xbf")

func (r *Reader) skipMark() {
	if head, _ := r.src.Peek(len(mark)); bytes.Equal(head, mark) {
		_, _ = r.src.Discard(len(mark))
	}
}
