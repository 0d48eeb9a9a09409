package sqldb

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	codes "modernc.org/sqlite/lib"

	"github.com/stewardhost/steward/internal/ground/fault"
)

func TestSettingsAreReadBack(t *testing.T) {
	db := notes(t)
	conn := db.writer.session.conn
	for _, s := range settings {
		if s.name == "journal_mode" {
			continue // cannot change while others have the file open
		}
		other := "0"
		if s.readsAs == "0" {
			other = "1"
		}
		if s.name == "mmap_size" {
			other = "65536"
		}
		if _, err := conn.ExecContext(t.Context(), "PRAGMA "+s.name+"="+other); err != nil {
			t.Fatal(err)
		}
		if err := readBack(t.Context(), conn, false); err == nil || !strings.HasPrefix(err.Error(), s.name) {
			t.Errorf("%s=%s: %v", s.name, other, err)
		}
		if _, err := conn.ExecContext(t.Context(), "PRAGMA "+s.name+"="+s.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := readBack(t.Context(), conn, false); err != nil {
		t.Error(err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	write(t, db, add("a"))
	got := map[string]fs.FileMode{}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = info.Mode()
	}
	want := map[string]fs.FileMode{"steward.db": 0o600, "steward.db-wal": 0o600, "steward.db-shm": 0o600, "steward.db.lock": 0o600}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// An odd path must not end the name of the file or begin a setting.
func TestOddPaths(t *testing.T) {
	for _, name := range []string{"a b.db", "50%.db", "what?_pragma=synchronous(0).db", "a#b.db", "ü&x=y.db"} {
		path := filepath.Join(t.TempDir(), name)
		db := begin(t, path, noteTree, Options{}, seams{})
		write(t, db, add("a"))
		if _, err := os.Stat(path + logSuffix); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecondOpenerIsRefused(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	_, err := Open(t.Context(), path, noteTree, Options{})
	wantFault(t, err, fault.Conflict)
	if !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
	write(t, db, add("a"))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + logSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the engine has not let go of its files: %v", err)
	}
	wantNames(t, begin(t, path, noteTree, Options{}, seams{}), "a")
}

func TestWhatIsNoStoreIsRefused(t *testing.T) {
	foreign := storePath(t)
	db := begin(t, foreign, noteTree, Options{}, seams{})
	write(t, db, func(tx *Tx) error {
		_, err := tx.Exec("DROP TABLE schema_version")
		return err
	})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"text":             []byte(strings.Repeat("this is no database\n", 500)),
		"another program":  whole,
		"header cut off":   whole[:60],
		"half of the file": whole[:len(whole)/2/512*512],
	} {
		path := filepath.Join(t.TempDir(), "steward.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), path, noteTree, Options{})
		if !fault.Is(err, fault.Unavailable) || !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v: %v", name, err, errors.Unwrap(err))
		}
	}
}

// Whoever is told that a file is damaged must not find that the disk was full.
func TestTroubleOfTheDiskIsNoDamage(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"a page that is not what it should be", coded(codes.SQLITE_CORRUPT), true},
		{"no database", coded(codes.SQLITE_NOTADB), true},
		{"a full disk", coded(codes.SQLITE_FULL), false},
		{"a read that fails", coded(codes.SQLITE_IOERR_READ), false},
		{"a file that does not open", coded(codes.SQLITE_CANTOPEN), false},
		{"somebody who writes", coded(codes.SQLITE_BUSY), false},
	} {
		f := unreadable("it cannot be read", c.err)
		if got := errors.Is(f, ErrDamaged); got != c.want || f.Code != fault.Unavailable {
			t.Errorf("%s: damaged %v, %v", c.name, got, f)
		}
	}
}

func edited(tree fstest.MapFS, name, content string) fstest.MapFS {
	c := maps.Clone(tree)
	c[name] = &fstest.MapFile{Data: []byte(content)}
	return c
}

func TestMigrations(t *testing.T) {
	first := noteTree["0001_note.sql"]
	threeSteps := edited(twoSteps, "0003_last.sql", "CREATE TABLE last (name TEXT);")
	for _, c := range []struct {
		name  string
		trees []fstest.MapFS // opened in turn; all but the last must be fine
		code  fault.Code     // of the last
		cause error
	}{
		{"from nothing to the last", []fstest.MapFS{threeSteps}, "", nil},
		{"step by step", []fstest.MapFS{noteTree, twoSteps, threeSteps, threeSteps}, "", nil},
		{"an older steward", []fstest.MapFS{threeSteps, twoSteps}, fault.Conflict, ErrNewer},
		{"an edited file", []fstest.MapFS{twoSteps, edited(twoSteps, "0001_note.sql", "CREATE TABLE note (name TEXT);")}, fault.Conflict, ErrChanged},
		{"a renamed file", []fstest.MapFS{noteTree, {"0001_memo.sql": first}}, fault.Conflict, ErrChanged},
		{"a gap", []fstest.MapFS{{"0001_note.sql": first, "0003_x.sql": first}}, fault.Internal, nil},
		{"the same number twice", []fstest.MapFS{{"0001_note.sql": first, "0001_x.sql": first}}, fault.Internal, nil},
		{"a stray file", []fstest.MapFS{{"0001_note.sql": first, "README": first}}, fault.Internal, nil},
		{"no file", []fstest.MapFS{{}}, fault.Internal, nil},
		{"a statement that fails", []fstest.MapFS{noteTree, edited(twoSteps, "0003_bad.sql", "CREATE TABLE x (a TEXT); CREATE TABLE note (a TEXT);")}, fault.Unavailable, nil},
		{"a type of one engine only", []fstest.MapFS{edited(noteTree, "0002_bad.sql", "CREATE TABLE x (a VARCHAR(10));")}, fault.Unavailable, nil},
	} {
		path := storePath(t)
		for i, tree := range c.trees {
			db, err := Open(t.Context(), path, tree, Options{})
			if i < len(c.trees)-1 || c.code == "" {
				if err != nil {
					t.Errorf("%s: opening with tree %d: %v", c.name, i, err)
					break
				}
				write(t, db, add(string(rune('a'+i))))
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				continue
			}
			if !fault.Is(err, c.code) || c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%s: %v", c.name, err)
			}
			if i > 0 { // and nothing has changed
				db := begin(t, path, c.trees[i-1], Options{}, seams{})
				if got := len(noteNames(t, db)); got != i {
					t.Errorf("%s: %d notes are left", c.name, got)
				}
			}
		}
	}
}

func TestWhatWasAppliedIsRemembered(t *testing.T) {
	db := begin(t, storePath(t), twoSteps, Options{}, seams{})
	type row struct {
		Version int64
		Name    string
		Digest  int
		Recent  bool
	}
	var got []row
	err := db.Read(t.Context(), func(tx *Tx) error {
		for n := range int64(3) {
			var r row
			var digest string
			var at int64
			found, err := tx.One("SELECT version, name, sha256, applied_at FROM schema_version WHERE version = $1", []any{n}, &r.Version, &r.Name, &digest, &at)
			if err != nil {
				return err
			}
			if found {
				r.Digest, r.Recent = len(digest), at > 1_500_000_000_000
				got = append(got, r)
			}
		}
		return nil
	})
	want := []row{{1, "0001_note.sql", 64, true}, {2, "0002_more.sql", 64, true}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
