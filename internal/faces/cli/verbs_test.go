package cli

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/manual"
)

// each walks the tree that a person can see.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		each(sub, visit)
	}
}

func TestVerbsAreOfOneStyle(t *testing.T) {
	d := verbs{&desk.Desk{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, Host{}}
	there := map[string]bool{}
	each(d.root(), func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		there[path] = true
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || !unicode.IsLower(rune(cmd.Short[0])) || strings.ContainsAny(cmd.Short+cmd.Long, "!") {
			t.Errorf("%s: its short help is %q", path, cmd.Short)
		}
		if cmd.Runnable() && cmd.Args == nil {
			t.Errorf("%s takes any words", path)
		}
		for _, line := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of its help is long: %q", path, line)
			}
		}
		if reads := cmd.Name() == "list" || cmd.Name() == "show" || cmd.Name() == "status"; reads && cmd.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json", path)
		}
		if page := manual.Page(cmd); !strings.HasPrefix(page, ".TH ") || strings.Contains(page, "\n.\n") {
			t.Errorf("%s has the page %q", path, page)
		}
	})
	for _, verb := range []string{
		"up", "demo", "doctor", "import", "export", "connect", "mcp serve", "review", "resources list", "resources show", "capsule new", "capsule check", "capsule install", "capsule list", "capsule reads", "capsule logs", "capsule remove", "apps list", "apps add", "apps rotate", "apps disconnect",
		"grants list", "grants add", "grants revoke", "call", "confirm list", "confirm approve", "confirm deny",
		"journal list", "journal show", "journal reconcile", "journal verify", "status", "version",
		"daemon start-or-connect", "daemon status", "daemon stop", "daemon foreground", "session list", "session show", "session replay", "session stop", "turn",
	} {
		if !there["steward "+verb] {
			t.Errorf("there is no verb %s", verb)
		}
	}
}
