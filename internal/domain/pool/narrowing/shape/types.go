package shape

import (
	"slices"

	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// types are the names of JSON Schema's types.
var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// Types reads the value of the type keyword: one name or a list of them.
func Types(v strictjson.Value) ([]string, bool) {
	items := v.Items
	if v.Kind == strictjson.String {
		items = []strictjson.Value{v}
	}
	var names []string
	for _, item := range items {
		if item.Kind != strictjson.String || !slices.Contains(types, item.Text) {
			return nil, false
		}
		names = append(names, item.Text)
	}
	return names, len(names) > 0
}

// TypeOf is the type of a scalar, or "".
func TypeOf(v strictjson.Value) string {
	switch v.Kind {
	case strictjson.String:
		return "string"
	case strictjson.Bool:
		return "boolean"
	case strictjson.Null:
		return "null"
	case strictjson.Number:
		return "number"
	}
	return ""
}

// IsOf reports whether a scalar is of one of the types.
func IsOf(v strictjson.Value, types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool {
		return TypeOf(v) == t || t == "integer" && v.Kind == strictjson.Number && strictjson.ParseDecimal(v.Text).IsInteger()
	})
}

// Listed returns the values of const, or else of enum, if the schema has either.
func (s Shape) Listed() ([]strictjson.Value, bool) {
	if c, ok := s.Get("const"); ok {
		return []strictjson.Value{c.Value}, true
	}
	e, ok := s.Get("enum")
	return e.Value.Items, ok && e.Value.Kind == strictjson.Array
}

// Apart reports whether it is certain that no value fits both a schema of the
// profile and another one. It looks at types, at listed values and, of objects,
// at the members that one demands and the other rules out or restricts
// otherwise.
func (r *Reader) Apart(compiled strictjson.Value, other Shape) bool {
	mine, _ := compiled.Get("type")
	if t, ok := other.Get("type"); ok {
		if names, ok := Types(t.Value); ok && !slices.ContainsFunc(names, func(n string) bool { return overlap(n, mine.Text) }) {
			return true
		}
	}
	if values, ok := other.Listed(); ok {
		s, err := schema.CompileNested(compiled.Append(nil))
		return err == nil && !slices.ContainsFunc(values, func(v strictjson.Value) bool { return s.Check(v) == nil })
	}
	return mine.Text == "object" && r.membersApart(compiled, other)
}

func overlap(a, b string) bool {
	return a == b || a == "number" && b == "integer" || a == "integer" && b == "number"
}

// membersApart relies on objects of the profile being closed.
func (r *Reader) membersApart(compiled strictjson.Value, other Shape) bool {
	mine, _ := compiled.Get("properties")
	demands, _ := compiled.Get("required")
	required, _ := other.Get("required")
	for _, name := range required.Value.Items {
		if _, has := mine.Get(name.Text); !has && name.Kind == strictjson.String {
			return true
		}
	}
	theirs, _ := other.Get("properties")
	further, given := other.Get("additionalProperties")
	_, patterns := other.Get("patternProperties")
	closed := given && further.Value.Kind == strictjson.Bool && !further.Value.Bool && !patterns
	for _, name := range demands.Items {
		member, has := theirs.Value.Get(name.Text)
		if !has && closed {
			return true
		}
		s, bad := Of(member, schema.Under(theirs.At, name.Text))
		if !has || bad != nil {
			continue
		}
		f, bad := r.Flatten(s)
		if own, _ := mine.Get(name.Text); bad == nil && !f.Loose && r.Apart(own, f.Shape) {
			return true
		}
	}
	return false
}
