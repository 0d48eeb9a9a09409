package notes

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect starts a server on a folder and gives a client of it. The returned
// channel has what Serve returned.
func connect(ctx context.Context, t *testing.T, dir string) (*mcp.ClientSession, <-chan error) {
	t.Helper()
	serverIn, toServer := io.Pipe()
	fromServer, serverOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, dir, serverIn, serverOut)
		serverOut.Close()
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "reader", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close(); serverIn.Close() })
	return session, ended
}

// answer is a result as it is compared.
type answer struct {
	Text       string
	Structured any
	IsError    bool
}

func call(t *testing.T, session *mcp.ClientSession, tool string, args map[string]any) answer {
	t.Helper()
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return answer{got.Content[0].(*mcp.TextContent).Text, got.StructuredContent, got.IsError}
}

func outbox(t *testing.T, dir string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, Outbox))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAClientWritesReadsAndSends(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet", "there")
	session, _ := connect(t.Context(), t, dir)
	badTitle := "a title is 1 to 60 letters, digits, spaces, _ or -"
	for _, c := range []struct {
		tool string
		args map[string]any
		want answer
	}{
		{"read_note", map[string]any{"title": "a"}, answer{Text: `there is no note "a"`, IsError: true}},
		{"write_note", map[string]any{"title": "a", "text": "hello"}, answer{Text: "stored a"}},
		{"read_note", map[string]any{"title": "a"}, answer{"hello", map[string]any{"title": "a", "text": "hello"}, false}},
		{"write_note", map[string]any{"title": "a", "text": "", "tags": []string{"x"}}, answer{Text: "stored a"}},
		{"read_note", map[string]any{"title": "a"}, answer{"", map[string]any{"title": "a", "text": "", "tags": []any{"x"}}, false}},
		{"send_note", map[string]any{"title": "a", "to": "b\n", "delay_ms": 1}, answer{Text: "sent to b\n"}},
		{"send_note", map[string]any{"title": "b", "to": "b"}, answer{Text: `there is no note "b"`, IsError: true}},
		{"send_note", map[string]any{"title": "a", "to": "b", "delay_ms": -1}, answer{Text: "a delay is 0 to 3600000 milliseconds", IsError: true}},
		{"send_note", map[string]any{"title": "a", "to": "b", "delay_ms": 3_600_001}, answer{Text: "a delay is 0 to 3600000 milliseconds", IsError: true}},
		{"write_note", map[string]any{"title": "../a", "text": "x"}, answer{Text: badTitle, IsError: true}},
		{"read_note", map[string]any{"title": ""}, answer{Text: badTitle, IsError: true}},
		{"read_note", map[string]any{"title": strings.Repeat("漢", 61)}, answer{Text: badTitle, IsError: true}},
		{"write_note", map[string]any{"title": strings.Repeat("漢", 60), "text": "x"}, answer{Text: "stored " + strings.Repeat("漢", 60)}},
	} {
		if diff := cmp.Diff(c.want, call(t, session, c.tool, c.args)); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", c.tool, c.args, diff)
		}
	}
	if got, want := outbox(t, dir), `{"to":"b\n","title":"a","text":""}`+"\n"; got != want {
		t.Errorf("outbox %q, want %q", got, want)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Errorf("the folder has %v, %v", files, err)
	}
}

// The tools are as loose as those in the field, so that a host that wants bounds
// has something to add, and their hints are told.
func TestToolsAreLikeThoseInTheField(t *testing.T) {
	session, _ := connect(t.Context(), t, t.TempDir())
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type tool struct {
		ReadOnly, Idempotent    bool
		Destructive, OpenWorld  *bool
		HasOutput, HasAnyBounds bool
	}
	no, yes := false, true
	want := map[string]tool{
		"read_note":  {ReadOnly: true, OpenWorld: &no, HasOutput: true},
		"write_note": {Idempotent: true, Destructive: &no, OpenWorld: &no},
		"send_note":  {Destructive: &no, OpenWorld: &yes},
	}
	got := map[string]tool{}
	for _, l := range listed.Tools {
		input, err := json.Marshal(l.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		a := l.Annotations
		got[l.Name] = tool{a.ReadOnlyHint, a.IdempotentHint, a.DestructiveHint, a.OpenWorldHint, l.OutputSchema != nil,
			strings.Contains(string(input), `"max`)}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestCancelledMessageIsNotSent(t *testing.T) {
	dir := t.TempDir()
	session, _ := connect(t.Context(), t, dir)
	call(t, session, "write_note", map[string]any{"title": "a", "text": "x"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "send_note",
		Arguments: map[string]any{"title": "a", "to": "b", "delay_ms": 60_000}}); err == nil {
		t.Error("the call was answered")
	}
	// A later call is handled after the cancellation.
	call(t, session, "send_note", map[string]any{"title": "a", "to": "c"})
	if got := outbox(t, dir); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"to":"c"`) {
		t.Errorf("outbox %q", got)
	}
}

func TestServeEndsWithItsInputOrContext(t *testing.T) {
	session, ended := connect(t.Context(), t, t.TempDir())
	session.Close()
	if err := <-ended; err != nil {
		t.Errorf("after the input: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, ended = connect(ctx, t, t.TempDir())
	cancel()
	if err := <-ended; err == nil || ctx.Err() == nil {
		t.Errorf("after the context: %v", err)
	}
}
