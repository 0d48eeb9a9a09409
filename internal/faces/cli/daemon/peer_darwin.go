package daemon

import "golang.org/x/sys/unix"

func listener(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID) }
