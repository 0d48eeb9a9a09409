package meter

import (
	"os"
	"path/filepath"
)

const diskPage = 4096

// Disk appends n pages of 4 KiB to a file in a folder and makes each durable: the
// disk alone, under everything else.
func Disk(dir string, n int) (Times, error) {
	file, err := os.CreateTemp(dir, "disk-")
	if err != nil {
		return Times{}, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	page := make([]byte, diskPage)
	return Spread(1, n, func(int, int) error {
		if _, err := file.Write(page); err != nil {
			return err
		}
		return flush(file)
	})
}

// Folder copies a folder with the modes of its files, but for its sockets.
func Folder(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), info.Mode().Perm())
		case !info.Mode().IsRegular():
			return nil
		}
		return copyFile(filepath.Join(to, name), path, info.Mode().Perm())
	})
}

func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := out.ReadFrom(in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
