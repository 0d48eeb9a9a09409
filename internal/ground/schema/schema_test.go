package schema_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func compile(t testing.TB, text string) *schema.Schema {
	t.Helper()
	s, err := schema.CompileNested([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func parse(t testing.TB, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// refused is what a refusal says: place, reason and code.
type refused struct {
	Pointer, Text string
	Code          fault.Code
}

func refusalOf(t testing.TB, text string) refused {
	t.Helper()
	s, err := schema.CompileNested([]byte(text))
	if err == nil {
		return refused{Text: "accepted"}
	}
	if s != nil {
		t.Errorf("%.80s: a refused schema was returned", text)
	}
	var r *schema.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%.80s: %T is not a refusal", text, err)
	}
	f := fault.From(err)
	if f.Details["pointer"] != r.Pointer {
		t.Errorf("%.80s: the fault's pointer is %v, the refusal's %q", text, f.Details["pointer"], r.Pointer)
	}
	return refused{r.Pointer, r.Text, f.Code}
}

func object(properties string) string {
	return `{"type":"object","additionalProperties":false,"properties":{` + properties + `}}`
}

func TestCompileAcceptsTheProfile(t *testing.T) {
	for _, text := range []string{
		`{"type":"null"}`,
		`{"type":"boolean","title":"a","description":"b","default":7,"examples":[{}],"$comment":"c"}`,
		`{"type":"boolean","enum":[true],"const":false}`,
		`{"type":"string","maxLength":0}`,
		`{"type":"string","minLength":2,"maxLength":2.0}`,
		`{"type":"string","enum":["a","b"]}`,
		`{"type":"string","const":""}`,
		`{"type":"string","enum":["a","b"],"minLength":1}`,
		`{"type":"integer","minimum":-9007199254740991,"maximum":9.007199254740991e15}`,
		`{"type":"integer","minimum":0.5,"maximum":1.5}`,
		`{"type":"number","enum":[1,1.5]}`,
		`{"type":"number","minimum":0,"maximum":-0}`,
		`{"type":"array","items":{"type":"null"},"maxItems":3}`,
		`{"type":"object","additionalProperties":false}`,
		`{"type":"object","additionalProperties":false,"required":[]}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"null"}`,
		`{"$schema":"http://json-schema.org/draft-07/schema","type":"null"}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"null"}`,
		object(`"":{"type":"null"},"toString":{"type":"null"}`),
	} {
		if got := refusalOf(t, text); got.Text != "accepted" {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	const invalid = fault.InvalidRequest
	outside := func(pointer string) refused { return refused{pointer, "is a keyword outside the profile", invalid} }
	for _, c := range []struct {
		text string
		want refused
	}{
		{`true`, refused{"", "must be a schema object", invalid}},
		{`{}`, refused{"", "has no type", invalid}},
		{`{"type":"null"`, refused{"", "the JSON document ends too early", invalid}},
		{`{"type":"null","type":"null"}`, refused{"/type", "a member name stands twice in one object", invalid}},
		{`{"$ref":"#/$defs/a"}`, outside("/$ref")},
		{`{"anyOf":[{"type":"null"}]}`, outside("/anyOf")},
		{`{"type":"string","maxLength":1,"pattern":"a"}`, outside("/pattern")},
		{`{"type":"string","maxLength":1,"format":"uri"}`, outside("/format")},
		{`{"type":"integer","exclusiveMinimum":0,"maximum":1}`, outside("/exclusiveMinimum")},
		{`{"type":"null","x-mcp-header":"A"}`, outside("/x-mcp-header")},
		{`{"type":"null","Title":"A"}`, outside("/Title")},
		{object(`"a/b":{"type":"array","maxItems":1,"items":{"type":"array","uniqueItems":true}}`),
			outside("/properties/a~1b/items/uniqueItems")},
		{`{"type":["string","null"],"maxLength":1}`, refused{"/type", "must be exactly one JSON type", invalid}},
		{`{"type":"String"}`, refused{"/type", "must be exactly one JSON type", invalid}},
		{`{"type":"boolean","maxLength":1}`, refused{"/maxLength", "does not apply to a boolean", invalid}},
		{`{"type":"null","title":1}`, refused{"/title", "must be a string", invalid}},
		{`{"type":"null","$comment":1}`, refused{"/$comment", "must be a string", invalid}},
		{`{"type":"null","examples":1}`, refused{"/examples", "must be an array", invalid}},
		{`{"type":"null","$schema":"http://json-schema.org/draft-04/schema#"}`,
			refused{"/$schema", "must name draft-07 or 2020-12", invalid}},
		{object(`"a":{"type":"null","$schema":"http://json-schema.org/draft-07/schema#"}`),
			refused{"/properties/a/$schema", "may stand at the root only", invalid}},

		{`{"type":"object"}`, refused{"", "must have additionalProperties: false", invalid}},
		{`{"type":"object","additionalProperties":true}`, refused{"/additionalProperties", "must be false", invalid}},
		{`{"type":"object","additionalProperties":{}}`, refused{"/additionalProperties", "must be false", invalid}},
		{`{"type":"object","additionalProperties":false,"properties":[]}`, refused{"/properties", "must be an object", invalid}},
		{object(`"a":true`), refused{"/properties/a", "must be a schema object", invalid}},
		{object(`"__proto__":{"type":"null"}`), refused{"/properties/__proto__", "is a reserved name", invalid}},
		{object(`"constructor":{"type":"null"}`), refused{"/properties/constructor", "is a reserved name", invalid}},
		{object(`"prototype":{"type":"null"}`), refused{"/properties/prototype", "is a reserved name", invalid}},
		{`{"type":"object","additionalProperties":false,"required":["a"]}`,
			refused{"/required/0", "must name one of the properties", invalid}},
		{`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"null"}},"required":["a","a"]}`,
			refused{"/required/1", "stands twice", invalid}},
		{`{"type":"object","additionalProperties":false,"required":[1]}`, refused{"/required/0", "must be a string", invalid}},
		{`{"type":"object","additionalProperties":false,"required":"a"}`, refused{"/required", "must be an array", invalid}},

		{`{"type":"array","maxItems":1}`, refused{"", "must have items", invalid}},
		{`{"type":"array","maxItems":1,"items":[{"type":"null"}]}`, refused{"/items", "must be a schema object", invalid}},
		{`{"type":"array","items":{"type":"null"}}`, refused{"", "must have maxItems", invalid}},
		{`{"type":"array","items":{"type":"null"},"minItems":2,"maxItems":1}`,
			refused{"/minItems", "must not be above maxItems", invalid}},
		{`{"type":"array","items":{"type":"null"},"maxItems":-1}`,
			refused{"/maxItems", "must be a non-negative safe integer", invalid}},

		{`{"type":"string"}`, refused{"", "must have maxLength", invalid}},
		{`{"type":"string","maxLength":"1"}`, refused{"/maxLength", "must be a non-negative safe integer", invalid}},
		{`{"type":"string","maxLength":1.5}`, refused{"/maxLength", "must be a non-negative safe integer", invalid}},
		{`{"type":"string","minLength":3,"maxLength":2}`, refused{"/minLength", "must not be above maxLength", invalid}},
		{`{"type":"string","enum":[]}`, refused{"/enum", "must be an array with at least one value", invalid}},
		{`{"type":"string","enum":["a",1]}`, refused{"/enum/1", "must be a string, as the type says", invalid}},
		{`{"type":"string","enum":["a","b","a"]}`, refused{"/enum/2", "stands twice", invalid}},
		{`{"type":"object","additionalProperties":false,"const":{}}`, refused{"/const", "must be a scalar", invalid}},

		{`{"type":"number","minimum":0}`, refused{"", "must have maximum", invalid}},
		{`{"type":"integer","maximum":0}`, refused{"", "must have minimum", invalid}},
		{`{"type":"number","minimum":2,"maximum":1}`, refused{"/minimum", "must not be above maximum", invalid}},
		{`{"type":"number","minimum":true,"maximum":1}`, refused{"/minimum", "must be a number within ±(2^53-1)", invalid}},
		{`{"type":"number","minimum":0,"maximum":1e300}`,
			refused{"/maximum", "an integer beyond ±(2^53-1) has no canonical form", invalid}},
		{`{"type":"number","minimum":0,"maximum":0.1000000000000000055}`,
			refused{"/maximum", "a number that a double cannot hold has no canonical form", invalid}},
		{`{"type":"number","enum":[1,1.0]}`, refused{"/enum/1", "stands twice", invalid}},
		{`{"type":"integer","enum":[1,1.5]}`, refused{"/enum/1", "must be an integer, as the type says", invalid}},
	} {
		if diff := cmp.Diff(c.want, refusalOf(t, c.text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.text, diff)
		}
	}
}

// What an output schema may leave out, and what it may not. Each of these is no
// input schema.
func TestCompileOutput(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"string"}`:                                                  "",
		`{"type":"string","minLength":2}`:                                    "",
		`{"type":"number"}`:                                                  "",
		`{"type":"integer","maximum":0}`:                                     "",
		`{"type":"array","items":{"type":"number","minimum":1}}`:             "",
		`{"type":"object"}`:                                                  "",
		`{"type":"object","additionalProperties":true}`:                      "",
		`{"type":"object","additionalProperties":{}}`:                        "/additionalProperties: must be true or false",
		`{"type":"object","additionalProperties":null}`:                      "/additionalProperties: must be true or false",
		`{"type":"object","required":["a"]}`:                                 "/required/0: must name one of the properties",
		`{"type":"object","properties":{"a":{}}}`:                            "/properties/a: has no type",
		`{"type":"object","properties":{"__proto__":{"type":"null"}}}`:       "/properties/__proto__: is a reserved name",
		`{"type":"array"}`:                                                   "the schema: must have items",
		`{"type":"array","items":{"type":"null"},"minItems":2,"maxItems":1}`: "/minItems: must not be above maxItems",
		`{"type":"number","maximum":1e300}`:                                  "/maximum: an integer beyond ±(2^53-1) has no canonical form",
		`{"type":"number","minimum":2,"maximum":1}`:                          "/minimum: must not be above maximum",
		`{"type":"string","pattern":"a"}`:                                    "/pattern: is a keyword outside the profile",
	} {
		got := ""
		if _, err := schema.CompileOutput([]byte(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if refusalOf(t, text).Text == "accepted" {
			t.Errorf("%s is an input schema", text)
		}
	}
}

// A result is not rounded and not cut short (field faults, FF15).
func TestCheckOutput(t *testing.T) {
	const (
		clock = `{"type":"object","required":["ns"],"properties":{"ns":{"type":"integer"},"x":{"type":"number","minimum":0},"log":{"type":"array","items":{"type":"string"}}}}`
		named = `{"type":"object","additionalProperties":false,"properties":{"ns":{"type":"integer"}}}`
	)
	for _, c := range []struct{ schema, value, want string }{
		{clock, `{"ns":1785432109876543210}`, ""},
		{clock, `{"ns":9007199254740993,"x":1e400}`, ""},
		{clock, `{"ns":-1e400,"x":0.1000000000000000055}`, ""},
		{clock, `{"ns":1.5}`, "/ns: must be an integer"},
		{clock, `{"ns":1,"x":-1e-400}`, "/x: is too small: minimum is 0"},
		{clock, `{"ns":1,"log":["` + strings.Repeat("a", 1<<16) + `"],"more":{"a":[{}]},"__proto__":null}`, ""},
		{clock, `{"more":1}`, "/ns: is required"},
		{named, `{"ns":1e300}`, ""},
		{named, `{"ns":1,"more":1}`, "/more: is no member that the schema names"},
	} {
		s, err := schema.CompileOutput([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := s.Check(parse(t, c.value)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%.80s: %q, want %q", c.value, got, c.want)
		}
	}
}

func nest(depth int) string {
	text := `{"type":"null"}`
	for range depth - 1 {
		text = `{"type":"array","maxItems":1,"items":` + text + `}`
	}
	return text
}

func wide(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"p%d":{"type":"null"}`, i))
	}
	return object(strings.Join(members, ","))
}

// nodes has n schemas: the root, objects of at most 17 nodes, the rest.
func nodes(n int) string {
	var members []string
	for left := n - 1; left > 0; left -= 17 {
		members = append(members, fmt.Sprintf(`"o%d":%s`, left, wide(min(left, 17)-1)))
	}
	return object(strings.Join(members, ","))
}

func enumOf(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprint(i))
	}
	return `{"type":"integer","enum":[` + strings.Join(members, ",") + `]}`
}

func padded(n int) string {
	const text = `{"type":"null"}`
	return text + strings.Repeat(" ", n-len(text))
}

func TestCompileBounds(t *testing.T) {
	named := func(keyword string) func(int) string {
		return func(n int) string { return `{"type":"null","` + keyword + `":"` + strings.Repeat("a", n) + `"}` }
	}
	for _, c := range []struct {
		row  bound.Row
		make func(n int) string
	}{
		{bound.SchemaBytes, padded},
		{bound.SchemaDepth, nest},
		{bound.SchemaNodes, nodes},
		{bound.SchemaProperties, wide},
		{bound.SchemaEnum, enumOf},
		{bound.TitleBytes, named("title")},
		{bound.DescriptionBytes, named("description")},
	} {
		compile(t, c.make(c.row.Int()))
		want := c.row.Exceeded()
		if got := refusalOf(t, c.make(c.row.Int()+1)); got.Text != want.Text || got.Code != want.Code {
			t.Errorf("%s, one over: %+v, want %v", c.row.Key, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	const (
		person = `{"type":"object","additionalProperties":false,"required":["name","tags"],"properties":{
			"name":{"type":"string","minLength":1,"maxLength":3},
			"age":{"type":"integer","minimum":0,"maximum":150},
			"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b"]}},
			"a/b":{"type":"number","minimum":-1.5,"maximum":0.1}}}`
		free    = `{"type":"integer","enum":[1,9007199254740991]}`
		flag    = `{"type":"boolean","const":true}`
		nothing = `{"type":"null"}`
	)
	fits := schema.Violation{}
	for _, c := range []struct {
		schema, value string
		want          schema.Violation
	}{
		{person, `{"name":"ab","tags":["a"]}`, fits},
		{person, `{"tags":["b","a"],"age":1.5e2,"name":"äöü","a/b":-1.50}`, fits},
		{person, `{"name":"🙂🙂🙂","tags":["a"],"age":0.0}`, fits},
		{person, `[]`, schema.Violation{Text: "must be an object"}},
		{person, `{"name":"a"}`, schema.Violation{Pointer: "/tags", Text: "is required"}},
		{person, `{"name":"","tags":["a"]}`, schema.Violation{Pointer: "/name", Text: "has too few characters: minLength is 1"}},
		{person, `{"name":"abcd","tags":["a"]}`, schema.Violation{Pointer: "/name", Text: "has too many characters: maxLength is 3"}},
		{person, `{"name":null,"tags":["a"]}`, schema.Violation{Pointer: "/name", Text: "must be a string"}},
		{person, `{"name":"a","tags":[]}`, schema.Violation{Pointer: "/tags", Text: "has too few entries: minItems is 1"}},
		{person, `{"name":"a","tags":["a","a","a"]}`, schema.Violation{Pointer: "/tags", Text: "has too many entries: maxItems is 2"}},
		{person, `{"name":"a","tags":["a","c"]}`,
			schema.Violation{Pointer: "/tags/1", Text: "must be one of the values that are allowed"}},
		{person, `{"name":"a","tags":["a"],"age":150.0001}`, schema.Violation{Pointer: "/age", Text: "must be an integer"}},
		{person, `{"name":"a","tags":["a"],"age":1e400}`, schema.Violation{Pointer: "/age", Text: "is too large: maximum is 150"}},
		{person, `{"name":"a","tags":["a"],"age":-1}`, schema.Violation{Pointer: "/age", Text: "is too small: minimum is 0"}},
		{person, `{"name":"a","tags":["a"],"a/b":0.1000000000000000055}`,
			schema.Violation{Pointer: "/a~1b", Text: "is too large: maximum is 0.1"}},
		{person, `{"name":"a","tags":["a"],"a/b":1e-99999999999999999999}`, fits},
		{person, `{"name":"a","tags":["a"],"x":1}`,
			schema.Violation{Pointer: "/x", Text: "is no member that the schema names"}},
		{person, `{"name":"a","tags":["a"],"__proto__":1}`,
			schema.Violation{Pointer: "/__proto__", Text: "is no member that the schema names"}},
		{person, `{"` + strings.Repeat("x", 1000) + `":1}`,
			schema.Violation{Text: "has a member that the schema does not name"}},
		{free, `1e0`, fits},
		{free, `9007199254740991`, fits},
		{free, `9007199254740992`, schema.Violation{Text: "must be one of the values that are allowed"}},
		{free, `"1"`, schema.Violation{Text: "must be an integer"}},
		{flag, `true`, fits},
		{flag, `false`, schema.Violation{Text: "must be the one value that is allowed"}},
		{nothing, `null`, fits},
		{nothing, `0`, schema.Violation{Text: "must be null"}},
	} {
		err := compile(t, c.schema).Check(parse(t, c.value))
		var got schema.Violation
		var v *schema.Violation
		if errors.As(err, &v) {
			got = *v
			f := fault.From(err)
			if f.Code != fault.InvalidArgs || f.Details["pointer"] != v.Pointer {
				t.Errorf("%s: the fault is %v with %v", c.value, f, f.Details)
			}
		} else if err != nil {
			t.Fatalf("%s: %T", c.value, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%.80s (-want +got)\n%s", c.value, diff)
		}
	}
}

// Hand-made values may be larger than what the parser admits.
func TestCheckStopsAtItsBudget(t *testing.T) {
	s := compile(t, `{"type":"array","maxItems":9007199254740991,"items":{"type":"null"}}`)
	v := strictjson.Value{Kind: strictjson.Array, Items: make([]strictjson.Value, bound.JSONNodes.Int()-1)}
	if err := s.Check(v); err != nil {
		t.Errorf("at the bound: %v", err)
	}
	v.Items = append(v.Items, strictjson.Value{})
	if err := s.Check(v); err == nil || !strings.HasSuffix(err.Error(), "has too many parts") {
		t.Errorf("one over: %v", err)
	}
}

func TestSchemaKeepsItsSource(t *testing.T) {
	const source = ` {"type":"integer", "minimum":0.0,"maximum":1E2 }`
	raw := []byte(source)
	s := compile(t, source)
	raw[1] = 'x'
	s.Source()[0] = 'x'
	s.Canonical()[0] = 'x'
	got := []string{string(s.Source()), string(s.Canonical())}
	if diff := cmp.Diff([]string{source, `{"maximum":100,"minimum":0,"type":"integer"}`}, got); diff != "" {
		t.Error(diff)
	}
	if s.IsObject() || !compile(t, object("")).IsObject() {
		t.Error("IsObject is wrong")
	}
}

// corpus are the schemas of real tools.
func corpus(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/tool-schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var schemas []string
	for line := range strings.Lines(string(data)) {
		tool := parse(t, line)
		for _, name := range []string{"inputSchema", "outputSchema"} {
			if s, ok := tool.Get(name); ok {
				schemas = append(schemas, string(s.Append(nil)))
			}
		}
	}
	if len(schemas) < 100 {
		t.Fatalf("the corpus holds %d schemas", len(schemas))
	}
	return schemas
}
