package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// disk is what the file system is kept on. It tells what has reached the plate
// from what has only been asked for:
//
//	plate      bytes and names that a flush has made durable
//	pending    changes since then, in the order in which they came
//
// A flush of a file makes its bytes durable and not its name; a flush of a folder
// makes its names durable and nothing of the files. One lock guards all of it.
type disk struct {
	mu      sync.Mutex
	flushes int
	writes  int
}

// change is one thing that was done to a file: bytes written at a place, or the
// file cut to a size.
type change struct {
	at   int64
	data []byte
	cut  bool
}

// body is the content of a file, whatever names it has.
type body struct {
	now     []byte // what a reader sees
	plate   []byte
	pending []change
}

func apply(content []byte, c change) []byte {
	if c.cut {
		if c.at <= int64(len(content)) {
			return content[:c.at:c.at]
		}
		return append(content[:len(content):len(content)], make([]byte, c.at-int64(len(content)))...)
	}
	if end := c.at + int64(len(c.data)); end > int64(len(content)) {
		content = append(content[:len(content):len(content)], make([]byte, end-int64(len(content)))...)
	}
	copy(content[c.at:], c.data)
	return content
}

func (b *body) do(c change) {
	b.now = apply(b.now, c)
	b.pending = append(b.pending, c)
}

func (b *body) flush() {
	b.plate, b.pending = append([]byte(nil), b.now...), nil
}

// sector is what a disk writes whole, and page what most file systems do.
const (
	sector = 512
	page   = 4096
)

// lose gives what is on the plate after the power was lost: all that was flushed,
// and of the rest nothing, a part in order with the last piece torn, or any pieces
// of it in any order.
func (b *body) lose(chance *rand.Rand) (content []byte, lost int) {
	content = append([]byte(nil), b.plate...)
	switch chance.IntN(3) {
	case 0:
		return content, len(b.pending)
	case 1:
		keep := chance.IntN(len(b.pending) + 1)
		for _, c := range b.pending[:keep] {
			content = apply(content, c)
		}
		if keep < len(b.pending) && !b.pending[keep].cut {
			unit := []int{sector, page}[chance.IntN(2)]
			torn := b.pending[keep]
			torn.data = torn.data[:chance.IntN(len(torn.data)/unit+1)*unit]
			content = apply(content, torn)
		}
		return content, len(b.pending) - keep
	default:
		for _, c := range b.pending {
			if c.cut {
				content = apply(content, c)
				continue
			}
			for at := 0; at < len(c.data); at += sector {
				if chance.IntN(2) == 0 {
					lost++
					continue
				}
				content = apply(content, change{at: c.at + int64(at), data: c.data[at:min(at+sector, len(c.data))]})
			}
		}
		return content, lost
	}
}

// store replaces a folder by what was on the plate.
func store(dir string, root *folder, chance *rand.Rand) (lost int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return 0, err
		}
	}
	return root.store(dir, chance)
}

func (f *folder) store(dir string, chance *rand.Rand) (lost int, err error) {
	names, lost := f.lose(chance)
	for name, it := range names {
		path, n := filepath.Join(dir, name), 0
		switch {
		case it.folder != nil:
			if err = os.Mkdir(path, fs.FileMode(it.folder.mode&0o777)); err == nil {
				n, err = it.folder.store(path, chance)
			}
		case it.file != nil && it.file.regular():
			var content []byte
			content, n = it.file.body.lose(chance)
			err = os.WriteFile(path, content, fs.FileMode(it.file.mode&0o777))
		}
		if err != nil {
			return lost, fmt.Errorf("%s: %w", name, err)
		}
		lost += n
	}
	return lost, nil
}
