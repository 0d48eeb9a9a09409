// Package lockedfile makes and guards the files of a store that lies in one
// folder: the folder, the file and a lock that one opener holds.
//
// It promises that a file which it returned is a regular file of this user that
// nobody else may read, in a folder that nobody else may change, and that no
// second opener, in this process or another, gets it before Release. The lock
// goes with the process; an opener waits a second for a process that is going.
// It does not open the file itself and keeps no descriptor of it. Faults:
// Conflict, with ErrHeld under it, for a file that is open elsewhere; Unavailable
// for one that cannot be used, with ErrUnsafe under it where others could touch it.
package lockedfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/ground/fault"
)

var (
	// ErrHeld is the cause of Conflict.
	ErrHeld = errors.New("another steward has this store open")

	// ErrUnsafe is under the fault of a folder or a file that is another user's, that
	// others may change or read, or that is no plain file. Nothing but its owner can
	// mend it.
	ErrUnsafe = errors.New("others could touch the store")
)

// Lock is held from Take to Release.
type Lock struct{ file *os.File }

// Take makes the folder (0700) and the empty file (0600) if they are missing,
// and takes the lock, a file of its own beside it. The companions are suffixes
// of further files that, where they exist, must be as private.
func Take(path string, companions ...string) (*Lock, error) {
	folder := filepath.Dir(path)
	if err := MakeFolder(folder); err != nil {
		return nil, unusable(folder+" cannot be made"+reason(err), err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, unusable(folder+" cannot be read"+reason(err), err)
	}
	if info.Mode().Perm()&0o022 != 0 || !ours(info) {
		return nil, unsafe(fmt.Sprintf("its folder %s belongs to or can be changed by others; it must be this user's, with mode 0700", folder), info)
	}
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return nil, unusable(fmt.Sprintf("its folder %s cannot be written: %s", folder, err), err)
	}
	lock, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	if err := makeFile(path, companions); err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return lock, nil
}

// MakeFolder makes a folder (0700) and those above it where they are missing. The
// names of all that it made are durable when it returns nil.
func MakeFolder(folder string) error {
	if _, err := os.Stat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(folder)
	if above == folder {
		return fs.ErrNotExist
	}
	if err := MakeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(above)
}

// makeFile creates the empty database before the engine opens it, because the
// engine gives its log and its index the mode that it finds here.
func makeFile(path string, companions []string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		if err := errors.Join(file.Close(), SyncFolder(filepath.Dir(path))); err != nil {
			return unusable(path+" cannot be made"+reason(err), err)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return unusable(path+" cannot be made"+reason(err), err)
	}
	for _, suffix := range append([]string{""}, companions...) {
		name := path + suffix
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			return unusable(name+" cannot be read"+reason(err), err)
		}
		if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !ours(info) {
			return unsafe(fmt.Sprintf("%s must be a file of this user with mode 0600", name), info)
		}
	}
	return nil
}

func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// SyncFolder makes the names in a folder durable.
func SyncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func takeLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, unusable(path+" is a link", fmt.Errorf("%w: %w", ErrUnsafe, err))
	}
	if err != nil {
		return nil, unusable(path+" cannot be made"+reason(err), err)
	}
	err = lockSoon(int(file.Fd()))
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(fault.New(fault.Conflict, ErrHeld.Error()).Because(ErrHeld), file.Close())
	}
	if err != nil {
		return nil, errors.Join(unusable("its lock cannot be taken", err), file.Close())
	}
	return &Lock{file}, nil
}

// patience is how long a lock that somebody has is asked for again. A process that
// was killed while it started another leaves its locks to the new one until that
// has become another program, so that whoever restarts the killed one at once
// would find the store taken.
const (
	patience = time.Second
	glance   = 5 * time.Millisecond
)

func lockSoon(fd int) error {
	for until := time.Now().Add(patience); ; time.Sleep(glance) {
		err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(until) {
			return err
		}
	}
}

// Release lets the next opener in.
func (l *Lock) Release() error { return l.file.Close() }

// reason is the system's own word for an error about a file that was named already.
func reason(err error) string {
	var about *fs.PathError
	if errors.As(err, &about) {
		return ": " + about.Err.Error()
	}
	return ""
}

// unusable is the fault of files that cannot be used.
func unusable(why string, err error) *fault.Fault {
	return fault.Newf(fault.Unavailable, "the store cannot be opened: %s", why).Because(err)
}

func unsafe(why string, info fs.FileInfo) *fault.Fault {
	return unusable(why, fmt.Errorf("%w: %s", ErrUnsafe, info.Mode()))
}
