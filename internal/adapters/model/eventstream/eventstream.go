// Package eventstream asks an HTTP endpoint one question and reads the answer as
// a stream of server-sent events.
//
// It promises that nothing is unbounded: the question, an event, the whole answer
// and the body of a refusal in bytes, the first byte, each silence and the whole
// answer in time (the model rows of the bound table). It follows no redirect,
// uses no proxy, whatever the environment says, and asks once: it never repeats
// a question. A key goes over https or to this machine. It does not read what
// events say, and it is not the egress of untrusted origins: the base URL is the
// operator's own.
//
// Faults: unavailable where nobody answered in time, upstream_failed for a
// refusal or a broken stream, and those of the bounds. What the endpoint wrote is
// in the cause, for the log, without the key. A Client is safe for concurrent
// use; a Stream belongs to one goroutine.
package eventstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Client speaks to one endpoint.
type Client struct {
	url    string
	key    secret.Secret
	header http.Header
	http   *http.Client
}

const (
	connectTime = 30 * time.Second
	headerBytes = 64 << 10
	idleTime    = 90 * time.Second
	idleConns   = 8
)

// New returns a client of base plus path. The header goes with every question;
// keyed names the member that carries the key, with what stands before it. The
// fault is invalid_request.
func New(base, path string, header http.Header, keyed, before string, key secret.Secret) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fault.New(fault.InvalidRequest, "the model's base URL must be http(s)://host[/path]").Because(err)
	}
	if u.Scheme == "http" && !key.IsZero() && !thisMachine(u.Hostname()) {
		return nil, fault.New(fault.InvalidRequest, "a model that needs a key must be asked over https, or on this machine")
	}
	h := header.Clone()
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	if !key.IsZero() {
		h.Set(keyed, before+key.Reveal())
	}
	dialer := &net.Dialer{Timeout: connectTime}
	transport := &http.Transport{
		Proxy: nil, DialContext: dialer.DialContext, TLSHandshakeTimeout: connectTime, DisableCompression: true,
		ResponseHeaderTimeout: bound.ModelFirstByte.Duration(), MaxResponseHeaderBytes: headerBytes,
		MaxIdleConnsPerHost: idleConns, IdleConnTimeout: idleTime, ForceAttemptHTTP2: true,
	}
	return &Client{
		url: strings.TrimSuffix(u.String(), "/") + path, key: key, header: h,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

func thisMachine(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Close lets go of the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Stream is one answer on its way.
type Stream struct {
	events *Reader
	body   io.ReadCloser
	client *Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	quiet  *time.Timer
	over   context.CancelFunc
}

var (
	errSilent = errors.New("the model was silent for too long")
	errLong   = errors.New("the model's answer took too long")
)

// Ask sends a question and returns the stream of its answer, which the caller
// closes.
func (c *Client) Ask(ctx context.Context, question []byte) (*Stream, error) {
	if err := bound.ModelRequestBytes.Check(len(question)); err != nil {
		return nil, err
	}
	ctx, over := context.WithTimeoutCause(ctx, bound.ModelAnswer.Duration(), errLong)
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Stream{client: c, ctx: ctx, cancel: cancel, over: over}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(question))
	if err != nil {
		s.end()
		return nil, fault.New(fault.Internal, "the model could not be asked").Because(err)
	}
	request.Header = c.header.Clone()
	answer, err := c.http.Do(request)
	if err != nil {
		defer s.end()
		return nil, s.unreached(err)
	}
	if kind, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); answer.StatusCode != http.StatusOK || err != nil || kind != "text/event-stream" {
		defer s.end()
		return nil, c.refused(answer)
	}
	s.body = answer.Body
	s.quiet = time.AfterFunc(bound.ModelSilence.Duration(), func() { cancel(errSilent) })
	s.events = NewReader(heard{s})
	return s, nil
}

// heard restarts the silence at every read.
type heard struct{ *Stream }

func (h heard) Read(p []byte) (int, error) {
	n, err := h.body.Read(p)
	if n > 0 {
		h.quiet.Reset(bound.ModelSilence.Duration())
	}
	return n, err
}

// Next gives the next event, or io.EOF at the end of the stream.
func (s *Stream) Next() (Event, error) {
	e, err := s.events.Next()
	var f *fault.Fault
	switch {
	case err == nil, errors.Is(err, io.EOF) && s.ctx.Err() == nil, errors.As(err, &f):
		return e, err
	}
	return Event{}, s.unreached(err)
}

// Close ends the answer, whether or not it was read.
func (s *Stream) Close() {
	s.quiet.Stop()
	s.end()
	_ = s.body.Close() // the answer is not needed any more
}

func (s *Stream) end() {
	s.cancel(nil)
	s.over()
}

// unreached is the fault of an endpoint that does not answer, or not on. A caller
// that gave up gets its own reason back.
func (s *Stream) unreached(err error) error {
	cause := context.Cause(s.ctx)
	switch {
	case errors.Is(cause, errSilent), errors.Is(cause, errLong):
		return fault.New(fault.Unavailable, cause.Error()).Because(err)
	case s.ctx.Err() != nil:
		return cause
	case s.body != nil:
		return fault.New(fault.UpstreamFailed, "the model's answer broke off").Because(err)
	}
	return fault.New(fault.Unavailable, "the model could not be reached").Because(err)
}

// refused is the fault of an answer that is no stream.
func (c *Client) refused(answer *http.Response) error {
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, bound.ModelErrorBytes.Max)) // for the log; what came is enough
	text := string(said)
	if !c.key.IsZero() {
		text = strings.ReplaceAll(text, c.key.Reveal(), "[key]")
	}
	f := fault.Newf(fault.UpstreamFailed, "the model answered with status %d", answer.StatusCode)
	if answer.StatusCode == http.StatusOK {
		f = fault.New(fault.UpstreamFailed, "the model answered with something else than a stream")
	}
	return f.Because(errors.New(secret.Mask(text)))
}
