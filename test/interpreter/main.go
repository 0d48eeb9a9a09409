// Command interpreter is an MCP server that executes programs whose steps are calls
// through the host that it serves. It notes each run before it begins.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/test/program"
)

type runArgs struct {
	Born    int64  `json:"born"`
	Path    string `json:"path"`
	Program string `json:"program"`
}

func main() {
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve reads how to call the host when it is first asked, which is after it was
// written.
func serve(access, runs string) error {
	log, err := os.OpenFile(runs, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "interpreter", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "run"}, func(ctx context.Context, _ *mcp.CallToolRequest, a runArgs) (*mcp.CallToolResult, any, error) {
		_, err := log.WriteString(a.Path + "\n")
		if err = errors.Join(err, log.Sync()); err != nil {
			return nil, nil, err
		}
		var r program.Runner
		raw, err := os.ReadFile(access)
		if err == nil {
			err = json.Unmarshal(raw, &r.Access)
		}
		var steps []program.Step
		if err = errors.Join(err, json.Unmarshal([]byte(a.Program), &steps)); err != nil {
			return nil, nil, err
		}
		return nil, nil, r.Run(ctx, a.Born, a.Path, steps)
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}
