// Package daemonlog keeps the log of a process that nobody watches in a file of one
// user, within a bound: once the file has half of it, it becomes the one older file,
// and a new one begins. What somebody watches or keeps otherwise, such as a terminal or
// a service manager's pipe, is left alone.
//
// It does not promise that the last lines before a crash are on the disk. Faults: none;
// an error is one of the file. A Writer is safe for concurrent use.
package daemonlog

import (
	"errors"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Older is the end of the older file's name.
const Older = ".old"

// Open opens the file to add to it, with mode 0600. One that is full gives its place to
// a new one.
func Open(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && full(info.Size()) {
		err = os.Rename(path, path+Older)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
}

func full(size int64) bool { return 2*size > bound.DaemonLogBytes.Max }

// Writer writes a process's log.
type Writer struct {
	mu   sync.Mutex
	path string // empty: what it writes to is not its to bound
	out  *os.File
	size int64
}

// NewWriter returns a writer to what the process was given as its output. Where that is
// the file of the path, it is kept within its bound.
func NewWriter(out *os.File, path string) *Writer {
	w := &Writer{out: out}
	given, err := out.Stat()
	named, bad := os.Lstat(path)
	if err == nil && bad == nil && os.SameFile(given, named) {
		w.path, w.size = path, given.Size()
	}
	return w
}

// Write writes a line, into a new file if it does not fit the one that there is. Where
// a new one cannot be made, the one that there is grows.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.path != "" && full(w.size+int64(len(line))) {
		w.turn()
	}
	n, err := w.out.Write(line)
	w.size += int64(n)
	return n, err
}

// turn begins a new file, into which a crash of the process writes, too.
func (w *Writer) turn() {
	if err := os.Rename(w.path, w.path+Older); err != nil {
		return
	}
	next, err := Open(w.path)
	if err != nil {
		return
	}
	_ = debug.SetCrashOutput(next, debug.CrashOptions{}) // without it the crash is told where the process began
	if w.out != os.Stderr {
		_ = w.out.Close() // every line of it is written
	}
	w.out, w.size = next, 0
}
