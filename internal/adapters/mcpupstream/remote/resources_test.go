package remote_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// reads answers for resources; everything else is as in the era.
func reads(read func(conn net.Conn, g got)) func(net.Conn, got) bool {
	return func(conn net.Conn, g got) bool {
		switch g.Method {
		case "resources/list":
			result(conn, g, `{"resources":[{"uri":"a:1","name":"one"}]}`)
		case "resources/read":
			read(conn, g)
		default:
			return false
		}
		return true
	}
}

func says(text string) func(net.Conn, got) {
	return func(conn net.Conn, g got) { result(conn, g, text) }
}

// One message a read, in both eras; what is over a bound, broken or refused is a
// fault, and the session goes on.
func TestReadingOverHTTP(t *testing.T) {
	blob := func(n int) string {
		return `{"contents":[{"uri":"a","blob":"` + base64.StdEncoding.EncodeToString(make([]byte, n)) + `"}]}`
	}
	refused := func(status, code int) func(net.Conn, got) {
		return func(conn net.Conn, g got) {
			reply(conn, status, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, g.ID, code))
		}
	}
	for _, modern := range []bool{false, true} {
		for name, c := range map[string]struct {
			read func(net.Conn, got)
			want []answer.Content
			code fault.Code
			text string
		}{
			"JSON": {says(`{"contents":[{"uri":"é","text":"x"}]}`), []answer.Content{{URI: "é", Text: "x"}}, "", ""},
			"events": {func(conn net.Conn, g got) {
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"contents\":[]}}\n\n", g.ID)
			}, nil, "", ""},
			"most":               {says(blob(bound.ReadContentBytes.Int())), []answer.Content{{URI: "a", Blob: make([]byte, bound.ReadContentBytes.Int())}}, "", ""},
			"one more":           {says(blob(bound.ReadContentBytes.Int() + 1)), nil, fault.TooLarge, "read_content_bytes is limited to 524288 bytes"},
			"more than is read":  {says(blob(2 << 20)), nil, fault.TooLarge, "resources/read: read_answer_bytes is limited to 1048576 bytes"},
			"not there":          {refused(200, -32002), nil, fault.NotFound, "the server has no such resource"},
			"not there, by HTTP": {refused(400, -32602), nil, fault.NotFound, "the server has no such resource"},
			"fails":              {refused(200, -32603), nil, fault.UpstreamFailed, "resources/read: -32603: no"},
			"HTTP fails":         {func(conn net.Conn, _ got) { reply(conn, 500, "", "") }, nil, fault.Unavailable, "resources/read: HTTP 500"},
			"cut off": {func(conn net.Conn, _ got) {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{")
			}, nil, fault.Unavailable, "resources/read: the server closed the connection before its answer was whole"},
		} {
			s := start(t, &server{modern: modern, other: reads(c.read)})
			client := opened(t, s.url())
			got, err := client.ReadResource(t.Context(), "é")
			if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.code == "") || err != nil && (fault.From(err).Code != c.code || fault.From(err).Text != c.text) {
				t.Errorf("%s, modern %v: %v\n%s", name, modern, err, diff)
			}
			asked := s.requests("resources/read")
			header := map[bool]string{true: "=?base64?w6k=?="}[modern]
			if len(asked) != 1 || asked[0].Header.Get("Mcp-Name") != header {
				t.Errorf("%s, modern %v: asked %d times, named %q", name, modern, len(asked), asked[0].Header.Get("Mcp-Name"))
			}
			if all, err := client.Resources(t.Context()); err != nil || len(all) != 1 {
				t.Errorf("%s, modern %v: the session is of no more use: %v", name, modern, err)
			}
		}
	}
}

// Who gives up is gone at once, and the server hears of it: by a notice where there
// is a session, and by the end of the connection where there is none.
func TestAReaderThatGivesUp(t *testing.T) {
	for _, modern := range []bool{false, true} {
		asked, ended := make(chan struct{}), make(chan struct{})
		s := start(t, &server{modern: modern, other: reads(func(conn net.Conn, _ got) {
			close(asked)
			_, _ = conn.Read(make([]byte, 1))
			close(ended)
		})})
		client := opened(t, s.url())
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		go func() { <-asked; stop() }()
		_, err := client.ReadResource(ctx, "a")
		if err == nil || ctx.Err() != context.Canceled {
			t.Errorf("modern %v: %v, %v", modern, err, ctx.Err())
		}
		<-ended
		if !modern {
			eventually(t, "the server is told", func() bool { return len(s.requests("notifications/cancelled")) == 1 })
		}
	}
}

// Against a server that others wrote, in both eras.
func TestResourcesOfTheOfficialSDK(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "v"}, &mcp.ServerOptions{PageSize: 1})
		for _, uri := range []string{"a:1", "a:2"} {
			server.AddResource(&mcp.Resource{URI: uri, Name: uri}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: strings.Repeat("x", 300<<10)}}}, nil
			})
		}
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless}))
		t.Cleanup(web.Close)
		client := client(t, spec(t, web.URL))
		listing, err := client.List(t.Context())
		if err != nil || !listing.Readable || (listing.Protocol == answer.Stateless) != stateless {
			t.Fatalf("%+v, %v", listing, err)
		}
		if all, err := client.Resources(t.Context()); err != nil || len(all) != 2 {
			t.Errorf("stateless %v: %v, %v", stateless, all, err)
		}
		parts, err := client.ReadResource(t.Context(), "a:2")
		if err != nil || len(parts) != 1 || parts[0].Bytes() != 300<<10 {
			t.Errorf("stateless %v: %d parts, %v", stateless, len(parts), err)
		}
		if _, err := client.ReadResource(t.Context(), "a:3"); !fault.Is(err, fault.NotFound) {
			t.Errorf("stateless %v: unknown: %v", stateless, err)
		}
	}
}
