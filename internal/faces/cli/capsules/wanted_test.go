package capsules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// A folder is the caller's, never one of the same name where the host stands.
func TestAFolderIsOfWhoeverAsks(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(here, name) }
	ask := func(words ...string) (adminwire.InstallCapsule, string) {
		t.Helper()
		req, said, err := wanted(words)
		if err != nil {
			t.Fatal(err)
		}
		return req, said
	}
	want := func(what, says string, args ...string) func(adminwire.InstallCapsule, string) {
		return func(req adminwire.InstallCapsule, said string) {
			t.Helper()
			if diff := cmp.Diff(adminwire.InstallCapsule{What: what, Args: append([]string{}, args...)}, req); diff != "" {
				t.Error(diff)
			}
			if (says == "") != (said == "") || !strings.Contains(said, says) {
				t.Errorf("it says %q, want %q", said, says)
			}
		}
	}
	want(in("diary"), "")(ask("diary"))
	want(here, "")(ask("."))
	want("files", "", in("docs"))(ask("files", "docs"))
	want("introspect", "")(ask("introspect"))
	for _, name := range comes {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	want("introspect", "")(ask("introspect"))
	for _, name := range comes {
		if err := os.WriteFile(filepath.Join(name, "Capsule.toml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want(in("introspect"), "the folder ./introspect")(ask("introspect"))
	want("files", "not the folder ./files", in("docs"))(ask("files", "docs"))
}
