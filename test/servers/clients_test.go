//go:build npm

package servers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/test/hosttest"
)

const (
	clientTime = time.Minute
	inspector  = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)

// runScript runs a client with a home of its own and reads the JSON that it prints.
func runScript(t *testing.T, home, script string, words ...string) strictjson.Value {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	node, path := npmScript(t, script)
	cmd := exec.CommandContext(ctx, node, append([]string{path}, words...)...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v, err := strictjson.Parse(out, strictjson.Limits{})
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// Clients that nobody here wrote list and call through steward with a token in a
// header: the inspector in both eras, a bridge from standard input, and an inspector
// of old.
func TestClientsOfOthers(t *testing.T) {
	h := hosttest.Start(t)
	h.Import(h.Config(map[string]hosttest.Server{"outside": npmServer(t, "everything", nil).Server}))
	h.Approve("outside", map[string]string{"echo": "read"})
	app := h.AddApp("outside client")
	tool := app.Grant("outside", "echo")["echo"]
	home := t.TempDir()
	check := func(t *testing.T, list, call strictjson.Value) {
		t.Helper()
		tools, _ := list.Get("tools")
		if len(tools.Items) != 1 {
			t.Fatalf("the list is %s", list.Append(nil))
		}
		if name, _ := tools.Items[0].Get("name"); name.Text != tool {
			t.Errorf("the tool is %s", name.Text)
		}
		content, _ := call.Get("content")
		if len(content.Items) != 1 {
			t.Fatalf("the answer is %s", call.Append(nil))
		}
		if text, _ := content.Items[0].Get("text"); text.Text != "Echo: hello" {
			t.Errorf("the answer is %s", call.Append(nil))
		}
	}
	inspect := func(t *testing.T, script string, words ...string) {
		t.Helper()
		check(t, runScript(t, home, script, append(words, "--method", "tools/list")...),
			runScript(t, home, script, append(words, "--method", "tools/call", "--tool-name", tool, "--tool-arg", "message=hello")...))
	}
	for _, era := range []string{"legacy", "modern"} {
		t.Run("inspector, "+era, func(t *testing.T) {
			t.Parallel()
			inspect(t, inspector, "--cli", h.BaseURL+"/mcp", "--transport", "http",
				"--protocol-era", era, "--header", "Authorization: Bearer "+app.MCP)
		})
	}
	t.Run("inspector of old", func(t *testing.T) {
		t.Parallel()
		// It has no way to send a header, so something in front adds it.
		target, err := url.Parse(h.BaseURL)
		if err != nil {
			t.Fatal(err)
		}
		front := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Authorization", "Bearer "+app.MCP)
		}})
		defer front.Close()
		inspect(t, "@modelcontextprotocol/inspector-cli/build/index.js", front.URL+"/mcp", "--transport", "http")
	})
	t.Run("bridge", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), clientTime)
		defer cancel()
		node, path := npmScript(t, "mcp-remote/dist/proxy.js")
		cmd := exec.Command(node, path, h.BaseURL+"/mcp", "--allow-http", "--transport", "http-only", "--silent", "--header", "Authorization: Bearer "+app.MCP)
		cmd.Env = append(os.Environ(), "HOME="+home)
		client := mcp.NewClient(&mcp.Implementation{Name: "behind a bridge", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
		session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if list := listLegacy(t, session); len(list) != 1 || list[0] != tool {
			t.Errorf("the list is %v", list)
		}
		if text, bad := legacy(t, session, tool, map[string]any{"message": "hello"}); bad || text != "Echo: hello" {
			t.Errorf("the answer is %q", text)
		}
	})
	t.Run("a token that is none", func(t *testing.T) {
		t.Parallel()
		node, path := npmScript(t, inspector)
		ctx, cancel := context.WithTimeout(t.Context(), clientTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, node, path, "--cli", h.BaseURL+"/mcp", "--transport", "http", "--stored-auth-only",
			"--header", "Authorization: Bearer "+strings.Repeat("x", 40), "--method", "tools/list")
		cmd.Env = append(os.Environ(), "HOME="+home)
		if out, err := cmd.Output(); err == nil || strings.Contains(string(out), tool) {
			t.Errorf("%v: %s", err, out)
		}
		if status, _ := h.Post("/mcp", strings.Repeat("x", 40), []byte("{}"), nil); status != http.StatusUnauthorized {
			t.Errorf("HTTP %d", status)
		}
	})
}
