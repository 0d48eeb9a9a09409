package daemonlog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// However often processes come and whatever they write, no more than the bound is
// kept, and what the newest process wrote is there.
func TestALogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	line := []byte(strings.Repeat("x", 1<<16-1) + "\n")
	for _, start := range []string{"first", "second", "third", "fourth", "fifth", "sixth"} {
		file, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter(file)
		for _, l := range append([][]byte{[]byte(start + "\n")}, bytes.SplitAfter(bytes.Repeat(line, bound.DaemonLogBytes.Int()/len(line)), []byte("\n"))...) {
			if n, err := w.Write(l); err != nil || n != len(l) {
				t.Fatal(n, err)
			}
		}
		_ = file.Close()
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
		if err != nil || !bytes.Contains(raw, []byte(start+"\n")) || !bytes.HasSuffix(raw, []byte("started anew\n")) || all > bound.DaemonLogBytes.Max+200 {
			t.Errorf("%s: %d bytes in all, it ends with %q, %v", start, all, raw[max(0, len(raw)-90):], err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(t.TempDir(), "else"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil {
		t.Error("a link is followed")
	}
}
