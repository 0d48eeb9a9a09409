package load

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Streams are clients that only listen.
type Streams []*web

// Listen opens streams of both eras: sessions, each with its GET stream, and
// requests that listen without one.
func Listen(t Target, sessions, without int) (open Streams, err error) {
	defer func() {
		if err != nil {
			open.Close()
		}
	}()
	for range sessions {
		t.Kind = Legacy
		c, err := openMCP(t)
		if err != nil {
			return open, err
		}
		c.close()
		c.head = append([]byte("GET"), c.head[len("POST"):]...)
		if open, err = open.add(t.Addr, c.web, nil); err != nil {
			return open, err
		}
	}
	for range without {
		t.Kind = Listening
		c, err := openMCP(t)
		if err != nil {
			return open, err
		}
		c.close()
		if open, err = open.add(t.Addr, c.web, append(append(c.before, '1'), c.after...)); err != nil {
			return open, err
		}
	}
	return open, nil
}

// add sends a request over a connection of its own and waits until its stream is
// open.
func (s Streams) add(addr string, like *web, body []byte) (Streams, error) {
	w, err := dial(Target{Addr: addr}, "")
	if err != nil {
		return s, err
	}
	s = append(s, w)
	head := fmt.Appendf(like.head, "Content-Length: %d\r\n\r\n", len(body))
	if err := w.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return s, err
	}
	if _, err := w.conn.Write(append(head, body...)); err != nil {
		return s, err
	}
	w.reader = bufio.NewReaderSize(w.conn, 512)
	resp, err := http.ReadResponse(w.reader, nil) //nolint:bodyclose // its end would be the stream's
	if err != nil {
		return s, err
	}
	if resp.StatusCode != http.StatusOK {
		return s, errors.New(resp.Status)
	}
	return s, nil
}

// Close ends them all.
func (s Streams) Close() {
	for _, w := range s {
		w.close()
	}
}
