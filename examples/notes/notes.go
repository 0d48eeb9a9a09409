// Package notes is an ordinary MCP server, as small as one can be that does
// something: it keeps notes as files in a folder and "sends" them by appending
// to an outbox file. steward ships it as the upstream of its demo; it knows
// nothing of steward.
package notes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Outbox is the file in the server's folder to which messages are appended, one
// JSON object a line.
const Outbox = "outbox.jsonl"

type readArgs struct {
	Title string `json:"title" jsonschema:"title of the note"`
}

type note struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type writeArgs struct {
	Title string   `json:"title" jsonschema:"title of the note"`
	Text  string   `json:"text" jsonschema:"the whole text"`
	Tags  []string `json:"tags,omitempty" jsonschema:"words to find the note by"`
}

type sendArgs struct {
	Title   string `json:"title" jsonschema:"title of the note to send"`
	To      string `json:"to" jsonschema:"who gets it"`
	DelayMS int    `json:"delay_ms,omitempty" jsonschema:"deliver after this many milliseconds"`
}

type folder string

// Serve runs the server over a pair of streams until ctx ends or the input does.
func Serve(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	return server(folder(dir)).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: writer{out}})
}

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

func server(f folder) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	no, yes := false, true
	mcp.AddTool(s, &mcp.Tool{Name: "read_note", Title: "Read a note", Description: "Returns the text of a note.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}}, f.read)
	mcp.AddTool(s, &mcp.Tool{Name: "write_note", Title: "Write a note", Description: "Stores a note, in place of an older one with the same title.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no}}, f.write)
	mcp.AddTool(s, &mcp.Tool{Name: "send_note", Title: "Send a note", Description: "Sends a note to somebody. It cannot be taken back.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes}}, f.send)
	return s
}

var titles = regexp.MustCompile(`^[\p{L}\p{N} _-]{1,80}$`)

func (f folder) path(title string) (string, error) {
	if !titles.MatchString(title) {
		return "", errors.New("a title is 1 to 80 letters, digits, spaces, _ or -")
	}
	return filepath.Join(string(f), title+".txt"), nil
}

func (f folder) load(title string) (string, error) {
	path, err := f.path(title)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no note %q", title)
	}
	return string(text), err
}

func (f folder) read(_ context.Context, _ *mcp.CallToolRequest, a readArgs) (*mcp.CallToolResult, note, error) {
	text, err := f.load(a.Title)
	return say(text), note{a.Title, text}, err
}

func (f folder) write(_ context.Context, _ *mcp.CallToolRequest, a writeArgs) (*mcp.CallToolResult, any, error) {
	path, err := f.path(a.Title)
	if err != nil {
		return nil, nil, err
	}
	return say("stored " + a.Title), nil, os.WriteFile(path, []byte(a.Text), 0o600)
}

func (f folder) send(ctx context.Context, _ *mcp.CallToolRequest, a sendArgs) (*mcp.CallToolResult, any, error) {
	text, err := f.load(a.Title)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-time.After(time.Duration(a.DelayMS) * time.Millisecond):
	}
	line, err := json.Marshal(map[string]string{"to": a.To, "title": a.Title, "text": text})
	if err != nil {
		return nil, nil, err
	}
	out, err := os.OpenFile(filepath.Join(string(f), Outbox), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	_, err = out.Write(append(line, '\n'))
	return say("sent to " + a.To), nil, errors.Join(err, out.Close())
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
