package schema

import (
	"slices"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// flatKeywords are all that flat-v1 accepts at each place, each one needed but
// for those that optional names (guide, Callback bounds).
var (
	flatRoot     = []string{"type", "properties", "required", "additionalProperties"}
	flatKeywords = map[string][]string{
		"string":  {"type", "maxLength"},
		"boolean": {"type"},
		"integer": {"type", "minimum", "maximum"},
	}
	optional = []string{"properties", "required"}
)

// CompileFlat compiles a schema of profile flat-v1, which serves application
// tools, input and output alike: one closed object, every property of it required
// and a bounded string, a boolean or a bounded safe integer. Everything else is
// refused by name. The error is a *Refusal.
func CompileFlat(raw []byte) (*Schema, error) {
	v, err := strictjson.Parse(raw, limits)
	if err != nil {
		return nil, refusalOf(err)
	}
	if refusal := flatObject(v); refusal != nil {
		return nil, refusal
	}
	return CompileNested(raw)
}

func flatObject(v strictjson.Value) *Refusal {
	var at *place
	if v.Kind != strictjson.Object {
		return at.refuse("must be a schema object")
	}
	if refusal := only(v, flatRoot, at); refusal != nil {
		return refusal
	}
	if kind, _ := v.Get("type"); kind.Kind != strictjson.String || kind.Text != "object" {
		return at.to("type").refuse("must be object")
	}
	properties, _ := v.Get("properties")
	if refusal := flatProperties(properties, at.to("properties")); refusal != nil {
		return refusal
	}
	// That required names properties, each once, is the compiler's to check.
	if required, _ := v.Get("required"); len(required.Items) != len(properties.Members) {
		return at.to("required").refuse("must name every property")
	}
	return nil
}

func flatProperties(v strictjson.Value, at *place) *Refusal {
	if err := bound.FlatProperties.Check(len(v.Members)); err != nil {
		return at.exceeds(bound.FlatProperties.Exceeded())
	}
	for _, m := range v.Members {
		here := at.to(m.Name)
		if bound.FlatNameBytes.Check(len(m.Name)) != nil {
			return at.exceeds(bound.FlatNameBytes.Exceeded())
		}
		if m.Name == "" {
			return here.refuse("must have a name")
		}
		if refusal := flatProperty(m.Value, here); refusal != nil {
			return refusal
		}
	}
	return nil
}

func flatProperty(v strictjson.Value, at *place) *Refusal {
	kind, _ := v.Get("type")
	keys, ok := flatKeywords[kind.Text]
	if !ok || kind.Kind != strictjson.String {
		return at.to("type").refuse("must be string, boolean or integer")
	}
	if refusal := only(v, keys, at); refusal != nil {
		return refusal
	}
	switch kind.Text {
	case "string":
		most, _ := v.Get("maxLength")
		if n, ok := count(most); !ok || n < 1 || bound.FlatLength.Check(int(n)) != nil {
			return at.to("maxLength").exceeds(bound.FlatLength.Exceeded())
		}
	case "integer":
		for _, edge := range []string{"minimum", "maximum"} {
			n, _ := v.Get(edge)
			if d := strictjson.ParseDecimal(n.Text); n.Kind != strictjson.Number || !d.IsInteger() || !d.IsSafe() {
				return at.to(edge).refuse("must be a safe integer")
			}
		}
	}
	return nil
}

// only refuses a member that is none of keys, and wants each key that may not be
// left out.
func only(v strictjson.Value, keys []string, at *place) *Refusal {
	for _, m := range v.Members {
		if !slices.Contains(keys, m.Name) {
			return at.to(m.Name).refuse("is a keyword outside the profile")
		}
	}
	for _, key := range keys {
		if _, ok := v.Get(key); !ok && !slices.Contains(optional, key) {
			return at.refuse("must have " + key)
		}
	}
	return nil
}
