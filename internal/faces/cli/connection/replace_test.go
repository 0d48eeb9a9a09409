package connection

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// read gives a file's text and permissions.
func read(t *testing.T, path string) (string, os.FileMode) {
	t.Helper()
	raw, err := os.ReadFile(path)
	info, bad := os.Stat(path)
	if err := errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	return string(raw), info.Mode().Perm()
}

// A file that its client wrote meanwhile is left as it is; any other is replaced
// whole, through a link, with its own permissions and a private copy beside it.
func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "dotfiles.json"), filepath.Join(dir, "settings.json")
	put(t, path, "before", 0o640)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := replace(link, []byte("what was read"), []byte("after")); !errors.Is(err, errMeanwhile) {
		t.Errorf("a file that changed: %v", err)
	}
	if text, _ := read(t, path); text != "before" {
		t.Errorf("it is now %q", text)
	}
	backup, err := replace(link, []byte("before"), []byte("after"))
	if err != nil {
		t.Fatal(err)
	}
	if text, mode := read(t, path); text != "after" || mode != 0o640 {
		t.Errorf("it is %q with mode %o", text, mode)
	}
	if text, mode := read(t, backup); text != "before" || mode != 0o600 || filepath.Dir(backup) != dir {
		t.Errorf("the copy %s is %q with mode %o", backup, text, mode)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link is gone: %v", err)
	}
	fresh := filepath.Join(dir, "a", "b", "new.toml")
	if backup, err := replace(fresh, nil, []byte("x")); err != nil || backup != "" {
		t.Errorf("%q, %v", backup, err)
	}
	if text, mode := read(t, fresh); text != "x" || mode != 0o600 {
		t.Errorf("a new file is %q with mode %o", text, mode)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q, %v", left, err)
	}
}
