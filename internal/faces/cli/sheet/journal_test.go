package sheet

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// A refused attempt says what it was about and the command that helps, once for each
// kind (field faults, FF78).
func TestRefusalsSayWhatHelps(t *testing.T) {
	named := func(code string) adminwire.Denial {
		return adminwire.Denial{At: time.Unix(0, 0), App: "my app", Subject: "tx_1", Code: code, Reason: "Why.", Count: 1, Resource: "my notes", ResourceID: "res_1", Method: "read", Offered: true}
	}
	foreign := named("not_found")
	foreign.Offered = false
	nowhere := adminwire.Denial{App: "a", Code: "not_found", Reason: "Why.", Count: 1}
	var out strings.Builder
	Denied(&out, []adminwire.Denial{named("grant_required"), named("grant_required"), named("needs_consent"), named("confirmation_required"), named("conflict"), named("invalid_args"),
		named("rate_limited"), {Code: "unauthenticated", Reason: "Why.", Count: 3}, foreign, nowhere, named("internal")}, func(command string) string { return command })
	table, lines, _ := strings.Cut(out.String(), "grant_required: ")
	if n := strings.Count(table, "\n"); n != 12 || strings.Count(table, "my notes") != 9 || !strings.Contains(table, "nobody known") {
		t.Errorf("%d lines:\n%s", n, table)
	}
	want := `Why. What helps: steward grants add 'my app' 'my notes' read
needs_consent: Why. What helps: steward review 'my notes'
confirmation_required: Why. What helps: steward confirm list
conflict: Why. What helps: steward journal list --indeterminate
invalid_args: Why. What helps: steward resources show 'my notes' read
rate_limited: Why. What helps: steward grants list --app 'my app'
unauthenticated: Why. What helps: steward apps list
not_found: Why. What helps: steward resources show 'my notes'
not_found: Why. What helps: steward resources list
internal: Why.
`
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
