package lockedfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/ground/fault"
)

func take(t *testing.T, path string) *Lock {
	t.Helper()
	lock, err := Take(path, "-log")
	if err != nil {
		t.Fatalf("%v: %v", err, errors.Unwrap(err))
	}
	return lock
}

func release(t *testing.T, lock *Lock) {
	t.Helper()
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}

func TestOneOpener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "file")
	first := take(t, path)
	if _, err := Take(path); !fault.Is(err, fault.Conflict) || !errors.Is(err, ErrHeld) {
		t.Errorf("the second: %v", err)
	}
	release(t, first)
	release(t, take(t, path))
}

// A process that is killed in the middle of starting another leaves its lock to
// that one for a moment.
func TestALockOfTheDyingIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	dying := take(t, path)
	heir := exec.CommandContext(t.Context(), "sleep", "0.2")
	heir.ExtraFiles = []*os.File{dying.file}
	if err := heir.Start(); err != nil {
		t.Fatal(err)
	}
	release(t, dying)
	release(t, take(t, path))
	if err := heir.Wait(); err != nil {
		t.Error(err)
	}
}

func TestPrivateFromTheStart(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "file")
	release(t, take(t, path))
	for name, want := range map[string]os.FileMode{
		path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700 | os.ModeDir, filepath.Join(root, "a"): 0o700 | os.ModeDir,
	} {
		if info, err := os.Lstat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// A refusal holds no lock.
func TestRefusalHoldsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "file")
	release(t, take(t, path))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	release(t, take(t, path))
}

// What is only in the way is no danger.
func TestAFileForAFolderIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "file")
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); !fault.Is(err, fault.Unavailable) || errors.Is(err, ErrUnsafe) {
		t.Errorf("%v: %v", err, errors.Unwrap(err))
	}
}

func TestWhatOthersCouldTouchIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"a file that others may read": func(path string) error { return os.Chmod(path, 0o640) },
		"a log that others may write": func(path string) error {
			return errors.Join(os.WriteFile(path+"-log", nil, 0o600), os.Chmod(path+"-log", 0o606))
		},
		"a folder that others may fill": func(path string) error { return os.Chmod(filepath.Dir(path), 0o722) },
		"a link":                        func(path string) error { return errors.Join(os.Rename(path, path+".x"), os.Symlink(path+".x", path)) },
		"a link for a log":              func(path string) error { return os.Symlink(path, path+"-log") },
		"a link for a lock":             func(path string) error { return errors.Join(os.Remove(path+".lock"), os.Symlink(path, path+".lock")) },
		"a folder for a file":           func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		path := filepath.Join(t.TempDir(), "a", "file")
		release(t, take(t, path))
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		if _, err := Take(path, "-log"); !fault.Is(err, fault.Unavailable) || !errors.Is(err, ErrUnsafe) {
			t.Errorf("%s: %v: %v", name, err, errors.Unwrap(err))
		}
	}
}
