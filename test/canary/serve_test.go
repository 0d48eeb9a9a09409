package canary_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) {
	if text := os.Getenv("CANARY_SAYS"); text != "" {
		os.Exit(serve(text))
	}
	hosttest.Main(m)
}

// serve is an MCP server whose tools fail in the way that they are called after.
// Whatever it may put a text into says the same: texts of upstreams are data.
func serve(says string) int {
	out := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	quoted, _ := json.Marshal(says)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal([]byte(line), &m) != nil {
			return 90
		}
		switch m.Method {
		case "initialize":
			out(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"canary","version":"1"}}}`, m.ID)
		case "tools/list":
			var tools []string
			for _, name := range ways {
				tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"Fails.","inputSchema":{"type":"object","properties":{"text":{"type":"string","maxLength":200}},"additionalProperties":false}}`, name))
			}
			out(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, strings.Join(tools, ","))
		case "tools/call":
			if code := fail(m.Params.Name, m.ID, string(quoted), out); code > 0 {
				fmt.Fprintln(os.Stderr, says, os.Getenv("CANARY_ENV"))
				return code
			}
		}
	}
}

// ways are the tools.
var ways = []string{"answers", "ask_first", "is_error", "rpc_error", "no_json", "two_ids", "deaf", "asks_back", "large", "strays", "exits"}

func fail(way string, id json.RawMessage, quoted string, out func(string, ...any)) int {
	ok := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted)
	switch way {
	case "is_error":
		ok = strings.Replace(ok, `"result":{`, `"result":{"isError":true,`, 1)
	case "rpc_error":
		ok = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%s,"data":{"why":%s}}}`, id, quoted, quoted)
	case "no_json":
		ok = "what is this " + quoted + " }{"
	case "two_ids":
		ok = strings.Replace(ok, `"id":`, `"id":`+quoted+`,"id":`, 1)
	case "exits":
		return 7
	case "deaf":
		return 0
	case "asks_back":
		ok = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"a":%s}}}`, id, quoted)
	case "large":
		ok = strings.Replace(ok, `"text":`, `"text":"`+strings.Repeat("x", 5<<20)+`","more":`, 1)
	case "strays":
		out(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":%s,"data":%s}}`, quoted, quoted)
		out(`{"jsonrpc":"2.0","id":%s,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":%s}}]}}`, quoted, quoted)
		out(`{"jsonrpc":"2.0","id":"nobody's","result":{"a":%s}}`, quoted)
	}
	out("%s", ok)
	return 0
}
