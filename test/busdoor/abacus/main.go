// Command abacus is a capsule for tests that runs as a WebAssembly module. It counts,
// and tries what a module must not be able to do.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/stewardhost/steward/capsule"
)

var calls int // of this instance

func main() {
	err := capsule.Serve(context.Background(), capsule.Capsule{
		Describe: func(context.Context, capsule.Caller) ([]capsule.Resource, error) {
			return []capsule.Resource{{URI: "abacus:who", Name: "who"}, {URI: "abacus:trap", Name: "trap"}}, nil
		},
		Read: func(_ context.Context, who capsule.Caller, uri string) ([]capsule.Content, error) {
			switch uri {
			case "abacus:who":
				return []capsule.Content{capsule.Text(uri, "text/plain", who.Capsule())}, nil
			case "abacus:trap":
				panic("no")
			}
			return nil, capsule.ErrNotMine
		},
		Tools: []capsule.Tool{
			{Name: "add", Input: `{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":1000},"b":{"type":"integer","minimum":0,"maximum":1000}},"required":["a","b"],"additionalProperties":false}`,
				Output: `{"type":"object","properties":{"sum":{"type":"integer","minimum":0,"maximum":2000},"calls":{"type":"integer","minimum":0,"maximum":1000}},"required":["sum","calls"],"additionalProperties":false}`,
				Does:   capsule.Does{OnlyReads: true}, Call: add},
			tool("trap", func(context.Context) string { panic("no") }),
			tool("spin", func(context.Context) string {
				for calls >= 0 {
					calls++
					calls %= 1 << 20
				}
				return ""
			}),
			tool("eat", func(context.Context) string {
				var all [][]byte
				for {
					all = append(all, make([]byte, 1<<20))
					all[len(all)-1][0] = 1
				}
			}),
			tool("rest", func(ctx context.Context) string {
				select {
				case <-time.After(50 * time.Millisecond):
					return "rested"
				case <-ctx.Done():
					return "called off"
				}
			}),
			tool("look", func(ctx context.Context) string {
				_, file := os.ReadFile("/etc/hostname")
				_, here := os.ReadDir(".")
				_, dial := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
				return fmt.Sprint(file != nil, here != nil, dial != nil, len(os.Environ()), len(os.Args))
			}),
		},
	})
	fmt.Fprintln(os.Stderr, "ended:", err)
}

func tool(name string, call func(context.Context) string) capsule.Tool {
	return capsule.Tool{Name: name, Input: `{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
		Call: func(ctx context.Context, _ capsule.Caller, _ json.RawMessage) (capsule.Result, error) {
			return capsule.Result{Contents: []capsule.ToolContent{capsule.Say(call(ctx))}}, nil
		}}
}

func add(_ context.Context, _ capsule.Caller, raw json.RawMessage) (capsule.Result, error) {
	calls++
	var in struct{ A, B int }
	err := json.Unmarshal(raw, &in)
	return capsule.Result{Structured: map[string]int{"sum": in.A + in.B, "calls": calls}}, err
}
