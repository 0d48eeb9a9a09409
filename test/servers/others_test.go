//go:build npm

package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/test/hosttest"
)

// Servers that people use, written by many: each is imported whole, one of its tools
// is granted and listed and, where it needs no network, called.
func TestServersOfOthers(t *testing.T) {
	repository := t.TempDir()
	for _, words := range [][]string{{"init", "-q", "-b", "main", repository}, {"-C", repository, "commit", "-q", "--allow-empty", "-m", "the first one"}} {
		git := exec.Command("git", words...)
		git.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x.invalid", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x.invalid")
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for _, c := range []struct {
		name, script string
		plan         map[string]int // tools by what the importer makes of them
		method       string
		args         map[string]any // nil: it would need the network
		want         string         // in the text
	}{
		{"git", "@cyanheads/git-mcp-server/dist/index.js", map[string]int{"narrowed": 26, "as_is": 2}, "git_log",
			map[string]any{"path": repository, "maxCount": 1}, "the first one"},
		{"time", "time-mcp/dist/index.js", map[string]int{"narrowed": 6}, "days_in_month", map[string]any{"date": "2028-02-01"}, "29"},
		{"context7", "@upstash/context7-mcp/dist/index.js", map[string]int{"narrowed": 2}, "query-docs", nil, ""},
		{"notion", "@notionhq/notion-mcp-server/bin/cli.mjs", map[string]int{"narrowed": 21, "lossy": 3}, "API-get-self", nil, ""},
		{"chart", "@antv/mcp-server-chart/build/index.js", map[string]int{"narrowed": 23, "lossy": 3, "refused": 1}, "generate_pie_chart", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := hosttest.Start(t)
			env := map[string]string{"HOME": t.TempDir(), "LOG_PATH": filepath.Join(t.TempDir(), "log")}
			config := h.Config(map[string]hosttest.Server{c.name: npmProgram(t, c.script, env).Server})
			plan, tools := map[string]int{}, 0
			for _, tool := range h.Plan(config).Tools {
				plan[tool.Outcome]++
				tools++
				if tool.Outcome == "refused" {
					t.Logf("%s is refused: %+v", tool.Name, tool.Reason)
				}
			}
			if diff := cmp.Diff(c.plan, plan); diff != "" {
				t.Errorf("the plan (-want +got):\n%s", diff)
			}
			if n := len(h.Import(config)[0].Methods); n != tools {
				t.Errorf("%d methods of %d tools", n, tools)
			}
			h.Approve(c.name, map[string]string{c.method: "read"})
			app := h.AddApp("reader")
			tool := app.Grant(c.name, c.method)[c.method]
			if list := listModern(t, app); len(list) != 1 || list[0] != tool || !modelName.MatchString(tool) {
				t.Errorf("the list is %v, the tool %q", list, tool)
			}
			if list := listLegacy(t, app.Session(nil)); len(list) != 1 || list[0] != tool {
				t.Errorf("the list of a session is %v", list)
			}
			if c.args == nil {
				return
			}
			got := modern(t, app, tool, c.args)
			if got.Status != 200 || got.IsError() || !strings.Contains(got.Text(), c.want) {
				t.Errorf("%d %s", got.Status, got.Raw)
			}
			if diff := cmp.Diff(map[string]int{"succeeded": 1}, states(t, h)); diff != "" {
				t.Errorf("the journal's calls (-want +got):\n%s", diff)
			}
			verify(t, h)
		})
	}
}
