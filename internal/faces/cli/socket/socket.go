// Package socket holds the host's socket to what makes it safe to send an owner's
// words there. It promises nothing about the time after its look: the folder is
// the owner's, so that nobody else can change what was seen. Its function keeps
// nothing and is safe for concurrent use.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stewardhost/steward/internal/means/ownership"
)

// ErrUnsafe says that the host's socket is not the user's own, or that others
// can reach it.
var ErrUnsafe = errors.New("the host's socket is not safe")

// Check makes sure that the other end can only be a host of this user: a socket
// of its own in a folder that nobody else can enter (threats, A60). The error is
// fs.ErrNotExist where there is no socket, else ErrUnsafe.
func Check(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && (info.Mode().Type() != fs.ModeSocket || !ownership.Mine(info)) {
		return fmt.Errorf("%w: %s is not a socket of this user", ErrUnsafe, path)
	}
	folder, err2 := os.Lstat(filepath.Dir(path))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("%w: %w", ErrUnsafe, err)
	}
	if !folder.IsDir() || !ownership.Mine(folder) || folder.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: %s is not a folder that only this user can enter", ErrUnsafe, filepath.Dir(path))
	}
	return nil
}
