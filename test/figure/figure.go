// Package figure says how large a proof is to be, where its chance comes from,
// and what came of it (proof, "Figures and how each is measured").
//
// The environment decides: STEWARD_SIZE is quick (if unset), gate or release;
// STEWARD_SEED repeats a run; STEWARD_FIGURES names a file to which each figure
// adds its line. A seed repeats what a test decides, not what the machine does
// meanwhile.
package figure

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Of gives the count of the size that is asked for.
func Of(t testing.TB, quick, gate, release int) int {
	t.Helper()
	switch size := os.Getenv("STEWARD_SIZE"); size {
	case "", "quick":
		return quick
	case "gate":
		return gate
	case "release":
		return release
	default:
		t.Fatalf("STEWARD_SIZE is quick, gate or release, not %q", size)
		return 0
	}
}

// Seed is the run's seed; a test that fails tells it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("STEWARD_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("STEWARD_SEED: %v", err)
		}
		seed = given
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat the choices of this run with STEWARD_SEED=%d", seed)
		}
	})
	return seed
}

// Rand is the chance of one actor in a run: equal seeds and actors give equal
// chances. It belongs to one goroutine.
func Rand(seed uint64, actor int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(actor))) }

// Tell prints the line of a figure with its verdict as it stands now.
func Tell(t testing.TB, id, format string, args ...any) {
	t.Helper()
	verdict := "ok"
	if t.Failed() {
		verdict = "FAILED"
	}
	line := fmt.Sprintf("figure %-4s %-6s ", id, verdict) + fmt.Sprintf(format, args...)
	t.Log(line)
	name := os.Getenv("STEWARD_FIGURES")
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
}
