//go:build machine

package crash_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// The suites with this build tag use what only some machines have: root, strace
// and file systems of their own. Where one of these is missing the suite fails
// and says what to install.

// needRoot is for what takes mounts and other users.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this suite mounts file systems and changes owners: run it as root")
	}
}

func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this suite makes system calls fail: install the package strace")
	}
	if out, err := exec.Command(path, "-f", "--seccomp-bpf", "-e", "inject=fsync:error=EIO", "true").CombinedOutput(); err != nil {
		t.Fatalf("strace may not trace here: %v\n%s", err, out)
	}
	return path
}

// copied gives a stage on a copy of this one's pool, with logs of its own and
// nothing in them. No host of either may run. The oracle's log is one file for
// all copies, since its path is part of the pool.
func (s *stage) copied(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	c := &stage{t: t, dir: dir, home: filepath.Join(dir, "home"), program: s.program, port: s.port, effects: s.effects,
		said: filepath.Join(dir, "host.log"), oracle: s.oracle, items: s.items}
	if err := os.CopyFS(c.home, os.DirFS(s.home)); err != nil {
		t.Fatal(err)
	}
	private(t, c.home)
	if err := os.WriteFile(s.effects, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.clients {
		app := newActor(t, c, dir, a.App)
		app.sync = false
		c.clients = append(c.clients, app)
	}
	t.Cleanup(c.end)
	return c
}

// mount puts a small file system in memory under a folder.
func mount(t *testing.T, dir string, bytes int) {
	t.Helper()
	needRoot(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "mode=0700,size="+strconv.Itoa(bytes), "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("no file system may be mounted here: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
