// Package localsocket makes a Unix socket that only this user can reach, and holds
// it for the life of a process (threats, A60; sessions page, section 7).
//
// It promises: the folder is this user's, 0700 and no link; the socket is 0600;
// one process has it at a time, by a lock that goes with the process; a socket that
// a dead process left is removed only under that lock; a peer of another user, or
// one that cannot be told, is closed before a byte of it is read. It sets no bound
// on connections. A Listener is safe for concurrent use.
package localsocket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// What Listen refuses. Unsafe means that another user could reach or exchange the
// socket; Busy that a living process has it.
var (
	ErrUnsafe = errors.New("the folder of the host's socket is not safe")
	ErrBusy   = errors.New("a host is already running with this folder")
)

// The ends of the two names that a socket takes in its folder.
const (
	SocketEnd = ".sock"
	LockEnd   = ".lock"
)

// Listener accepts connections of this user only. It holds the socket's lock for
// its whole life.
type Listener struct {
	*net.UnixListener
	lock *os.File
	uid  int
	peer func(*net.UnixConn) (int, error)
	log  *slog.Logger
	once sync.Once
}

// Listen makes a folder that only this user can enter, takes the lock of the name,
// removes the socket that a dead process left behind, and listens with mode 0600. A
// folder that is a link, of another user, or open to others is refused.
func Listen(folder, name string, log *slog.Logger) (*Listener, error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(folder, name+LockEnd))
	if err != nil {
		return nil, err
	}
	socket, err := bind(filepath.Join(folder, name+SocketEnd))
	if err != nil {
		_ = lock.Close() // the reason is err
		return nil, err
	}
	return &Listener{UnixListener: socket, lock: lock, uid: os.Getuid(), peer: peerOf, log: log}, nil
}

func checkFolder(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a folder itself", ErrUnsafe, folder)
	case !mine(info):
		return fmt.Errorf("%w: %s belongs to another user", ErrUnsafe, folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: %s can be entered by others; use chmod 700", ErrUnsafe, folder)
	}
	return nil
}

// takeLock keeps other hosts out until the file is closed, which the kernel does
// for a process that dies. The file stays, since removing it would let two hosts
// lock two files of one name.
func takeLock(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnsafe, path, err)
	}
	lock := os.NewFile(uintptr(fd), path)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = lock.Close() // the reason is err
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrBusy
		}
		return nil, err
	}
	return lock, nil
}

// pathBytes is what the narrowest system that we run on has room for.
const pathBytes = 103

// bind must be called with the lock held, so that a socket that is there has no
// host behind it.
func bind(path string) (*net.UnixListener, error) {
	if len(path) > pathBytes {
		return nil, fmt.Errorf("%s is too long for a socket's path, which holds %d bytes", path, pathBytes)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket || !mine(info):
		return nil, fmt.Errorf("%w: %s is not a socket of this user", ErrUnsafe, path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = socket.Close() // the reason is err
		return nil, err
	}
	return socket, nil
}

// Dial connects to the socket of the path, and only to a process of this user.
func Dial(ctx context.Context, path string) (*net.UnixConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	local, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close() // the reason is below
		return nil, ErrUnsafe
	}
	if uid, err := peerOf(local); err != nil || uid != os.Getuid() {
		_ = local.Close() // the reason is below
		return nil, fmt.Errorf("%w: %s is served by another user", ErrUnsafe, path)
	}
	return local, nil
}

// Accept gives the next connection of this user. A connection of anybody else,
// or of a peer that cannot be told, is closed before a byte of it is read.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := l.peer(conn)
		if err == nil && uid == l.uid {
			return conn, nil
		}
		l.log.Warn("a connection of another user was refused", "uid", uid, "err", err)
		_ = conn.Close() // nothing was promised to it
	}
}

// Beside makes another socket in the folder, as private as the first, and gives its
// path. What it accepts is checked in the same way.
func (l *Listener) Beside(name string) (net.Listener, string, error) {
	path := filepath.Join(filepath.Dir(l.Addr().String()), name)
	socket, err := bind(path)
	if err != nil {
		return nil, "", err
	}
	return &Listener{UnixListener: socket, uid: l.uid, peer: l.peer, log: l.log}, path, nil
}

// Retire removes the socket, so that nobody gets in any more, and keeps its name
// until Close: a process that still ends its work is no dead one.
func (l *Listener) Retire() error { return l.UnixListener.Close() }

// Close removes the socket and lets its name go.
func (l *Listener) Close() error {
	err := l.Retire()
	if errors.Is(err, net.ErrClosed) {
		err = nil // it was retired before
	}
	l.once.Do(func() {
		if l.lock != nil { // one beside another has none
			err = errors.Join(err, l.lock.Close())
		}
	})
	return err
}

// Free reports whether no living process has the name of a socket's path.
func Free(path string) bool {
	lock, err := os.OpenFile(strings.TrimSuffix(path, SocketEnd)+LockEnd, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer lock.Close()
	return unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}
