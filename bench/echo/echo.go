// Package echo is an MCP server over a pair of streams that costs next to
// nothing: its tools return the text that they are given. What is measured in
// front of it is the host.
//
// It answers in order and in one goroutine, speaks the revisions with a
// handshake, and knows nothing of steward.
package echo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Tool is the name of the first tool, and Name that of any.
const Tool = "echo"

// Name is the name of tool i.
func Name(i int) string {
	if i == 0 {
		return Tool
	}
	return fmt.Sprintf("echo_%03d", i)
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Arguments       struct {
			Text string `json:"text"`
		} `json:"arguments"`
	} `json:"params"`
}

type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Hints       map[string]bool `json:"annotations"`
}

// input has the size of an ordinary tool's schema.
const input = `{"type":"object","additionalProperties":false,"required":["text"],"properties":{` +
	`"text":{"type":"string","maxLength":4000,"description":"the text that comes back"},` +
	`"style":{"type":"string","enum":["plain","quoted"],"description":"how it comes back"},` +
	`"times":{"type":"integer","minimum":1,"maximum":9}}}`

func listing(tools int) []tool {
	list := make([]tool, tools)
	for i := range list {
		list[i] = tool{Name: Name(i), Title: fmt.Sprintf("Echo, form %d", i), Input: json.RawMessage(input),
			Description: fmt.Sprintf("Gives back the text, form %d. ", i) + strings.Repeat("What this tool does, in as many words as usual. ", 6),
			Hints:       map[string]bool{"readOnlyHint": true, "openWorldHint": false}}
	}
	return list
}

// Serve answers until the input ends.
func Serve(in io.Reader, out io.Writer, tools int) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	encoder := json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		if len(r.ID) == 0 {
			continue
		}
		if err := encoder.Encode(answer(r, tools)); err != nil {
			return err
		}
	}
}

func answer(r request, tools int) any {
	type result struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}
	switch r.Method {
	case "tools/call":
		return result{"2.0", r.ID, map[string]any{"content": []content{{"text", r.Params.Arguments.Text}}}}
	case "initialize":
		return result{"2.0", r.ID, map[string]any{"protocolVersion": r.Params.ProtocolVersion,
			"capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]string{"name": "echo", "version": "1"}}}
	case "tools/list":
		return result{"2.0", r.ID, map[string]any{"tools": listing(tools)}}
	case "ping":
		return result{"2.0", r.ID, map[string]any{}}
	}
	return map[string]any{"jsonrpc": "2.0", "id": r.ID, "error": map[string]any{"code": -32601, "message": "no such method"}}
}
