package unixsocket

import (
	"net"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// queue holds what a connection is still to be sent. Putting never waits: a peer
// that does not read loses its connection, and nothing is ever sent twice for it.
// One lock guards it; one goroutine, run, writes.
type queue struct {
	conn  net.Conn
	sent  func(request string) // before a response is written: who reads it may use the ID again at once
	mu    sync.Mutex
	wake  chan struct{} // holds one
	items []outgoing
	bytes int
	over  bool      // nothing is taken or written any more
	last  bool      // nothing is taken any more, and the connection is closed once the rest is written
	until time.Time // by when the rest must be out, where it is the last
}

// outgoing is one record with its LF.
type outgoing struct {
	record  []byte
	request string // that it answers, or empty
}

func newQueue(conn net.Conn, sent func(string)) *queue {
	return &queue{conn: conn, sent: sent, wake: make(chan struct{}, 1)}
}

// put adds a record; over its bounds the connection is closed.
func (q *queue) put(o outgoing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over || q.last {
		return
	}
	if bound.OutboundRecords.Check(len(q.items)+1) != nil || bound.OutboundBytes.Check(q.bytes+len(o.record)) != nil {
		q.end()
		return
	}
	q.items = append(q.items, o)
	q.bytes += len(o.record)
	q.signal()
}

// end drops what is left and closes the connection; the lock must be held.
func (q *queue) end() {
	q.over, q.items = true, nil
	_ = q.conn.Close() // its reader sees the end
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close ends the queue; with flush, once what it holds is written, for which it has
// bound.WriteTime together. It takes nothing more either way.
func (q *queue) close(flush bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.over:
	case flush && q.last:
	case flush:
		q.last, q.until = true, time.Now().Add(bound.WriteTime.Duration())
		q.signal()
	default:
		q.end()
	}
}

// run writes until the queue has ended.
func (q *queue) run() {
	for range q.wake {
		for {
			o, ok := q.take()
			if !ok {
				break
			}
			if !q.write(o) {
				q.close(false)
				break
			}
		}
		if q.ended() {
			return
		}
	}
}

func (q *queue) take() (outgoing, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		if q.last && !q.over {
			q.end()
		}
		return outgoing{}, false
	}
	o := q.items[0]
	q.items[0] = outgoing{}
	q.items = q.items[1:]
	return o, true
}

// write sends one record, which counts against the bytes until it is out.
func (q *queue) write(o outgoing) bool {
	if o.request != "" {
		q.sent(o.request)
	}
	err := q.conn.SetWriteDeadline(q.deadline())
	if err == nil {
		_, err = q.conn.Write(o.record)
	}
	q.mu.Lock()
	q.bytes -= len(o.record)
	q.mu.Unlock()
	return err == nil
}

// deadline is by when a record that is written now must be out.
func (q *queue) deadline() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last {
		return q.until
	}
	return time.Now().Add(bound.WriteTime.Duration())
}

func (q *queue) ended() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.over
}
