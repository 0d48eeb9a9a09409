package hosttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Server is an entry of an mcpServers file.
type Server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
}

// Config writes an mcpServers file and returns its path.
func (h *Host) Config(servers map[string]Server) string {
	h.t.Helper()
	raw, err := strictjson.Encode(map[string]any{"mcpServers": servers})
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// Plan does the dry run of an import.
func (h *Host) Plan(config string) adminwire.Plan {
	h.t.Helper()
	var plan adminwire.Plan
	h.JSON(&plan, "import", config, "--dry-run")
	if len(plan.Failed) > 0 {
		h.t.Fatalf("servers could not be listed: %+v", plan.Failed)
	}
	return plan
}

// Import imports every server of a file and returns what was staged.
func (h *Host) Import(config string) []adminwire.Review {
	h.t.Helper()
	var got adminwire.Imported
	h.JSON(&got, "import", config)
	if len(got.Failed) > 0 {
		h.t.Fatalf("servers were not imported: %+v", got.Failed)
	}
	return got.Reviews
}

// Approve says yes to methods of a resource with the effects given for each,
// such as "read" or "write+communicate", as they are shown now.
func (h *Host) Approve(resource string, effects map[string]string) adminwire.Approved {
	h.t.Helper()
	var methods, pairs []string
	for method, classes := range effects {
		methods = append(methods, method)
		pairs = append(pairs, method+"="+classes)
	}
	slices.Sort(methods)
	slices.Sort(pairs)
	var got adminwire.Approved
	h.JSON(&got, "review", "--approve", resource, "--shown", h.Review(resource).Shown, "--methods", strings.Join(methods, ","), "--effects", strings.Join(pairs, ","))
	return got
}

// Review shows a resource as it would be approved now.
func (h *Host) Review(resource string) adminwire.Review {
	h.t.Helper()
	var r adminwire.Review
	h.JSON(&r, "resources", "show", resource)
	return r
}
