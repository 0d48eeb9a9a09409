package feed

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// Private keeps every cache from holding or sharing an answer (threats, A58).
func Private(h http.Header) {
	h.Set("Cache-Control", "private, no-store, no-transform")
	h.Set("Vary", "Authorization")
}

// Stream stands between the SDK and a response: answers stay private, and a
// peer that stops reading loses its stream instead of holding up those of the
// same app. A stream that is kept open carries a comment each bound.MCPKeepAlive, so
// that nobody on the way takes it for dead (field faults, FF48).
//
// The lock is held for each write; the SDK makes one of each event.
type Stream struct {
	http.ResponseWriter
	control *http.ResponseController // set for what is kept open
	opened  func() []byte            // see Open

	mu     sync.Mutex
	status int // zero before the header
}

// Guard is for an answer that comes in one piece.
func Guard(w http.ResponseWriter) *Stream { return &Stream{ResponseWriter: w} }

// Open is for a response that is kept open. opened, if not nil, is called once the
// stream takes what is announced; it returns what comes first.
func Open(w http.ResponseWriter, opened func() []byte) *Stream {
	return &Stream{ResponseWriter: w, control: http.NewResponseController(w), opened: opened}
}

// Rest gives the connection back its time, since it may serve other requests; a
// writer without deadlines has none.
func (s *Stream) Rest() { _ = s.control.SetWriteDeadline(time.Time{}) }

// Unwrap lets the SDK set deadlines.
func (s *Stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// FlushError lets the SDK flush.
func (s *Stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// Beat keeps a stream alive until it is over; one that takes nothing any more is
// ended.
func (s *Stream) Beat(over <-chan struct{}, end func()) {
	tick := time.NewTicker(bound.MCPKeepAlive.Duration())
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if s.say(alive) != nil {
			end()
			return
		}
	}
}

// say writes a comment into a stream that has begun.
func (s *Stream) say(comment []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != http.StatusOK || !strings.HasPrefix(s.Header().Get("Content-Type"), "text/event-stream") {
		return nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(bound.MCPWrite.Duration()))
	if _, err := s.ResponseWriter.Write(comment); err != nil {
		return err
	}
	return s.control.Flush()
}

// WriteHeader replaces what the SDK says about caches.
func (s *Stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status)
}

func (s *Stream) begin(status int) {
	s.status = status
	Private(s.Header())
	s.ResponseWriter.WriteHeader(status)
}

// Write gives a stream's peer a limited time to take each piece.
func (s *Stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == 0 {
		s.begin(http.StatusOK)
	}
	if s.control != nil {
		// A writer without deadlines has nobody to wait for.
		_ = s.control.SetWriteDeadline(time.Now().Add(bound.MCPWrite.Duration()))
	}
	n, err := s.ResponseWriter.Write(b)
	if opened := s.opened; opened != nil && s.status == http.StatusOK {
		// The SDK holds the stream's lock here, so nothing overtakes what is missed.
		s.opened = nil
		if _, err := s.ResponseWriter.Write(opened()); err != nil {
			return n, err
		}
	}
	return n, err
}
