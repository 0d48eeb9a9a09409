package sessionlog

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

// Stream is the one writer of a session. Its state has one lock; records that
// wait for the disk share the next write.
type Stream struct {
	store   *Store
	session string
	file    *os.File
	lock    *lockedfile.Lock

	mu      sync.Mutex
	recent  *transcript.Recent // of what is durable; nil where that is in doubt
	seq     int64              // of the newest record that was taken
	size    int64              // bytes that are durable
	waiting []waiting
	writing bool
	failed  error // why the stream takes no more
	idle    *sync.Cond
}

// waiting is a record that is not durable yet.
type waiting struct {
	record transcript.Record
	data   any
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
// have acted), and gives what a model is shown of the turns before.
func (s *Store) Open(_ context.Context, session string) (*Stream, []conversation.Message, error) {
	defer s.enter(session)()
	return s.take(session)
}

// take is Open for who has entered.
func (s *Store) take(session string) (*Stream, []conversation.Message, error) {
	if err := s.exists(session); err != nil {
		return nil, nil, err
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
	stream, err := s.open(session, lock)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Release())
	}
	return stream, stream.recent.Messages(), nil
}

// exists keeps the lock from making a file of a session that there is not.
func (s *Store) exists(session string) error {
	file, err := s.openFile(session, os.O_RDONLY)
	if err != nil {
		return err
	}
	_ = file.Close() // nothing was read
	return nil
}

// failed gives why a session is fenced. After a failed sync the system may call
// clean what is not on the disk, so that no later sync can be believed.
func (s *Store) failed(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fenced[session]
}

func (s *Store) open(session string, lock *lockedfile.Lock) (*Stream, error) {
	file, err := s.openFile(session, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	w := &Stream{store: s, session: session, file: file, lock: lock}
	w.idle = sync.NewCond(&w.mu)
	if err := w.recall(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := w.interrupt(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

// recall makes the stream know what is in its file, from memory where the file is as
// this process left it.
func (w *Stream) recall() error {
	s := w.store
	s.mu.Lock()
	m := s.closed.take(w.session)
	s.mu.Unlock()
	now, err := w.file.Stat()
	if err != nil {
		return errLog.Because(err)
	}
	if m != nil && m.still(now) {
		w.recent, w.seq, w.size = m.recent, m.seq, m.size
		return nil
	}
	return w.scan()
}

// scan reads the whole file, and mends its end.
func (w *Stream) scan() error {
	w.recent = &transcript.Recent{}
	frames, last := newFrames(w.file, 0), int64(0)
	for {
		begin := frames.whole
		records, err := frames.next()
		if errors.Is(err, io.EOF) {
			break
		}
		for _, r := range records {
			if bad := w.recent.Add(r); bad != nil {
				err = errBroken.Because(bad)
			}
		}
		if err != nil {
			return err
		}
		last = begin
	}
	if frames.seq == 0 {
		return errBroken // a header is durable before anybody can know the session
	}
	w.seq, w.size = frames.seq, frames.whole
	return w.mend(last)
}

// interrupt ends the turns that a dead daemon left, and before that their calls.
func (w *Stream) interrupt() error {
	for _, turn := range w.recent.Open() {
		for _, r := range w.recent.Unanswered(turn) {
			if err := w.append(turn, transcript.ToolResult, r); err != nil {
				return err
			}
		}
		if err := w.append(turn, transcript.TurnStatus, transcript.Status{Status: transcript.Failed, Code: transcript.Interrupted}); err != nil {
			return err
		}
	}
	return nil
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
	err := w.append(turn, kind, data)
	if err == nil {
		err = failpoint.Hit(failpoint.After(string(kind)))
	}
	return err
}

func (w *Stream) append(turn string, kind transcript.Kind, data any) error {
	fate, err := w.enter(turn, kind, data)
	if err != nil {
		return err
	}
	return <-fate
}

// enter gives the record its number and sees that somebody writes it: this
// goroutine, unless another one is at it.
func (w *Stream) enter(turn string, kind transcript.Kind, data any) (<-chan error, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return nil, w.failed
	}
	r, err := transcript.New(w.seq+1, w.store.now().UnixMilli(), turn, kind, data)
	if err != nil {
		return nil, err
	}
	line, err := transcript.Encode(r)
	if err != nil {
		w.lost(r, err)
		return nil, err
	}
	room := bound.LogBytes.Max
	if kind != transcript.TurnStatus {
		room -= statusReserve
		if kind != transcript.ToolResult {
			room -= resultReserve
		}
	}
	if w.size+int64(len(line)) > room {
		err := bound.LogBytes.Exceeded()
		w.lost(r, err)
		return nil, err
	}
	w.seq++
	fate := make(chan error, 1)
	w.waiting = append(w.waiting, waiting{r, data, fate})
	if !w.writing {
		w.writing = true
		w.write()
	}
	return fate, nil
}

// lost tells the log what is not in a session's record, and why.
func (w *Stream) lost(r transcript.Record, err error) {
	w.store.log.Error("a session's record was not written", "session", w.session, "turn", r.Turn, "kind", string(r.Kind), "err", err, "cause", errors.Unwrap(err))
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
		switch {
		case err == nil:
			w.size += int64(len(line))
			w.learn(taken)
		case w.failed == nil:
			w.failed = err
			w.lost(taken[0].record, err)
		}
		for _, x := range taken {
			x.fate <- err
		}
	}
	w.writing = false
	w.idle.Broadcast()
}

// learn takes in what is durable now. The lock must be held.
func (w *Stream) learn(records []waiting) {
	for _, x := range records {
		if w.recent != nil && w.recent.Take(x.record.Turn, x.record.Kind, x.data) != nil {
			w.recent = nil
		}
	}
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
		w.store.fence(w.session, err)
		return errLog.Because(err)
	}
	return nil
}

// fence keeps every later opener out.
func (s *Store) fence(session string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fenced[session] = err
}

// Close waits for what is being written and gives the lease back. What the stream
// knows of its file stays with the store, unless a write has failed.
func (w *Stream) Close() error {
	w.mu.Lock()
	for w.writing {
		w.idle.Wait()
	}
	first, whole := w.failed == nil || !errors.Is(w.failed, errClosed), w.failed == nil
	w.failed = errClosed
	w.mu.Unlock()
	if !first {
		return nil
	}
	if info, err := w.file.Stat(); err == nil && whole && w.recent != nil {
		w.store.mu.Lock()
		w.store.closed.put(w.session, &memory{w.recent, w.seq, w.size, info})
		w.store.mu.Unlock()
	}
	return errors.Join(w.file.Close(), w.lock.Release())
}
