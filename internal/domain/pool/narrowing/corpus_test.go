package narrowing_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// whole compares results in full, but for the fault behind a refusal.
var whole = cmp.Comparer(func(a, b *schema.Refusal) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Pointer == b.Pointer && a.Text == b.Text)
})

// tool is one line of the corpus.
type tool struct{ server, name, input, output string }

func corpus(t testing.TB) []tool {
	t.Helper()
	data, err := os.ReadFile("testdata/tool-schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var tools []tool
	for line := range strings.Lines(string(data)) {
		v := parse(t, line)
		member := func(name string) strictjson.Value { m, _ := v.Get(name); return m }
		it := tool{server: member("server").Text, name: member("name").Text, input: string(member("inputSchema").Append(nil))}
		if out, ok := v.Get("outputSchema"); ok {
			it.output = string(out.Append(nil))
		}
		tools = append(tools, it)
	}
	if len(tools) < 100 {
		t.Fatalf("the corpus holds %d tools", len(tools))
	}
	return tools
}

func TestCorpusImports(t *testing.T) {
	outcomes := []narrowing.Outcome{narrowing.AsIs, narrowing.Narrowed, narrowing.Lossy, narrowing.Refused}
	servers := map[string]map[narrowing.Outcome]int{}
	total := map[narrowing.Outcome]int{}
	kinds, exceptions, decisions := map[string]int{}, 0, 0
	for _, it := range corpus(t) {
		r := narrowing.Propose([]byte(it.input), narrowing.Profile{})
		if servers[it.server] == nil {
			servers[it.server] = map[narrowing.Outcome]int{}
		}
		servers[it.server][r.Outcome]++
		total[r.Outcome]++
		if r.Outcome == narrowing.Refused {
			t.Logf("refused: %s %s: %v", it.server, it.name, r.Reason)
		}
		for _, d := range slices.Concat(r.Decisions, r.Lost) {
			kinds[d.Kind]++
			decisions++
			if d.Exception {
				exceptions++
			}
		}
	}
	for server, row := range servers {
		line := fmt.Sprintf("%-20s", server)
		for _, o := range outcomes {
			line += fmt.Sprintf(" %s %2d", o, row[o])
		}
		t.Log(line)
	}
	t.Logf("total %v; %d decisions, %d exceptions: %v", total, decisions, exceptions, kinds)
	all := total[narrowing.AsIs] + total[narrowing.Narrowed] + total[narrowing.Lossy] + total[narrowing.Refused]
	if imported := all - total[narrowing.Refused]; imported*100 < all*98 {
		t.Errorf("%d of %d tools are imported", imported, all)
	}
}

func TestCorpusIsSound(t *testing.T) {
	for i, it := range corpus(t) {
		if r := narrowing.Propose([]byte(it.input), narrowing.Profile{}); r.Outcome != narrowing.Refused {
			if n := checkSound(t, it.input, r, uint64(i), rounds()); n != rounds() {
				t.Errorf("%s: only %d of the values that were drawn fit the proposal", it.name, n)
			}
		}
	}
}

// A proposal needs no second one, however often and under whatever profile it
// is asked for.
func TestCorpusIsIdempotent(t *testing.T) {
	for _, it := range corpus(t) {
		first := narrowing.Propose([]byte(it.input), narrowing.Profile{})
		if diff := cmp.Diff(first, narrowing.Propose([]byte(it.input), narrowing.Default()), whole); diff != "" {
			t.Fatalf("%s differs from run to run\n%s", it.name, diff)
		}
		if first.Outcome == narrowing.Refused {
			continue
		}
		want := narrowing.Result{Outcome: narrowing.AsIs, Schema: first.Schema}
		if diff := cmp.Diff(want, narrowing.Propose(first.Schema, narrowing.Profile{Text: 7, List: 1}), whole); diff != "" {
			t.Errorf("%s (-want +got)\n%s", it.name, diff)
		}
	}
}

// A tighter profile accepts less, never more.
func TestCorpusIsMonotone(t *testing.T) {
	loose := narrowing.Default()
	for i, tight := range []narrowing.Profile{
		{Text: 16, LongText: loose.LongText, List: loose.List},
		{Text: loose.Text, LongText: 64, List: loose.List},
		{Text: loose.Text, LongText: loose.LongText, List: 2},
	} {
		for j, it := range corpus(t) {
			wide, narrow := narrowing.Propose([]byte(it.input), loose), narrowing.Propose([]byte(it.input), tight)
			if wide.Outcome != narrow.Outcome {
				t.Fatalf("%s: %s, but %s under a tighter profile", it.name, wide.Outcome, narrow.Outcome)
			}
			if wide.Outcome == narrowing.Refused {
				continue
			}
			s, proposal, g := compile(t, wide.Schema), parse(t, string(narrow.Schema)), newValues(uint64(100*i+j))
			for range rounds() / 10 {
				if value := g.draw(proposal); s.Check(parse(t, value)) != nil {
					t.Fatalf("%s: %.200s fits only the tighter proposal", it.name, value)
				}
			}
		}
	}
}

// Whatever differs between a schema and its proposal stands in a decision about
// the same place.
func TestCorpusDecisionsTellAll(t *testing.T) {
	for _, it := range corpus(t) {
		r := narrowing.Propose([]byte(it.input), narrowing.Profile{})
		if r.Outcome == narrowing.Refused {
			continue
		}
		told := map[string][]string{}
		for _, d := range slices.Concat(r.Decisions, r.Lost) {
			told[d.Pointer] = append(told[d.Pointer], d.Kind)
		}
		for _, d := range differences(parse(t, it.input), parse(t, string(r.Schema)), "") {
			if !slices.ContainsFunc(told[d.at], func(kind string) bool { return slices.Contains(d.kinds, kind) }) {
				t.Errorf("%s: %s changed at %q, told is %v", it.name, d.keyword, d.at, told[d.at])
			}
		}
	}
}

type difference struct {
	at, keyword string
	kinds       []string // of decisions that would tell it
}

// tells names the decisions that explain a change of each keyword.
var tells = map[string][]string{
	"maxLength": {"max_length"}, "maxItems": {"max_items"}, "minimum": {"minimum", "exclusive_bound"}, "maximum": {"maximum", "exclusive_bound"},
	"exclusiveMinimum": {"exclusive_bound"}, "exclusiveMaximum": {"exclusive_bound"},
	"additionalProperties": {"close_object", "close_open_object", "close_map"}, "type": {"type_list", "set_type", "infer_type"},
	"format": {"leave_format"}, "pattern": {"leave_pattern"}, "anyOf": {"pick_branch"}, "$ref": {"inline_ref"}, "default": {"drop_default"},
}

func differences(from, to strictjson.Value, at string) []difference {
	var found []difference
	if _, picked := from.Get("anyOf"); picked {
		return []difference{{at, "anyOf", tells["anyOf"]}}
	}
	keywords := map[string]bool{}
	for _, m := range slices.Concat(from.Members, to.Members) {
		keywords[m.Name] = true
	}
	for name := range keywords {
		old, had := from.Get(name)
		now, has := to.Get(name)
		switch {
		case name == "properties":
			for _, m := range old.Members {
				below := schema.Under(schema.Under(at, "properties"), m.Name)
				if kept, ok := now.Get(m.Name); ok {
					found = append(found, differences(m.Value, kept, below)...)
				} else {
					found = append(found, difference{below, m.Name, []string{"drop_optional"}})
				}
			}
		case name == "items":
			found = append(found, differences(old, now, schema.Under(at, "items"))...)
		case had != has || string(old.Append(nil)) != string(now.Append(nil)):
			found = append(found, difference{at, name, tells[name]})
		}
	}
	return found
}

// Of each output the test sees whether it is described whole, which is when the
// upstream's own schema accepts all that is drawn from the proposal, or in part.
func TestCorpusOutputs(t *testing.T) {
	whole, part, none := 0, 0, 0
	for i, it := range corpus(t) {
		if it.output == "" {
			continue
		}
		raw, ok := narrowing.ProposeOutput([]byte(it.output))
		if !ok {
			none++
			continue
		}
		s, original, g := compileOutput(t, raw), compileUpstream(t, it.output, nil), newValues(uint64(i))
		strays := 0
		for range rounds() / 10 {
			value := g.draw(parse(t, string(raw)))
			if original.accepts(t, value) != nil {
				strays++
			} else if err := s.Check(parse(t, value)); err != nil {
				t.Errorf("%s: the upstream may send %.200s: %v", it.name, value, err)
			}
		}
		if whole++; strays > 0 {
			whole, part = whole-1, part+1
			t.Logf("in part: %s %s", it.server, it.name)
		}
	}
	t.Logf("%d outputs are described whole, %d in part, %d are content only", whole, part, none)
	if whole < 45 || none > 0 {
		t.Errorf("only %d of %d outputs are described whole, %d not at all", whole, whole+part+none, none)
	}
}
