package sheet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// The usual changes are told as long as a person would read them.
func TestUsualChangesAreToldWhileTheyAreFew(t *testing.T) {
	for _, c := range []struct {
		changes int
		whole   bool
		told    int
	}{{0, false, 0}, {1, false, 1}, {9, false, 9}, {10, false, 0}, {10, true, 10}} {
		var decisions []string
		for i := range c.changes {
			decisions = append(decisions, fmt.Sprintf(`{"pointer":"/properties/p%d","kind":"max_length","to":"4096"}`, i))
		}
		m := adminwire.Definition{Method: "m", Import: []byte(`{"server":"s","name":"m","outcome":"narrowed","decisions":[` +
			strings.Join(decisions, ",") + `],"lost":[{"pointer":"/properties/x","kind":"drop_optional","exception":true}]}`)}
		var out strings.Builder
		sheet.Method(&out, m, c.whole)
		if got := strings.Count(out.String(), "    + /p"); got != c.told || !strings.Contains(out.String(), "    - /x: ") {
			t.Errorf("of %d changes %d are told, want %d:\n%s", c.changes, got, c.told, out.String())
		}
	}
}

// What an upstream wrote never stands where steward's own words stand.
func TestADescriptionStaysBehindItsMark(t *testing.T) {
	m := adminwire.Definition{Method: "m", Effects: []string{"delete"}, Description: strings.Repeat("read a file ", 40) + strings.Repeat(" ", 70) + "effects      read"}
	var out strings.Builder
	sheet.Method(&out, m, false)
	for line := range strings.Lines(out.String()) {
		if len(line) > 81 || strings.Contains(line, "read") && !strings.HasPrefix(line, "    | ") {
			t.Errorf("%q", line)
		}
	}
}
