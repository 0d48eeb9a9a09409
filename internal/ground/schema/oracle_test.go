package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/schema"
)

// variant is one of the two variants of the profile.
type variant struct {
	name    string
	compile func([]byte) (*schema.Schema, error)
}

var variants = []variant{{"input", schema.CompileNested}, {"output", schema.CompileOutput}}

// orNothing draws whether a rule that an output may lack is there.
func (v variant) orNothing(t *rapid.T, rule string) string {
	if v.name == "output" && rapid.Bool().Draw(t, "left out") {
		return ""
	}
	return rule
}

// refuseLoads keeps the oracle off disk and network.
type refuseLoads struct{}

func (refuseLoads) Load(url string) (any, error) { return nil, errors.New("no loading of " + url) }

// oracle compiles a schema with a full JSON Schema implementation.
func oracle(t interface{ Fatalf(string, ...any) }, text string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuseLoads{})
	if err := c.AddResource("mem:schema", doc); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s, err := c.Compile("mem:schema")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// The alphabet mixes code points of one, two, three and four bytes.
var letters = rapid.SampledFrom([]rune("ab äß€𝄞"))

func word() *rapid.Generator[string] { return rapid.StringOfN(letters, 0, 4, -1) }

// The numbers lie close together, and are spelled in all the ways of JSON.
var literals = rapid.StringMatching(`-?(0|[1-9][0-9]{0,3}|9007199254740[0-9]{3})(\.[0-9]{0,3}[0-9])?([eE][+-]?0?1?[0-9])?`)

// quote writes a word of the alphabet, which needs no escapes.
func quote(s string) string { return `"` + s + `"` }

var names = rapid.SampledFrom([]string{"a", "b", "c/d", "~"})

// randomSchema draws a schema of a variant of the profile.
func randomSchema(t *rapid.T, v variant, depth int) string {
	types := []string{"string", "number", "integer", "boolean", "null"}
	if depth > 0 {
		types = append(types, "object", "object", "array")
	}
	kind := rapid.SampledFrom(types).Draw(t, "type")
	text := `{"type":"` + kind + `"`
	count := func(least, most string) string {
		low := rapid.IntRange(0, 3).Draw(t, least)
		text := fmt.Sprintf(`,"%s":%d`, least, low)
		return text + v.orNothing(t, fmt.Sprintf(`,"%s":%d`, most, low+rapid.IntRange(0, 3).Draw(t, most)))
	}
	switch kind {
	case "string":
		if rapid.Bool().Draw(t, "enum") {
			text += `,"enum":[` + strings.Join(rapid.SliceOfNDistinct(rapid.Map(word(), quote), 1, 3, rapid.ID[string]).Draw(t, "values"), ",") + `]`
		} else {
			text += count("minLength", "maxLength")
		}
	case "number", "integer":
		text += randomNumberRules(t, v, kind)
	case "boolean":
		if rapid.Bool().Draw(t, "const") {
			text += `,"const":true`
		}
	case "array":
		text += `,"items":` + randomSchema(t, v, depth-1) + count("minItems", "maxItems")
	case "object":
		text += v.orNothing(t, `,"additionalProperties":false`) + randomProperties(t, v, depth)
	}
	return text + "}"
}

func randomNumberRules(t *rapid.T, v variant, kind string) string {
	if kind == "integer" && rapid.Bool().Draw(t, "enum") {
		return `,"enum":[1.0,-2,9007199254740991]`
	}
	low := rapid.IntRange(-3, 3).Draw(t, "minimum")
	high := low + rapid.IntRange(0, 4).Draw(t, "span")
	fraction := rapid.SampledFrom([]string{"", ".0", ".5"}).Draw(t, "fraction")
	if low < 0 {
		fraction = ""
	}
	return v.orNothing(t, fmt.Sprintf(`,"minimum":%d`, low)) + v.orNothing(t, fmt.Sprintf(`,"maximum":%d%s`, high, fraction))
}

func randomProperties(t *rapid.T, v variant, depth int) string {
	var properties, required []string
	for _, name := range rapid.SliceOfNDistinct(names, 0, 3, rapid.ID[string]).Draw(t, "names") {
		properties = append(properties, quote(name)+":"+randomSchema(t, v, depth-1))
		if rapid.Bool().Draw(t, "required") {
			required = append(required, quote(name))
		}
	}
	return `,"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]`
}

// randomValue draws a value that mostly fits: the walk follows the schema and
// strays now and then.
func randomValue(t *rapid.T, s map[string]any) string {
	if rapid.IntRange(0, 15).Draw(t, "stray") == 0 {
		return rapid.SampledFrom([]string{`null`, `true`, `""`, `[]`, `{}`, `1`, `{"a":1}`, `["a"]`, `1.5`, `"aaaa"`}).Draw(t, "other")
	}
	if values, ok := s["enum"].([]any); ok && rapid.Bool().Draw(t, "of enum") {
		if text, ok := rapid.SampledFrom(values).Draw(t, "member").(string); ok {
			return quote(text)
		}
		return rapid.SampledFrom([]string{"1", "1e0", "-2.0", "9007199254740991", "9007199254740990", "9007199254740992"}).Draw(t, "number")
	}
	switch s["type"] {
	case "string":
		return quote(rapid.StringOfN(letters, 0, 7, -1).Draw(t, "text"))
	case "number", "integer":
		return rapid.OneOf(literals, rapid.Map(rapid.IntRange(-4, 8), func(i int) string { return fmt.Sprint(i) })).Draw(t, "number")
	case "boolean":
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "flag")
	case "array":
		var items []string
		for range rapid.IntRange(0, 5).Draw(t, "entries") {
			items = append(items, randomValue(t, s["items"].(map[string]any)))
		}
		return "[" + strings.Join(items, ",") + "]"
	case "object":
		return randomObject(t, s)
	}
	return "null"
}

func randomObject(t *rapid.T, s map[string]any) string {
	properties := s["properties"].(map[string]any)
	var members []string
	for _, name := range []string{"a", "b", "c/d", "~"} {
		child, known := properties[name].(map[string]any)
		switch odds := rapid.IntRange(0, 9).Draw(t, "present"); {
		case known && odds > 0:
			members = append(members, quote(name)+":"+randomValue(t, child))
		case !known && odds == 0:
			members = append(members, quote(name)+":null")
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// Check and a full implementation give the same verdict on each pair.
func TestCheckAgreesWithJSONSchema(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { checkAgrees(t, v) })
	}
}

func checkAgrees(t *testing.T, v variant) {
	t.Helper()
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		text := randomSchema(t, v, 3)
		dialect := rapid.SampledFrom([]string{"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}).Draw(t, "dialect")
		if dialect != "" {
			text = `{"$schema":` + quote(dialect) + "," + text[1:]
		}
		ours, err := v.compile([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		theirs := oracle(t, text)
		doc, _ := jsonschema.UnmarshalJSON(strings.NewReader(text))
		for range 8 {
			value := randomValue(t, doc.(map[string]any))
			instance, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
			if err != nil {
				t.Fatalf("%s: %v", value, err)
			}
			mine, other := ours.Check(parseRapid(t, value)), theirs.Validate(instance)
			if (mine == nil) != (other == nil) {
				t.Fatalf("%s against %s: %v, the oracle says %v", value, text, mine, other)
			}
			verdicts[mine == nil]++
		}
	})
	t.Logf("accepted %d, refused %d", verdicts[true], verdicts[false])
	// How many pairs there are is rapid's choice; under -short they are few.
	if few := min(verdicts[true], verdicts[false]); few*10 < verdicts[true]+verdicts[false] {
		t.Errorf("the pairs are one-sided: %v", verdicts)
	}
}
