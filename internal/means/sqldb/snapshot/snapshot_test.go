package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/sqldb/snapshot"
)

var schema = fstest.MapFS{"0001_pairs.sql": {Data: []byte("CREATE TABLE pairs (a BIGINT NOT NULL, b BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (a));")}}

func open(t *testing.T, path string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), path, schema, sqldb.Options{})
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return db
}

// count reads how many rows there are, and the largest key.
func count(t *testing.T, db *sqldb.DB) (n, last int64) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.One("SELECT COUNT(*), COALESCE(MAX(p.a), 0) FROM pairs p WHERE p.a = p.b", nil, &n, &last)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, last
}

// The copy is one moment of a database that is written to all the time, with all
// that was acknowledged before it began, and it opens as a store of its own.
func TestACopyOfABusyDatabaseIsOneMoment(t *testing.T) {
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "live.db"))
	defer db.Close()
	var written atomic.Int64
	write := func(ctx context.Context, n int64) error {
		return db.Write(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec("INSERT INTO pairs (a, b, body) VALUES ($1, $1, $2)", n, fmt.Sprintf("%01000d", n))
			return err
		})
	}
	for n := int64(1); n <= 2000; n++ {
		if err := write(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for n := int64(2001); ctx.Err() == nil; n++ {
			if err := write(t.Context(), n); err != nil {
				ended <- err
				return
			}
			written.Store(n)
		}
		ended <- nil
	}()
	steps := 0
	copied := filepath.Join(dir, "copy.db")
	err := snapshot.Take(t.Context(), filepath.Join(dir, "live.db"), copied, func(done, total int64) {
		if steps++; done > total {
			t.Errorf("%d of %d pages", done, total)
		}
		for before := written.Load(); written.Load() == before && len(ended) == 0; { // the writer is never held up
		}
	})
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o600 || steps < 2 {
		t.Fatalf("%v, %v, %d steps", info, err, steps)
	}
	beside, _ := filepath.Glob(copied + "*")
	if len(beside) != 1 {
		t.Fatalf("a copy is one file: %v", beside)
	}
	again := open(t, copied)
	defer again.Close()
	n, last := count(t, again)
	if n != last || n < 2000 || n > written.Load() {
		t.Fatalf("%d rows up to %d, of %d", n, last, written.Load())
	}
}

func TestWhatIsNotCopied(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	db := open(t, path("good.db"))
	if err := db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for n := range 500 {
			if _, err := tx.Exec("INSERT INTO pairs (a, b, body) VALUES ($1, $1, $2)", int64(n), fmt.Sprintf("%0900d", n)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path("good.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{
		"words": []byte("no database, and long enough to be taken for the header of one if only the length counted, which it does not"),
		"empty": {}, "cut": good[:len(good)/2], "zeros": append(append([]byte{}, good[:20480]...), make([]byte, len(good)-20480)...),
	} {
		if err := os.WriteFile(path(name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		err := snapshot.Take(t.Context(), path(name), path(name+".copy"), nil)
		if !fault.Is(err, fault.Unavailable) || !errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := snapshot.Take(t.Context(), path("none"), path("none.copy"), nil); !fault.Is(err, fault.Unavailable) {
		t.Errorf("no file: %v", err)
	}
	if err := snapshot.Take(t.Context(), path("good.db"), path("words"), nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("a file that is there: %v", err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := snapshot.Take(ended, path("good.db"), path("late"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that is gone: %v", err)
	}
	left, _ := filepath.Glob(path("*.copy*"))
	more, _ := filepath.Glob(path("late*"))
	if len(left)+len(more) > 0 {
		t.Errorf("left behind: %v %v", left, more)
	}
}
