package narrowing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// failer is what both *testing.T and *rapid.T can do.
type failer interface {
	Helper()
	Errorf(string, ...any)
	Fatalf(string, ...any)
}

func parse(t failer, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return v
}

func compile(t failer, raw []byte) *schema.Schema {
	t.Helper()
	s, err := schema.CompileNested(raw)
	if err != nil {
		t.Fatalf("%.200s: %v", raw, err)
	}
	return s
}

func compileOutput(t failer, raw []byte) *schema.Schema {
	t.Helper()
	s, err := schema.CompileOutput(raw)
	if err != nil {
		t.Fatalf("%.200s: %v", raw, err)
	}
	return s
}

// values draws values that fit a schema of the profile, of either variant.
type values struct{ *rand.Rand }

func newValues(seed uint64) values { return values{rand.New(rand.NewPCG(seed, seed))} }

func (g values) draw(s strictjson.Value) string {
	get := func(name string) strictjson.Value { v, _ := s.Get(name); return v }
	if c, ok := s.Get("const"); ok {
		return string(c.Append(nil))
	}
	if e, ok := s.Get("enum"); ok {
		return string(e.Items[g.IntN(len(e.Items))].Append(nil))
	}
	switch get("type").Text {
	case "object":
		return g.object(get("properties"), get("required"), get("additionalProperties").Kind != strictjson.Bool)
	case "array":
		var items []string
		for range g.size(get("minItems"), get("maxItems"), 3, 64) {
			items = append(items, g.draw(get("items")))
		}
		return "[" + strings.Join(items, ",") + "]"
	case "string":
		return g.text(g.size(get("minLength"), get("maxLength"), 12, 40000))
	case "integer":
		return g.unlimited(s, g.integer, "9007199254740993", "-1785432109876543210", "1e300", "1e400", "-10e-1")
	case "number":
		return g.unlimited(s, g.number, "9007199254740993", "-1e400", "0.1000000000000000055", "5e-400")
	case "boolean":
		return []string{"true", "false"}[g.IntN(2)]
	}
	return "null"
}

// unlimited draws a number of a schema that has no limit from a list.
func (g values) unlimited(s strictjson.Value, limited func(least, most strictjson.Value) string, numbers ...string) string {
	least, low := s.Get("minimum")
	most, high := s.Get("maximum")
	one := numbers[g.IntN(len(numbers))]
	d := strictjson.ParseDecimal(one)
	switch {
	case low && high:
		return limited(least, most)
	case low && d.Compare(strictjson.ParseDecimal(least.Text)) < 0:
		return least.Text
	case high && d.Compare(strictjson.ParseDecimal(most.Text)) > 0:
		return most.Text
	}
	return one
}

func (g values) object(properties, required strictjson.Value, open bool) string {
	var members []string
	for _, m := range properties.Members {
		needed := slices.ContainsFunc(required.Items, func(r strictjson.Value) bool { return r.Text == m.Name })
		if needed || g.IntN(3) > 0 {
			name := strictjson.Value{Kind: strictjson.String, Text: m.Name}
			members = append(members, string(name.Append(nil))+":"+g.draw(m.Value))
		}
	}
	if open && g.IntN(3) == 0 {
		members = append(members, `" more ":[{"":1e400}]`)
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members, ",") + "}"
}

// size is mostly small, and now and then at one of its limits.
func (g values) size(least, most strictjson.Value, usual, largest int) int {
	low, high := 0, largest+1
	if most.Text != "" {
		high = int(strictjson.ParseDecimal(most.Text).Floor())
	}
	if least.Text != "" {
		low = int(strictjson.ParseDecimal(least.Text).Floor())
	}
	switch n := g.IntN(40); {
	case n == 0 && high <= largest:
		return high
	case n < 4:
		return low
	}
	return min(high, low+g.IntN(usual))
}

func (g values) text(n int) string {
	letters := []string{"a", "Z", "0", " ", "/", ".", "-", "_", "é", "€", "🙂", `\"`, `\\`, `\n`}
	var b strings.Builder
	for range n {
		b.WriteString(letters[g.IntN(len(letters))])
	}
	return `"` + b.String() + `"`
}

func (g values) integer(least, most strictjson.Value) string {
	low, high := -strictjson.ParseDecimal(negated(least.Text)).Floor(), strictjson.ParseDecimal(most.Text).Floor()
	n := low + g.Int64N(max(high-low, 0)+1)
	switch g.IntN(4) {
	case 0:
		n = low
	case 1:
		n = high
	case 2:
		n = max(low, min(high, int64(g.IntN(200)-100)))
	}
	return fmt.Sprint(n) + []string{"", "", ".0", "e0"}[g.IntN(4)]
}

func negated(literal string) string {
	if s, ok := strings.CutPrefix(literal, "-"); ok {
		return s
	}
	return "-" + literal
}

// number keeps to a limit itself, or to what lies between the limits.
func (g values) number(least, most strictjson.Value) string {
	low, high := strictjson.ParseDecimal(least.Text), strictjson.ParseDecimal(most.Text)
	for range 20 {
		literal := fmt.Sprint(float64(g.IntN(2000)-1000) / float64(1+g.IntN(7)))
		if d := strictjson.ParseDecimal(literal); d.Compare(low) >= 0 && d.Compare(high) <= 0 {
			return literal
		}
	}
	return []string{least.Text, most.Text}[g.IntN(2)]
}

// upstream is the original schema as a full JSON Schema implementation reads it,
// without the rules that the decisions leave to the upstream.
type upstream struct{ *jsonschema.Schema }

type refuseLoads struct{}

func (refuseLoads) Load(url string) (any, error) { return nil, errors.New("no loading of " + url) }

func compileUpstream(t failer, original string, decisions []narrowing.Decision) upstream {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(original))
	if err != nil {
		t.Fatalf("%v", err)
	}
	left := map[string]bool{}
	for _, d := range decisions {
		if keyword, _, _ := strings.Cut(d.From, " "); strings.HasPrefix(d.Kind, "leave_") {
			left[keyword] = true
		}
	}
	doc = relaxed(doc, left)
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoads{})
	if err := c.AddResource("mem:original", doc); err != nil {
		t.Fatalf("%v", err)
	}
	s, err := c.Compile("mem:original")
	if err != nil {
		t.Fatalf("%s: %v", original, err)
	}
	return upstream{s}
}

// relaxed is a schema without some keywords. A property of such a name is none.
func relaxed(schema any, keywords map[string]bool) any {
	switch s := schema.(type) {
	case []any:
		for i, item := range s {
			s[i] = relaxed(item, keywords)
		}
	case map[string]any:
		for name, v := range s {
			named, isMap := v.(map[string]any)
			switch {
			case isMap && slices.Contains([]string{"properties", "$defs", "definitions"}, name):
				for key, child := range named {
					named[key] = relaxed(child, keywords)
				}
			case keywords[name]:
				delete(s, name)
			case name != "enum" && name != "const" && name != "default":
				s[name] = relaxed(v, keywords)
			}
		}
	}
	return schema
}

func (u upstream) accepts(t failer, value string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		t.Fatalf("%.200s: %v", value, err)
	}
	return u.Validate(v)
}

// checkSound draws values that fit a proposal, gives each to the upstream and
// returns how many they were: a schema may contradict itself.
func checkSound(t failer, original string, r narrowing.Result, seed uint64, n int) (checked int) {
	t.Helper()
	u, s, proposal, g := compileUpstream(t, original, r.Decisions), compile(t, r.Schema), parse(t, string(r.Schema)), newValues(seed)
	for range n {
		value := g.draw(proposal)
		if s.Check(parse(t, value)) != nil {
			continue
		}
		checked++
		if err := u.accepts(t, value); err != nil {
			t.Fatalf("%.300s\nfits     %s\nbut not  %s\n%v", value, r.Schema, original, err)
		}
	}
	return checked
}

// rounds is how many values are drawn for each schema.
func rounds() int {
	if testing.Short() {
		return 50
	}
	return 300
}
