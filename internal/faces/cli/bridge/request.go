package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The headers of MCP over HTTP.
const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// request sends a request and writes its answer. A call is sent again only after
// the host has said itself that it did not take it.
func (b *bridge) request(ctx context.Context, m message) {
	if m.modern() && !headerSafe(m.name) {
		b.write(failure(m.id, codeParams, "there is no such thing"))
		return
	}
	renewals := 0
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		before := b.current()
		resp, err := b.post(ctx, m)
		switch {
		case ctx.Err() != nil:
			return // given up; nobody waits for an answer
		case err != nil:
			if answer := lost(m, err, wait); answer != nil {
				b.write(answer)
				return
			}
			pause(ctx, wait)
			continue
		case resp.StatusCode == http.StatusNotFound && before != "" && !m.modern() && renewals < mostRenewals:
			resp.Body.Close()
			renewals++
			b.renew(ctx, before)
			continue
		}
		if b.answer(ctx, m, resp) {
			return
		}
		if m.method == methodCall {
			b.write(doubt(m))
			return
		}
		pause(ctx, wait)
	}
}

// The pauses between two attempts to reach the host, and after how many of them
// a client that waits is told that there is none.
const (
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
	givenUp      = 2 * time.Second
)

// mostRenewals is how often one request may find that its session is gone.
const mostRenewals = 3

// lost is what is told of a request that failed, or nil where it may be sent
// again: nothing of it went out, or it is one that only reads.
func lost(m message, err error, waited time.Duration) []byte {
	var unreached *unreachedError
	switch {
	case !errors.As(err, &unreached) && m.method == methodCall:
		return doubt(m)
	case m.method != methodListen && waited > givenUp:
		return down(m)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// headerSafe reports whether a text can stand in a header as it is.
func headerSafe(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// post sends one message in the frame of its era.
func (b *bridge) post(ctx context.Context, m message) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", bytes.NewReader(m.text))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // what has been sent is not sent again
	h := req.Header
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Authorization", "Bearer "+b.token.Reveal())
	b.mu.Lock()
	s := b.session
	if m.modern() {
		b.session.modern = m.version
	}
	b.mu.Unlock()
	switch {
	case m.modern():
		h.Set(versionHeader, m.version)
		h.Set(methodHeader, m.method)
		if m.name != "" {
			h.Set(nameHeader, m.name)
		}
	case s.id != "" && m.method != methodInitialize:
		h.Set(sessionHeader, s.id)
		h.Set(versionHeader, s.version)
	case s.modern != "" && m.id == nil && m.method != "":
		h.Set(versionHeader, s.modern)
		h.Set(methodHeader, m.method)
	}
	return b.http.Do(req)
}

// answer writes what the host says to a request, and reports whether that was an
// answer: a stream may end before it has given one.
func (b *bridge) answer(ctx context.Context, m message, resp *http.Response) bool {
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media == "text/event-stream" && resp.StatusCode == http.StatusOK {
		answered := false
		_ = events(resp.Body, func(data []byte) {
			answered = answered || isAnswer(data)
			b.write(data)
		}) // what it lacks is told below
		return answered || ctx.Err() != nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, bound.AnswerBytes.Max+1))
	if err != nil || bound.AnswerBytes.Check(len(body)) != nil {
		return ctx.Err() != nil
	}
	if resp.StatusCode == http.StatusOK && strictjson.Check(body, answerLimits) == nil {
		b.write(body)
		return true
	}
	if own := refusal(m, resp.StatusCode, body); own != nil {
		b.write(own)
		return true
	}
	return false
}

var answerLimits = strictjson.Limits{Bytes: bound.AnswerBytes, Nodes: bound.ClientFileNodes}

// refusal is a JSON-RPC error of the host under the request's id; one that came
// before the host knew the id has none.
func refusal(m message, status int, body []byte) []byte {
	members, err := strictjson.Members(body, answerLimits)
	if err == nil && members["error"] != nil {
		return []byte(`{"jsonrpc":"2.0","id":` + idOf(m.id) + `,"error":` + string(members["error"]) + `}`)
	}
	if status >= 400 && status < 500 {
		return failure(m.id, codeInternal, "the host refuses: "+http.StatusText(status))
	}
	return nil
}

func isAnswer(data []byte) bool {
	members, err := strictjson.Members(data, answerLimits)
	return err == nil && (members["result"] != nil || members["error"] != nil)
}
