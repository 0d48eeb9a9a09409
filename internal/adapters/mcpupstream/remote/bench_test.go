package remote_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

// What a call costs, the official SDK's server in the same process included.
func BenchmarkCall(b *testing.B) {
	for name, options := range map[string]mcp.StreamableHTTPOptions{"session": {JSONResponse: true}, "stateless": {Stateless: true, JSONResponse: true}} {
		b.Run(name, func(b *testing.B) {
			server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "v"}, nil)
			addEcho(server, "echo")
			web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &options))
			defer web.Close()
			c := client(b, spec(b, web.URL))
			if err := c.Open(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if e := c.Call(b.Context(), "echo", []byte(`{"a":"b"}`), nil); e.Kind != invocation.Answered {
					b.Fatalf("%+v", e)
				}
			}
			c.Close()
		})
	}
}

// What a call costs the client alone: the server writes fixed bytes.
func BenchmarkCallAlone(b *testing.B) {
	s := &server{modern: true, call: results(clean)}
	start(b, s)
	c := client(b, spec(b, s.url()))
	if err := c.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if e := c.Call(b.Context(), "echo", []byte(`{"a":"b"}`), nil); e.Kind != invocation.Answered {
			b.Fatalf("%+v", e)
		}
	}
}
