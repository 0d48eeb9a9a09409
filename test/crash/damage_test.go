package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/builtins"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// history makes a store with calls, items and rights, given and taken, and leaves
// it as a host leaves it that is stopped, or killed.
func history(t *testing.T, killed bool) *stage {
	t.Helper()
	s := newStage(t, 3)
	s.opens()
	for _, app := range s.clients {
		app.sync = false
		for i := range 40 {
			key := fmt.Sprintf("%s %d", app.Name, i)
			app.send(t.Context(), app.effect(app.newTx(), key, 0, 0, ""))
			app.send(t.Context(), app.put(app.newTx(), key, "value of "+key, ""))
		}
	}
	owner := s.owner()
	defer owner.Close()
	w := warden{&worker{actor: s.clients[2]}}
	w.give(t.Context(), owner)
	if killed {
		s.kill()
	} else {
		s.stop()
	}
	return s
}

// told is what a store tells its owner, all of it, as text.
type told struct{ Calls, Grants, Apps, Resources []string }

// tell opens a store and reads everything. An error means that something was
// noticed on the way.
func tell(dir string, owner id.Owner) (out told, err error) {
	ctx := context.Background()
	s, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		return out, err
	}
	defer s.Close()
	for before := ""; ; {
		page, next, err := s.Invocations(ctx, owner, view.JournalFilter{Before: before})
		if err != nil {
			return out, err
		}
		for _, listed := range page {
			row, err := s.Invocation(ctx, owner, listed.Row.ID.String())
			if err != nil {
				return out, err
			}
			out.Calls = append(out.Calls, plain(row))
		}
		if before = next; before == "" {
			break
		}
	}
	grants, err := s.Grants(ctx, owner, id.Client{})
	if err != nil {
		return out, err
	}
	out.Grants = each(grants)
	apps, err := s.Apps(ctx, owner)
	if err != nil {
		return out, err
	}
	out.Apps = each(apps)
	resources, err := s.Resources(ctx, owner)
	if err != nil {
		return out, err
	}
	for i := range resources {
		resources[i].Adapter.ListedAt = time.Time{} // each listing sets it, and nothing rests on it
	}
	out.Resources = each(resources)
	v, err := s.Verify(ctx, nil)
	if err != nil {
		return out, err
	}
	if v.Break != nil || len(v.Mismatches) > 0 {
		return out, fmt.Errorf("the trail does not hold: %+v %v", v.Break, v.Mismatches)
	}
	return out, nil
}

func each[T any](list []T) (out []string) {
	for _, v := range list {
		out = append(out, plain(v))
	}
	return out
}

// plain writes a value so that bytes can be compared; ids print as their text.
func plain(v any) string { return fmt.Sprintf("%+v", v) }

// R7. A bit that flips anywhere in the file is noticed, or changes nothing of what
// anybody is told of a call, a right or a definition.
func TestAFlippedBitIsNoticed(t *testing.T) {
	t.Parallel()
	flips := figure.Of(t, 40, 400, 4_000)
	if testing.Short() {
		flips = 4 // the race detector makes the engine slow
	}
	seed := figure.Seed(t)
	s := history(t, false)
	chance := figure.Rand(seed, 0)
	whole := readFiles(t, s.home)
	owner := ownerOf(t, whole)
	truth, err := tell(place(t, whole), owner)
	if err != nil || len(truth.Calls) < 200 {
		t.Fatalf("%d calls, %v", len(truth.Calls), err)
	}
	refused, noticed, harmless := 0, 0, 0
	for range flips {
		at, bit := where(chance, whole["steward.db"]), chance.IntN(8)
		damaged := map[string][]byte{"node": whole["node"], rootKey: whole[rootKey], "steward.db": append([]byte{}, whole["steward.db"]...)}
		damaged["steward.db"][at] ^= 1 << bit
		got, err := tell(place(t, damaged), owner)
		switch {
		case err != nil && len(got.Calls) == 0:
			refused++
		case err != nil:
			noticed++
		case !cmp.Equal(truth.Calls, got.Calls):
			t.Errorf("bit %d of byte %d is not noticed, and changes\n%s", bit, at, cmp.Diff(truth.Calls, got.Calls))
		case !cmp.Equal(truth, got):
			t.Errorf("bit %d of byte %d is not noticed, and changes a right or a definition\n%s", bit, at, cmp.Diff(truth, got))
		default:
			harmless++
		}
	}
	figure.Tell(t, "R7", "seed=%d flips=%d refused=%d noticed=%d harmless=%d", seed, flips, refused, noticed, harmless)
}

// where is any byte of the file, or as often one of a page that leads to rows: what
// is wrong there gives the wrong row and leaves every row as it was.
func where(chance *rand.Rand, file []byte) int {
	anywhere := chance.IntN(2) == 0
	for {
		at := chance.IntN(len(file))
		if kind := file[at&^(pageBytes-1)]; anywhere || kind == interiorIndex || kind == leafIndex {
			return at
		}
	}
}

const rootKey = "keys/root"

// readFiles reads what a store is kept in.
func readFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range []string{"node", rootKey, "steward.db", "steward.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err == nil {
			out[name] = raw
		}
	}
	return out
}

// place writes files into a folder of their own.
func place(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(rootKey)), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, raw := range files {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ownerOf(t *testing.T, files map[string][]byte) id.Owner {
	t.Helper()
	seeds, err := builtins.Seeds()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), place(t, files), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	owner, _, err := s.EnsureOwner(t.Context(), "owner", seeds)
	if err != nil {
		t.Fatal(err)
	}
	return owner
}

// damage is something that happens to a store while no host runs.
type damage struct {
	name  string
	do    func(home string) error
	named []string // one of these stands in what the host prints when it does not start
}

func file(home, name string) string { return filepath.Join(home, name) }

var damages = []damage{
	{"a page of noise", func(home string) error { return overwrite(file(home, "steward.db"), 4096, 4096) }, []string{"damaged", "cannot be opened"}},
	{"noise all over", func(home string) error { return overwrite(file(home, "steward.db"), 0, 100_000) }, []string{"damaged", "cannot be opened"}},
	{"half of the file", func(home string) error { return os.Truncate(file(home, "steward.db"), 100_000) }, []string{"damaged", "cannot be opened"}},
	{"a torn tail", func(home string) error { return cut(file(home, "steward.db"), 1000) }, []string{"damaged", "a read failed", "was cut"}},
	{"another kind of file", func(home string) error { return os.WriteFile(file(home, "steward.db"), []byte("words"), 0o600) }, []string{"cannot be opened"}},
	{"an empty file", func(home string) error { return os.Truncate(file(home, "steward.db"), 0) }, []string{"database is missing"}},
	{"no file", func(home string) error { return os.Remove(file(home, "steward.db")) }, []string{"database is missing"}},
	{"an older copy", func(home string) error {
		raw, err := os.ReadFile(file(home, "steward.db.older"))
		return errors.Join(err, os.WriteFile(file(home, "steward.db"), raw, 0o600))
	}, []string{"older one"}},
	{"a folder in its place", func(home string) error {
		return errors.Join(os.Remove(file(home, "steward.db")), os.Mkdir(file(home, "steward.db"), 0o700))
	}, []string{"cannot be opened"}},
	{"open to others", func(home string) error { return os.Chmod(file(home, "steward.db"), 0o644) }, []string{"mode 0600"}},
	{"a folder open to others", func(home string) error { return os.Chmod(home, 0o777) }, []string{"changed by others"}},
	{"no identity that can be read", func(home string) error { return os.WriteFile(file(home, "node"), []byte("nobody\n"), 0o600) }, []string{"node"}},
	{"a note of a fence, and noise", func(home string) error {
		return errors.Join(os.WriteFile(file(home, "steward.db.fenced"), []byte("x\n"), 0o600), overwrite(file(home, "steward.db"), 200_000, 4096))
	}, []string{"damaged"}},
}

// R7. A host does not start on a store that was damaged, and says why, or it
// tells of every call what was told before.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	s := history(t, false)
	older := readFiles(t, s.home)
	s.opens()
	truth := s.journal()
	s.stop()
	if err := os.WriteFile(file(s.home, "steward.db.older"), older["steward.db"], 0o600); err != nil {
		t.Fatal(err)
	}
	whole := s.home
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			s.t, s.home = t, filepath.Join(t.TempDir(), "home")
			if err := os.CopyFS(s.home, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			private(t, s.home)
			if err := d.do(s.home); err != nil {
				t.Fatal(err)
			}
			s.refuses(d.named, truth)
		})
	}
	s.t, s.home = t, whole
	figure.Tell(t, "R7", "%d ways to damage a store", len(damages))
}

// refuses starts a host, which must end by itself and name the reason, or tell
// the truth.
func (s *stage) refuses(named []string, truth []byte) {
	s.t.Helper()
	_, mark := s.printed(0)
	s.start()
	defer s.end()
	started := false
	hosttest.WaitFor(s.t, "the host to end or to serve", func() error {
		if s.over() {
			return nil
		}
		err := s.healthy()
		started = err == nil
		return err
	})
	said, _ := s.printed(mark)
	if started {
		got, err := s.readJournal()
		if err == nil && !bytes.Equal(got, truth) {
			s.t.Errorf("the host serves another journal, and says\n%s", said)
		}
		if err == nil {
			return
		}
		<-s.ended // what it met while it served must end it
		said, _ = s.printed(mark)
	}
	if code := s.up.ProcessState.ExitCode(); code <= 0 || code == 2 {
		s.t.Errorf("exit code %d:\n%s", code, said)
	}
	if !slices.ContainsFunc(named, func(word string) bool { return strings.Contains(said, word) }) {
		s.t.Errorf("none of %q in\n%s", named, said)
	}
}

// private gives copies the modes of the originals.
func private(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		mode := os.FileMode(0o600)
		if d.IsDir() {
			mode = 0o700
		}
		return errors.Join(err, os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func overwrite(path string, from, length int64) error {
	noise := make([]byte, length)
	for i := range noise {
		noise[i] = byte(i*7 + 3)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(noise, from)
	return errors.Join(err, f.Close())
}

func cut(path string, bytes int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()-bytes)
}

// R7. What a killed host wrote last is in its log. Damage in the middle of it is
// not taken for its end, behind which everything would be forgotten, and a log that
// lost its last commits, or all, is not taken for a shorter one. The log starts
// over when it has been copied, so it may have become short just before the end.
func TestADamagedLogIsNamed(t *testing.T) {
	t.Parallel()
	s := history(t, true)
	log := file(s.home, "steward.db-wal")
	app := s.clients[0]
	hosttest.WaitFor(t, "a log of several commits", func() error {
		n := commitsIn(t, log)
		if n >= 6 {
			return nil
		}
		s.opens()
		for i := range 10 {
			app.send(t.Context(), app.put(app.newTx(), fmt.Sprintf("more %d", i), "value", ""))
		}
		s.kill()
		return fmt.Errorf("%d commits", n)
	})
	whole := s.home
	if err := os.Remove(file(whole, "run/admin.sock")); err != nil { // a copy of files has none
		t.Fatal(err)
	}
	for _, d := range []damage{
		{"in its middle", func(home string) error { return overwrite(file(home, "steward.db-wal"), logHeader+frameHeader, 100) }, []string{"log is damaged"}},
		{"removed", func(home string) error { return os.Remove(file(home, "steward.db-wal")) }, []string{"latest commits are missing"}},
		{"emptied", func(home string) error { return os.Truncate(file(home, "steward.db-wal"), 0) }, []string{"latest commits are missing"}},
		{"at its head", func(home string) error { return overwrite(file(home, "steward.db-wal"), 16, 8) }, []string{"latest commits are missing"}},
		{"at its end", func(home string) error {
			return overwrite(file(home, "steward.db-wal"), lastCommit(t, file(home, "steward.db-wal"))-2000, 100)
		}, []string{"latest commits are missing"}},
	} {
		t.Run(d.name, func(t *testing.T) {
			s.t, s.home = t, filepath.Join(t.TempDir(), "home")
			if err := os.CopyFS(s.home, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			private(t, s.home)
			if err := d.do(s.home); err != nil {
				t.Fatal(err)
			}
			s.refuses(d.named, nil)
		})
	}
	s.t, s.home = t, whole
}

// lastCommit is where the last commit of a log's present time ends.
func lastCommit(t *testing.T, log string) (end int64) {
	t.Helper()
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for at := logHeader; at+logFrame <= len(raw); at += logFrame {
		if bytes.Equal(raw[at+8:at+16], raw[16:24]) && !bytes.Equal(raw[at+4:at+8], make([]byte, 4)) {
			end = int64(at + logFrame)
		}
	}
	return end
}

// The layout of the engine's log: a header with salts at byte 16, then frames with
// a mark of a commit at byte 4, the log's salts at byte 8, and a page behind them.
const (
	logHeader   = 32
	frameHeader = 24
	logFrame    = frameHeader + pageBytes
)

// What the engine's file is made of: pages, of which the first byte tells the kind.
const (
	pageBytes     = 4096
	interiorIndex = 0x02
	leafIndex     = 0x0a
)

// commitsIn counts the commits in a log that carry its present salts.
func commitsIn(t *testing.T, log string) (commits int) {
	t.Helper()
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for at := logHeader; at+logFrame <= len(raw); at += logFrame {
		if bytes.Equal(raw[at+8:at+16], raw[16:24]) && !bytes.Equal(raw[at+4:at+8], make([]byte, 4)) {
			commits++
		}
	}
	return commits
}
