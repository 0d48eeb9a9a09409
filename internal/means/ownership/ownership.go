// Package ownership says whose a file is, as a look at it has found. A Mine is this
// user's in whose right the process acts, which is who may open its files.
//
// The functions look at nothing themselves and keep nothing.
package ownership

import (
	"io/fs"
	"os"
	"syscall"
)

// Mine reports whether a file is this user's. Nothing, which a look may have given, is
// nobody's.
func Mine(info fs.FileInfo) bool { return is(info, os.Geteuid()) }

// OfRoot reports whether a file is the system's.
func OfRoot(info fs.FileInfo) bool { return is(info, 0) }

func is(info fs.FileInfo, user int) bool {
	if info == nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == user
}
