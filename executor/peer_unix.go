//go:build unix

package executor

import (
	"os"
	"syscall"
)

func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
