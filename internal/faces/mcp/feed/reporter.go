// Package feed writes responses that a client waits on: the answer to a call whose
// client wants to be told how far it is, and streams of changes.
//
// It promises that what is written at once stays together, that a peer which takes
// nothing loses its stream after bound.MCPWrite instead of holding anybody up, and
// that a stream is never silent for longer than bound.MCPKeepAlive. It knows no
// message but progress. A Stream may be used by several goroutines; of a Reporter,
// only Hear.
package feed

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Reporter tells a client that waits for its call how far it is, under the token
// that the client gave, in both eras. The response becomes a stream of events with
// the first thing that there is to tell, and ends with the answer; where there is
// nothing, it stays one plain answer. What comes faster than bound.ProgressPause is
// told as the newest of it, so that an upstream costs its caller no more than that.
//
// One lock guards what is newest; the response is the reporter's own goroutine's
// until Halt returns.
type Reporter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	token   strictjson.Raw
	news    chan struct{} // room for one
	over    chan struct{}
	running sync.WaitGroup
	started bool // the response is a stream
	broken  bool // its client takes nothing any more

	mu     sync.Mutex
	newest *invocation.Progress
}

// Report begins to tell of a call under a token, which is JSON; Halt ends it.
func Report(w http.ResponseWriter, token strictjson.Raw) *Reporter {
	r := &Reporter{w: w, control: http.NewResponseController(w), token: token, news: make(chan struct{}, 1), over: make(chan struct{})}
	r.running.Go(r.run)
	return r
}

// Hear takes what an executor says; it does not wait.
func (r *Reporter) Hear(p invocation.Progress) {
	r.mu.Lock()
	r.newest = &p
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Halt tells what is left to tell. After it, the response is the caller's again.
func (r *Reporter) Halt() {
	close(r.over)
	r.running.Wait()
	r.tell()
}

func (r *Reporter) run() {
	beat := time.NewTicker(bound.MCPKeepAlive.Duration())
	defer beat.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-beat.C:
			r.send(alive)
			continue
		case <-r.news:
		}
		r.tell()
		pause := time.NewTimer(bound.ProgressPause.Duration())
		select {
		case <-r.over:
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// tell sends the newest progress, if there is any that was not sent.
func (r *Reporter) tell() {
	r.mu.Lock()
	p := r.newest
	r.newest = nil
	r.mu.Unlock()
	if p == nil {
		return
	}
	b := append([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`), r.token...)
	for _, part := range []struct {
		name  string
		value []byte
	}{{"progress", p.Done}, {"total", p.Total}, {"message", p.Message}} {
		if len(part.value) > 0 {
			b = append(append(b, `,"`+part.name+`":`...), part.value...)
		}
	}
	r.Event(append(b, "}}"...))
}

// Event sends one message. A line end can stand in JSON only as white space, but
// here it would end the event's line.
func (r *Reporter) Event(message []byte) {
	line := bytes.NewBuffer(make([]byte, 0, len(message)+len(eventHead)+2))
	line.WriteString(eventHead)
	for _, c := range message {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		line.WriteByte(c)
	}
	line.WriteString("\n\n")
	r.send(line.Bytes())
}

const eventHead = "event: message\ndata: "

// alive is a comment, which says nothing but that somebody is there.
var alive = []byte(": alive\n\n")

// send gives the client a limited time to take a piece of its stream.
func (r *Reporter) send(piece []byte) {
	if r.broken {
		return
	}
	if !r.started {
		r.started = true
		r.w.Header().Set("Content-Type", "text/event-stream")
		r.w.WriteHeader(http.StatusOK)
	}
	// The connection may serve other requests; a writer without deadlines has none.
	_ = r.control.SetWriteDeadline(time.Now().Add(bound.MCPWrite.Duration()))
	defer func() { _ = r.control.SetWriteDeadline(time.Time{}) }()
	_, err := r.w.Write(piece)
	if err == nil {
		err = r.control.Flush()
	}
	r.broken = err != nil
}

// Started reports whether the response has become a stream, so that the answer has
// to be an Event, too. Call it after Halt.
func (r *Reporter) Started() bool { return r != nil && r.started }
