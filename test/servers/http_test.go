//go:build npm

package servers

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// One server over both ways that there are: what it offers, what it answers and what it
// tells on the way are the same.
func TestTheSameServerOverHTTP(t *testing.T) {
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	node, script := npmScript(t, "@modelcontextprotocol/server-everything/dist/index.js")
	far := exec.Command(node, script, "streamableHttp")
	far.Env = append(os.Environ(), "PORT="+port)
	if err := far.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		far.Process.Signal(syscall.SIGKILL)
		far.Wait() // how it ended does not matter
	})
	hosttest.WaitFor(t, "the server to listen", func() error {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	})

	h := hosttest.Start(t)
	h.Import(h.Config(map[string]hosttest.Server{"near": npmServer(t, "everything", nil).Server}))
	h.Do("import", "http://"+address+"/mcp", "--name", "far", "--except", "http://"+address+"=127.0.0.1/32")
	methods := []string{"echo", "get-tiny-image", "get-structured-content", "get-annotated-message", "get-resource-links", "get-resource-reference", "trigger-long-running-operation"}
	effects := map[string]string{}
	for _, m := range methods {
		effects[m] = "read"
	}
	app := h.AddApp("app")
	definitions, tools := map[string]map[string]string{}, map[string]map[string]string{}
	for _, name := range []string{"near", "far"} {
		definitions[name], tools[name] = map[string]string{}, map[string]string{}
		for _, m := range h.Review(name).Methods {
			definitions[name][m.Method] = string(m.Upstream)
		}
		h.Approve(name, effects)
		h.Do(append([]string{"grants", "add", app.Name, name}, methods...)...)
	}
	if diff := cmp.Diff(definitions["near"], definitions["far"]); diff != "" {
		t.Errorf("definitions (-near +far):\n%s", diff)
	}
	for _, g := range app.Grants() {
		tools[g.Resource][g.Method] = g.Tool
	}
	args := map[string]map[string]any{"echo": {"message": "hello"}, "get-structured-content": {"location": "Chicago"},
		"get-annotated-message": {"messageType": "error", "includeImage": true}, "get-resource-links": {"count": 3},
		"get-resource-reference": {"resourceType": "Text", "resourceId": 1}}
	for _, m := range methods[:len(methods)-1] {
		content := map[string]string{}
		for name := range tools {
			got := modern(t, app, tools[name][m], args[m])
			if got.Status != 200 || got.IsError() {
				t.Errorf("%s of %s: %d %s", m, name, got.Status, got.Raw)
			}
			for _, part := range []string{"content", "structuredContent"} {
				v, _ := got.Result.Get(part)
				content[name] += string(v.Append(nil)) + "\n"
			}
			content[name] = readBack(t, app, got, content[name])
		}
		// A resource tells the second in which it was made.
		if m != "get-resource-reference" && content["near"] != content["far"] {
			t.Errorf("%s differs:\n%s%s", m, content["near"], content["far"])
		}
	}

	for name := range tools {
		told := make(chan string, 100)
		session := app.Session(&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			told <- fmt.Sprint(r.Params.ProgressToken, " ", r.Params.Progress, " of ", r.Params.Total)
		}})
		params := &mcp.CallToolParams{Name: tools[name]["trigger-long-running-operation"], Arguments: map[string]any{"duration": 1, "steps": 4}}
		params.SetProgressToken("mine")
		if got, err := session.CallTool(t.Context(), params); err != nil || got.IsError {
			t.Errorf("%s: %v %v", name, err, got)
		}
		var got []string
		for len(got) < 4 {
			select {
			case s := <-told:
				got = append(got, s)
			case <-time.After(hosttest.Patience):
				t.Fatalf("%s told %v", name, got)
			}
		}
		if diff := cmp.Diff([]string{"mine 1 of 4", "mine 2 of 4", "mine 3 of 4", "mine 4 of 4"}, got); diff != "" {
			t.Errorf("%s told (-want +got):\n%s", name, diff)
		}
	}
	var status adminwire.Status
	if h.JSON(&status, "status"); status.Count.Down != 0 {
		t.Errorf("%d upstreams are down", status.Count.Down)
	}
	verify(t, h)
}

// readBack reads what a result points to, and gives its content with the server's own
// URIs, which are at the end of the addresses that the host gives.
func readBack(t *testing.T, app *hosttest.App, got hosttest.Reply, content string) string {
	t.Helper()
	blocks, _ := got.Result.Get("content")
	for _, block := range blocks.Items {
		at, _ := block.Get("uri")
		if embedded, ok := block.Get("resource"); ok {
			at, _ = embedded.Get("uri")
		}
		if at.Text == "" {
			continue
		}
		own, err := url.PathUnescape(at.Text[strings.LastIndexByte(at.Text, '/')+1:])
		if err != nil || !strings.HasPrefix(at.Text, "steward://link/") {
			t.Fatalf("it points to %s", at.Text)
		}
		content = strings.ReplaceAll(content, at.Text, own)
		read, err := app.Modern("resources/read", at.Text, map[string]any{"uri": at.Text})
		parts, _ := read.Result.Get("contents")
		if err != nil || len(parts.Items) == 0 {
			t.Errorf("%s cannot be read: %v %s", own, err, read.Raw)
		}
	}
	return content
}
