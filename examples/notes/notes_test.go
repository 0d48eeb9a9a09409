package notes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestAClientWritesReadsAndSends(t *testing.T) {
	dir := t.TempDir()
	here, there := mcp.NewInMemoryTransports()
	running, err := server(folder(dir)).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, c := range []struct {
		tool    string
		args    map[string]any
		want    string
		isError bool
	}{
		{"read_note", map[string]any{"title": "a"}, "there is no note", true},
		{"write_note", map[string]any{"title": "a", "text": "hello"}, "stored a", false},
		{"read_note", map[string]any{"title": "a"}, "hello", false},
		{"send_note", map[string]any{"title": "a", "to": "b", "delay_ms": 1}, "sent to b", false},
		{"write_note", map[string]any{"title": "../a", "text": "x"}, "a title is", true},
	} {
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.args})
		if err != nil {
			t.Fatal(err)
		}
		text := got.Content[0].(*mcp.TextContent).Text
		if got.IsError != c.isError || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: %q, error %v", c.tool, c.args, text, got.IsError)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, Outbox))
	if err != nil || strings.Count(string(raw), "\n") != 1 {
		t.Errorf("outbox %q, %v", raw, err)
	}
}
