package sessionlog

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// memory is what an opener knows of a session's file without reading it. The stream
// that is open owns it, else the store; it counts while the file is the one that it
// was made of.
type memory struct {
	recent *transcript.Recent
	seq    int64 // of the newest record
	size   int64 // bytes that are whole
	file   os.FileInfo
}

// still reports whether a file is as the memory knows it.
func (m *memory) still(now os.FileInfo) bool {
	return os.SameFile(m.file, now) && now.Size() == m.size && m.file.ModTime().Equal(now.ModTime())
}

// shelf keeps the memories of the sessions that were closed last.
type shelf struct {
	memories map[string]*memory
	order    []string // oldest first
}

// put keeps a memory, in the place of the oldest where there is no room.
func (h *shelf) put(session string, m *memory) {
	h.take(session)
	if bound.LogRecalled.Check(len(h.order)+1) != nil {
		h.take(h.order[0])
	}
	h.memories[session] = m
	h.order = append(h.order, session)
}

// take gives a memory away, or nil.
func (h *shelf) take(session string) *memory {
	m := h.memories[session]
	if m != nil {
		delete(h.memories, session)
		h.order = slices.DeleteFunc(h.order, func(s string) bool { return s == session })
	}
	return m
}

// gate lets those of this process open a session one after the other, so that none
// of them finds the lease with another who has it for a moment.
type gate struct {
	seat  chan struct{} // holds one
	users int           // who have entered or wait; under the store's lock
}

// enter waits at a session's gate. What it gives leaves it again.
func (s *Store) enter(session string) (leave func()) {
	s.mu.Lock()
	g := s.gates[session]
	if g == nil {
		g = &gate{seat: make(chan struct{}, 1)}
		s.gates[session] = g
	}
	g.users++
	s.mu.Unlock()
	g.seat <- struct{}{}
	return func() {
		<-g.seat
		s.mu.Lock()
		defer s.mu.Unlock()
		if g.users--; g.users == 0 {
			delete(s.gates, session)
		}
	}
}

// Mend ends what a dead daemon left open in a session, so that whoever reads it sees
// the truth. Where a writer has the lease it is session_busy: that one has done it.
func (s *Store) Mend(_ context.Context, session string) error {
	defer s.enter(session)()
	stream, _, err := s.take(session)
	if err == nil {
		return stream.Close()
	}
	if !fault.Is(err, fault.SessionBusy) && !fault.Is(err, fault.UnknownSession) {
		s.log.Error("what a dead daemon may have left in a session could not be ended", "session", session, "err", err, "cause", errors.Unwrap(err))
	}
	return err
}
