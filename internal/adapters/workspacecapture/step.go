package workspacecapture

import "golang.org/x/sys/unix"

// stepPlain opens one name, which holds no slash and is not "..", so that
// O_NOFOLLOW is all that keeps it in the folder.
func stepPlain(dir int, name string, flags int) (int, error) {
	return unix.Openat(dir, name, flags, 0)
}
