package outlet

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Unseen runs read while the terminal in shows nothing of what is typed. What is
// no terminal is read as it is.
func Unseen(in io.Reader, read func() (string, bool)) (string, bool) {
	file, ok := in.(*os.File)
	if !ok || !Terminal(in) {
		return read()
	}
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return "", false // better no answer than a secret on the screen
	}
	silent := *before
	silent.Lflag &^= unix.ECHO
	silent.Lflag |= unix.ECHONL
	if err := unix.IoctlSetTermios(fd, setTermios, &silent); err != nil {
		return "", false
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }() // nothing helps where it fails
	return read()
}
