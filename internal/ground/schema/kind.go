package schema

import "github.com/stewardhost/steward/internal/ground/strictjson"

// kind is a set of JSON Schema types; a node has exactly one of them.
type kind uint8

const (
	objectKind kind = 1 << iota
	arrayKind
	stringKind
	numberKind
	integerKind
	booleanKind
	nullKind

	anyKind     = 1<<iota - 1
	numericKind = numberKind | integerKind
)

// kinds are the names of the types, with the article that a sentence needs.
var kinds = []struct {
	kind          kind
	name, article string
}{
	{objectKind, "object", "an object"},
	{arrayKind, "array", "an array"},
	{stringKind, "string", "a string"},
	{numberKind, "number", "a number"},
	{integerKind, "integer", "an integer"},
	{booleanKind, "boolean", "a boolean"},
	{nullKind, "null", "null"},
}

func kindOf(name string) (kind, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k.kind, true
		}
	}
	return 0, false
}

func (k kind) String() string {
	for _, row := range kinds {
		if row.kind == k {
			return row.article
		}
	}
	return "a value"
}

// fits reports whether a value is of this type. An integer is a number without
// a fraction, however it is spelled.
func (k kind) fits(v strictjson.Value) bool {
	switch v.Kind {
	case strictjson.Object:
		return k == objectKind
	case strictjson.Array:
		return k == arrayKind
	case strictjson.String:
		return k == stringKind
	case strictjson.Number:
		return k == numberKind || k == integerKind && strictjson.ParseDecimal(v.Text).IsInteger()
	case strictjson.Bool:
		return k == booleanKind
	default:
		return k == nullKind
	}
}

// SameScalar reports whether two scalars are one JSON value: 1, 1.0 and 1e0 are,
// 1 and "1" are not. An object or array is no scalar and equals nothing.
func SameScalar(a, b strictjson.Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case strictjson.Null:
		return true
	case strictjson.Bool:
		return a.Bool == b.Bool
	case strictjson.String:
		return a.Text == b.Text
	case strictjson.Number:
		return strictjson.ParseDecimal(a.Text).Compare(strictjson.ParseDecimal(b.Text)) == 0
	default:
		return false
	}
}

func isScalar(v strictjson.Value) bool {
	return v.Kind != strictjson.Object && v.Kind != strictjson.Array
}
