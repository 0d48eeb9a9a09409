package workspacecapture

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// step opens one name in a folder. The kernel itself refuses links of every kind
// and whatever would leave the folder; where it is too old, or a sandbox hides
// the call, the flags of the open refuse links.
func step(dir int, name string, flags int) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   uint64(flags),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return stepPlain(dir, name, flags)
	}
	return fd, err
}

func identify(info os.FileInfo) identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{st.Dev, st.Ino}
}

func seen(st *unix.Stat_t) sight {
	return sight{identity{st.Dev, st.Ino}, uint64(st.Nlink), st.Size, st.Mtim, st.Ctim} //nolint:unconvert // other systems count in other widths
}
