package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// SocketName is the socket's name in its folder.
const SocketName = "admin.sock"

const lockName = "admin.lock"

// What Listen refuses. Unsafe means that another user could reach or exchange the
// socket; Busy that a living host has the folder.
var (
	ErrUnsafe = errors.New("the folder of the host's socket is not safe")
	ErrBusy   = errors.New("a host is already running with this folder")
)

// Listener accepts connections of this user only. It holds the folder's lock for
// its whole life.
type Listener struct {
	*net.UnixListener
	lock *os.File
	uid  int
	peer func(*net.UnixConn) (int, error)
	log  *slog.Logger
	once sync.Once
}

// Listen makes a folder that only this user can enter, takes its lock, removes
// the socket that a dead host left behind, and listens with mode 0600. A folder
// that is a link, of another user, or open to others is refused (threats, A60).
func Listen(folder string, log *slog.Logger) (*Listener, error) {
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(folder, lockName))
	if err != nil {
		return nil, err
	}
	socket, err := bind(filepath.Join(folder, SocketName))
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

// Close removes the socket and lets the folder go.
func (l *Listener) Close() error {
	err := l.UnixListener.Close()
	l.once.Do(func() {
		if l.lock != nil { // one beside another has none
			err = errors.Join(err, l.lock.Close())
		}
	})
	return err
}

// NewServer returns a server for a Listener, of a Door and of what else is for this
// user alone. An answer may take as long as an import does.
func NewServer(d http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: d, ReadHeaderTimeout: bound.HTTPHeader.Duration(), ReadTimeout: bound.HTTPRequest.Duration(),
		IdleTimeout: bound.HTTPIdle.Duration(), MaxHeaderBytes: bound.HTTPHeaderBytes.Int(), ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
