package workspacecapture

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// step opens one name in a folder.
func step(dir int, name string, flags int) (int, error) { return stepPlain(dir, name, flags) }

func identify(info os.FileInfo) identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(st.Dev), st.Ino}
}

func seen(st *unix.Stat_t) sight {
	return sight{identity{uint64(st.Dev), st.Ino}, uint64(st.Nlink), st.Size, st.Mtim, st.Ctim}
}
