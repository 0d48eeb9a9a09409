package shape_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func parse(t *testing.T, text string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// written is a flat shape in one line: its keywords, what was written out, and
// whether it is loose; or why there is none.
func written(f shape.Flat, bad *shape.Misfit) string {
	if bad != nil {
		return bad.Error()
	}
	var words []string
	for _, w := range f.Words {
		words = append(words, w.String())
	}
	line := strings.Join(words, ", ")
	for _, w := range f.Written {
		line += " < " + w.Name + " " + w.At
	}
	if f.Loose {
		line += " loose"
	}
	return line
}

func TestFlatten(t *testing.T) {
	const definitions = `,"$defs":{"a~b":{"type":"null","title":"inner"},"r":{"$ref":"#/$defs/r"},"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"},
		"i":{"$id":"https://example.invalid/","$defs":{"j":{"type":"null"}}},"p":{"properties":{"$id":{"type":"null"}}},"l":[{"type":"null"}]}}`
	for _, c := range []struct{ schema, want string }{
		{`{"type":"null"`, `type "null"`},
		{`{"$ref":"#/$defs/a~0b","title":"outer"`, `title "outer", type "null" < $ref /$ref`},
		{`{"$ref":"#/$defs/a~0b","type":"null"`, `type "null", title "inner" < $ref /$ref loose`},
		{`{"$ref":"#/$defs/a~0b","type":"string"`, `/$defs/a~0b/type: cannot be combined with the schema around it`},
		{`{"allOf":[{"required":["a"]},{"required":["b","a"]},{"$ref":"#/$defs/a~0b"}]`,
			`required ["a","b"], type "null", title "inner" < allOf /allOf < $ref /allOf/2/$ref loose`},
		{`{"allOf":[{"properties":{}},{"additionalProperties":false}]`, `/allOf/1/additionalProperties: cannot be combined with the schema around it`},
		{`{"allOf":[{"required":["a"]},{"required":true}]`, `/allOf/1/required: cannot be combined with the schema around it`},
		{`{"allOf":[]`, `/allOf: must be an array of schemas`},
		{`{"allOf":[true]`, `/allOf/0: accepts any JSON value`},
		{`{"$ref":"#/$defs/r"`, `/$defs/r/$ref: refers to a schema that contains itself`},
		{`{"$ref":"#/$defs/x"`, `/$defs/y/$ref: refers to a schema that contains itself`},
		{`{"$ref":"#"`, `/$ref: refers to a schema that contains itself`},
		{`{"$ref":"#/$defs/nowhere"`, `/$ref: refers to nothing in the schema`},
		{`{"$ref":"#/$defs/i/$defs/j"`, `/$ref: refers to nothing in the schema`},
		{`{"$ref":"#/$defs/p/properties/$id"`, `type "null" < $ref /$ref`},
		{`{"$ref":"#/$defs/l/0"`, `type "null" < $ref /$ref`},
		{`{"$ref":"#/$defs/l/1"`, `/$ref: refers to nothing in the schema`},
		{`{"$ref":"#name"`, `/$ref: is a reference by name or with escapes`},
		{`{"$ref":"#/$defs/%61"`, `/$ref: is a reference by name or with escapes`},
		{`{"$ref":"other.json#/a"`, `/$ref: refers outside the schema; it is never fetched`},
		{`{"$ref":1`, `/$ref: refers outside the schema; it is never fetched`},
	} {
		document := parse(t, c.schema+definitions)
		s, bad := shape.Of(document, "")
		if bad != nil {
			t.Fatal(bad)
		}
		f, bad := shape.NewReader(document, 1000).Flatten(s.Without("$defs"))
		if diff := cmp.Diff(c.want, written(f, bad)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.schema, diff)
		}
	}
}

func TestFlattenSpendsSteps(t *testing.T) {
	document := parse(t, `{"allOf":[{"type":"null"},{"title":"a"}]}`)
	s, _ := shape.Of(document, "")
	const needed = 2 + 2 + 2 + 3 // the schema, its parts, and what they make
	if _, bad := shape.NewReader(document, needed).Flatten(s); bad != nil {
		t.Errorf("with enough steps: %v", bad)
	}
	if _, bad := shape.NewReader(document, needed-1).Flatten(s); bad == nil || bad.Droppable() {
		t.Errorf("with a step too few: %v", bad)
	}
}

func TestApart(t *testing.T) {
	object := func(properties, required string) string {
		return `{"type":"object","additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `]}`
	}
	kind := object(`"k":{"type":"string","const":"x"},"n":{"type":"null"}`, `"k"`)
	for _, c := range []struct {
		proposal, other string
		want            bool
	}{
		{`{"type":"string","maxLength":1}`, `{"type":"null"}`, true},
		{`{"type":"string","maxLength":1}`, `{"type":["null","string"]}`, false},
		{`{"type":"string","maxLength":1}`, `{}`, false},
		{`{"type":"integer","minimum":0,"maximum":1}`, `{"type":"number"}`, false},
		{`{"type":"number","minimum":0,"maximum":1}`, `{"type":"integer"}`, false},
		{`{"type":"integer","minimum":0,"maximum":1}`, `{"enum":["a",2]}`, true},
		{`{"type":"integer","minimum":0,"maximum":1}`, `{"const":1.0}`, false},
		{kind, `{"required":["z"]}`, true},
		{kind, `{"required":["n"]}`, false},
		{kind, `{"properties":{"n":{}}}`, false},
		{kind, `{"properties":{"n":{}},"additionalProperties":false}`, true},
		{kind, `{"properties":{"n":{}},"additionalProperties":{}}`, false},
		{kind, `{"properties":{"n":{}},"additionalProperties":false,"patternProperties":{"k":true}}`, false},
		{kind, `{"properties":{"k":{"const":"y"}}}`, true},
		{kind, `{"properties":{"k":{"const":"x"}}}`, false},
		{kind, `{"properties":{"k":{"type":"null"}}}`, true},
		{kind, `{"properties":{"k":{"$ref":"#","const":"y"}}}`, false},
		{kind, `{"properties":{"n":{"type":"string"}}}`, false},
	} {
		document := parse(t, c.other)
		other, bad := shape.Of(document, "")
		if bad != nil {
			t.Fatal(bad)
		}
		if got := shape.NewReader(document, 1000).Apart(parse(t, c.proposal), other); got != c.want {
			t.Errorf("%s and %s are apart: %v", c.proposal, c.other, got)
		}
	}
}
