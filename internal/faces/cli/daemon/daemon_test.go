package daemon

import (
	"os"
	"path/filepath"
	"testing"
)

// Sessions lie where they were told to, else in steward's folder if one was named, apart
// from the host's own files, else where the user keeps state.
func TestWhereSessionsLie(t *testing.T) {
	root := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(root, "usual"))
	k := Keeper{Locate: func(_, state string) (Place, error) { return Place{StateRoot: state}, nil }}
	for _, c := range []struct{ flag, home, want string }{
		{"told", "home", "told"},
		{"", "home", "home/daemon"},
		{"", "", "usual/steward"},
	} {
		w := Where{Workspace: root}
		if c.flag != "" {
			w.StateRoot = filepath.Join(root, c.flag)
		}
		home := c.home
		if home != "" {
			home = filepath.Join(root, home)
		}
		p, err := w.Locate(k, home)
		if want := filepath.Join(root, c.want); err != nil || p.StateRoot != want {
			t.Errorf("with %q and %q: %q, %v, want %q", c.flag, c.home, p.StateRoot, err, want)
		}
		if info, err := os.Stat(p.StateRoot); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", p.StateRoot, info, err)
		}
	}
}
