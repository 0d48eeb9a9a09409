package daemon

import (
	"context"
	"errors"

	"github.com/stewardhost/steward/internal/means/localsocket"
)

// peerOf asks the kernel which process listens on a socket.
func peerOf(ctx context.Context, socket string) (int, error) {
	conn, err := localsocket.Dial(ctx, socket)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // nothing was written
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	pid := 0
	var asked error
	err = raw.Control(func(fd uintptr) { pid, asked = listener(int(fd)) })
	if err := errors.Join(err, asked); err != nil {
		return 0, err
	}
	if pid <= 1 {
		return 0, errNoPeer
	}
	return pid, nil
}
