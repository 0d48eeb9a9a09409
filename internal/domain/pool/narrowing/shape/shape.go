// Package shape reads schemas as upstreams write them: any JSON Schema of
// draft-07 or 2020-12, with references within the document, allOf and notes.
//
// A Shape is one schema as a list of keywords, each with the place where it was
// written, so that whoever refuses one can point at it. A Reader writes out
// references under a budget of steps; a definition that contains itself and a
// reference that leaves the document are misfits. What a keyword demands is not
// decided here, and none is dropped.
//
// Everything is plain data; a Reader belongs to one goroutine.
package shape

import (
	"bytes"
	"slices"

	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Word is one keyword.
type Word struct {
	Name  string
	Value strictjson.Value
	At    string // JSON pointer into the document
}

// String is the keyword as it stands in a schema.
func (w Word) String() string { return w.Name + " " + string(w.Value.Append(nil)) }

// Shape is one schema. No keyword stands twice.
type Shape struct {
	Words []Word
	At    string // JSON pointer into the document
}

// Of reads a schema. The boolean schemas are misfits.
func Of(v strictjson.Value, at string) (Shape, *Misfit) {
	switch {
	case v.Kind == strictjson.Bool && v.Bool:
		return Shape{At: at}, Unfit(at, "accepts any JSON value")
	case v.Kind == strictjson.Bool:
		return Shape{At: at}, Unfit(at, "accepts no value")
	case v.Kind != strictjson.Object:
		return Shape{At: at}, Unfit(at, "is not a schema")
	}
	s := Shape{At: at}
	for _, m := range v.Members {
		s.Words = append(s.Words, Word{m.Name, m.Value, schema.Under(at, m.Name)})
	}
	return s, nil
}

// Get returns a keyword, or the zero Word and false.
func (s Shape) Get(name string) (Word, bool) {
	for _, w := range s.Words {
		if w.Name == name {
			return w, true
		}
	}
	return Word{}, false
}

// Without returns the schema that lacks a keyword.
func (s Shape) Without(name string) Shape {
	s.Words = slices.DeleteFunc(slices.Clone(s.Words), func(w Word) bool { return w.Name == name })
	return s
}

// IsNote reports whether a keyword is text about the schema that the profile
// can carry and that says nothing about what is accepted.
func IsNote(name string) bool { return slices.Contains(notes, name) }

var notes = []string{"title", "description", "$comment", "examples", "default", "$schema"}

// members are the keywords of an object that read each other, so that they mean
// something else when they are torn apart.
var members = []string{"properties", "additionalProperties", "patternProperties"}

// Merge is the schema that demands what both demand. The outer one's notes win.
// Two that say different things by the same keyword are a misfit, and so are
// two that describe members.
func Merge(outer, inner Shape) (Shape, *Misfit) {
	if len(outer.Words) == 0 {
		return inner, nil
	}
	const apart = "cannot be combined with the schema around it"
	describes := func(w Word) bool { return slices.Contains(members, w.Name) }
	if i := slices.IndexFunc(inner.Words, describes); i >= 0 && slices.ContainsFunc(outer.Words, describes) {
		return Shape{}, Unfit(inner.Words[i].At, apart)
	}
	merged := Shape{slices.Clone(outer.Words), outer.At}
	for _, w := range inner.Words {
		i := slices.IndexFunc(merged.Words, func(o Word) bool { return o.Name == w.Name })
		if i < 0 {
			merged.Words = append(merged.Words, w)
			continue
		}
		mine := merged.Words[i].Value
		switch {
		case IsNote(w.Name) || same(mine, w.Value):
		case w.Name == "required" && mine.Kind == strictjson.Array && w.Value.Kind == strictjson.Array:
			merged.Words[i].Value = union(mine, w.Value)
		default:
			return Shape{}, Unfit(w.At, apart)
		}
	}
	return merged, nil
}

func same(a, b strictjson.Value) bool { return bytes.Equal(a.Append(nil), b.Append(nil)) }

// union joins two lists of names; one that stands in both stays once.
func union(a, b strictjson.Value) strictjson.Value {
	joined := strictjson.Value{Kind: strictjson.Array, Items: slices.Clone(a.Items)}
	for _, item := range b.Items {
		if !slices.ContainsFunc(a.Items, func(o strictjson.Value) bool { return schema.SameScalar(o, item) }) {
			joined.Items = append(joined.Items, item)
		}
	}
	return joined
}
