package mcpupstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/local"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

// onSDK is a client of a server that others wrote.
func onSDK(t *testing.T, server *mcp.Server) *Client {
	t.Helper()
	c := newClient("sdk", "1", func() (local.Link, error) {
		upIn, toUp := net.Pipe()
		fromUp, upOut := net.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			server.Run(ctx, &mcp.IOTransport{Reader: upIn, Writer: upOut})
			upIn.Close()
			upOut.Close()
		}()
		return local.Link{
			In: toUp, Out: fromUp, Done: done,
			Stop:   func() { toUp.Close(); cancel(); fromUp.Close(); <-done },
			Exit:   func() string { return "ended" },
			Stderr: func() string { return "" },
		}, nil
	})
	t.Cleanup(c.Close)
	return c
}

// Both eras against the official SDK: listing, a call, numbers, a rejection,
// changed tools.
func TestAgainstTheOfficialSDK(t *testing.T) {
	for _, c := range []struct {
		name     string
		versions []string
		protocol string
	}{
		{"every revision", nil, "2025-11-25"},
		{"oldest only", []string{"2024-11-05"}, "2024-11-05"},
		{"stateless only", []string{"2026-07-28"}, "2026-07-28"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "v"}, &mcp.ServerOptions{
				Instructions: "Be kind.", SupportedProtocolVersions: c.versions, PageSize: 2,
			})
			if c.protocol == answer.Stateless {
				// Narrowed to this revision, the SDK would still shake hands.
				server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						if method == "initialize" {
							return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "gone"}
						}
						return next(ctx, method, req)
					}
				})
			}
			for i := range 5 {
				addEcho(server, fmt.Sprintf("echo.%d/x", i))
			}
			client := onSDK(t, server)
			changed := make(chan struct{}, 8)
			client.OnChanged(func() { changed <- struct{}{} })

			listing, err := client.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range listing.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"echo.0/x", "echo.1/x", "echo.2/x", "echo.3/x", "echo.4/x"}, names); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if listing.Protocol != c.protocol || listing.Instructions != "Be kind." {
				t.Errorf("listing %+v", listing)
			}

			const args = `{"n":9007199254740993,"d":0.1000000000000000055}`
			got := client.Call(t.Context(), "echo.3/x", []byte(args), nil)
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
