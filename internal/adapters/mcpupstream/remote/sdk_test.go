package remote_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

// Both eras, answers of both kinds, against the official SDK: listing, a call,
// numbers, a rejection, changed tools.
func TestAgainstTheOfficialSDK(t *testing.T) {
	for _, c := range []struct {
		name     string
		options  mcp.StreamableHTTPOptions
		protocol string
	}{
		{"session, events", mcp.StreamableHTTPOptions{}, "2025-11-25"},
		{"session, JSON", mcp.StreamableHTTPOptions{JSONResponse: true}, "2025-11-25"},
		{"stateless, events", mcp.StreamableHTTPOptions{Stateless: true}, "2026-07-28"},
		{"stateless, JSON", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, "2026-07-28"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "v"}, &mcp.ServerOptions{Instructions: "Be kind.", PageSize: 2})
			for i := range 5 {
				addEcho(server, fmt.Sprintf("echo.%d-x", i))
			}
			web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &c.options))
			t.Cleanup(web.Close)
			client := client(t, spec(t, web.URL))
			changed := make(chan struct{}, 8)
			client.OnChanged(func() { changed <- struct{}{} })
			listing, err := client.List(t.Context())
			if err != nil {
				t.Fatal(err, client.Status())
			}
			var names []string
			for _, tool := range listing.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"echo.0-x", "echo.1-x", "echo.2-x", "echo.3-x", "echo.4-x"}, names); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if listing.Protocol != c.protocol || listing.Server != "sdk" || listing.Instructions != "Be kind." {
				t.Errorf("listing %+v", listing)
			}
			const args = `{"n":9007199254740993,"d":0.1000000000000000055}`
			got := client.Call(t.Context(), "echo.3-x", []byte(args), nil)
			var result struct{ StructuredContent json.RawMessage }
			if json.Unmarshal(got.Result, &result); got.Kind != invocation.Answered || string(result.StructuredContent) != args {
				t.Errorf("event %s %s %s", got.Kind, got.Detail, got.Result)
			}
			if got := client.Call(t.Context(), "unknown", nil, nil); got.Kind != invocation.Rejected {
				t.Errorf("unknown tool: %s %s %s", got.Kind, got.Detail, got.Result)
			}
			addEcho(server, "later")
			<-changed
		})
	}
}

func addEcho(server *mcp.Server, name string) {
	server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: req.Params.Arguments}, nil
		})
}
