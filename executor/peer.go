package executor

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
)

var errOthers = errors.New("the daemon's socket is not this user's alone")

// dialOwn connects to a socket that nobody but this user can have made.
func dialOwn(ctx context.Context, path string) (net.Conn, error) {
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Lstat(name)
		if err != nil {
			return nil, err
		}
		if info.Mode().Perm() != mode || !ours(info) || info.Mode()&os.ModeSymlink != 0 {
			return nil, errOthers
		}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(conn.(*net.UnixConn)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
