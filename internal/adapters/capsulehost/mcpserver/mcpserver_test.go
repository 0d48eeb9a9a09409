package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/mcpserver"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const limit = time.Minute

// connect gives a conversation with whoever serves the two streams.
func connect(t *testing.T, serve func(in io.Reader, out io.Writer)) (*mcpserver.Server, chan struct{}, chan error) {
	t.Helper()
	toServer, fromHost := io.Pipe()
	toHost, fromServer := io.Pipe()
	changed, ended := make(chan struct{}, 10), make(chan error, 1)
	s := mcpserver.New(fromHost, func() { changed <- struct{}{} })
	go func() { ended <- s.Serve(toHost) }()
	go func() { serve(toServer, fromServer); fromServer.Close(); toServer.Close() }()
	t.Cleanup(func() { fromHost.Close(); toHost.Close() })
	return s, changed, ended
}

// The official server, with pages of two.
func TestTheResourcesOfAServerAreThoseOfTheCapsule(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "docs", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		switch uri := r.Params.URI; uri {
		case "docs:text":
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: "hello"}, {URI: uri + "#2", Blob: []byte{0, 255}}}}, nil
		case "docs:broken":
			return nil, errors.New("the disk is full")
		}
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	for _, name := range []string{"text", "broken", "c", "d", "e"} {
		server.AddResource(&mcp.Resource{URI: "docs:" + name, Name: name, Title: "T", Size: 5, Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5}}, read)
	}
	server.AddResource(&mcp.Resource{URI: "docs:large", Name: "large", Size: 5 << 30}, read)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, changed, _ := connect(t, func(in io.Reader, out io.Writer) {
		_ = server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
	})
	if err := s.Open(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	list, err := s.List(ctx)
	if err != nil || len(list) != 6 || list[0].URI != "docs:broken" || list[4].URI != "docs:large" || list[4].Size != nil || *list[0].Title != "T" || *list[0].Size != 5 || *list[0].Annotations.Priority != 0.5 {
		t.Errorf("%+v, %v", list, err)
	}
	contents, known, err := s.Read(ctx, "docs:text")
	if err != nil || !known || len(contents) != 2 || contents[0].Text.Text != "hello" || string(contents[1].Blob.Blob) != "\x00\xff" {
		t.Errorf("%+v, %v, %v", contents, known, err)
	}
	if _, known, err := s.Read(ctx, "other:x"); known || err != nil {
		t.Errorf("somebody else's: %v, %v", known, err)
	}
	if _, known, err := s.Read(ctx, "docs:broken"); !known || !fault.Is(err, fault.UpstreamFailed) {
		t.Errorf("a failure: %v, %v", known, err)
	}
	server.AddResource(&mcp.Resource{URI: "docs:f", Name: "f"}, read)
	select {
	case <-changed:
	case <-time.After(limit):
		t.Error("a changed list is not told")
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

const hello = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"resources":{}},"serverInfo":{"name":"x","version":"1"}}}`

// script answers the n-th request with the n-th line, and notes what it was asked.
func script(asked chan string, lines ...string) func(io.Reader, io.Writer) {
	return func(in io.Reader, out io.Writer) {
		scan := bufio.NewScanner(in)
		for scan.Scan() {
			asked <- scan.Text()
			if strings.Contains(scan.Text(), `"method":"notifications/`) {
				continue
			}
			if len(lines) == 0 {
				return
			}
			if lines[0] != "" {
				fmt.Fprintln(out, lines[0])
			}
			lines = lines[1:]
		}
	}
}

func TestAHandshakeThatIsNoneIsRefused(t *testing.T) {
	for line, want := range map[string]fault.Code{
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}`: fault.Unsupported,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no"}}`:                                fault.UpstreamFailed,
		`{"jsonrpc":"2.0","id":1,"result":[]}`:                                                           fault.UpstreamFailed,
		`{"jsonrpc":"2.0","id":1}`:                                                                       fault.UpstreamFailed,
		`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`:                                                    fault.Unavailable,
		`hello`: fault.Unavailable,
	} {
		s, _, _ := connect(t, script(make(chan string, 9), line))
		if err := s.Open(t.Context(), "1"); !fault.Is(err, want) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAListIsWholeOrAFault(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"uri":"n:a","name":"a"},`, 257), ",")
	for name, c := range map[string]struct {
		pages []string
		want  int
		code  fault.Code
	}{
		"two pages": {[]string{`{"resources":[{"uri":"n:a","name":"a","new":1}],"nextCursor":"2"}`, `{"resources":[{"uri":"n:b","name":"b"}]}`}, 2, ""},
		"one bad":   {[]string{`{"resources":[{"uri":1},{"uri":"n:b","name":"b"}]}`}, 1, ""},
		"malformed": {[]string{`{"resources":{}}`}, 0, fault.UpstreamFailed}, "a page fails": {[]string{`{"resources":[],"nextCursor":"2"}`, `null`}, 0, fault.UpstreamFailed},
		"too many": {[]string{`{"resources":[` + many + `]}`}, 0, fault.TooLarge},
	} {
		lines := []string{hello}
		for i, page := range c.pages {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i+2, page))
		}
		s, _, _ := connect(t, script(make(chan string, 99), lines...))
		if err := s.Open(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context())
		if len(list) != c.want || (c.code == "") != (err == nil) || err != nil && !fault.Is(err, c.code) {
			t.Errorf("%s: %d, %v", name, len(list), err)
		}
	}
}

func TestWhoGivesUpCallsItOff(t *testing.T) {
	asked := make(chan string, 9)
	s, _, ended := connect(t, script(asked, hello, "", `{"jsonrpc":"2.0","id":3,"result":{"contents":[{"uri":"n:a","text":"x","blob":"eA=="}]}}`))
	if err := s.Open(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Read(ctx, "n:slow")
		done <- err
	}()
	for !strings.Contains(<-asked, "n:slow") {
	}
	cancel()
	if err := <-done; !fault.Is(err, fault.TimedOut) {
		t.Error(err)
	}
	if line := <-asked; !strings.Contains(line, `"notifications/cancelled"`) || !strings.Contains(line, `"requestId":2`) {
		t.Errorf("the server hears %s", line)
	}
	if _, known, err := s.Read(t.Context(), "n:a"); !known || !fault.Is(err, fault.UpstreamFailed) {
		t.Errorf("both arms: %v, %v", known, err)
	}
	if _, _, err := s.Read(t.Context(), "n:b"); !fault.Is(err, fault.Unavailable) { // the script ends here
		t.Error(err)
	}
	if err := <-ended; !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if _, err := s.List(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("after the end: %v", err)
	}
}

func TestTheHostAnswersPingsAndNothingElse(t *testing.T) {
	heard := make(chan string, 9)
	connect(t, func(in io.Reader, out io.Writer) {
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		scan := bufio.NewScanner(in)
		scan.Scan()
		heard <- scan.Text()
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`)
		scan.Scan()
		heard <- scan.Text()
	})
	for _, want := range []string{`{"jsonrpc":"2.0","id":"p","result":{}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"this client offers nothing"}}`} {
		if got := <-heard; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
