// Package outlet is the stream that a command prints to. It remembers why a part
// of the output is missing, since few of those who print can say so, and knows
// whether a person is at the other end.
//
// It does not promise that what was written is read. A Stream belongs to one
// goroutine; the functions keep nothing.
package outlet

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Stream passes on what it is given.
type Stream struct {
	to      io.Writer
	missing error
}

// New returns a stream of which nothing is missing yet.
func New(to io.Writer) *Stream { return &Stream{to: to} }

// Write passes b on.
func (s *Stream) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	if s.missing == nil {
		s.missing = err
	}
	return n, err
}

// Missing is why a part of what was written to w is missing, nil if none is or
// w is no Stream.
func Missing(w io.Writer) error {
	if s, ok := w.(*Stream); ok {
		return s.missing
	}
	return nil
}

// Terminal reports whether a file, or the file that a Stream writes to, is one.
func Terminal(stream any) bool {
	if s, ok := stream.(*Stream); ok {
		stream = s.to
	}
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
