package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Usual is how long a log gets, in bytes, where the disk has plenty, and what
// Reserve reserves then.
const Usual = 8 << 20

const (
	shareOfDisk = 16        // a log takes no more than this part of what the disk has
	least       = 256 << 10 // and no less than this
	piece       = 256 << 10 // one write, so that a host does not keep the whole room in memory
)

// Room is how long a log may get before it is copied into the database, in bytes: on
// a small disk a log that nobody copies takes the very room that the copy needs.
// The folder of the path must be there.
func Room(path string) (int64, error) {
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &disk); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: filepath.Dir(path), Err: err}
	}
	blocks, size := int64(disk.Bavail), int64(disk.Bsize) //nolint:unconvert // macOS counts in other widths
	return min(Usual, max(least, blocks*size/shareOfDisk)), nil
}

// Reserve gives an empty log its room ahead of time, unless the disk has little.
// To overwrite what is allocated costs one flush of the disk where to append costs
// several, and what is reserved is there when the disk is full. The engine takes
// zeros for the end of the log. The caller keeps others from writing there
// meanwhile.
func Reserve(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	room, err := Room(path)
	if err != nil || info.Size() > 0 || room < Usual {
		return err
	}
	zeros := make([]byte, piece)
	for ; room > 0; room -= piece {
		_, err := file.Write(zeros)
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			break
		}
		if err != nil {
			return err
		}
	}
	return file.Sync()
}
