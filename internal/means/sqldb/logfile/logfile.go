// Package logfile looks at SQLite's write-ahead log before the engine does, since
// the engine takes the first frame that does not fit for the end of the log: what
// a failing disk spoils in the middle is forgotten with all that came behind it,
// and nobody is told.
//
// A log may rightly end in the middle of a commit, and the pieces of that commit
// may be on the disk in any order. But a commit is only written once the one
// before it has been flushed. So where two commits of the log's own time stand
// behind its end, the first of them had been flushed, with everything before it:
// then what the end is at was whole, and is damaged now.
//
// It promises to find damage that is followed by two commits. It does not find
// damage to the latest two, or to the log's own header, and says nothing about
// the database file. Nothing is written. Memory is one frame.
package logfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrDamaged is the error of a log that has lost commits in its middle.
var ErrDamaged = errors.New("the log is damaged")

// The layout, all numbers big-endian (SQLite's file format, section 4.1):
//
//	header  magic 4, version 4, page size 4, sequence 4, salts 8, checksum 8
//	frame   page number 4, pages after commit 4 (0: no commit), salts 8, checksum 8, page
const (
	headerBytes = 32
	frameBytes  = 24
	magic       = 0x377f0682 // its last bit says in which order the checksum takes bytes
	smallest    = 512
	largest     = 65536
)

// Check reads the log at a path. A log that is not there, is empty, or was only
// reserved is whole.
func Check(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return check(bufio.NewReaderSize(file, 1<<16))
}

// reader walks the frames of one log.
type reader struct {
	in    io.Reader
	order binary.ByteOrder
	salts [8]byte
	sum   [2]uint32 // of everything so far
	frame []byte
}

func check(in io.Reader) error {
	r, err := begin(in)
	if r == nil || err != nil {
		return err
	}
	end, commits := int64(-1), 0
	for n := int64(0); ; n++ {
		if _, err := io.ReadFull(r.in, r.frame); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return err
		}
		own := [8]byte(r.frame[8:16]) == r.salts
		if end < 0 {
			if own && r.fits() {
				continue
			}
			end = n
		}
		if own && n > end && binary.BigEndian.Uint32(r.frame[4:8]) != 0 {
			commits++
		}
		if commits == 2 {
			return fmt.Errorf("%w at byte %d: commits behind it were flushed", ErrDamaged, headerBytes+end*int64(len(r.frame)))
		}
	}
}

// begin reads the header, nil for one that starts no log.
func begin(in io.Reader) (*reader, error) {
	var h [headerBytes]byte
	if _, err := io.ReadFull(in, h[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	r := &reader{in: in, order: binary.LittleEndian}
	first, page := binary.BigEndian.Uint32(h[:4]), binary.BigEndian.Uint32(h[8:12])
	if first&1 == 1 {
		r.order = binary.BigEndian
	}
	r.add(h[:24])
	if first&^1 != magic || page < smallest || page > largest || page&(page-1) != 0 || !r.is(h[24:32]) {
		return nil, nil
	}
	copy(r.salts[:], h[16:24])
	r.frame = make([]byte, frameBytes+page)
	return r, nil
}

// fits holds a frame against the checksum of everything up to it.
func (r *reader) fits() bool {
	before := r.sum
	r.add(r.frame[:8])
	r.add(r.frame[frameBytes:])
	if r.is(r.frame[16:24]) {
		return true
	}
	r.sum = before
	return false
}

// add takes bytes, a multiple of 8, into the checksum.
func (r *reader) add(data []byte) {
	a, b := r.sum[0], r.sum[1]
	for ; len(data) >= 8; data = data[8:] {
		a += r.order.Uint32(data) + b
		b += r.order.Uint32(data[4:]) + a
	}
	r.sum = [2]uint32{a, b}
}

func (r *reader) is(sum []byte) bool {
	return binary.BigEndian.Uint32(sum) == r.sum[0] && binary.BigEndian.Uint32(sum[4:]) == r.sum[1]
}
