//go:build unix

package executor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// private opens a file that nobody else can read, and follows no link to it.
func private(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || !ours(info)) {
		err = fmt.Errorf("%s is not a file of this user alone", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lock holds a file for as long as it is open here. The system lets it go with the
// process, however that ends.
func lock(path string) (*os.File, error) {
	f, err := private(path, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

// read gives a private file's content, which is at most room bytes.
func read(path string, room int64) ([]byte, error) {
	f, err := private(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, room+1))
	if err == nil && int64(len(raw)) > room {
		err = fmt.Errorf("%s is over %d bytes", path, room)
	}
	return raw, errors.Join(err, f.Close())
}
