// Package notes is an ordinary MCP server, as small as one can be that does
// something: it keeps notes as files in a folder and "sends" them by appending
// to an outbox file. steward ships it as the upstream of its demo; it knows
// nothing of steward.
//
// Its tools are described as tools in the field are: hints are set, one has an
// output schema, and texts and lists have no largest size. A note is replaced
// whole or not at all, and a message is one line that is appended at once, so
// whatever ends the server leaves no half of either. Calls may overlap.
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

// longestDelay is the latest that a message can be delivered after the call.
const longestDelay = time.Hour

type readArgs struct {
	Title string `json:"title" jsonschema:"title of the note"`
}

// note is what a file holds and what reading gives.
type note struct {
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags,omitempty"`
}

type writeArgs struct {
	Title string   `json:"title" jsonschema:"title of the note"`
	Text  string   `json:"text" jsonschema:"the whole text"`
	Tags  []string `json:"tags,omitempty" jsonschema:"words to find the note by"`
}

type sendArgs struct {
	Title   string `json:"title" jsonschema:"title of the note to send"`
	To      string `json:"to" jsonschema:"who gets it"`
	DelayMS int64  `json:"delay_ms,omitempty" jsonschema:"deliver after this many milliseconds"`
}

// message is one line of the outbox.
type message struct {
	To    string `json:"to"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// folder is where one server keeps everything.
type folder string

// Serve runs the server over a pair of streams until ctx or the input ends. The
// folder is made if it is not there.
func Serve(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	err := server(folder(dir)).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: stream{out}})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stream is a writer that stays open when the server is done with it.
type stream struct{ io.Writer }

func (stream) Close() error { return nil }

func server(f folder) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	no, yes := false, true
	mcp.AddTool(s, &mcp.Tool{Name: "read_note", Title: "Read a note", Description: "Returns the text of a note.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}}, f.read)
	mcp.AddTool(s, &mcp.Tool{Name: "write_note", Title: "Write a note", Description: "Stores a note, in place of an older one with the same title.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}}, f.write)
	mcp.AddTool(s, &mcp.Tool{Name: "send_note", Title: "Send a note", Description: "Sends a note to somebody. It cannot be taken back.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes}}, f.send)
	return s
}

func (f folder) read(_ context.Context, _ *mcp.CallToolRequest, a readArgs) (*mcp.CallToolResult, note, error) {
	n, err := f.load(a.Title)
	return say(n.Text), n, err
}

func (f folder) write(_ context.Context, _ *mcp.CallToolRequest, a writeArgs) (*mcp.CallToolResult, any, error) {
	return say("stored " + a.Title), nil, f.store(note(a))
}

func (f folder) send(ctx context.Context, _ *mcp.CallToolRequest, a sendArgs) (*mcp.CallToolResult, any, error) {
	if a.DelayMS < 0 || a.DelayMS > longestDelay.Milliseconds() {
		return nil, nil, fmt.Errorf("a delay is 0 to %d milliseconds", longestDelay.Milliseconds())
	}
	n, err := f.load(a.Title)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-ctx.Done():
		return nil, nil, errors.New("cancelled before it was delivered")
	case <-time.After(time.Duration(a.DelayMS) * time.Millisecond):
	}
	return say("sent to " + a.To), nil, f.post(message{a.To, n.Title, n.Text})
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

var titles = regexp.MustCompile(`^[\p{L}\p{N} _-]{1,60}$`)

func (f folder) path(title string) (string, error) {
	if !titles.MatchString(title) {
		return "", errors.New("a title is 1 to 60 letters, digits, spaces, _ or -")
	}
	return filepath.Join(string(f), title+".json"), nil
}

func (f folder) load(title string) (n note, err error) {
	path, err := f.path(title)
	if err != nil {
		return n, err
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return n, fmt.Errorf("there is no note %q", title)
	}
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(raw, &n)
}

// store replaces a note by a file that is complete before it has the name.
func (f folder) store(n note) error {
	path, err := f.path(n.Title)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(string(f), ".draft-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }() // in vain once it has its name
	_, err = draft.Write(raw)
	if err := errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), path)
}

func (f folder) post(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(string(f), Outbox), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(append(line, '\n'))
	return errors.Join(err, out.Close())
}
