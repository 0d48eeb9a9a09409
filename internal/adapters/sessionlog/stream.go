package sessionlog

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

// Stream is the one writer of a session. Its state has one lock; records that
// wait for the disk share the next write.
type Stream struct {
	file  *os.File
	lock  *lockedfile.Lock
	now   func() time.Time
	fence func(error) // keeps every later opener out

	mu      sync.Mutex
	seq     int64 // of the newest record that was taken
	size    int64 // bytes that are durable
	waiting []waiting
	writing bool
	failed  error // why the stream takes no more
	idle    *sync.Cond
}

// waiting is a record that is not durable yet.
type waiting struct {
	record transcript.Record
	fate   chan<- error
}

var errClosed = fault.New(fault.PersistenceFailed, "the session's record is closed")

// What is kept free of a full log: so that a turn can end, and before that so that
// the calls which went out can have their results.
const (
	statusReserve = 64 << 10
	resultReserve = 4 << 20
)

// Open takes the writer's lease, cuts a torn tail, ends the turns that a dead
// daemon left (failed, interrupted) and their calls (as uncertain, where they may
// have acted), and gives all records.
func (s *Store) Open(_ context.Context, session string) (*Stream, []transcript.Record, error) {
	if !s.Known(session) {
		return nil, nil, errNone
	}
	if err := s.failed(session); err != nil {
		return nil, nil, errLog.Because(err)
	}
	lock, err := lockedfile.Take(s.path(session))
	if fault.Is(err, fault.Conflict) {
		return nil, nil, fault.New(fault.SessionBusy, "another process writes to the session").Because(err)
	}
	if err != nil {
		return nil, nil, errLog.Because(err)
	}
	stream, records, err := s.open(session, lock)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	return stream, records, nil
}

// failed gives why a session is fenced. After a failed sync the system may call
// clean what is not on the disk, so that no later sync can be believed.
func (s *Store) failed(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fenced[session]
}

func (s *Store) open(session string, lock *lockedfile.Lock) (*Stream, []transcript.Record, error) {
	file, err := s.openFile(session, os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	records, last, whole, err := scan(file, 0)
	if err == nil && len(records) == 0 {
		err = errBroken // a header is durable before anybody can know the session
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	fence := func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fenced[session] = err
	}
	w := &Stream{file: file, lock: lock, now: s.now, fence: fence, seq: records[len(records)-1].Seq, size: whole}
	w.idle = sync.NewCond(&w.mu)
	if err := w.mend(last); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	ended, err := w.interrupt(records)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return w, append(records, ended...), nil
}

// interrupt ends the turns that a dead daemon left, and before that their calls.
func (w *Stream) interrupt(records []transcript.Record) (ended []transcript.Record, err error) {
	add := func(turn string, kind transcript.Kind, data any) {
		var r transcript.Record
		if err == nil {
			r, err = w.append(turn, kind, data)
			ended = append(ended, r)
		}
	}
	for _, turn := range transcript.Open(records) {
		results, bad := transcript.Unanswered(records, turn)
		if bad != nil {
			return nil, errBroken.Because(bad)
		}
		for _, r := range results {
			add(turn, transcript.ToolResult, r)
		}
		add(turn, transcript.TurnStatus, transcript.Status{Status: transcript.Failed, Code: transcript.Interrupted})
	}
	return ended, err
}

// mend cuts what a crash left behind the last whole frame, and writes that frame
// once more: the process that wrote it may have been told that the disk failed it.
func (w *Stream) mend(last int64) error {
	info, err := w.file.Stat()
	if err == nil && info.Size() > w.size {
		err = w.file.Truncate(w.size)
	}
	line := make([]byte, w.size-last)
	if err == nil {
		_, err = w.file.ReadAt(line, last)
	}
	if err != nil {
		return errLog.Because(err)
	}
	return w.put(line, last)
}

// Append makes a record durable: it is on the disk when Append returns nil. The
// context does not cut the wait for the disk short, since nobody would know then
// what is on it. After an error the stream takes no more, but for limit_exceeded,
// which changes nothing.
func (w *Stream) Append(_ context.Context, turn string, kind transcript.Kind, data any) error {
	if err := failpoint.Hit(failpoint.Before(string(kind))); err != nil {
		return errLog.Because(err)
	}
	_, err := w.append(turn, kind, data)
	if err == nil {
		err = failpoint.Hit(failpoint.After(string(kind)))
	}
	return err
}

func (w *Stream) append(turn string, kind transcript.Kind, data any) (transcript.Record, error) {
	r, fate, err := w.enter(turn, kind, data)
	if err != nil {
		return r, err
	}
	return r, <-fate
}

// enter gives the record its number and sees that somebody writes it: this
// goroutine, unless another one is at it.
func (w *Stream) enter(turn string, kind transcript.Kind, data any) (transcript.Record, <-chan error, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return transcript.Record{}, nil, w.failed
	}
	r, err := transcript.New(w.seq+1, w.now().UnixMilli(), turn, kind, data)
	if err != nil {
		return r, nil, err
	}
	line, err := transcript.Encode(r)
	if err != nil {
		return r, nil, err
	}
	room := bound.LogBytes.Max
	if kind != transcript.TurnStatus {
		room -= statusReserve
		if kind != transcript.ToolResult {
			room -= resultReserve
		}
	}
	if w.size+int64(len(line)) > room {
		return r, nil, bound.LogBytes.Exceeded()
	}
	w.seq++
	fate := make(chan error, 1)
	w.waiting = append(w.waiting, waiting{r, fate})
	if !w.writing {
		w.writing = true
		w.write()
	}
	return r, fate, nil
}

// write writes until nothing waits. It is called and returns with the lock held,
// and lets go of it while the disk is busy.
func (w *Stream) write() {
	for len(w.waiting) > 0 {
		line, n := w.batch()
		taken := w.waiting[:n]
		w.waiting = w.waiting[n:]
		err := w.failed
		if err == nil {
			at := w.size
			w.mu.Unlock()
			err = w.put(line, at)
			w.mu.Lock()
		}
		if err != nil {
			w.failed = err
		} else {
			w.size += int64(len(line))
		}
		for _, x := range taken {
			x.fate <- err
		}
	}
	w.writing = false
	w.idle.Broadcast()
}

// batch puts as many waiting records into one frame as fit. One always does.
func (w *Stream) batch() (line []byte, n int) {
	records := make([]transcript.Record, 0, len(w.waiting))
	for _, x := range w.waiting {
		longer, err := transcript.Encode(append(records, x.record)...)
		if err != nil {
			break
		}
		records, line = append(records, x.record), longer
	}
	return line, len(records)
}

func (w *Stream) put(line []byte, at int64) error {
	if _, err := w.file.WriteAt(line, at); err != nil {
		return errLog.Because(err)
	}
	if err := w.file.Sync(); err != nil {
		w.fence(err)
		return errLog.Because(err)
	}
	return nil
}

// Close waits for what is being written and gives the lease back.
func (w *Stream) Close() error {
	w.mu.Lock()
	for w.writing {
		w.idle.Wait()
	}
	first := w.failed == nil || !errors.Is(w.failed, errClosed)
	w.failed = errClosed
	w.mu.Unlock()
	if !first {
		return nil
	}
	return errors.Join(w.file.Close(), w.lock.Release())
}
