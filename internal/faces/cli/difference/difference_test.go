package difference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatchTellsTheChangedLinesAndThoseAround(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for _, c := range []struct{ after, want string }{
		{before, ""},
		{strings.Replace(before, "5\n", "five\nfive\n", 1), "  …\n  2\n  3\n  4\n- 5\n+ five\n+ five\n  6\n  7\n  8\n  …\n"},
		{before + "10", "  …\n  7\n  8\n  9\n+ 10\n"},
		{"", "- 1\n- 2\n- 3\n- 4\n- 5\n- 6\n- 7\n- 8\n- 9\n"},
	} {
		if diff := cmp.Diff(c.want, Patch(before, c.after)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWordsAreComparedAsWords(t *testing.T) {
	got := Words("Reads a note by its title.", "Reads a note, and sends it, by its title.")
	want := []Part{{Same, "Reads a note"}, {New, ", and sends it,"}, {Same, " by its title."}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Put together again, a difference is both texts, whatever they are.
func FuzzDifference(f *testing.F) {
	f.Add("a b c", "a x c")
	f.Add("", "\n\n")
	f.Add("é\xff, z", "é\xfe z")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, parts := range [][]Part{Words(before, after), Lines(before, after)} {
			var a, b strings.Builder
			for _, p := range parts {
				if p.Kind != New {
					a.WriteString(p.Text)
				}
				if p.Kind != Gone {
					b.WriteString(p.Text)
				}
			}
			if a.String() != before || b.String() != after {
				t.Fatalf("%q and %q became %q", before, after, parts)
			}
		}
	})
}

func TestTextsWithNothingInCommonCostLittle(t *testing.T) {
	long := strings.Repeat("a,", 20000)
	parts := Words(long, strings.Repeat("b;", 20000))
	if len(parts) != 2 || parts[0] != (Part{Gone, long}) {
		t.Errorf("%d parts", len(parts))
	}
}
