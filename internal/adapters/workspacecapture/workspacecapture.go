// Package workspacecapture reads files of the workspace for sources of resources
// and for the agent's own file tools (guide, Captured sources; sessions page,
// section 9).
//
// It promises that what it gives was in one regular file of the workspace, found
// without following any link, that was the only name of its content and did not
// change while it was read, as far as the file system tells; that paths which
// look like credentials, and everything under the state root or the data folder of a host, are refused; and
// that no special file makes it wait. It does not promise a snapshot against who
// writes in place, and it cannot interrupt a file system that hangs.
//
// Bounds: bound.SourcePathBytes, bound.CaptureBytes, bound.FolderEntries,
// bound.SearchFiles, bound.SearchDepth. Faults: invalid_payload for whatever is
// refused, without a path; limit_exceeded for what is too large. A Workspace keeps
// nothing but its two folders and is safe for concurrent use.
package workspacecapture

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Workspace is one folder that may be read.
type Workspace struct {
	root  *os.File
	state identity // of the state root
	step  func(dir int, name string, flags int) (int, error)
}

// identity is what a file is, whatever it is called.
type identity struct {
	dev, ino uint64
}

func refuse(text string) *fault.Fault { return fault.New(fault.InvalidPayload, text) }

var (
	errPath       = refuse("the path must be relative to the workspace, without empty or dot parts")
	errCredential = refuse("the path looks like that of a credential")
	errState      = refuse("the path is the daemon's own")
	errNone       = refuse("there is no such file in the workspace, or a link leads to it")
	errKind       = refuse("it is no regular file with one name")
	errChanged    = refuse("the file changed while it was read")
	errText       = refuse("the file is no UTF-8 text, or holds a NUL")
)

// Open returns the workspace. Both folders must exist, and the workspace must lie
// outside the state root, where the sessions of other workspaces are, and outside the
// data folder of a host.
func Open(workspace, stateRoot string) (*Workspace, error) {
	state, err := os.Stat(stateRoot)
	if err != nil {
		return nil, refuse("the state root cannot be read").Because(err)
	}
	root, err := os.Open(workspace)
	if err != nil {
		return nil, refuse("the workspace cannot be read").Because(err)
	}
	w := &Workspace{root: root, state: identify(state), step: step}
	info, err := root.Stat()
	if err == nil && (!info.IsDir() || below(workspace, w.state)) {
		err = refuse("the workspace must be a folder outside the state root and outside the data folder of a host")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return w, nil
}

// hostMark is a file that the data folder of every host has, wherever it lies. Beside
// it are the keys of all that is sealed.
const hostMark = "steward.db"

// hostIn reports whether a name in a folder is the data folder of a host. A file is none.
func hostIn(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name+"/"+hostMark, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// below reports whether a folder or one above it is the state root or the data folder
// of a host, or cannot be told from them.
func below(folder string, state identity) bool {
	at, err := filepath.Abs(folder)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	for {
		if err != nil {
			return true
		}
		var info os.FileInfo
		if info, err = os.Stat(at); err == nil && identify(info) == state {
			return true
		}
		if _, bad := os.Lstat(filepath.Join(at, hostMark)); bad == nil {
			return true
		}
		above := filepath.Dir(at)
		if above == at {
			return err != nil
		}
		at = above
	}
}

// Close lets go of the folder.
func (w *Workspace) Close() error { return w.root.Close() }

// Capture reads a text of at most so many bytes. Ctx is looked at before, not during
// the read.
func (w *Workspace) Capture(ctx context.Context, path string, most int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	file, err := w.open(path, false)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	before, err := look(file)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(file, int64(most)+1))
	if err != nil {
		return nil, errNone.Because(err)
	}
	if err := w.same(path, file, before); err != nil {
		return nil, err
	}
	if len(raw) > most {
		return nil, fault.Newf(fault.LimitExceeded, "the file is limited to %d bytes", most)
	}
	if !utf8.Valid(raw) || strings.ContainsRune(string(raw), 0) {
		return nil, errText
	}
	return raw, nil
}

// same looks again at the file that was read and at what its path names now.
func (w *Workspace) same(path string, file *os.File, before sight) error {
	after, err := look(file)
	if err != nil || after != before {
		return errChanged
	}
	again, err := w.open(path, false)
	if err != nil {
		return errChanged.Because(err)
	}
	defer again.Close()
	if named, err := look(again); err != nil || named != before {
		return errChanged
	}
	return nil
}

// open walks to a file or folder, one name at a time. The descriptor does not
// block.
func (w *Workspace) open(path string, folder bool) (*os.File, error) {
	names, err := split(path, folder)
	if err != nil {
		return nil, err
	}
	// Opened anew, since a copy of the descriptor would share its place in the folder.
	at, err := unix.Openat(int(w.root.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errNone.Because(err)
	}
	for i, name := range names {
		flags := unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY
		if folder || i < len(names)-1 {
			flags |= unix.O_DIRECTORY
		}
		next, err := w.step(at, name, flags)
		_ = unix.Close(at) // it was read only
		if err != nil {
			return nil, errNone.Because(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(next, &st); err != nil || seen(&st).identity == w.state || hostIn(next, ".") {
			_ = unix.Close(next) // it was read only
			return nil, errState
		}
		at = next
	}
	return os.NewFile(uintptr(at), filepath.Base(path)), nil
}

// split checks a path as text and gives its names. A folder may be the workspace
// itself: "" or ".".
func split(path string, folder bool) ([]string, error) {
	if folder && (path == "" || path == ".") {
		return nil, nil
	}
	if len(path) > bound.SourcePathBytes.Int() || !utf8.ValidString(path) {
		return nil, errPath
	}
	names := strings.Split(path, "/")
	for _, name := range names {
		if name == "" || name == "." || name == ".." || strings.ContainsFunc(name, unseen) {
			return nil, errPath
		}
		if Credential(name) {
			return nil, errCredential
		}
	}
	return names, nil
}

// sight is everything by which a file could be seen to have changed.
type sight struct {
	identity
	links        uint64
	size         int64
	mtime, ctime unix.Timespec
}

// look holds an open file to the rules: regular, and with one name.
func look(file *os.File) (sight, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return sight{}, errNone.Because(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		return sight{}, errKind
	}
	return seen(&st), nil
}
