package unixsocket

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"time"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// recordLimits hold every record, whole.
var recordLimits = strictjson.Limits{Bytes: bound.RecordBytes, Depth: bound.RecordDepth, Nodes: bound.RecordNodes}

// readAhead is the buffer of a connection; a longer record takes memory only while
// it is read.
const readAhead = 4 << 10

// reader cuts a connection into records. A record that has begun must be whole
// within bound.RequestTime, counted from its first byte, so that nobody holds a half
// one for ever.
type reader struct {
	conn  net.Conn
	buf   *bufio.Reader
	until time.Time // when the connection is over, whatever comes; zero: never
}

func newReader(conn net.Conn) *reader {
	return &reader{conn: conn, buf: bufio.NewReaderSize(conn, readAhead)}
}

// next gives the next record without its LF. A fault is the peer's, and the last
// thing that can be told to it; any other error means that the connection is over.
// The result is valid until the next call.
func (r *reader) next() ([]byte, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	var record []byte
	for {
		part, err := r.buf.ReadSlice('\n')
		if record == nil && err == nil {
			record = part
		} else {
			record = append(record, part...)
		}
		if len(bytes.TrimSuffix(record, []byte("\n"))) > bound.RecordBytes.Int() {
			return nil, bound.RecordBytes.Exceeded()
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) && len(record) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	record = record[:len(record)-1]
	return record, checkRecord(record)
}

// begin waits for a record's first byte, and sets once by when the rest must be
// there.
func (r *reader) begin() error {
	if r.ahead() {
		return nil
	}
	if err := r.conn.SetReadDeadline(r.until); err != nil {
		return err
	}
	if _, err := r.buf.Peek(1); err != nil {
		return err
	}
	whole := time.Now().Add(bound.RequestTime.Duration())
	if r.ahead() || !r.until.IsZero() && r.until.Before(whole) {
		return nil
	}
	return r.conn.SetReadDeadline(whole)
}

// ahead reports whether a whole record is there, whatever becomes of the connection.
func (r *reader) ahead() bool {
	ahead, err := r.buf.Peek(r.buf.Buffered())
	return err == nil && bytes.IndexByte(ahead, '\n') >= 0
}

// checkRecord holds a record to the framing and to strict JSON.
func checkRecord(record []byte) error {
	if len(record) == 0 || record[len(record)-1] == '\r' || !utf8.Valid(record) {
		return fault.New(fault.MalformedRecord, "a record is one line of JSON in UTF-8")
	}
	if err := strictjson.Check(record, recordLimits); err != nil {
		return fault.New(fault.MalformedRecord, "a record is strict JSON").Because(err)
	}
	return nil
}
