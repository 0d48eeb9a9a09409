package localsocket

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// place returns a path for a socket's folder, short enough for a socket.
func place(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "adm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	return filepath.Join(home, "run")
}

func listen(t *testing.T, folder string) *Listener {
	t.Helper()
	l, err := Listen(folder, "x", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestOnDiskNobodyElseGetsIn(t *testing.T) {
	folder := place(t)
	listen(t, folder)
	got := map[string]fs.FileMode{}
	for _, path := range []string{folder, filepath.Join(folder, "x"+SocketEnd), filepath.Join(folder, "x"+LockEnd)} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(path)] = info.Mode()
	}
	want := map[string]fs.FileMode{"run": fs.ModeDir | 0o700, "x" + SocketEnd: fs.ModeSocket | 0o600, "x" + LockEnd: 0o600}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnsafePlacesAreRefused(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		says string
		make func(folder string)
	}{
		{"a folder that others can read", "chmod 700", func(f string) { must(os.Mkdir(f, 0o700)); must(os.Chmod(f, 0o750)) }},
		{"a folder that others can enter", "chmod 700", func(f string) { must(os.Mkdir(f, 0o700)); must(os.Chmod(f, 0o701)) }},
		{"a folder that is a link", "not a folder itself", func(f string) { must(os.Mkdir(f+"2", 0o700)); must(os.Symlink(f+"2", f)) }},
		{"a folder that is a file", "not a folder itself", func(f string) { must(os.WriteFile(f, nil, 0o600)) }},
		{"a lock that is a link", "x.lock", func(f string) { must(os.Mkdir(f, 0o700)); must(os.Symlink("/dev/null", filepath.Join(f, "x"+LockEnd))) }},
		{"a socket that is a file", "not a socket", func(f string) {
			must(os.Mkdir(f, 0o700))
			must(os.WriteFile(filepath.Join(f, "x"+SocketEnd), nil, 0o600))
		}},
		{"a socket that is a link", "not a socket", func(f string) {
			must(os.Mkdir(f, 0o700))
			must(os.Symlink("/dev/null", filepath.Join(f, "x"+SocketEnd)))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := place(t)
			tt.make(folder)
			before, err := os.Lstat(filepath.Join(folder, "x"+SocketEnd))
			l, got := Listen(folder, "x", slog.New(slog.DiscardHandler))
			if !errors.Is(got, ErrUnsafe) || !strings.Contains(got.Error(), tt.says) {
				t.Fatalf("Listen = %v, %v, want %v that says %q", l, got, ErrUnsafe, tt.says)
			}
			after, err2 := os.Lstat(filepath.Join(folder, "x"+SocketEnd))
			if err == nil && (err2 != nil || !os.SameFile(before, after)) {
				t.Error("what stood in the socket's place was touched")
			}
		})
	}
}

func TestLongPathIsSaidToBeTooLong(t *testing.T) {
	folder := filepath.Join(filepath.Dir(place(t)), strings.Repeat("f", pathBytes))
	if l, err := Listen(folder, "x", slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("Listen = %v, %v", l, err)
	}
}

// A living host keeps its folder; a dead one leaves a socket that the next takes
// away.
func TestOneHostAFolder(t *testing.T) {
	folder := place(t)
	first := listen(t, folder)
	if l, err := Listen(folder, "x", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrBusy) {
		t.Fatalf("Listen beside a living host = %v, %v, want %v", l, err, ErrBusy)
	}
	conn, err := net.Dial("unix", filepath.Join(folder, "x"+SocketEnd))
	if err != nil {
		t.Fatalf("the living host was disturbed: %v", err)
	}
	_ = conn.Close()
	first.SetUnlinkOnClose(false) // as a process that is killed leaves it
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(folder, "x"+SocketEnd)); err != nil {
		t.Fatal("the stale socket is not there:", err)
	}
	second := listen(t, folder)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(folder, "x"+SocketEnd)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket outlives its host: %v", err)
	}
}

func TestPeerIsThisUser(t *testing.T) {
	l := listen(t, place(t))
	conn, err := net.Dial("unix", l.UnixListener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	accepted, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = accepted.Close() }()
	if uid, err := peerOf(accepted); err != nil || uid != os.Getuid() {
		t.Errorf("peerOf = %d, %v, want %d", uid, err, os.Getuid())
	}
}

// A foreign peer is closed before a byte of it is read, and the one after it is
// served.
func TestForeignPeersAreClosedUnread(t *testing.T) {
	strangers := map[string]func() (int, error){
		"another user":            func() (int, error) { return os.Getuid() + 1, nil },
		"a peer that is not told": func() (int, error) { return os.Getuid(), errors.New("no credentials") },
	}
	for name, stranger := range strangers {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			l, err := Listen(place(t), "x", slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			met := false
			l.peer = func(conn *net.UnixConn) (int, error) {
				if met {
					return peerOf(conn)
				}
				met = true
				return stranger()
			}
			foreign := dialTwice(t, l)
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			got := make([]byte, 3)
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != "own" {
				t.Errorf("the accepted connection says %q, %v", got, err)
			}
			// The kernel tells a peer whose bytes were thrown away unread.
			if n, err := foreign.Read(make([]byte, 1)); n != 0 || runtime.GOOS == "linux" && !errors.Is(err, syscall.ECONNRESET) || err == nil {
				t.Errorf("the foreign connection says %d, %v", n, err)
			}
			if !strings.Contains(log.String(), "another user was refused") {
				t.Errorf("log %q", log.String())
			}
		})
	}
}

// dialTwice queues a foreign connection, which it returns, and then one of our
// own, each with bytes that wait to be read.
func dialTwice(t *testing.T, l *Listener) net.Conn {
	t.Helper()
	var conns []net.Conn
	for _, text := range []string{"foreign", "own"} {
		conn, err := net.Dial("unix", l.UnixListener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // a peer that waits for ever fails
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	return conns[0]
}

func TestDialReachesOwnListener(t *testing.T) {
	folder := place(t)
	l := listen(t, folder)
	accepted := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_ = conn.Close()
		}
		accepted <- err
	}()
	conn, err := Dial(t.Context(), filepath.Join(folder, "x"+SocketEnd))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), filepath.Join(folder, "y"+SocketEnd)); err == nil {
		t.Error("a socket that is not there was reached")
	}
}

// A process that lets nobody in any more, and ends its work, still has the name.
func TestARetiredSocketKeepsItsName(t *testing.T) {
	folder := place(t)
	path := filepath.Join(folder, "x"+SocketEnd)
	if !Free(path) {
		t.Error("a name that nobody ever had is taken")
	}
	l := listen(t, folder)
	if err := l.Retire(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is there: %v", err)
	}
	if _, err := Listen(folder, "x", slog.New(slog.DiscardHandler)); !errors.Is(err, ErrBusy) || Free(path) {
		t.Errorf("another has the name: %v", err)
	}
	if err := l.Close(); err != nil || !Free(path) {
		t.Errorf("Close: %v", err)
	}
	listen(t, folder)
}
