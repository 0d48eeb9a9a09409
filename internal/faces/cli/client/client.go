// Package client speaks to the running host over its admin socket, which must be
// this user's own. A request goes out at most once: what its answer leaves open is
// said by the error.
//
// Answers are bounded by bound.AnswerBytes. A Client is safe for concurrent use.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"

	"github.com/stewardhost/steward/internal/faces/cli/socket"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// ErrUnsafe says that the host's socket is not the user's own, or that others
// can reach it, so that nothing was sent.
var ErrUnsafe = socket.ErrUnsafe

// Client speaks to the running host over its admin socket. It is safe for
// concurrent use.
type Client struct {
	http   *http.Client
	socket string
}

// Dial returns a client of the host that listens at a socket. It connects with
// the first call.
func Dial(path string) *Client {
	c := &Client{socket: path}
	c.http = &http.Client{
		Transport:     &http.Transport{DialContext: c.dial, DisableCompression: true, MaxIdleConns: 1},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Close ends the connections that no call uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call sends one request and returns its reply. A refusal of the host is a
// *fault.Fault as the host made it; where no host runs it is Unavailable, which
// says that nothing was sent. Any other error of a method that changes something
// leaves open whether it did.
func Call[Req, Rep any](ctx context.Context, c *Client, m adminwire.Method[Req, Rep], req Req) (Rep, error) {
	var rep Rep
	body, err := strictjson.Encode(req)
	if err != nil { // nothing else of what was typed has no form in JSON
		return rep, fault.New(fault.InvalidRequest, "what was typed is not text in UTF-8").Because(err)
	}
	status, answer, err := c.post(ctx, m.Path(), body)
	if err != nil {
		return rep, err
	}
	if status != http.StatusOK {
		return rep, failureOf(status, answer)
	}
	if err := strictjson.DecodeReply(answer, answerLimits, &rep); err != nil {
		return rep, fmt.Errorf("the host answers in a form that this program does not know; are both of one version? (%s)", fault.From(err).Text)
	}
	return rep, nil
}

// answerLimits leaves as many nodes as an answer of bound.AnswerBytes can hold.
var answerLimits = strictjson.Limits{Bytes: bound.AnswerBytes, Nodes: bound.Row{
	Key: bound.JSONNodes.Key, Max: bound.AnswerBytes.Max, Unit: bound.Count, Code: bound.JSONNodes.Code,
}}

func (c *Client) post(ctx context.Context, path string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://steward"+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // a person did not type a URL
	}
	var f *fault.Fault
	switch {
	case errors.As(err, &f):
		return 0, nil, f
	case errors.Is(err, ErrUnsafe):
		return 0, nil, err
	case err != nil:
		return 0, nil, fmt.Errorf("the host ended before it answered: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, bound.AnswerBytes.Max+1))
	if err != nil {
		return 0, nil, fmt.Errorf("the host ended before it answered: %w", err)
	}
	return resp.StatusCode, answer, nil
}

func failureOf(status int, answer []byte) error {
	var failure adminwire.Failure
	if err := strictjson.DecodeReply(answer, answerLimits, &failure); err != nil {
		return fmt.Errorf("the host answers with HTTP status %d and nothing that this program knows", status)
	}
	f := fault.New(fault.Code(failure.Error.Code), failure.Error.Message)
	for name, value := range failure.Error.Details {
		f = f.With(name, value)
	}
	return f
}

func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	switch err := socket.Check(c.socket); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notRunning()
	case err != nil:
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", c.socket)
	if err != nil && ctx.Err() == nil {
		return nil, notRunning().Because(err)
	}
	return conn, err
}

func notRunning() *fault.Fault {
	return fault.New(fault.Unavailable, "no host is running here").With("fix", "steward up")
}
