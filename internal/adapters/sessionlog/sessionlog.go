// Package sessionlog keeps the durable record streams of sessions, one file a
// session under the state root.
//
// It promises that a record is on the disk when Append returns nil; that records
// stand in the order in which Append was entered; that a session has one writer
// across processes, and that its lease ends with the process; and that what a
// crash tore off is cut, so that a stream always reads to its end. Any other damage
// is a fault and never cut. It does not promise that a failed
// record is absent: after a failure the stream takes no more, and the next opener
// sees what is there. After a failed sync there is no next opener while the process
// lives, and the next process writes the last frame once more before it adds one:
// the system may hold it in memory alone and yet call it clean. What an opener knows
// of a file is kept in memory for the next, and dropped where the file is another or
// was touched meanwhile.
//
// Why a record could not be written or opened is in the log, too. Files and folders
// are this user's alone; others are refused. Bounds: the log rows of the bound table. Faults: unknown_session, session_busy,
// persistence_failed, limit_exceeded. Everything is safe for concurrent use.
package sessionlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
)

const (
	suffix   = ".log"
	longest  = 64  // bytes of a session id
	recalled = 128 // places that Read remembers
)

// Store is the sessions of one state root.
type Store struct {
	folder string
	now    func() time.Time
	log    *slog.Logger

	mu       sync.Mutex // over what follows
	places   map[place]int64
	fenced   map[string]error // sessions whose file the disk failed, and how
	sessions map[string]bool  // that there are, as far as a listing or a file has told
	closed   shelf
	gates    map[string]*gate // of sessions that somebody opens now
}

// place is where a page ended; the value beside it is the offset after it.
type place struct {
	session string
	seq     int64
}

// Listed is one stored session.
type Listed struct {
	Session string
	Title   string
	Updated time.Time // of its newest record
}

var (
	errNone   = fault.New(fault.UnknownSession, "there is no such session")
	errLog    = fault.New(fault.PersistenceFailed, "the session's record cannot be used")
	errBroken = fault.New(fault.PersistenceFailed, "the session's record is damaged")
	errExists = fault.New(fault.Conflict, "there is such a session already")
)

// Open returns the store in a folder, which is made if it is missing.
func Open(folder string, now func() time.Time, log *slog.Logger) (*Store, error) {
	if err := lockedfile.MakeFolder(folder); err != nil {
		return nil, errLog.Because(err)
	}
	s := &Store{
		folder: folder, now: now, log: log, places: map[place]int64{}, fenced: map[string]error{},
		sessions: map[string]bool{}, closed: shelf{memories: map[string]*memory{}}, gates: map[string]*gate{},
	}
	_, err := s.names()
	return s, err
}

func (s *Store) path(session string) string {
	return filepath.Join(s.folder, hex.EncodeToString([]byte(session))+suffix)
}

// named reports whether a session can have the ID: it has the form of every ID.
func named(session string) bool {
	if session == "" || len(session) > longest {
		return false
	}
	for i := range len(session) {
		c := session[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("._:-", rune(c)) {
			return false
		}
	}
	return true
}

// of gives the session whose file has the name; there is none where Create could
// not have made it.
func (s *Store) of(name string) (string, bool) {
	raw, err := hex.DecodeString(strings.TrimSuffix(name, suffix))
	session := string(raw)
	return session, err == nil && named(session) && filepath.Base(s.path(session)) == name
}

// Known reports whether there is such a session, without asking the disk: it was
// there when the store was opened or listed, or was made since.
func (s *Store) Known(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[session]
}

// Create makes a session. Its header is durable when it returns nil.
func (s *Store) Create(_ context.Context, session, title string) error {
	if !named(session) {
		return errNone
	}
	if names, err := s.names(); err != nil {
		return err
	} else if err := bound.LogSessions.Check(len(names) + 1); err != nil {
		return err
	}
	d := transcript.Title{SessionID: session}
	if title != "" {
		d.Title = &title
	}
	r, err := transcript.New(1, s.now().UnixMilli(), "", transcript.SessionTitle, d)
	if err != nil {
		return err
	}
	line, err := transcript.Encode(r)
	if err != nil {
		return err
	}
	if err := s.place(s.path(session), line); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[session] = true
	return nil
}

// place writes a whole file under a draft's name and then links it to its own, so
// that no reader sees a part of it.
func (s *Store) place(path string, line []byte) error {
	draft, err := os.CreateTemp(s.folder, "draft-")
	if err != nil {
		return errLog.Because(err)
	}
	defer func() { _ = os.Remove(draft.Name()) }() // its other name stays
	_, err = draft.Write(line)
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return errLog.Because(err)
	}
	err = os.Link(draft.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return errExists
	}
	if err := errors.Join(err, lockedfile.SyncFolder(s.folder)); err != nil {
		return errLog.Because(err)
	}
	return nil
}

// names gives the file names of all sessions, in the order of their ids.
func (s *Store) names() ([]string, error) {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, errLog.Because(err)
	}
	var out []string
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if session, ok := s.of(e.Name()); ok && e.Type().IsRegular() {
			out = append(out, e.Name())
			s.sessions[session] = true
		}
	}
	return out, nil
}

// List gives at most limit sessions whose ids stand after one, in the order of
// ids. A session whose header cannot be read has no title.
func (s *Store) List(_ context.Context, after string, limit int) ([]Listed, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	from := hex.EncodeToString([]byte(after)) + suffix
	var out []Listed
	for _, name := range names {
		if len(out) == limit {
			break
		}
		session, _ := s.of(name)
		if after != "" && name <= from {
			continue
		}
		row := Listed{Session: session}
		if info, err := os.Lstat(filepath.Join(s.folder, name)); err == nil {
			row.Updated = info.ModTime()
		}
		row.Title = s.title(row.Session)
		out = append(out, row)
	}
	return out, nil
}

func (s *Store) title(session string) string {
	file, err := s.openFile(session, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer file.Close()
	first, err := head(file)
	if err != nil || len(first) == 0 {
		return ""
	}
	d, err := transcript.Read[transcript.Title](first[0])
	if err != nil || d.Title == nil {
		return ""
	}
	return *d.Title
}

// openFile opens a session's file and nothing that took its place.
func (s *Store) openFile(session string, flags int) (*os.File, error) {
	if !named(session) {
		return nil, errNone
	}
	file, err := os.OpenFile(s.path(session), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.sessions, session)
		return nil, errNone
	}
	if err != nil {
		return nil, errLog.Because(err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, errors.Join(errLog.Because(err), file.Close())
	}
	return file, nil
}

// Read gives at most limit records after a sequence number, oldest first. It
// needs no lease; what a writer is just writing may be missing.
func (s *Store) Read(_ context.Context, session string, after int64, limit int) ([]transcript.Record, error) {
	file, err := s.openFile(session, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s.mu.Lock()
	offset := s.places[place{session, after}]
	s.mu.Unlock()
	out, end, err := page(file, offset, after, limit)
	if err == nil && offset > 0 && len(out) > 0 && out[0].Seq != after+1 {
		out, end, err = page(file, 0, after, limit) // another file has this name now
	}
	if err != nil {
		return nil, err
	}
	if len(out) > 0 && end > 0 {
		s.remember(place{session, out[len(out)-1].Seq}, end)
	}
	return out, nil
}

func (s *Store) remember(p place, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.places) >= recalled {
		clear(s.places)
	}
	s.places[p] = offset
}

// page collects records after one. End is the offset behind the last of them, or
// 0 where its frame holds more.
func page(file *os.File, offset, after int64, limit int) (out []transcript.Record, end int64, err error) {
	if _, err := file.Seek(offset, io.SeekStart); err != nil {
		return nil, 0, errLog.Because(err)
	}
	frames := newFrames(file, offset)
	for len(out) < limit {
		records, err := frames.next()
		if errors.Is(err, io.EOF) {
			return out, end, nil
		}
		if err != nil {
			return nil, 0, err
		}
		end = frames.whole
		for _, r := range records {
			if r.Seq <= after {
				continue
			}
			if len(out) == limit {
				end = 0
				break
			}
			out = append(out, r)
		}
	}
	return out, end, nil
}

// head gives the records of the file's first frame.
func head(file *os.File) ([]transcript.Record, error) {
	records, err := newFrames(file, 0).next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return records, err
}

// frames reads a file frame by frame.
type frames struct {
	in    *bufio.Reader
	whole int64 // offset behind the last whole frame
	seq   int64 // of its last record; 0 before the first
}

func newFrames(r io.Reader, offset int64) *frames {
	return &frames{in: bufio.NewReaderSize(r, 64<<10), whole: offset}
}

// next gives the records of the next frame. io.EOF is the end of what is whole:
// the last line may be torn, and only the last.
func (f *frames) next() ([]transcript.Record, error) {
	line, err := readLine(f.in)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(line) == 0 {
		return nil, io.EOF
	}
	records, bad := transcript.Decode(line)
	if bad == nil && f.seq > 0 && records[0].Seq != f.seq+1 {
		return nil, errBroken.Because(errors.New("a record is missing"))
	}
	if bad == nil {
		f.whole += int64(len(line))
		f.seq = records[len(records)-1].Seq
		return records, nil
	}
	if _, more := f.in.Peek(1); !errors.Is(more, io.EOF) || !torn(line) {
		return nil, errBroken.Because(bad)
	}
	return nil, io.EOF
}

// torn reports whether a crash can have left a line: it has no end, or a hole, which
// reads as zeros. Any other one was whole once, and somebody may have been told so.
func torn(line []byte) bool {
	return !bytes.HasSuffix(line, []byte("\n")) || bytes.IndexByte(line, 0) >= 0
}

// readLine gives a line with its LF, or what there is before the end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if bad := bound.LogFrameBytes.Check(len(line)); bad != nil {
			return nil, errBroken.Because(bad)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, errLog.Because(err)
			}
			return line, err
		}
	}
}
