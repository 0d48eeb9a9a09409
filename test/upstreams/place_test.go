package upstreams_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/test/hosttest"
)

// beside writes a client's file beside what the upstream says, with nothing in it that
// says where that is, and a value for the server.
func (b *behind) beside(given string) string {
	b.t.Helper()
	entry := b.entry()
	entry.Env = map[string]string{"UPSTREAM_FOLDER": ".", "GIVEN": given}
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]hosttest.Server{"here": entry}})
	if err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(b.folder, "mcp.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// write makes a file in a folder of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A server starts in the folder of the file that it was imported from, whatever folder
// the host was started in; after a restore the same file with another secret takes the
// place of the entry that is off, and its approvals wait for the owner.
func TestAnEntryStartsWhereItsFileLay(t *testing.T) {
	t.Parallel()
	up := server(t, closed("ping", "Pings."))
	h := hosttest.Start(t)
	app := h.AddApp("app")
	up.review = h.Import(up.beside("first"))[0]
	h.Approve("here", map[string]string{"ping": "read"})
	h.Do("grants", "add", "app", "here", "ping")
	h.Restart()
	if got := up.send(app, "ping", "{}"); code(got) != "ok" || up.times("tools/call ping") != 1 {
		t.Errorf("%+v", got)
	}
	// The same server from another place, and from an export of itself, is no other.
	raw, err := os.ReadFile(up.beside("first"))
	if err != nil {
		t.Fatal(err)
	}
	if said := h.Do("import", write(t, string(raw))); !strings.Contains(said, "known already") {
		t.Errorf("from another place: %s", said)
	}
	exported := h.Do("export")
	if !strings.Contains(exported, `"cwd": "`+up.folder+`"`) {
		t.Errorf("exported as %s", exported)
	}
	if said := h.Do("import", write(t, exported)); !strings.Contains(said, "known already") {
		t.Errorf("from an export: %s", said)
	}

	if _, said, code := h.Run("", "import", up.beside("second")); code != 1 || !strings.Contains(said, "another command, environment or address") {
		t.Errorf("another secret while it is on: %d %s", code, said)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	h.Do("backup", copied)
	h.Stop()
	if out, said, code := h.Run("", "restore", copied, "--replace"); code != 0 {
		t.Fatalf("%s %s", out, said)
	}
	h.Restart()
	h.Do("import", up.beside("second"))
	h.Do("import", "--refresh", "here")
	if given, err := os.ReadFile(filepath.Join(up.folder, "given")); err != nil || string(given) != "second" {
		t.Errorf("%v: it was given %q", err, given)
	}
	if r := h.Review("here"); r.Resource.Upstream.State != "enabled" || r.Resource.Methods["needs_consent"] != 1 {
		t.Errorf("after the restore: %+v", r.Resource)
	}
}
