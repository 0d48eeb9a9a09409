package strictjson

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a value is.
type Kind byte

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is a parsed document that keeps every number as it was written.
// A value is read-only once Parse has returned it.
type Value struct {
	Kind    Kind
	Bool    bool     // of a Bool
	Text    string   // of a String its unescaped text, of a Number its literal
	Items   []Value  // of an Array
	Members []Member // of an Object, in document order, names distinct
}

// Member is one name and value of an object.
type Member struct {
	Name  string
	Value Value
}

// Get returns the member's value and whether the object has it.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Append writes the value as compact JSON: members in their order, numbers as
// they were written.
func (v Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool)
	case Number:
		return append(dst, v.Text...)
	case String:
		return appendText(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.Append(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendText(dst, m.Name), ':')
			dst = m.Value.Append(dst)
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

// appendText quotes text; Parse gave it, so it is UTF-8.
func appendText(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text)
	return dst
}
