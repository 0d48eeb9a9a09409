package busdoor

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/test/hosttest"
)

// daemon is a session daemon of a workspace of its own, in the foreground.
type daemon struct {
	t       *testing.T
	program string
	folder  string // whose name leaves room for that of a socket
	env     []string
}

// beside starts a daemon whose agent plays a script and may use servers.
func beside(t *testing.T, h *hosttest.Host, servers map[string]any, script string) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "read-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config, err := strictjson.Encode(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"script": []byte(script), "mcp.json": config} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"work", "state", "run"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := &daemon{t: t, program: h.Program, folder: dir, env: append(os.Environ(), "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"), "STEWARD_MODEL=scripted",
		"STEWARD_MODEL_SCRIPT="+filepath.Join(dir, "script"), "STEWARD_MCP_CONFIG="+filepath.Join(dir, "mcp.json"))}
	cmd := d.command("daemon", "foreground")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		err := cmd.Wait()
		if err != nil || t.Failed() {
			t.Errorf("the daemon ended with %v and said:\n%s", err, words.String())
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the daemon is not ready: %q, %v", line, err)
	}
	return d
}

func (d *daemon) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.program, append(args, "--workspace", filepath.Join(d.folder, "work"), "--state-root", filepath.Join(d.folder, "state"))...)
	cmd.Env = d.env
	return cmd
}

// turn gives what the agent answers to a prompt.
func (d *daemon) turn(prompt string) string {
	d.t.Helper()
	out, err := d.command("turn", prompt).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The agent of a session daemon is a client of the bus: it reads what the app may
// whose token it has, over HTTP and over the bridge, and no more.
func TestTheAgentOfADaemonReadsResources(t *testing.T) {
	h := hosttest.Start(t)
	reader := h.AddApp("reader")
	h.Do("capsule", "install", "files", folder(t, map[string]string{"a.md": "# Hello", "b.bin": "\x00\xff", "c.txt": strings.Repeat("0123456789", 1230)}))
	h.Do("capsule", "install", "introspect")
	h.Do("grants", "add", "reader", "files", "read")
	host := map[string]any{"url": h.BaseURL + "/mcp", "headers": map[string]string{"Authorization": "Bearer " + reader.MCP}}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(reader.MCP+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bridge := map[string]any{"command": h.Program, "args": []string{"--home", h.Home, "mcp", "serve", "--token-file", token}}

	// An agent's answers to what it is told of the tool, by the prompt.
	scenes := func(server string) string {
		var b strings.Builder
		for prompt, arguments := range map[string]string{
			"list": `{SERVER}`, "text": `{SERVER"uri":"files:///a.md"}`, "bytes": `{SERVER"uri":"files:///b.bin"}`, "long": `{SERVER"uri":"files:///c.txt","offset":12288}`,
			"absent": `{SERVER"uri":"files:///none"}`, "foreign": `{SERVER"uri":"introspect:apps"}`,
		} {
			arguments = strings.Replace(strings.Replace(arguments, "SERVER", server, 1), ",}", "}", 1)
			fmt.Fprintf(&b, "on %s\ncall read_resource %s\nthen\nsay {result}\n", prompt, arguments)
		}
		return b.String() + "on *\nsay {tools}\n"
	}
	want := map[string]string{
		"list":    `{"resources":[{"uri":"files:///a.md","name":"a.md","mime_type":"text/markdown"},{"uri":"files:///b.bin","name":"b.bin","mime_type":"application/octet-stream"},{"uri":"files:///c.txt","name":"c.txt","mime_type":"text/plain; charset=utf-8"}],"next_offset":null}`,
		"text":    `{"text":"# Hello","next_offset":null}`,
		"bytes":   `{"text":"","next_offset":null,"blobs":[{"uri":"files:///b.bin","mime_type":"application/octet-stream","bytes":2}]}`,
		"long":    `{"text":"` + strings.Repeat("0123456789", 1230)[12288:] + `","next_offset":null}`,
		"absent":  `{"error":{"code":"not_found","message":"the server has no such resource"}}`,
		"foreign": `{"error":{"code":"not_found","message":"the server has no such resource"}}`,
	}
	check := func(d *daemon) {
		t.Helper()
		for prompt, answer := range want {
			if got := strings.TrimSpace(d.turn(prompt)); !strings.HasSuffix(got, answer) {
				t.Errorf("%s: %s\nwant %s", prompt, got, answer)
			}
		}
	}
	one := beside(t, h, map[string]any{"host": host}, scenes(""))
	check(one)
	check(beside(t, h, map[string]any{"bridge": bridge, "host": host}, scenes(`"server":"bridge",`)))

	h.Do("grants", "revoke", reader.Grants()[0].ID)
	if got := one.turn("text"); !strings.Contains(got, want["absent"]) {
		t.Errorf("after the grant has gone: %s", got)
	}
	h.Do("journal", "verify")
}
