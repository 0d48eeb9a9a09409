// Package daemonlog keeps the log of a process that nobody watches in a file of one
// user, within a bound: what earlier processes wrote becomes the one older file once it
// is a quarter of what there may be, and a process that has written as much ends with
// a line that says so.
//
// It does not promise that the last lines before a crash are on the disk. Faults: none;
// an error is one of the file. A Writer is safe for concurrent use.
package daemonlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// share is which part of the bound a process may write, and a file have when another
// adds to it: two of them are in each of two files.
const share = 4

// Older is the end of the older file's name.
const Older = ".old"

// Open opens the file to add to it, with mode 0600. One that is large gives its place
// to a new one, and takes that of the older one.
func Open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && bound.DaemonLogBytes.Check(int(share*info.Size())) != nil {
		err = os.Rename(path, path+Older)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
}

// Writer passes on at most its share of bound.DaemonLogBytes.
type Writer struct {
	mu   sync.Mutex
	out  io.Writer
	left int64
}

// NewWriter returns a writer that has passed on nothing.
func NewWriter(out io.Writer) *Writer {
	return &Writer{out: out, left: bound.DaemonLogBytes.Max / share}
}

// Write passes a line on. Once there is no room it says so and drops what comes.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left < 0 {
		return len(line), nil
	}
	if w.left -= int64(len(line)); w.left < 0 {
		_, err := fmt.Fprintln(w.out, "the log is full: what follows is not kept until the process is started anew")
		return len(line), err
	}
	return w.out.Write(line)
}
