package ownership

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// strange is what a file system that knows no users says of a file.
type strange struct{ fs.FileInfo }

func (strange) Sys() any { return nil }

func TestAFileIsOneUsersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	system, err := os.Lstat("/")
	if err != nil {
		t.Fatal(err)
	}
	root := os.Geteuid() == 0
	for name, c := range map[string]struct {
		info         fs.FileInfo
		mine, ofRoot bool
	}{
		"what this user made": {own, true, root},
		"the system's root":   {system, root, true},
		"a file of no user":   {strange{own}, false, false},
		"what is not there":   {nil, false, false},
	} {
		if Mine(c.info) != c.mine || OfRoot(c.info) != c.ofRoot {
			t.Errorf("%s: mine %t, the system's %t", name, Mine(c.info), OfRoot(c.info))
		}
	}
}
