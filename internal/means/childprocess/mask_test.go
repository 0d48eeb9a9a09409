package childprocess

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// What a command was given as a secret is not kept of what it prints, also where the
// front of it was given up (field faults, FF94).
func TestGivenSecretsAreMasked(t *testing.T) {
	const secret, longer = "hunter2-hunter2", "hunter2-hunter2-and-more"
	fresh := func() *tail {
		words := &tail{}
		words.hide([]string{"short", secret, longer, ""})
		return words
	}
	words := fresh()
	words.add([]byte("short " + longer + ", " + secret[:5]))
	words.add([]byte(secret[5:] + ".\n"))
	if got, want := words.text(), "short [secret], [secret].\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for lead := range len(secret) + 2 {
		words := fresh()
		words.add([]byte(strings.Repeat("x", lead)))
		for range 5 * bound.StderrBytes.Int() / len(secret) {
			words.add([]byte(secret))
		}
		got := strings.Trim(strings.ReplaceAll(words.text(), masked, ""), "[secrt]x")
		if got != "" {
			t.Fatalf("with %d bytes before: %q", lead, got)
		}
	}
}
