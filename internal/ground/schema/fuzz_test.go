package schema_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func parseRapid(t *rapid.T, text string) strictjson.Value {
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

var handmade = []string{
	`{"type":"object","additionalProperties":false,"required":["a"],"properties":{
		"a":{"type":"string","maxLength":4},"b":{"type":"array","maxItems":2,"items":{"type":"integer","minimum":0,"maximum":9}}}}`,
	`{"type":"number","enum":[1,2.5,-0.1]}`,
	`{"type":"string","const":"x","default":null}`,
	`{"type":"object","required":["b"],"properties":{"b":{"type":"array","items":{"type":"number","maximum":2}},"c":{"type":"string","minLength":1}}}`,
}

// What compiles has a canonical form that compiles to the same form, and stays
// within the bounds. What is an input schema is an output schema too.
func FuzzCompile(f *testing.F) {
	for _, text := range append(corpus(f), handmade...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range variants {
			compiles(t, v, raw)
		}
		_, input := schema.CompileNested(raw)
		if _, output := schema.CompileOutput(raw); input == nil && output != nil {
			t.Fatalf("%q is an input schema and no output schema: %v", raw, output)
		}
	})
}

func compiles(t *testing.T, v variant, raw []byte) {
	t.Helper()
	s, err := v.compile(raw)
	if err != nil {
		return
	}
	if len(raw) > bound.SchemaBytes.Int() {
		t.Fatalf("accepted %d bytes", len(raw))
	}
	if !bytes.Equal(s.Source(), raw) {
		t.Fatal("the source is not what was compiled")
	}
	again, err := v.compile(s.Canonical())
	if err != nil {
		t.Fatalf("the canonical form of %q: %v", raw, err)
	}
	if !bytes.Equal(again.Canonical(), s.Canonical()) {
		t.Fatalf("%q has canonical forms %q and %q", raw, s.Canonical(), again.Canonical())
	}
	if n := bytes.Count(raw, []byte(`"type"`)); n < 1 {
		t.Fatalf("%q was accepted without a type", raw)
	}
}

// The reference below would take ages over a large exponent.
var largeExponent = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{3}`)

// Check says what a slow and simple reading of the schema says, and the same of
// the schema's canonical form.
func FuzzCheck(f *testing.F) {
	for _, text := range append(corpus(f), handmade...) {
		f.Add(text, `{"a":"b","b":[1,2.0]}`)
		f.Add(text, `1e0`)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		for _, variant := range variants {
			checks(t, variant, text, value)
		}
	})
}

func checks(t *testing.T, variant variant, text, value string) {
	t.Helper()
	s, err := variant.compile([]byte(text))
	if err != nil || largeExponent.MatchString(value) {
		return
	}
	v, err := strictjson.Parse([]byte(value), strictjson.Limits{})
	if err != nil {
		return
	}
	var rules map[string]any
	if err := json.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	got := s.Check(v)
	if want := reference(rules, instance); (got == nil) != want {
		t.Fatalf("%s against %s: %v, the reference says %v", value, text, got, want)
	}
	canonical, err := variant.compile(s.Canonical())
	if err != nil {
		t.Fatal(err)
	}
	if again := canonical.Check(v); (got == nil) != (again == nil) {
		t.Fatalf("%s against %s: %v, but %v in canonical form", value, text, got, again)
	}
}

// reference reads a schema of the profile the slow way: every rule for itself,
// on plain maps and big rationals. Numbers in rules are doubles, which the
// profile's canonical form makes exact.
func reference(rules map[string]any, v any) bool {
	if members, ok := rules["enum"].([]any); ok && !slices.ContainsFunc(members, func(m any) bool { return same(m, v) }) {
		return false
	}
	if c, ok := rules["const"]; ok && !same(c, v) {
		return false
	}
	// Whether a number is on the right side of a rule: sign is -1 for a lower one.
	keeps := func(n *big.Rat, name string, sign int) bool {
		f, ok := rules[name].(float64)
		return !ok || n.Cmp(shortest(f))*sign <= 0
	}
	within := func(n *big.Rat, least, most string) bool { return keeps(n, least, -1) && keeps(n, most, 1) }
	count := func(n int, of string) bool {
		return within(new(big.Rat).SetInt64(int64(n)), "min"+of, "max"+of)
	}
	switch v := v.(type) {
	case nil:
		return rules["type"] == "null"
	case bool:
		return rules["type"] == "boolean"
	case string:
		return rules["type"] == "string" && count(utf8.RuneCountInString(v), "Length")
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		if rules["type"] != "number" && (rules["type"] != "integer" || !r.IsInt()) {
			return false
		}
		return within(r, "minimum", "maximum")
	case []any:
		if rules["type"] != "array" || !count(len(v), "Items") {
			return false
		}
		return !slices.ContainsFunc(v, func(item any) bool { return !reference(rules["items"].(map[string]any), item) })
	case map[string]any:
		return rules["type"] == "object" && referenceObject(rules, v)
	}
	return false
}

func referenceObject(rules, v map[string]any) bool {
	properties, _ := rules["properties"].(map[string]any)
	for name, member := range v {
		child, named := properties[name].(map[string]any)
		if named && !reference(child, member) || !named && rules["additionalProperties"] == false {
			return false
		}
	}
	required, _ := rules["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return false
		}
	}
	return true
}

// shortest is the decimal that the double was written as.
func shortest(f float64) *big.Rat {
	text, _ := json.Marshal(f)
	r, _ := new(big.Rat).SetString(string(text))
	return r
}

func same(rule, v any) bool {
	f, ok := rule.(float64)
	n, number := v.(json.Number)
	if !ok || !number {
		return !ok && !number && rule == v
	}
	r, _ := new(big.Rat).SetString(n.String())
	return r.Cmp(shortest(f)) == 0
}
