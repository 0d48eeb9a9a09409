package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/test/hosttest"
)

// settings is a client's file as its user keeps it.
const settings = `{
  // mine, do not touch
  "theme": "dark",
  "mcpServers": {
    "other": {"command": "x", "args": ["-y",],}, // another one
  },
}
`

// joined is a host with the notes, and a client that connect has joined to it: the
// command that the client's own file names.
func joined(t *testing.T) (h *hosttest.Host, command []string) {
	t.Helper()
	h, config, _ := notes(t)
	h.Import(config)
	h.Approve("my notes", map[string]string{"read_note": "read", "write_note": "write"})
	file := filepath.Join(t.TempDir(), "deep", "settings.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	typed(t, h, 0, "connect", "claude", "--app", "my app", "--file", file)
	dry := typed(t, h, 0, "connect", "claude", "--app", "my app", "--file", file, "--write", "--dry-run")
	if same, err := os.ReadFile(file); err != nil || string(same) != settings || !strings.Contains(dry.out, `+ "steward": {`) {
		t.Fatalf("a dry run changed the file: %v\n%s\n%s", err, same, dry.out)
	}
	typed(t, h, 0, "connect", "claude", "--app", "my app", "--file", file, "--write")
	again := typed(t, h, 0, "connect", "claude", "--app", "my app", "--file", file, "--write")
	if !strings.Contains(again.out, "has it already") {
		t.Errorf("a second time:\n%s", again.out)
	}
	typed(t, h, 0, "grants", "add", "my app", "my notes", "read_note", "write_note")
	checkFiles(t, h, file)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	read, err := clientconfig.Parse(raw)
	if err != nil || len(read.Servers) != 2 {
		t.Fatalf("%v: %s", err, raw)
	}
	own := read.Servers[1]
	return h, append([]string{own.Command}, own.Args...)
}

// checkFiles holds the client's file to having one entry more, its copy to being
// what it was, and the token to being nobody else's.
func checkFiles(t *testing.T, h *hosttest.Host, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, found := strings.Cut(settings, " // another one\n")
	if text := string(raw); !found || !strings.HasPrefix(text, head+" // another one\n    \"steward\": {") || !strings.HasSuffix(text, tail) || strings.Contains(text, "stw_") {
		t.Errorf("the file is now\n%s", raw)
	}
	copies, err := filepath.Glob(file + ".before-steward-*")
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies %q, %v", copies, err)
	}
	if before, err := os.ReadFile(copies[0]); err != nil || string(before) != settings {
		t.Errorf("the copy is %q, %v", before, err)
	}
	tokens, err := filepath.Glob(filepath.Join(h.Home, "tokens", "*"))
	if err != nil || len(tokens) != 1 {
		t.Fatalf("tokens %q, %v", tokens, err)
	}
	for path, want := range map[string]os.FileMode{tokens[0]: 0o600, copies[0]: 0o600, file: 0o644, filepath.Dir(tokens[0]): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
		}
	}
}

// A client that starts its servers itself reaches the host in both eras, keeps its
// session over a restart, and hears the truth while there is none.
func TestAClientReachesTheHostOverItsStandardStreams(t *testing.T) {
	h, command := joined(t)
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		changed := make(chan struct{}, 8)
		client := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
			ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { changed <- struct{}{} }})
		session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, &sdk.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 2 {
			t.Fatalf("%+v, %v", tools, err)
		}
		write := tools.Tools[0].Name
		if !strings.Contains(write, "write") {
			write = tools.Tools[1].Name
		}
		call := func() *sdk.CallToolResult {
			t.Helper()
			r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: write, Arguments: map[string]any{"title": "t", "text": "x"}})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := call(); r.IsError {
			t.Errorf("%s: %+v", version, r.Content)
		}
		h.Restart()
		if r := call(); r.IsError {
			t.Errorf("%s after a restart: %+v", version, r.Content)
		}
		h.Kill()
		if r := call(); !r.IsError || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, "nothing was sent") {
			t.Errorf("%s without a host: %+v", version, r.Content)
		}
		h.Restart()
		if r := call(); r.IsError {
			t.Errorf("%s after it came back: %+v", version, r.Content)
		}
		if err := session.Close(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// BF11: a bridge whose client died ends, though somebody else still holds its input.
func TestABridgeEndsWithItsParent(t *testing.T) {
	_, command := joined(t)
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	parent := exec.Command("sh", append([]string{"-c", `"$@" <&3 & read x`, "sh"}, command...)...)
	parent.ExtraFiles = []*os.File{in}
	leash, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, said, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	parent.Stdout = said
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	said.Close()
	if _, err := io.WriteString(hold, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now().Add(hosttest.Patience)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"id":1`) {
		t.Fatalf("%s, %v", line, err)
	}
	leash.Close()
	_ = parent.Wait() // read has nothing to read
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("it goes on without its parent: %v, said %s", err, rest)
	}
}

// Nothing but messages is on the standard output, each on its own line and under
// its own id, whatever comes in; and the end of the input is the end.
func TestTheBridgeSpeaksInLines(t *testing.T) {
	h, command := joined(t)
	lines := []string{
		`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":9007199254740991,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nobody"}}`,
		`no message`,
		``,
		`{"jsonrpc":"2.0","id":3,"method":"no/such","params":{}}`,
		`{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
	}
	out, bad, code := h.Run(strings.Join(lines, "\n"), command[1:]...) // the last line has no end
	if code != 0 || bad != "" {
		t.Fatalf("exit code %d: %s", code, bad)
	}
	heard := map[string]string{}
	for line := range strings.Lines(out) {
		var m struct {
			ID     json.RawMessage
			Result map[string]any
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		what := "result"
		if m.Error != nil {
			what = fmt.Sprint(m.Error.Code)
		}
		heard[string(m.ID)] = what
	}
	want := map[string]string{`"a"`: "result", "9007199254740991": "result", "2": "-32602", "null": "-32700", "3": "-32601", "4": "result"}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}

// Whoever starts a client before the host, or without a token that is safe, hears
// what helps, and that helps.
func TestWhatKeepsABridgeAwayIsTold(t *testing.T) {
	h, command := joined(t)
	args := command[1:]
	token := filepath.Join(h.Home, "tokens", "my%20app.env")
	if err := os.Chmod(token, 0o644); err != nil {
		t.Fatal(err)
	}
	unsafe := typed(t, h, 3, args...)
	mend, found := strings.CutPrefix(strings.TrimSpace(unsafe.err[strings.Index(unsafe.err, "next: "):]), "next: ")
	if out, err := exec.Command("sh", "-c", mend).CombinedOutput(); err != nil || !found {
		t.Fatalf("%s: %v %s", mend, err, out)
	}
	typed(t, h, 0, args...)
	typed(t, h, 12, "mcp", "serve", "--app", "nobody")
	typed(t, h, 2, "mcp", "serve")
	taken := typed(t, h, 0, "apps", "add", "taken")
	if got := typed(t, h, 11, "connect", "cursor", "--app", "taken", "--file", filepath.Join(t.TempDir(), "x"), "--write"); !strings.Contains(got.err, "there is an app taken") {
		t.Errorf("%s%s", taken.out, got.err)
	}
	h.Stop()
	if down := typed(t, h, 10, args...); down.out != "" || down.next(t)[len(down.next(t))-1] != "up" {
		t.Errorf("%q\n%s", down.out, down.err)
	}
}
