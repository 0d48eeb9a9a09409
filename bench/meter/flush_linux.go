package meter

import (
	"os"

	"golang.org/x/sys/unix"
)

func flush(file *os.File) error { return unix.Fdatasync(int(file.Fd())) }
