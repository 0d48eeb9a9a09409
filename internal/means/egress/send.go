package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Request is one request. Its headers are the caller's choice and go out as they
// are; the Host is the target's.
type Request struct {
	Method string
	Target Target
	Header http.Header
	Body   []byte
	Began  func() // called once, when the first byte is about to go out; may be nil
}

// Response is the one answer to a request. Close must be called; it ends the
// connection.
type Response struct {
	Status int
	Header http.Header
	Body   io.ReadCloser
	ctx    context.Context
}

// Context is the one that Send was given.
func (r *Response) Context() context.Context { return r.ctx }

// Close ends the connection.
func (r *Response) Close() { _ = r.Body.Close() }

// ErrLong is what Read gives for a body that is over its bound.
var ErrLong = errors.New("the body is over its bound")

// Read reads the whole body, at most so many bytes of it.
func (r *Response) Read(most int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	if len(body) > most {
		return nil, ErrLong
	}
	return body, err
}

// ErrCoded says that a response was compressed, which nobody had asked for.
var ErrCoded = errors.New("the answer has a content encoding")

// Send makes one connection, sends one request and reads the head of its answer.
// The time for all of it, and for the body, is the context's. went reports whether
// a byte of the request may have gone out; while it is false, the error is a fault
// of the way. Redirects and challenges are answers like others.
func (g *Gate) Send(ctx context.Context, r Request) (answer *Response, went bool, err error) {
	conn, err := g.dial(ctx, r.Target)
	if err != nil {
		return nil, false, err
	}
	w := &wire{Conn: conn, began: r.Began}
	// The body is no type that net/http could rewind, so nothing is sent twice.
	req, err := http.NewRequestWithContext(ctx, r.Method, r.Target.url.String(), struct{ io.Reader }{bytes.NewReader(r.Body)})
	if err != nil {
		_ = conn.Close() // nothing went over it
		return nil, false, fault.New(fault.InvalidRequest, "the request cannot be written").Because(err)
	}
	req.ContentLength, req.Close = int64(len(r.Body)), true
	if r.Header != nil {
		req.Header = r.Header
	}
	if len(r.Body) == 0 {
		req.Body = nil
	}
	resp, err := transport(w).RoundTrip(req)
	switch {
	case err != nil && !w.cut():
		return nil, false, fault.Newf(fault.Unavailable, "nothing could be sent to %s", r.Target.origin).Because(err)
	case err != nil:
		return nil, true, err
	case resp.Header.Values("Content-Encoding") != nil:
		_ = resp.Body.Close() // it is not read
		return nil, true, ErrCoded
	}
	return &Response{resp.StatusCode, resp.Header, resp.Body, ctx}, true, nil
}

// transport speaks HTTP/1.1 over one connection, once.
func transport(w *wire) *http.Transport {
	var only http.Protocols
	only.SetHTTP1(true)
	give := func(context.Context, string, string) (net.Conn, error) {
		if w.given.Swap(true) {
			return nil, errSecond
		}
		return w, nil
	}
	return &http.Transport{
		DialContext: give, DialTLSContext: give, Protocols: &only,
		DisableKeepAlives: true, DisableCompression: true,
		MaxResponseHeaderBytes: bound.EgressHeaderBytes.Max,
	}
}

var errSecond = errors.New("a request has one connection")

// wire is a connection that remembers whether anything was written to it.
type wire struct {
	net.Conn
	given, wrote atomic.Bool
	began        func()
}

// cut ends the connection and reports whether anything was written to it. Nothing can
// be any more: it is closed before it is looked at.
func (w *wire) cut() bool {
	_ = w.Close() // what comes of it says nothing about the writes before
	return w.wrote.Load()
}

func (w *wire) Write(p []byte) (int, error) {
	if !w.wrote.Swap(true) && w.began != nil {
		w.began()
	}
	return w.Conn.Write(p)
}
