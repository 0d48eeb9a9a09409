package interview

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/faces/cli/sheet"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// corpus is so many tools of real servers as they wait for the owner after an
// import, thirty a resource. Those that cannot be imported are left out.
func corpus(t *testing.T, tools int) (out []adminwire.Review) {
	t.Helper()
	file, err := os.ReadFile("../../../domain/pool/narrowing/testdata/tool-schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(append(file, file...)) { // it has almost as many
		doc, err := strictjson.Parse(bytes.TrimSpace(line), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		input, _ := doc.Get("inputSchema")
		p := narrowing.Propose(input.Append(nil), narrowing.Default())
		if p.Outcome == narrowing.Refused || n == tools {
			continue
		}
		if n%30 == 0 {
			name := fmt.Sprintf("server-%d", n/30+1)
			out = append(out, adminwire.Review{Resource: adminwire.Resource{ID: "res_" + name, Label: name}, Shown: "sha256:" + name})
		}
		effects := []string{"write", "communicate"}
		hints, _ := doc.Get("annotations")
		if reads, _ := hints.Get("readOnlyHint"); reads.Bool {
			effects = []string{"read"}
		}
		kept := adminwire.PlannedTool{Server: "s", Name: "t", Outcome: string(p.Outcome)}
		for _, d := range p.Decisions {
			kept.Decisions = append(kept.Decisions, adminwire.Decision(d))
		}
		for _, d := range p.Lost {
			kept.Lost = append(kept.Lost, adminwire.Decision(d))
		}
		raw, err := strictjson.Encode(kept)
		if err != nil {
			t.Fatal(err)
		}
		r := &out[len(out)-1]
		r.Methods = append(r.Methods, adminwire.Definition{Method: fmt.Sprintf("tool_%d", n), State: "proposed", Effects: effects, Import: raw})
		n++
	}
	if n != tools {
		t.Fatalf("the corpus has %d tools", n)
	}
	return out
}

func everything(m adminwire.Definition) bool { return m.Answer != "no" }

// sit has a person type answers, and gives what was said and what the person saw.
func sit(t *testing.T, reviews []adminwire.Review, answers ...string) ([]Decision, string) {
	t.Helper()
	var out bytes.Buffer
	said := New(t.Context(), strings.NewReader(strings.Join(answers, "\n")+"\n"), &out).Sit(reviews, everything)
	return said, out.String()
}

// tally counts what was said over all resources.
func tally(all []Decision) (n [5]int) {
	for _, d := range all {
		for i, k := range []int{len(d.Approve), len(d.Reaffirm), len(d.No), len(d.Later), len(d.Yes)} {
			n[i] += k
		}
	}
	return n
}

// A hundred and twenty tools of real servers are decided in one sitting: one word
// for the usual bounds, one for each set of effects, and one for each exception.
func TestAHundredAndTwentyToolsInOneSitting(t *testing.T) {
	reviews := corpus(t, 120)
	odd := 0
	for _, r := range reviews {
		for _, m := range r.Methods {
			if !sheet.Usual(m) {
				odd++
			}
		}
	}
	if odd == 0 || odd > 40 {
		t.Fatalf("%d exceptions", odd)
	}
	// The bounds are right; reading is approved, writing after a look at the list;
	// of the exceptions the first is refused and the second put off.
	answers := []string{"y", "y", "l", "y", "n", "s"}
	answers = append(answers, slices.Repeat([]string{"y"}, odd-2)...)
	said, seen := sit(t, reviews, append(answers, "y")...)
	if diff := cmp.Diff([5]int{118, 0, 1, 1}, tally(said)); diff != "" || len(said) != 4 {
		t.Fatalf("%d resources: %s\n%s", len(said), diff, seen)
	}
	if asked := strings.Count(seen, "]es"); asked > odd+6 {
		t.Errorf("%d questions for %d exceptions", asked, odd)
	}
	t.Logf("120 tools, %d exceptions, %d answers", odd, len(answers)+1)

	// What was refused is not asked again, and what was put off is: nothing else.
	for _, d := range said {
		for i, r := range reviews {
			if r.Resource.ID != d.Review.Resource.ID {
				continue
			}
			for k := range r.Methods {
				m := &reviews[i].Methods[k]
				switch {
				case slices.Contains(d.No, m.Method):
					m.Answer = "no"
				case slices.Contains(d.Later, m.Method):
					m.Answer = "later"
				default:
					m.State = "active"
				}
			}
		}
	}
	again, seen := sit(t, reviews, "y", "y")
	if diff := cmp.Diff([5]int{1, 0, 0, 0}, tally(again)); diff != "" || !strings.Contains(seen, "you said     not yet") {
		t.Errorf("the second sitting: %s\n%s", diff, seen)
	}
}

func TestWithoutALastYesNothingIsApproved(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    [5]int
	}{
		"the input ends":                {[]string{"y", "y"}, [5]int{4: 1}},
		"it ends at the last question":  {[]string{"y", "n", "y", "q"}, [5]int{2: 1, 4: 1}},
		"a last no":                     {[]string{"y", "y", "s", "q", "n"}, [5]int{0, 0, 0, 1}},
		"leaving with a yes so far":     {[]string{"y", "n", "y", "q", "y"}, [5]int{1, 0, 1, 0}},
		"refused, and nothing to do":    {[]string{"y", "s", "n", "q"}, [5]int{0, 0, 1, 1}},
		"other bounds, then leaving":    {[]string{"n", "q"}, [5]int{}},
		"what no question has":          {[]string{"maybe", "y", "x", "q"}, [5]int{}},
		"one by one out of their group": {[]string{"y", "o", "s", "n", "q"}, [5]int{}},
	} {
		reviews := corpus(t, 30)
		reads := 0
		for i := range reviews[0].Methods {
			if slices.Contains(reviews[0].Methods[i].Effects, "read") {
				reads++
			}
		}
		if reads == 0 || reads == 30 {
			t.Fatal("the corpus has one kind only")
		}
		said, seen := sit(t, reviews, c.answers...)
		got := tally(said)
		for i := range got { // a group is told as one
			got[i] = min(got[i], 1)
		}
		want := c.want
		if name == "one by one out of their group" {
			want = [5]int{0, 0, 1, 1}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s\n%s", name, diff, seen)
		}
	}
}

// Changes of words are one word for all, and are shown among the words.
func TestChangesOfWordsAreOneWord(t *testing.T) {
	r := adminwire.Review{Resource: adminwire.Resource{ID: "r", Label: "notes"}, Shown: "sha256:x"}
	for i := range 12 {
		kind := "wording"
		if i == 11 {
			kind = "meaning"
		}
		r.Methods = append(r.Methods, adminwire.Definition{Method: fmt.Sprint("m", i), State: "needs_consent", Effects: []string{"read"},
			Change: &adminwire.Change{Kind: kind, Effects: []string{"read"}, Differences: []adminwire.Difference{
				{Pointer: "/description", Words: true, Before: "Reads a note.", After: "Reads a short note{+.+}"}}}})
	}
	said, seen := sit(t, []adminwire.Review{r}, "l", "y", "y", "y")
	if diff := cmp.Diff([5]int{1, 11, 0, 0}, tally(said)); diff != "" {
		t.Errorf("%s\n%s", diff, seen)
	}
	for _, want := range []string{`| Reads a {+short +}note{+{\++}.{++\}+}`, "in words only; with a yes its grants go on", "in more than words"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q is not among\n%s", want, seen)
		}
	}
}

// A sitting that ends in the middle is gone on with: what was answered is not asked
// again, and what is approved in the end is all that was said yes to, but for an answer
// of which no more is kept than that there was one.
func TestASittingThatEndsIsGoneOnWith(t *testing.T) {
	r := adminwire.Review{Resource: adminwire.Resource{ID: "r", Label: "notes"}, Shown: "sha256:x"}
	for _, name := range []string{"a", "b", "c", "d"} {
		r.Methods = append(r.Methods, adminwire.Definition{Method: name, State: "proposed", Effects: []string{"read"}})
	}
	r.Methods[1].State, r.Methods[1].Change = "needs_consent", &adminwire.Change{Kind: "wording", Effects: []string{"read"}}
	said, seen := sit(t, []adminwire.Review{r}, "y", "y", "e", "write", "y")
	want := Decision{Review: r, Yes: []string{"b", "a"}}
	if diff := cmp.Diff([]Decision{want}, said, cmp.AllowUnexported(Decision{})); diff != "" {
		t.Fatalf("%s\n%s", diff, seen)
	}
	r.Methods[0].Answer, r.Methods[1].Answer = "yes", "yes"
	choice := func(name string) adminwire.Choice {
		return adminwire.Choice{Method: name, Effects: []string{"read"}}
	}
	for end, want := range map[string]Decision{
		"y": {Review: r, Approve: []adminwire.Choice{choice("a"), choice("c")}, Reaffirm: []string{"b"}, No: []string{"d"}, before: []string{"a", "b"}},
		"n": {Review: r, No: []string{"d"}, Later: []string{"a", "b"}, before: []string{"a", "b"}},
	} {
		said, seen := sit(t, []adminwire.Review{r}, "y", "n", end)
		if diff := cmp.Diff([]Decision{want}, said, cmp.AllowUnexported(Decision{})); diff != "" {
			t.Errorf("a last %s: %s\n%s", end, diff, seen)
		}
		if asked := strings.Count(seen, "[q]uit"); asked != 2 || !strings.Contains(seen, "a  read, as you said before") {
			t.Errorf("%d questions\n%s", asked, seen)
		}
	}
}
