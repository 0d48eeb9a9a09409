package meter

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheMiddleAndTheEnds(t *testing.T) {
	times := Times{Each: []time.Duration{5, 1, 4, 2, 3}, Wall: time.Second}
	got := []time.Duration{times.Quantile(0), times.Quantile(0.5), times.Quantile(0.99), times.Quantile(1), Times{}.Quantile(0.5)}
	if diff := cmp.Diff([]time.Duration{1, 3, 4, 5, 0}, got); diff != "" {
		t.Error(diff)
	}
	if times.Rate() != 5 {
		t.Errorf("%v a second", times.Rate())
	}
	if got := []float64{Median(nil), Median([]float64{7}), Median([]float64{9, 1, 5})}; !slices.Equal(got, []float64{0, 7, 5}) {
		t.Errorf("medians %v", got)
	}
}

func TestEachOperationRunsOnceAndIsTimed(t *testing.T) {
	const n, callers = 1000, 7
	var seen [n]atomic.Int32
	times, err := Spread(callers, n, func(caller, i int) error {
		if caller < 0 || caller >= callers {
			t.Errorf("caller %d", caller)
		}
		seen[i].Add(1)
		return nil
	})
	if err != nil || len(times.Each) != n || times.Wall <= 0 {
		t.Fatalf("%d times in %v: %v", len(times.Each), times.Wall, err)
	}
	for i := range seen {
		if seen[i].Load() != 1 {
			t.Fatalf("operation %d ran %d times", i, seen[i].Load())
		}
	}
}

func TestTheFirstErrorEndsIt(t *testing.T) {
	bad := errors.New("bad")
	var ran atomic.Int32
	_, err := Spread(2, 1_000_000, func(_, i int) error {
		ran.Add(1)
		if i == 10 {
			return bad
		}
		return nil
	})
	if err != bad || ran.Load() > 100_000 {
		t.Errorf("%v after %d operations", err, ran.Load())
	}
}

func TestAFolderIsCopiedWithItsModes(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	if err := os.MkdirAll(filepath.Join(from, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "a", "b"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Folder(to, from); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "a", "b"))
	if err != nil || string(text) != "text" {
		t.Errorf("%q %v", text, err)
	}
	if info, err := os.Stat(filepath.Join(to, "a", "b")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}
