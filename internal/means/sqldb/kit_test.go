package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// The test binary is also the process that is killed.
func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv(childVariable)]; ok {
		child(os.Args[len(os.Args)-1])
		return
	}
	goleak.VerifyTestMain(m)
}

var noteTree = fstest.MapFS{"0001_note.sql": {Data: []byte(`
-- a note; the semicolon in this line ends nothing
CREATE TABLE note (
	name TEXT NOT NULL PRIMARY KEY, -- of the note
	size BIGINT,
	body BYTEA
);
CREATE TABLE line (
	note TEXT NOT NULL REFERENCES note (name) DEFERRABLE INITIALLY DEFERRED,
	number BIGINT NOT NULL,
	PRIMARY KEY (note, number)
);`)}}

const addNote = "INSERT INTO note (name, size) VALUES ($1, $2)"

func storePath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store", "steward.db")
}

// tester is what testing and rapid both have.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// begin opens a database that is closed when the test ends.
func begin(t testing.TB, path string, tree fs.FS, opt Options, at seams) *DB {
	t.Helper()
	db, err := open(t.Context(), path, tree, opt, at)
	if err != nil {
		t.Fatalf("open: %v: %v", err, errors.Unwrap(err))
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && db.Fenced() == nil {
			t.Errorf("close: %v", err)
		}
		if db.Fenced() != nil {
			// What a fenced database leaves to the end of the process.
			_ = db.writer.session.close()
		}
	})
	return db
}

func notes(t testing.TB) *DB {
	t.Helper()
	return begin(t, storePath(t), noteTree, Options{}, seams{})
}

// write runs a job that must succeed.
func write(t tester, db *DB, job func(*Tx) error) {
	t.Helper()
	if err := db.Write(context.Background(), job); err != nil {
		t.Fatalf("write: %v: %v", err, errors.Unwrap(err))
	}
}

// add is a job that adds one note.
func add(name string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Exec(addNote, name, len(name))
		return err
	}
}

// noteNames returns the names of all notes in order.
func noteNames(t tester, db *DB) (list []string) {
	t.Helper()
	err := db.Read(context.Background(), func(tx *Tx) (err error) {
		rows, err := tx.Query("SELECT name FROM note ORDER BY name")
		list, err = Collect(rows, err, func(r *sql.Rows) (name string, err error) {
			err = r.Scan(&name)
			return name, err
		})
		return err
	})
	if err != nil {
		t.Fatalf("read: %v: %v", err, errors.Unwrap(err))
	}
	return list
}

func wantNames(t tester, db *DB, want ...string) {
	t.Helper()
	if got := noteNames(t, db); !slices.Equal(got, want) {
		t.Errorf("the database holds %q, want %q", got, want)
	}
}

func wantFault(t tester, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("got %v, want %s", err, code)
	}
}

// batch runs jobs so that all of them are in the queue before the first runs,
// and returns their errors.
func batch(t tester, db *DB, jobs ...func(*Tx) error) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	begun := sync.OnceFunc(func() { close(started) }) // the gate too may run again
	gate := make(chan error)
	go func() {
		gate <- db.Write(context.Background(), func(*Tx) error {
			begun()
			<-release
			return nil
		})
	}()
	<-started
	answers := make([]chan error, len(jobs))
	for i, job := range jobs {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- db.Write(context.Background(), job) }()
		for len(db.writer.queue) <= i {
			runtime.Gosched()
		}
	}
	close(release)
	<-gate
	errs := make([]error, len(jobs))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	return errs
}

// coded is an error that the engine could have given.
type coded int

func (c coded) Error() string { return "an error of the engine" }
func (c coded) Code() int     { return int(c) }
