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
// within bound.RequestTime, so that nobody holds a half one for ever.
type reader struct {
	conn net.Conn
	buf  *bufio.Reader
}

func newReader(conn net.Conn) *reader {
	return &reader{conn, bufio.NewReaderSize(conn, readAhead)}
}

// next gives the next record without its LF. A fault is the peer's, and the last
// thing that can be told to it; any other error means that the connection is over.
// The result is valid until the next call.
func (r *reader) next() ([]byte, error) {
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
		if err := r.conn.SetReadDeadline(time.Now().Add(bound.RequestTime.Duration())); err != nil {
			return nil, err
		}
	}
	record = record[:len(record)-1]
	return record, checkRecord(record)
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
