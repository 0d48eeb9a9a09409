//go:build machine

package crash_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/protocol/rpcwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// smallDisk is what R5 gives a store (proof).
const smallDisk = 8 << 20

// onDisk moves the stage's pool to a file system of its own.
func (s *stage) onDisk(bytes int) (disk string) {
	s.t.Helper()
	disk = filepath.Join(s.dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		s.t.Fatal(err)
	}
	mount(s.t, disk, bytes)
	s.t.Cleanup(s.end) // before the disk goes
	home := filepath.Join(disk, "home")
	if err := os.CopyFS(home, os.DirFS(s.home)); err != nil {
		s.t.Fatal(err)
	}
	private(s.t, home)
	s.home = home
	return disk
}

// fullsOfOneStore is how often one disk is filled before it is too full of what is
// to be kept.
const fullsOfOneStore = 4

// R5. While the disk is full nothing is acknowledged that is not durable, and
// the host stays up; when there is room again it goes on by itself.
func TestAFullDiskIsToldAndOutlived(t *testing.T) {
	rounds := figure.Of(t, 3, 20, 200)
	seed := figure.Seed(t)
	original := newStage(t, 4)
	for n := 0; rounds > 0 && !t.Failed(); n++ {
		fulls := min(rounds, fullsOfOneStore)
		rounds -= fulls
		t.Run(fmt.Sprint("store ", n), func(t *testing.T) { fillUp(original.copied(t), seed+uint64(n), fulls) })
	}
}

func fillUp(s *stage, seed uint64, fulls int) {
	t := s.t
	t.Helper()
	disk := s.onDisk(smallDisk)
	chance := figure.Rand(seed, 1000)
	s.opens()
	c := begin(s, seed)
	defer c.stop()
	probe := s.clients[0]
	refused, alarmed, slowest := 0, 0, time.Duration(0)
	for round := range fulls {
		moment(t.Context(), time.Duration(chance.IntN(300))*time.Millisecond)
		fill(t, filepath.Join(disk, "filler"))
		until := time.Now().Add(time.Duration(200+chance.IntN(600)) * time.Millisecond)
		for i := 0; time.Now().Before(until); i++ {
			got, err := probe.send(t.Context(), probe.put(probe.newTx(), fmt.Sprintf("full %d %d", round, i), strings.Repeat("v", 4_000), ""))
			if err != nil {
				t.Fatalf("round %d: the host does not answer: %v\n%s", round, err, s.lastWords())
			}
			if got.Error != nil && got.Error.Code == "unavailable" && got.Effects == rpcwire.NotDispatched {
				refused++
				if status, body := s.ready(); status == http.StatusServiceUnavailable && body == "disk_full\n" {
					alarmed++
				}
			} else if got.Status != rpcwire.OK {
				t.Errorf("round %d: a full disk is told as %s %+v", round, got.Status, got.Error)
			}
			moment(t.Context(), 20*time.Millisecond)
		}
		if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
			t.Fatal(err)
		}
		freed := time.Now()
		hosttest.WaitFor(t, "a put on a disk with room", func() error {
			got, err := probe.send(t.Context(), probe.put(probe.newTx(), fmt.Sprintf("room %d %d", round, time.Now().UnixNano()), "v", ""))
			if err == nil && got.Status != rpcwire.OK {
				err = fmt.Errorf("%s %+v", got.Status, got.Error)
			}
			return err
		})
		slowest = max(slowest, time.Since(freed))
		if status, body := s.ready(); status != http.StatusNoContent {
			t.Errorf("round %d: there is room, and the host says HTTP %d %s", round, status, body)
		}
		if s.over() {
			t.Fatalf("the host ended, %v:\n%s", s.up.ProcessState, s.lastWords())
		}
	}
	if slowest > soon(t) {
		t.Errorf("it took %s until a call went through again", slowest)
	}
	if refused == 0 || alarmed == 0 {
		t.Errorf("the disk was full at %d calls, and the host said so at %d of them", refused, alarmed)
	}
	c.end(s)
	count := s.judge()
	s.stop()
	figure.Tell(t, "R5", "seed=%d fulls=%d refused=%d told by readyz=%d back after %s %s", seed, fulls, refused, alarmed, slowest.Round(time.Millisecond), count)
}

// ready asks whether the host takes calls.
func (s *stage) ready() (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base()+"/readyz", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// fill takes what room there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for {
			if _, err := f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
}

// R7. A host that may not use its files says which, and a file that is taken away
// under it ends it.
func TestFilesOfOthersAreRefused(t *testing.T) {
	needRoot(t)
	original := newStage(t, 1)
	nobody := &credential{Uid: 65_534, Gid: 65_534}
	for name, c := range map[string]struct {
		spoil func(home string) error
		named string
	}{
		"another's database": {func(home string) error { return os.Chown(file(home, "steward.db"), 0, 0) }, "steward.db must be a file of this user"},
		"another's folder":   {func(home string) error { return os.Chown(home, 0, 0) }, "home belongs to"},
		"a read-only folder": {func(home string) error { return os.Chmod(home, 0o500) }, "home cannot be written: permission denied"},
		"a read-only file":   {func(home string) error { return os.Chmod(file(home, "steward.db"), 0o400) }, "the store cannot be opened: "},
		"another's log": {func(home string) error {
			return errors.Join(os.WriteFile(file(home, "steward.db-wal"), nil, 0o600), os.Chown(file(home, "steward.db-wal"), 0, 0))
		}, "is another user's: have it given to this user with chown"},
	} {
		t.Run(name, func(t *testing.T) {
			s := original.copied(t)
			s.user = nobody
			s.program = within(t, s.dir, s.program)
			give(t, s.home, int(nobody.Uid))
			if err := c.spoil(s.home); err != nil {
				t.Fatal(err)
			}
			s.start()
			select {
			case <-s.ended:
			case <-time.After(hosttest.Patience):
				t.Fatalf("the host goes on:\n%s", s.lastWords())
			}
			if said := s.lastWords(); s.up.ProcessState.ExitCode() <= 0 || !strings.Contains(said, "error: ") || !strings.Contains(said, c.named) {
				t.Errorf("exit code %d, want %q named:\n%s", s.up.ProcessState.ExitCode(), c.named, said)
			}
		})
	}
}

// within puts a program where another user may run it.
func within(t *testing.T, dir, program string) string {
	t.Helper()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(program)
	path := filepath.Join(dir, "steward")
	if err == nil {
		err = os.WriteFile(path, raw, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// give makes a user the owner of a folder and of what is in it.
func give(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, uid, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// R7. A database that is taken away while the host works ends the host, before it
// acknowledges what would be gone.
func TestAFileThatIsTakenAwayEndsTheHost(t *testing.T) {
	for _, name := range []string{"steward.db", "steward.db-wal"} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, 1)
			s.opens()
			app := s.clients[0]
			if a, err := app.send(t.Context(), app.put(app.newTx(), "k", "v", "")); err != nil || a.Status != rpcwire.OK {
				t.Fatalf("%+v %v", a, err)
			}
			if err := os.Rename(file(s.home, name), file(s.home, name+".away")); err != nil {
				t.Fatal(err)
			}
			a, err := app.send(t.Context(), app.put(app.newTx(), "k2", "v", ""))
			if err == nil && a.Status == rpcwire.OK {
				t.Errorf("%s is acknowledged without a file", a.Tx)
			}
			select {
			case <-s.ended:
			case <-time.After(hosttest.Patience):
				t.Fatal("the host goes on")
			}
			if said := s.lastWords(); s.up.ProcessState.ExitCode() <= 0 || !strings.Contains(said, "removed or replaced") {
				t.Errorf("exit code %d:\n%s", s.up.ProcessState.ExitCode(), said)
			}
		})
	}
}
