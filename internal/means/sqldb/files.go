package sqldb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// lockFile is held as long as the database is open, so that no second process,
// and no second DB of this one, opens it.
type lockFile struct{ file *os.File }

// prepareFiles makes the folder and the file if they are missing, refuses ones
// that others could read or replace, and takes the lock.
func prepareFiles(path string) (*lockFile, error) {
	folder := filepath.Dir(path)
	if err := makeFolder(folder); err != nil {
		return nil, unusable("its folder cannot be made", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, unusable("its folder cannot be read", err)
	}
	if info.Mode().Perm()&0o022 != 0 || !ours(info) {
		return nil, unusable(fmt.Sprintf("its folder %s belongs to or can be changed by others", folder), errors.New(info.Mode().String()))
	}
	lock, err := takeLock(path + ".lock")
	if err != nil {
		return nil, err
	}
	if err := makeFile(path); err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock, nil
}

func makeFolder(folder string) error {
	if _, err := os.Stat(folder); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(folder))
}

// makeFile creates the empty database before the engine opens it, because the
// engine gives its log and its index the mode that it finds here.
func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		if err := errors.Join(file.Close(), syncFolder(filepath.Dir(path))); err != nil {
			return unusable("its file cannot be made", err)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return unusable("its file cannot be made", err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			return unusable("its file cannot be read", err)
		}
		if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !ours(info) {
			return unusable(fmt.Sprintf("%s must be a file of this user with mode 0600", name), errors.New(info.Mode().String()))
		}
	}
	return nil
}

func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func takeLock(path string) (*lockFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, unusable("its lock cannot be made", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errors.Join(fault.New(fault.Conflict, ErrLocked.Error()).Because(ErrLocked), file.Close())
	}
	if err != nil {
		return nil, errors.Join(unusable("its lock cannot be taken", err), file.Close())
	}
	return &lockFile{file}, nil
}

func (l *lockFile) release() error { return l.file.Close() }
