package connection

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// errMeanwhile says that somebody else wrote the file.
var errMeanwhile = errors.New("the client wrote its file meanwhile, and it was left as it is")

// readClient reads a client's file; nil where there is none.
func readClient(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, bound.ClientFileBytes.Max+1))
	if err == nil && bound.ClientFileBytes.Check(len(raw)) != nil {
		err = fmt.Errorf("%s is larger than a client's file may be", path)
	}
	if raw == nil {
		raw = []byte{}
	}
	return raw, err
}

// replace puts after in the place of before: whole or not at all, with the same
// permissions, through a link to the file that it names. What was there is copied
// beside it first, for this user alone, and the copy's path is given.
func replace(path string, before, after []byte) (backup string, err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o600)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
	case err != nil:
		return "", err
	default:
		mode = info.Mode().Perm()
		if backup, err = copyBeside(path, before); err != nil {
			return "", err
		}
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return backup, err
	}
	defer func() { _ = os.Remove(fresh.Name()) }() // it is gone after the rename
	_, err = fresh.Write(after)
	if err := errors.Join(err, fresh.Chmod(mode), fresh.Sync(), fresh.Close()); err != nil {
		return backup, err
	}
	if now, err := readClient(path); err != nil || !bytes.Equal(now, before) || (now == nil) != (before == nil) {
		return backup, errors.Join(err, errMeanwhile)
	}
	return backup, os.Rename(fresh.Name(), path)
}

// copyBeside never writes over a copy that is there.
func copyBeside(path string, raw []byte) (string, error) {
	base := path + ".before-steward-" + time.Now().UTC().Format("20060102T150405.000Z")
	backup := base
	file, err := os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	for n := 2; errors.Is(err, fs.ErrExist) && n < 100; n++ { // another one of the same millisecond
		backup = fmt.Sprintf("%s-%d", base, n)
		file, err = os.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return "", err
	}
	_, err = file.Write(raw)
	return backup, errors.Join(err, file.Sync(), file.Close())
}
