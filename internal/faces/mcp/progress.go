package mcp

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// reporter tells a client that waits for its call how far it is, under the token
// that the client gave, in both eras. The response becomes a stream of events with
// the first thing that there is to tell, and ends with the answer; where there is
// nothing, it stays one plain answer. What comes faster than bound.ProgressPause is
// told as the newest of it, so that an upstream costs its caller no more than that.
//
// One lock guards what is newest; the response is the reporter's own goroutine's
// until halt returns.
type reporter struct {
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

// progressToken gives what the client wants to be told under, nil for not at all.
func progressToken(p frame.Params) (strictjson.Raw, *frame.Problem) {
	raw, given := p.Meta["progressToken"]
	if !given {
		return nil, nil
	}
	if _, ok := frame.ParseID(raw); !ok {
		return nil, &frame.Problem{Code: frame.BadParams, Message: "a progress token is a string or an integer"}
	}
	return raw, nil
}

// report begins to tell of a call. halt ends it.
func (x *exchange) report(token strictjson.Raw) *reporter {
	r := &reporter{w: x.w, control: http.NewResponseController(x.w), token: token, news: make(chan struct{}, 1), over: make(chan struct{})}
	r.running.Go(r.run)
	return r
}

// hear takes what an executor says; it does not wait.
func (r *reporter) hear(p invocation.Progress) {
	r.mu.Lock()
	r.newest = &p
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// halt tells what is left to tell. After it, the response is the caller's again.
func (r *reporter) halt() {
	close(r.over)
	r.running.Wait()
	r.tell()
}

func (r *reporter) run() {
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
func (r *reporter) tell() {
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
	r.event(append(b, "}}"...))
}

// event sends one message. A line end can stand in JSON only as white space, but
// here it would end the event's line.
func (r *reporter) event(message []byte) {
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
func (r *reporter) send(piece []byte) {
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

// streams reports whether the answer has to be an event, too.
func (x *exchange) streams() bool { return x.reporter != nil && x.reporter.started }
