package bridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// session is what the bridge keeps of a client that has one: the first messages
// of the client, to open it again, and what the host calls it.
type session struct {
	id, version   string
	first, second message // initialize and notifications/initialized
	modern        string  // the revision of the last request that stands alone
}

func (b *bridge) current() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session.id
}

// open passes initialize on and keeps it.
func (b *bridge) open(ctx context.Context, m message) {
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		id, body, err := b.initialize(ctx, m)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			b.mu.Lock()
			b.session.id, b.session.version, b.session.first = id, versionOf(body), m
			b.mu.Unlock()
			b.write(body)
			return
		case errors.Is(err, errRefused):
			b.write(body)
			return
		case wait > givenUp:
			b.write(down(m))
			return
		}
		pause(ctx, wait)
	}
}

var errRefused = errors.New("the host refuses a session")

// initialize asks for a session and gives its id and the host's answer.
func (b *bridge) initialize(ctx context.Context, m message) (id string, body []byte, err error) {
	resp, err := b.post(ctx, m)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	var last []byte
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		err = events(resp.Body, func(data []byte) { last = bytes.Clone(data) })
	} else {
		last, err = io.ReadAll(io.LimitReader(resp.Body, bound.AnswerBytes.Max))
	}
	if err != nil {
		return "", nil, err
	}
	id = resp.Header.Get(sessionHeader)
	if resp.StatusCode != http.StatusOK || id == "" {
		if own := refusal(m, resp.StatusCode, last); own != nil {
			return "", own, errRefused
		}
		return "", failure(m.id, codeInternal, "the host opens no session"), errRefused
	}
	return id, last, nil
}

func versionOf(body []byte) string {
	members, _ := strictjson.Members(body, answerLimits)
	result, _ := strictjson.Members(members["result"], answerLimits)
	return text(result["protocolVersion"])
}

// begin passes on that the client is ready, and listens to what the host has to
// tell it from now on.
func (b *bridge) begin(ctx context.Context, m message) {
	b.mu.Lock()
	b.session.second = m
	listening := b.session.id != ""
	b.mu.Unlock()
	if resp, err := b.post(ctx, m); err == nil {
		resp.Body.Close()
	}
	if listening {
		b.streams.Go(func() { b.listen(ctx) })
	}
}

// renew opens the session anew, unless somebody has done so since before was the
// session. The client hears that its tools may be others now.
func (b *bridge) renew(ctx context.Context, before string) {
	b.renewing.Lock()
	defer b.renewing.Unlock()
	b.mu.Lock()
	s := b.session
	b.mu.Unlock()
	if s.id != before || s.first.text == nil {
		return
	}
	id, body, err := b.initialize(ctx, s.first)
	if err != nil {
		return // whoever needs the session asks again
	}
	b.mu.Lock()
	b.session.id, b.session.version = id, versionOf(body)
	b.mu.Unlock()
	if s.second.text != nil {
		if resp, err := b.post(ctx, s.second); err == nil {
			resp.Body.Close()
		}
	}
	for _, what := range []string{"tools", "resources"} {
		b.write([]byte(`{"jsonrpc":"2.0","method":"notifications/` + what + `/list_changed"}`))
	}
}

// listen passes on what the host says without being asked, over restarts of it.
func (b *bridge) listen(ctx context.Context) {
	for wait := firstPause; ctx.Err() == nil; wait = min(2*wait, longestPause) {
		before, began := b.current(), time.Now()
		resp, err := b.stream(ctx)
		if err == nil {
			switch resp.StatusCode {
			case http.StatusOK:
				_ = events(resp.Body, b.write) // it is opened again
			case http.StatusNotFound:
				b.renew(ctx, before)
			case http.StatusMethodNotAllowed, http.StatusUnauthorized:
				resp.Body.Close()
				return
			}
			resp.Body.Close()
		}
		if time.Since(began) > longestPause {
			wait = firstPause
		}
		pause(ctx, wait)
	}
}

func (b *bridge) stream(ctx context.Context) (*http.Response, error) {
	return b.bare(ctx, http.MethodGet)
}

// bare sends a request without a body in the session.
func (b *bridge) bare(ctx context.Context, method string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost/mcp", nil)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	s := b.session
	b.mu.Unlock()
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+b.token.Reveal())
	req.Header.Set(sessionHeader, s.id)
	req.Header.Set(versionHeader, s.version)
	return b.http.Do(req)
}

// leave ends the session, so that the host need not wait for its time.
func (b *bridge) leave(ctx context.Context) {
	if b.current() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if resp, err := b.bare(ctx, http.MethodDelete); err == nil {
		resp.Body.Close()
	}
}

// events reads a stream of server-sent events and hands on the data of each. The
// error is of a stream that was cut, or of an event over bound.AnswerBytes.
func events(in io.Reader, each func(data []byte)) error {
	r := bufio.NewReader(in)
	var data []byte
	for {
		l, err := eventLine(r)
		if err != nil {
			return err
		}
		switch rest, isData := bytes.CutPrefix(l, []byte("data:")); {
		case len(l) == 0:
			if len(data) > 0 {
				each(data)
			}
			data = nil
		case isData:
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
			if err := bound.AnswerBytes.Check(len(data)); err != nil {
				return err
			}
		}
	}
}

func eventLine(r *bufio.Reader) (l []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		l = append(l, part...)
		if bad := bound.AnswerBytes.Check(len(l)); bad != nil {
			return nil, bad
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trim(l), err
		}
	}
}
