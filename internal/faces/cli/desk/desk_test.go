package desk

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
)

// The name of a folder or a file may hold what a terminal obeys, and the next
// command repeats it.
func TestTheNextCommandIsOneVisibleLine(t *testing.T) {
	var out bytes.Buffer
	d := &Desk{HomeFlag: "/h\x1b[31m\u009b\u202e", Out: &out}
	d.Next("steward import 'a\x1b[2J\nb.json'")
	line, rest, _ := strings.Cut(out.String(), "\n")
	if rest != "" || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || !strings.HasPrefix(line, "next: steward --home ") {
		t.Errorf("printed %q", out.String())
	}
}
