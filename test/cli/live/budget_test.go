package live_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// A budget is given with the grant, shown with what the day has taken of it, and met
// with a refusal that says until when. A raised ceiling is shown wherever the host or
// a connection is.
func TestBudgetsAreGivenShownAndMet(t *testing.T) {
	h := hosttest.StartWith(t, hosttest.Options{Args: []string{"--resource-per-minute", "90"}})
	dir := t.TempDir()
	h.Do("import", h.Config(map[string]hosttest.Server{"notes": {Command: h.Program,
		Args: []string{"notes-server", "--dir", dir, "--pid-file", filepath.Join(dir, "pid")}}}))
	h.Approve("notes", map[string]string{"write_note": "write"})
	app := h.AddApp("app")
	bad := typed(t, h, 2, "grants", "add", "app", "notes", "write_note", "--price", "5")
	if !strings.Contains(bad.err, "currency") {
		t.Errorf("a price without a sum: %s", bad.err)
	}
	h.Do("grants", "add", "app", "notes", "write_note", "--per-minute", "30", "--price", "5", "--spend-per-day", "11", "--currency", "EUR")
	tool := app.Tools()["write_note"]
	for i, want := range []string{"", "", "budget_exhausted"} {
		got, err := app.Call(tool, map[string]string{"title": strings.Repeat("x", i+1), "text": "y"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Code() != want || want != "" && !strings.Contains(got.Raw, "resets_at") {
			t.Fatalf("call %d: %s", i, got.Raw)
		}
	}
	g := app.Grants()[0]
	if g.Budget == nil || *g.Budget != (adminwire.Budget{PerMinute: 30, Price: 5, SpendPerDay: 11, Currency: "EUR"}) || g.Today == nil || *g.Today != (adminwire.Today{Calls: 2, Spent: 10}) {
		t.Errorf("the grant is shown as %+v with %+v", g.Budget, g.Today)
	}
	if list := typed(t, h, 0, "grants", "list"); !strings.Contains(list.out, "30 a minute, 10 of 11 EUR (minor units) today") {
		t.Errorf("%s", list.out)
	}
	for _, verb := range [][]string{{"status"}, {"resources", "show", "notes"}} {
		if said := typed(t, h, 0, verb...); !strings.Contains(said.out, "90 calls a minute, 4 at once; raised by the operator") {
			t.Errorf("%v hides the ceiling:\n%s", verb, said.out)
		}
	}
	if none := typed(t, h, 2, "up", "--resource-at-once", "0"); !strings.Contains(none.err, "a ceiling is a number from 1") {
		t.Errorf("%s", none.err)
	}
}
