//go:build !linux

package meter

import "os"

func flush(file *os.File) error { return file.Sync() }
