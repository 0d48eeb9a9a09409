package admin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// The owner reads the same word about a call's effects as its caller: a call
// that is out may have had them, whatever its row holds so far.
func TestTheOwnerIsToldTheEffectsOfAnAnswer(t *testing.T) {
	for _, state := range invocation.States() {
		row := invocation.Row{State: state, Outcome: invocation.Outcome{Effects: effect.None}}
		got, want := invocationOf(view.Invocation{Row: row}).Effects, string(row.Answer().Effects)
		if got != want {
			t.Errorf("%s: effects %q, the caller is told %q", state, got, want)
		}
	}
}

// What an export tells is what the owner's file had, not what stood in its place
// when it was imported.
func TestAnExportTellsWhereAValueIsFrom(t *testing.T) {
	given := adminwire.Server{Name: "s", Command: "/x", Args: []string{"hunter", "y"}, Env: map[string]string{"A": "hunter", "B": "literal"},
		Written: map[string]string{"argument 1": "${P}", "env A": "${Q}"}}
	want := adminwire.Server{Name: "s", Command: "/x", Args: []string{"${P}", "y"}, Env: map[string]string{"A": "${Q}", "B": "literal"}}
	if diff := cmp.Diff(want, exportedOf(entryOf(given))); diff != "" {
		t.Error(diff)
	}
	far := adminwire.Server{Name: "s", URL: "https://hunter/mcp", Headers: map[string]string{"X": "hunter"}, Written: map[string]string{"header X": "${X}", "url": "https://${H}/mcp"}}
	if diff := cmp.Diff(adminwire.Server{Name: "s", Args: []string{}, URL: "https://${H}/mcp", Headers: map[string]string{"X": "${X}"}}, exportedOf(entryOf(far))); diff != "" {
		t.Error(diff)
	}
}
