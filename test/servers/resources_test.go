//go:build npm

package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/test/hosttest"
)

// The inspector lists and reads what a capsule serves, in both eras over HTTP, and
// over the bridge that a client starts.
func TestResourcesForTheInspector(t *testing.T) {
	h := hosttest.Start(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "list.txt"), []byte("bread, olives"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Do("capsule", "install", "files", folder)
	app := h.AddApp("inspector")
	h.Do("grants", "add", "inspector", "files", "read")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(app.MCP), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, way := range map[string][]string{
		"legacy": {h.BaseURL + "/mcp", "--transport", "http", "--protocol-era", "legacy", "--header", "Authorization: Bearer " + app.MCP},
		"modern": {h.BaseURL + "/mcp", "--transport", "http", "--protocol-era", "modern", "--header", "Authorization: Bearer " + app.MCP},
		"bridge": {h.Program, "--home", h.Home, "mcp", "serve", "--token-file", token},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := func(words ...string) strictjson.Value {
				return runScript(t, home, inspector, append(append([]string{"--cli"}, way...), words...)...)
			}
			list, _ := ask("--method", "resources/list").Get("resources")
			if len(list.Items) != 1 {
				t.Fatalf("the list is %s", list.Append(nil))
			}
			uri, _ := list.Items[0].Get("uri")
			contents, _ := ask("--method", "resources/read", "--uri", uri.Text).Get("contents")
			if len(contents.Items) != 1 {
				t.Fatalf("%s reads as %s", uri.Text, contents.Append(nil))
			}
			if text, _ := contents.Items[0].Get("text"); text.Text != "bread, olives" {
				t.Errorf("%s reads as %s", uri.Text, contents.Append(nil))
			}
		})
	}
}
