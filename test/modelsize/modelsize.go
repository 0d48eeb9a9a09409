// Package modelsize says how much the model tests do: the gate's size where
// STEWARD_MODEL is gate, little under -short, else the quick size that every run
// has (proof page, R19). It changes flags of the test binary, so a package's model
// tests do not run beside each other.
package modelsize

import (
	"flag"
	"os"
	"testing"
)

// Set sets the flags of rapid for the tests that follow. A failure is told by its
// seed, which is enough to see it again.
func Set(t *testing.T) {
	t.Helper()
	checks, steps := "200", "60"
	switch {
	case os.Getenv("STEWARD_MODEL") == "gate":
		checks, steps = "1000", "100"
	case testing.Short():
		checks = "20"
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps, "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}
