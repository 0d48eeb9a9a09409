package daemonlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// However often processes come and however much they write, no more than the bound is
// kept, and the newest lines are.
func TestALogIsBounded(t *testing.T) {
	defer func() { _ = debug.SetCrashOutput(nil, debug.CrashOptions{}) }()
	path := filepath.Join(t.TempDir(), "log")
	filler := strings.Repeat("x", 1<<16)
	for start := range 4 {
		file, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		w, last := NewWriter(file, path), ""
		for n := range (start + 1) * 60 {
			last = fmt.Sprintf("%d/%d %s\n", start, n, filler)
			if wrote, err := w.Write([]byte(last)); err != nil || wrote != len(last) {
				t.Fatal(wrote, err)
			}
		}
		_ = w.out.Close()
		var all int64
		for _, name := range []string{path, path + Older} {
			if info, err := os.Stat(name); err == nil {
				all += info.Size()
				if info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v", name, info.Mode())
				}
			}
		}
		raw, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(raw, []byte(last)) || all > bound.DaemonLogBytes.Max || start == 3 && all < bound.DaemonLogBytes.Max/2 {
			t.Errorf("%d: %d bytes in all, the newest %d, %v", start, all, len(raw), err)
		}
	}
}

// What is not the file of the path is written to without a bound.
func TestAnotherOutputIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	other, err := os.Create(filepath.Join(t.TempDir(), "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w := NewWriter(other, path)
	line := bytes.Repeat([]byte("x"), 1<<20)
	for range bound.DaemonLogBytes.Int()>>20 + 1 {
		if _, err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	info, err := other.Stat()
	if _, bad := os.Lstat(path); err != nil || info.Size() <= bound.DaemonLogBytes.Max || bad == nil {
		t.Errorf("%v bytes, %v; beside it: %v", info.Size(), err, bad)
	}
}

// A log is a file and nothing else.
func TestALogIsNoLink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.Symlink(filepath.Join(t.TempDir(), "else"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("a link is followed")
	}
}
