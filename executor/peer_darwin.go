package executor

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer asks the kernel who listens.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Xucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err := errors.Join(err, asked); err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() {
		return errOthers
	}
	return nil
}
