// Package unixsocket is the door of the session daemon: protocol version 2 on a
// Unix socket (sessions page; guide).
//
// It cuts a connection into records, holds each to the envelope and to the one
// table of methods in the order of the sessions page, and hands what is left to
// the coordinator as a command; answers and events go out through a queue that
// never waits for a peer. A peer that does not read, or sends no record that is
// one, loses its connection and nothing else.
//
// Bounds: the connection, record and queue rows of the bound table. It promises
// nothing about who holds a connection beyond the user that localsocket has let in.
package unixsocket

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/sessions"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// About is what the daemon tells of itself.
type About struct {
	Version   string
	Workspace string // canonical
	StateRoot string // canonical
}

// Server serves connections for one coordinator. Make it with New.
type Server struct {
	service  *sessions.Service
	about    About
	log      *slog.Logger
	methods  map[string]sessionwire.Method
	handlers map[string]handler

	serving sync.WaitGroup
	mu      sync.Mutex
	conns   map[*conn]bool // true once initialized
	over    bool
}

// New returns a server that has no connection yet.
func New(service *sessions.Service, about About, log *slog.Logger) *Server {
	s := &Server{service: service, about: about, log: log, methods: map[string]sessionwire.Method{}, handlers: handlers(), conns: map[*conn]bool{}}
	for _, m := range sessionwire.Methods() {
		s.methods[m.Name] = m
	}
	return s
}

// acceptPause is how long Serve waits where the process has no descriptor left.
const acceptPause = 50 * time.Millisecond

// Door is where connections come from. Retire lets nobody in any more.
type Door interface {
	Accept() (net.Conn, error)
	Retire() error
}

// Serve accepts connections until ctx has ended or nobody is let in any more. It
// retires the door, whose name the daemon has until it has ended its work; Close
// ends the connections.
func (s *Server) Serve(ctx context.Context, d Door) error {
	stop := context.AfterFunc(ctx, func() { _ = d.Retire() })
	defer stop()
	for {
		accepted, err := d.Accept()
		switch {
		case err == nil:
			s.Take(accepted)
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return nil
		default:
			s.log.Warn("a connection could not be accepted", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
		}
	}
}

// Take serves one connection of a peer that may use the daemon. One too many is
// told so and closed.
func (s *Server) Take(accepted net.Conn) {
	c := &conn{server: s, id: sessions.NewConnection(), net: accepted, log: s.log, view: view{about: s.about}, open: map[string]bool{}}
	c.out = newQueue(accepted, c.answered)
	s.serving.Add(1)
	if f := s.enter(c); f != nil {
		go func() {
			defer s.serving.Done()
			c.refuse(sessionwire.Request{}, f)
			c.out.close(true)
			c.out.run()
		}()
		return
	}
	go func() {
		defer s.serving.Done()
		defer s.leave(c)
		c.serve()
	}()
}

func (s *Server) enter(c *conn) *fault.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := 0
	for _, initialized := range s.conns {
		if !initialized {
			fresh++
		}
	}
	switch {
	case s.over:
		return fault.New(fault.ShuttingDown, "the daemon is stopping")
	case bound.Connections.Check(len(s.conns)+1) != nil:
		return bound.Connections.Exceeded()
	case bound.Uninitialized.Check(fresh+1) != nil:
		return bound.Uninitialized.Exceeded()
	}
	s.conns[c] = false
	return nil
}

func (s *Server) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// greeted notes that a connection is initialized.
func (s *Server) greeted(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
}

// Close ends every connection, once what is queued for it is written, and waits for
// them. The coordinator should have been closed before.
func (s *Server) Close() {
	s.mu.Lock()
	s.over = true
	for c := range s.conns {
		c.out.close(true)
	}
	s.mu.Unlock()
	s.serving.Wait()
}
