package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/id"
)

// sdkAlone is the same tool behind the SDK's own handlers and a header router:
// what the door's own path is held against, in speed and in its answers.
func sdkAlone(tools ...string) http.Handler {
	s := sdk.NewServer(&sdk.Implementation{Name: "steward", Title: "steward"}, &sdk.ServerOptions{
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }})
	for _, name := range tools {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "here"}}, StructuredContent: r.Params.Arguments}, nil
		})
	}
	get := func(*http.Request) *sdk.Server { return s }
	old := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{JSONResponse: true, MaxRequestBodyBytes: 64 << 10})
	current := sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{JSONResponse: true, MaxRequestBodyBytes: 64 << 10, Stateless: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e, _ := frame.EraOf(r.Header.Get(frame.VersionHeader)); e == frame.Modern {
			current.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	})
}

// BenchmarkCall measures what one tools/call costs at this door when the port
// answers at once, beside the SDK alone, both without sockets.
func BenchmarkCall(b *testing.B) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	h.setCall(echo)
	const args = `{"n":1,"s":"some text of an ordinary length"}`
	for name, handler := range map[string]http.Handler{"door": New(h.ports(), Options{}), "sdk": sdkAlone(m.Tool)} {
		session := initialize(b, handler, token)
		for era, p := range map[string]post{"legacy": legacyCall(token, session, m.Tool, args), "modern": modernCall(token, m.Tool, args)} {
			b.Run(name+"/"+era, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if w := send(handler, p); w.Code != http.StatusOK {
						b.Fatal(w.Code, w.Body)
					}
				}
				h.calls = nil
			})
		}
	}
}

// BenchmarkCallOverHTTP is the same over real connections; client and server
// share the process, so the figure has both.
func BenchmarkCallOverHTTP(b *testing.B) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	m := imported(c, "echo")
	h.grant(c, m)
	const args = `{"n":1,"s":"some text of an ordinary length"}`
	plainHandler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	for name, handler := range map[string]http.Handler{"door": New(h.ports(), Options{}), "sdk": sdkAlone(m.Tool), "nothing": plainHandler} {
		s := httptest.NewServer(handler)
		session := ""
		if name != "nothing" {
			session = initialize(b, handler, token)
		}
		for era, p := range map[string]post{"legacy": legacyCall(token, session, m.Tool, args), "modern": modernCall(token, m.Tool, args)} {
			b.Run(name+"/"+era, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					resp, err := s.Client().Do(p.request(s.URL))
					if err != nil || resp.StatusCode != http.StatusOK {
						b.Fatal(err, resp)
					}
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				h.calls = nil
			})
		}
		s.Close()
	}
}

// BenchmarkList measures tools/list with 500 methods: as it was, and after one
// of them changed.
func BenchmarkList(b *testing.B) {
	h := newHost()
	c, token := h.app(id.New[id.Owner](), authority.ForMCP)
	for range 500 {
		m := imported(c, "search")
		m.Method.Description = strings.Repeat("What this method does, in the owner's words. ", 12)
		h.grant(c, m)
	}
	door := New(h.ports(), Options{})
	p := post{token: token, version: frame.FirstModern, method: frame.ListTools, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + modernMeta + `}}}`}
	for _, changed := range []bool{false, true} {
		b.Run(map[bool]string{false: "warm", true: "changed"}[changed], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if changed {
					list := h.grants[c.Client]
					list[7].Method.Precondition = !list[7].Method.Precondition
				}
				if w := send(door, p); w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
