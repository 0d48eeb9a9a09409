// Package mcpserver speaks MCP with a server that has resources, so that it can be a
// capsule: resources/list and resources/read become describe and read.
//
// It promises: one conversation, opened with the handshake of revision
// 2025-06-18; every line is bounded and read strictly, but for members that a
// newer server may have; a list is all pages or an error; one resource that is
// malformed spoils no other; a read that the server does not know is nobody's
// answer and any other failure is an error; a call whose context ends is called
// off at the server. It does not promise that the server tells the truth.
//
// Bounds: bound.UpstreamLineBytes a line, bound.ReplyDefinitions resources,
// bound.ListingPages pages. A Server is safe for concurrent use: one lock guards
// the open calls and one the output. Serve must run, and ends with the input.
package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Revision is what the handshake asks for.
const Revision = "2025-06-18"

// Server is the other end of one conversation.
type Server struct {
	changed func()

	writing sync.Mutex
	out     io.Writer

	mu    sync.Mutex
	next  int64
	open  map[string]chan message // by id
	ended error
}

// New is a conversation over two streams. changed is called when the server says
// that its list is another one; it must not block.
func New(out io.Writer, changed func()) *Server {
	return &Server{changed: changed, out: out, open: map[string]chan message{}}
}

// message is any line of the server.
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      strictjson.Raw `json:"id"`
	Method  string         `json:"method"`
	Result  strictjson.Raw `json:"result"`
	Error   *failure       `json:"error"`
	Params  strictjson.Raw `json:"params"`
}

type failure struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

type request struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      strictjson.Raw `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  any            `json:"params,omitzero"`
	Result  any            `json:"result,omitzero"`
	Error   *failure       `json:"error,omitzero"`
}

type empty struct{}

// lines bounds what a server may write at once.
var lines = strictjson.Limits{Bytes: bound.UpstreamLineBytes}

// Serve reads what the server says until its output ends, breaks the wire, or
// cannot be answered.
func (s *Server) Serve(in io.Reader) error {
	err := s.read(in)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = err
	for id, waiting := range s.open {
		close(waiting)
		delete(s.open, id)
	}
	return err
}

func (s *Server) read(in io.Reader) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 0, 4096), bound.UpstreamLineBytes.Int())
	for scan.Scan() {
		var m message
		if err := strictjson.DecodeReply(scan.Bytes(), lines, &m); err != nil {
			return fault.New(fault.UpstreamFailed, "the server wrote something that is no message: "+fault.From(err).Text).Because(err)
		}
		if err := s.take(m); err != nil {
			return err
		}
	}
	if errors.Is(scan.Err(), bufio.ErrTooLong) {
		return bound.UpstreamLineBytes.Exceeded()
	}
	return fault.New(fault.Unavailable, "the server ended")
}

func (s *Server) take(m message) error {
	switch {
	case m.Method != "" && m.ID != nil:
		answer := request{JSONRPC: "2.0", ID: m.ID, Result: empty{}}
		if m.Method != "ping" {
			answer.Result, answer.Error = nil, &failure{-32601, "this client offers nothing"}
		}
		return s.send(answer)
	case m.Method == "notifications/resources/list_changed":
		s.changed()
	case m.Method == "" && m.ID != nil:
		s.mu.Lock()
		waiting := s.open[string(m.ID)]
		delete(s.open, string(m.ID))
		s.mu.Unlock()
		if waiting != nil {
			waiting <- m // has room for the one answer
		}
	}
	return nil
}

func (s *Server) send(r request) error {
	line, err := strictjson.Encode(r)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		return fault.New(fault.Unavailable, "the server does not read").Because(err)
	}
	return nil
}

// call asks once and waits for the answer. The server's own refusal is the second
// result.
func (s *Server) call(ctx context.Context, method string, params any) (strictjson.Raw, *failure, error) {
	answer := make(chan message, 1)
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		return nil, nil, s.ended
	}
	s.next++
	id := strconv.FormatInt(s.next, 10)
	s.open[id] = answer
	s.mu.Unlock()
	if err := s.send(request{JSONRPC: "2.0", ID: strictjson.Raw(id), Method: method, Params: params}); err != nil {
		return nil, nil, err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, nil, fault.New(fault.Unavailable, "the server ended")
		case m.Error == nil && m.Result == nil:
			return nil, nil, fault.New(fault.UpstreamFailed, "the server answered with neither a result nor an error")
		}
		return m.Result, m.Error, nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.open, id)
		s.mu.Unlock()
		gone := map[string]any{"requestId": strictjson.Raw(id), "reason": "nobody waits any more"}
		_ = s.send(request{JSONRPC: "2.0", Method: "notifications/cancelled", Params: gone}) // it ends all the same
		return nil, nil, fault.New(fault.TimedOut, "the server did not answer in time").Because(context.Cause(ctx))
	}
}

// Open makes the handshake. A server without resources is refused.
func (s *Server) Open(ctx context.Context, version string) error {
	params := map[string]any{"protocolVersion": Revision, "capabilities": empty{}, "clientInfo": map[string]string{"name": "steward", "version": version}}
	result, refused, err := s.call(ctx, "initialize", params)
	if err != nil {
		return err
	}
	if refused != nil {
		return fault.New(fault.UpstreamFailed, "the server refuses the handshake: "+refused.Message)
	}
	var hello struct {
		Version      string                    `json:"protocolVersion"`
		Capabilities map[string]strictjson.Raw `json:"capabilities"`
	}
	if err := strictjson.DecodeReply(result, lines, &hello); err != nil {
		return fault.New(fault.UpstreamFailed, "the server's handshake is malformed").Because(err)
	}
	if hello.Capabilities["resources"] == nil {
		return fault.New(fault.Unsupported, "the server has no resources")
	}
	return s.send(request{JSONRPC: "2.0", Method: "notifications/initialized"})
}
