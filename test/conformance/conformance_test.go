//go:build npm

// Package conformance runs the public MCP conformance suite. In its client role it
// drives steward's client of remote servers. In its server role it runs against
// steward: a fixture upstream in a process of its own, imported and
// approved by the owner, granted to one app, and called through steward under
// its original names, and a capsule that has the resources which the suite reads.
//
// What may fail is listed beside this file, one list a revision, with the
// reason. The suite's own exit code decides, and it is not 0 where something
// listed passes either.
package conformance

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/test/hosttest"
)

func TestMain(m *testing.M) { hosttest.Main(m) }

// runs are the sets that a revision requires, and the scenarios beside them that
// concern what steward offers.
var runs = []struct {
	revision string
	beside   []string
}{
	{"2025-11-25", []string{"server-session-lifecycle", "server-sse-polling", "json-schema-2020-12"}},
	{"2026-07-28", []string{"http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12"}},
}

func TestServerRole(t *testing.T) {
	for _, r := range runs {
		t.Run(r.revision, func(t *testing.T) {
			url := expose(t)
			t.Run("required", func(t *testing.T) { runSuite(t, url, r.revision, "--requirements", r.revision) })
			for _, scenario := range r.beside {
				t.Run(scenario, func(t *testing.T) {
					runSuite(t, url, r.revision, "--scenario", scenario, "--spec-version", r.revision)
				})
			}
		})
	}
}

// The client role: steward's own client of remote servers, with what it needs to be
// let in to guarded ones.
func TestClientRole(t *testing.T) {
	caller := hosttest.Build(t, "./test/conformance/caller", "")
	for _, r := range runs {
		t.Run(r.revision, func(t *testing.T) {
			runRole(t, "expected-client-"+r.revision+".yml", []string{"client", "--command", caller, "--requirements", r.revision})
		})
	}
}

// expose imports the fixture into a fresh host, grants all of it that can be
// imported to one app, and returns the URL of a proxy for that app.
func expose(t *testing.T) string {
	t.Helper()
	h := hosttest.Start(t)
	config := h.Config(map[string]hosttest.Server{"fixture": {Command: hosttest.Build(t, "./test/fixture", "")}})
	outcomes, effects := map[string]string{}, map[string]string{}
	for _, tool := range h.Plan(config).Tools {
		outcomes[tool.Name] = tool.Outcome
	}
	if diff := cmp.Diff(wantOutcomes, outcomes); diff != "" {
		t.Errorf("outcomes differ (-want +got):\n%s", diff)
	}
	review := h.Import(config)[0]
	upstream := map[string]string{} // method to tool
	for _, m := range review.Methods {
		if m.State == "proposed" {
			upstream[m.Method] = m.Tool
			effects[m.Method] = "read" // what asks for a confirmation is another suite's
		}
	}
	h.Approve("fixture", effects)
	app := h.AddApp("suite")
	names := map[string]string{}
	for method, tool := range app.Grant("fixture", slices.Sorted(maps.Keys(upstream))...) {
		names[upstream[method]] = tool
	}
	h.Do("capsule", "install", pages(t))
	h.Do("grants", "add", "suite", "pages", "read")
	p, err := newProxy(h.BaseURL, app.MCP, names)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	return front.URL + "/mcp"
}

// pages makes the folder of the capsule.
func pages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	manifest := fmt.Sprintf(`name = "pages"
version = "1"
publisher = "here"
runtime = "process"
command = [%q]
[resources]
families = ["test://template/"]
[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}
[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }
`, hosttest.Build(t, "./test/conformance/pages", ""))
	if err := os.WriteFile(filepath.Join(dir, "Capsule.toml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wantOutcomes is what the import says of each tool of the fixture.
var wantOutcomes = map[string]string{
	"test_simple_text":                  "narrowed",
	"test_image_content":                "as_is",
	"test_audio_content":                "as_is",
	"test_embedded_resource":            "as_is",
	"test_multiple_content_types":       "as_is",
	"test_error_handling":               "as_is",
	"test_tool_with_progress":           "as_is",
	"test_tool_with_logging":            "as_is",
	"test_logging_tool":                 "as_is",
	"test_sampling":                     "narrowed",
	"test_elicitation":                  "narrowed",
	"test_elicitation_sep1034_defaults": "as_is",
	"test_elicitation_sep1330_enums":    "as_is",
	"test_streaming_elicitation":        "as_is",
	"json_schema_2020_12_tool":          "refused",
	"test_x_mcp_header":                 "refused",
	"test_trigger_tool_change":          "as_is",
	"test_dynamic_tool_1":               "as_is",
	"test_dynamic_tool_2":               "as_is",
	"test_dynamic_tool_3":               "as_is",
	"test_dynamic_tool_4":               "as_is",
}

const suiteTime = 5 * time.Minute

func runSuite(t *testing.T, url, revision string, args ...string) {
	t.Helper()
	runRole(t, "expected-"+revision+".yml", append([]string{"server", "--url", url}, args...))
}

// runRole runs the suite with what may fail in a file beside this one.
func runRole(t *testing.T, expected string, args []string) {
	t.Helper()
	npm, node := os.Getenv("STEWARD_NPM"), os.Getenv("STEWARD_NODE")
	if npm == "" || node == "" {
		t.Fatal("STEWARD_NPM and STEWARD_NODE say where the suite is; run make npm-suite")
	}
	expected, err := filepath.Abs(expected)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), suiteTime)
	defer cancel()
	all := append([]string{filepath.Join(npm, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")}, args...)
	all = append(all, "--expected-failures", expected, "--output-dir", t.TempDir())
	cmd := exec.CommandContext(ctx, node, all...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the suite: %v\n%s", err, out)
	} else if _, summary, ok := bytes.Cut(out, []byte("=== SUMMARY ===")); ok {
		t.Logf("%s", summary)
	}
}
