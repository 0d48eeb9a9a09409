package executor

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// checkPeer asks the kernel who listens.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *syscall.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, asked = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, asked); err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() {
		return errOthers
	}
	return nil
}
