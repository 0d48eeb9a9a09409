// Package modelsize says how much the model tests do: the size that the figures of a
// run have, little under -short (proof page, R19). It changes flags of the test binary, so a package's model
// tests do not run beside each other.
package modelsize

import (
	"flag"
	"strconv"
	"testing"

	"github.com/stewardhost/steward/test/figure"
)

// Set sets the flags of rapid for the tests that follow. A failure is told by its
// seed, which is enough to see it again.
func Set(t *testing.T) {
	t.Helper()
	checks, steps := figure.Of(t, 200, 1000, 50_000), figure.Of(t, 60, 100, 100)
	if testing.Short() {
		checks = 20
	}
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(checks), "rapid.steps": strconv.Itoa(steps), "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}
