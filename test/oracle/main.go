// Command oracle is an MCP server whose one effect can be counted afterwards: it
// writes the caller's nonce to a log of its own and has it on the disk before it
// answers. It is a program apart, so that nothing of steward can keep its books
// for it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type effectArgs struct {
	Nonce string `json:"nonce"`
	Pause int    `json:"pause_ms,omitempty" jsonschema:"wait after the effect, before the answer"`
}

func main() {
	log, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "oracle", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "effect"}, func(ctx context.Context, _ *mcp.CallToolRequest, a effectArgs) (*mcp.CallToolResult, any, error) {
		if err := note(log, a.Nonce); err != nil {
			return nil, nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(a.Pause) * time.Millisecond):
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done " + a.Nonce}}}, nil, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func note(log *os.File, nonce string) error {
	_, err := log.WriteString(nonce + "\n")
	return errors.Join(err, log.Sync())
}
