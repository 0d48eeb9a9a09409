package sqldb

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	codes "modernc.org/sqlite/lib"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/logfile"
)

// failing is a commit that returns an error from the second on that is armed:
// before it did its work, or after.
type failing struct {
	armed bool
	after bool
	err   error
}

func (f *failing) commit(next func() error) error {
	if !f.armed {
		return next()
	}
	if f.after {
		if err := next(); err != nil {
			return err
		}
	}
	return f.err
}

func TestFirstFailedSyncFences(t *testing.T) {
	for _, after := range []bool{false, true} {
		path := storePath(t)
		at := &failing{after: after, err: coded(codes.SQLITE_IOERR_FSYNC)}
		db := begin(t, path, noteTree, Options{}, seams{at.commit})
		write(t, db, add("a"))
		at.armed = true
		for i, err := range batch(t, db, add("b"), func(*Tx) error { return fault.New(fault.NotFound, "") }) {
			wantFault(t, err, fault.Unavailable)
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("job %d of the failed commit: %v", i, errors.Unwrap(err))
			}
		}
		at.armed = false
		<-db.FencedCh()
		wantFault(t, db.Fenced(), fault.Unavailable)
		ran := false
		err := db.Write(t.Context(), func(*Tx) error { ran = true; return nil })
		wantFault(t, err, fault.Unavailable)
		if ran || errors.Is(err, ErrUnknown) {
			t.Errorf("a later job: ran %v, %v", ran, errors.Unwrap(err))
		}
		want := []string{"a"}
		if after {
			want = []string{"a", "b"}
		}
		wantNames(t, db, want...) // reads go on
		if _, err := os.Stat(path + fenceSuffix); err != nil {
			t.Error(err)
		}
		wantFault(t, db.Close(), fault.Unavailable)
		if _, err := os.Stat(path + logSuffix); err != nil {
			t.Errorf("the log must be left to the next start: %v", err)
		}

		db = begin(t, path, noteTree, Options{}, seams{})
		wantNames(t, db, want...)
		write(t, db, add("c"))
		if _, err := os.Stat(path + fenceSuffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the note of the fence after a start that found all well: %v", err)
		}
	}
}

func TestDamageFoundAfterAFenceRefuses(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	for i := range 200 {
		write(t, db, add(string(rune('A'+i))))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, 2*4096, 4096)
	if err := os.WriteFile(path+fenceSuffix, []byte("a commit failed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, noteTree, Options{})
	wantFault(t, err, fault.Unavailable)
	if !errors.Is(err, ErrDamaged) {
		t.Error(errors.Unwrap(err))
	}
	if _, err := os.Stat(path + fenceSuffix); err != nil {
		t.Errorf("the note must stay: %v", err)
	}
}

// The engine would take the damaged frame for the end of the log and forget what
// was acknowledged behind it.
func TestADamagedLogIsNotTakenForAShorterOne(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	for i := range 20 {
		write(t, db, add(string(rune('A'+i))))
	}
	killed := storePath(t) // what a process that is killed now leaves
	if err := os.CopyFS(filepath.Dir(killed), os.DirFS(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", logSuffix, "-shm", ".lock"} {
		if err := os.Chmod(killed+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Dir(killed), 0o700); err != nil {
		t.Fatal(err)
	}
	overwrite(t, killed+logSuffix, 32+10*(24+4096)+500, 1)
	_, err := Open(t.Context(), killed, noteTree, Options{})
	wantFault(t, err, fault.Unavailable)
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("%v: %v", err, errors.Unwrap(err))
	}
}

func TestDamageMetOnTheWayFences(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	for i := range 200 {
		write(t, db, add(string(rune('A'+i))))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, 4096, 4*4096)
	db, err := Open(t.Context(), path, noteTree, Options{})
	if err != nil {
		wantFault(t, err, fault.Unavailable)
		return
	}
	defer func() { _ = db.writer.session.close() }()
	err = db.Read(t.Context(), func(tx *Tx) error {
		var n int
		_, err := tx.One("SELECT count(*) FROM note WHERE size > $1", []any{0}, &n)
		return err
	})
	wantFault(t, err, fault.Internal)
	wantFault(t, db.Fenced(), fault.Unavailable)
	if !errors.Is(err, ErrDamaged) || !errors.Is(db.Fenced(), ErrDamaged) {
		t.Errorf("%v; %v", errors.Unwrap(err), db.Fenced())
	}
	wantFault(t, db.Close(), fault.Unavailable)
}

func TestRemovedFileFences(t *testing.T) {
	for _, suffix := range []string{"", logSuffix} {
		path := storePath(t)
		db := begin(t, path, noteTree, Options{}, seams{})
		write(t, db, add("a"))
		if err := os.Rename(path+suffix, path+".away"); err != nil {
			t.Fatal(err)
		}
		err := db.Write(t.Context(), add("b"))
		wantFault(t, err, fault.Unavailable)
		wantFault(t, db.Fenced(), fault.Unavailable)
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", suffix, errors.Unwrap(err))
		}
	}
}

// The engine itself reports that there is no room: in a statement, because the
// file may not grow, and at the commit.
func TestFullDiskIsNoFence(t *testing.T) {
	at := &failing{err: coded(codes.SQLITE_FULL)}
	db := begin(t, storePath(t), noteTree, Options{}, seams{at.commit})
	write(t, db, add("a"))
	limit := func(pages string) {
		t.Helper()
		if _, err := db.writer.session.conn.ExecContext(context.Background(), "PRAGMA max_page_count = "+pages); err != nil {
			t.Fatal(err)
		}
	}
	big := func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO note (name, body) VALUES ($1, $2)", "big", make([]byte, 1<<20))
		return err
	}
	limit("1") // as small as it is
	errs := batch(t, db, add("b"), big, add("c"))
	wantFault(t, errs[1], fault.Unavailable)
	if errs[0] != nil || errs[2] != nil || errors.Is(errs[1], ErrUnknown) {
		t.Errorf("a full disk leaves no doubt: %v", errs)
	}
	limit("1000000")
	at.armed = true
	for _, err := range batch(t, db, add("d"), add("e")) {
		wantFault(t, err, fault.Unavailable)
		if errors.Is(err, ErrUnknown) {
			t.Errorf("a full disk leaves no doubt: %v", errors.Unwrap(err))
		}
	}
	at.armed = false
	if err := db.Fenced(); err != nil {
		t.Errorf("fenced: %v", err)
	}
	write(t, db, big)
	write(t, db, add("f"))
	wantNames(t, db, "a", "b", "big", "c", "f")
}

func TestLogIsCopiedAndReused(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	body := make([]byte, 40<<10)
	for i := range 1500 { // 60 MB
		for j := range body {
			body[j] = byte(i) // what does not change is not written
		}
		write(t, db, func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO note (name, body) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET body = excluded.body", string(rune('a'+i%26)), body)
			return err
		})
	}
	info, err := os.Stat(path + logSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if s := db.Stats(); s.Checkpoints < 5 || info.Size() > 3*logfile.Usual {
		t.Errorf("%d checkpoints, the log has %d bytes", s.Checkpoints, info.Size())
	}
}

// A log that could not be copied for want of room is copied as soon as something
// can be written again, not when it has grown once more.
func TestACheckpointWithoutRoomIsTriedAgain(t *testing.T) {
	db := begin(t, storePath(t), noteTree, Options{}, seams{})
	db.writer.checkpointed(0, coded(codes.SQLITE_FULL))
	write(t, db, add("a"))
	before := db.Stats().Checkpoints
	if err := db.Close(); err != nil { // waits for what was asked for
		t.Fatal(err)
	}
	if before == 1 && db.Stats().Checkpoints == before {
		t.Error("nothing was copied after the write")
	}
}

// A failed sync of a checkpoint is one of the database.
func TestFailedCheckpointFences(t *testing.T) {
	db := notes(t)
	write(t, db, add("a"))
	db.writer.checkpointed(0, coded(codes.SQLITE_FULL))
	db.writer.checkpointed(0, coded(codes.SQLITE_BUSY))
	if err := db.Fenced(); err != nil {
		t.Error(err)
	}
	db.writer.checkpointed(0, coded(codes.SQLITE_IOERR_FSYNC))
	wantFault(t, db.Fenced(), fault.Unavailable)
	wantFault(t, db.Write(t.Context(), add("b")), fault.Unavailable)
}

// overwrite puts noise into a file.
func overwrite(t *testing.T, path string, from, length int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	noise := make([]byte, length)
	for i := range noise {
		noise[i] = byte(i*7 + 3)
	}
	if _, err := file.WriteAt(noise, from); err != nil {
		t.Fatal(err)
	}
}
