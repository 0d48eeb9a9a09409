package eventstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Event is one event of a stream. Data is the caller's.
type Event struct {
	Name string // "message" where the stream names none
	Data []byte // the data lines, joined by LF
}

// Reader reads the events of one stream. It belongs to one goroutine.
type Reader struct {
	in    *bufio.Reader
	read  int // bytes of the stream so far
	begun bool
}

// NewReader reads events from r and no byte past them but what it buffers.
func NewReader(r io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(r, 16<<10)} }

// Next gives the next event that has data. io.EOF is the end of the stream; an
// event that no blank line ended is dropped, as the format wants. Other errors
// are the reader's own or the fault of a bound, and end the stream.
func (r *Reader) Next() (Event, error) {
	var e Event
	var has bool
	size := 0
	for {
		line, err := r.line(bound.ModelEventBytes.Int() - size)
		if err != nil {
			return Event{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if has {
				return finish(e), nil
			}
			e, size = Event{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if has {
				e.Data = append(e.Data, '\n')
			}
			e.Data, has = append(e.Data, value...), true
		case "event":
			e.Name = string(value)
		}
	}
}

func finish(e Event) Event {
	if e.Name == "" {
		e.Name = "message"
	}
	return e
}

// line gives one line without its end: LF, CR, or CR LF. A last line without an
// end is no line.
func (r *Reader) line(most int) ([]byte, error) {
	var line []byte
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return nil, err
		}
		if r.read++; r.read > bound.ModelStreamBytes.Int() {
			return nil, bound.ModelStreamBytes.Exceeded()
		}
		switch b {
		case '\n':
			return r.first(line), nil
		case '\r':
			return r.first(line), r.skipLF()
		}
		if line = append(line, b); len(line) > most {
			return nil, bound.ModelEventBytes.Exceeded()
		}
	}
}

// skipLF takes the LF of a CR LF. What comes after a CR is looked at only when it
// is there or the stream ends, which the next line will say.
func (r *Reader) skipLF() error {
	next, err := r.in.Peek(1)
	if err == nil && next[0] == '\n' {
		r.read++
		_, err = r.in.Discard(1)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// first drops the byte order mark that a stream may begin with.
func (r *Reader) first(line []byte) []byte {
	if r.begun {
		return line
	}
	r.begun = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}
