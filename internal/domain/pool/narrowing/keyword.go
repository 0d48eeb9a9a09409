package narrowing

import (
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// use says what the package does with a keyword. The zero value is a rule that
// some type reads.
type use int

const (
	left    use = iota + 1 // the upstream goes on enforcing it
	dropped                // says nothing about what is accepted, and has no place in the profile
)

// keyword is what the package knows of one keyword.
type keyword struct {
	use   use
	types []string // that it applies to; none: all
	kind  string   // of the decision when it is left or dropped
}

var (
	objects = []string{"object"}
	arrays  = []string{"array"}
	texts   = []string{"string"}
	numbers = []string{"number", "integer"}
)

var keywords = map[string]keyword{
	"type": {}, "enum": {}, "const": {},
	"properties": {types: objects}, "required": {types: objects}, "additionalProperties": {types: objects},
	"items": {types: arrays}, "minItems": {types: arrays}, "maxItems": {types: arrays},
	"minLength": {types: texts}, "maxLength": {types: texts},
	"minimum": {types: numbers}, "maximum": {types: numbers},
	"exclusiveMinimum": {types: numbers}, "exclusiveMaximum": {types: numbers},

	"format":  {left, nil, KindLeaveFormat},
	"pattern": {left, texts, KindLeavePattern},

	"contentEncoding":  {left, texts, KindLeaveFormat},
	"contentMediaType": {left, texts, KindLeaveFormat},
	"contentSchema":    {left, texts, KindLeaveFormat},
	"uniqueItems":      {left, arrays, KindLeaveUnique},
	"multipleOf":       {left, numbers, KindLeaveMultiple},
	"minProperties":    {left, objects, KindLeaveMembers},
	"maxProperties":    {left, objects, KindLeaveMembers},
	"propertyNames":    {left, objects, KindLeaveMembers},

	"$defs":       {dropped, nil, KindDropDefinitions},
	"definitions": {dropped, nil, KindDropDefinitions},
	"$id":         {dropped, nil, KindDropAnnotation},
	"deprecated":  {dropped, nil, KindDropAnnotation},
	"readOnly":    {dropped, nil, KindDropAnnotation},
	"writeOnly":   {dropped, nil, KindDropAnnotation},
	// Dialects beside JSON Schema: these name values or widen the schema at most.
	"example":   {dropped, nil, KindDropAnnotation},
	"enumNames": {dropped, nil, KindDropAnnotation},
	"nullable":  {dropped, nil, KindDropAnnotation},
}

// notes goes over all keywords of a schema that is read as type t. It returns
// the members to carry, decides about what is left or dropped, and refuses what
// nobody understands.
func (w *walk) notes(s shape.Shape, t string, here spot) ([]strictjson.Member, *shape.Misfit) {
	var carried []strictjson.Member
	for _, word := range s.Words {
		k, known := keywords[word.Name]
		switch {
		case strings.HasPrefix(word.Name, "x-mcp-"):
			return nil, shape.Fatal(word.At, "is a keyword of the protocol that cannot be carried")
		case strings.HasPrefix(word.Name, "x-"):
			w.decide(here, KindDropUnknown, word.Name, "")
		case shape.IsNote(word.Name):
			m, bad := w.carry(word, here)
			if bad != nil {
				return nil, bad
			}
			carried = append(carried, m...)
		case !known, word.Name == "$id" && word.At != "/$id", word.Name == "nullable" && w.wide:
			return nil, shape.Unfit(word.At, "is a keyword that cannot be expressed")
		case len(k.types) > 0 && !slices.Contains(k.types, t), k.use == left && saysNothing(word):
			w.decide(here, KindDropInapplicable, word.String(), "")
		case k.use == left:
			w.decide(here, k.kind, word.String(), "")
		case k.use == dropped:
			w.decide(here, k.kind, word.Name, "")
		}
	}
	return carried, nil
}

// saysNothing reports whether a rule that is left accepts everything anyway.
func saysNothing(word shape.Word) bool {
	v := word.Value
	switch word.Name {
	case "uniqueItems":
		return v.Kind == strictjson.Bool && !v.Bool
	case "minProperties":
		return v.Kind == strictjson.Number && schema.SameScalar(v, strictjson.Value{Kind: strictjson.Number, Text: "0"})
	case "propertyNames":
		if v.Kind == strictjson.Bool {
			return v.Bool
		}
		for _, m := range v.Members {
			if m.Name != "type" || m.Value.Text != "string" {
				return false
			}
		}
		return v.Kind == strictjson.Object
	}
	return false
}

// carry returns a note as the profile can hold it, or nothing. The default is
// carried later, when it is known whether it fits.
func (w *walk) carry(word shape.Word, here spot) ([]strictjson.Member, *shape.Misfit) {
	v := word.Value
	kept := []strictjson.Member{{Name: word.Name, Value: v}}
	switch word.Name {
	case "default":
		return nil, nil
	case "title":
		return w.carryText(word, bound.TitleBytes, here), nil
	case "description":
		return w.carryText(word, bound.DescriptionBytes, here), nil
	case "$schema":
		if here.site != "" {
			break
		}
		if !compiles(append(kept, strictjson.Member{Name: "type", Value: textValue("null")})) {
			return nil, shape.Fatal(word.At, "must name draft-07 or 2020-12")
		}
		return kept, nil
	default:
		if compiles(append(kept, strictjson.Member{Name: "type", Value: textValue("null")})) {
			return kept, nil
		}
	}
	w.decide(here, KindDropAnnotation, word.Name, "")
	return nil, nil
}

func (w *walk) carryText(word shape.Word, row bound.Row, here spot) []strictjson.Member {
	v := word.Value
	if v.Kind != strictjson.String {
		w.decide(here, KindDropAnnotation, word.Name, "")
		return nil
	}
	if len(v.Text) > row.Int() {
		v.Text = cut(v.Text, row.Int())
		w.decide(here, KindCutText, word.Name, number(row.Max))
	}
	return []strictjson.Member{{Name: word.Name, Value: v}}
}

// withDefault adds the default, which is shown and never executed, if it fits.
func (w *walk) withDefault(s shape.Shape, members []strictjson.Member, here spot) []strictjson.Member {
	word, ok := s.Get("default")
	if !ok {
		return members
	}
	with := append(slices.Clone(members), strictjson.Member{Name: "default", Value: word.Value})
	c, err := w.compile(objectValue(with))
	if err != nil || c.Check(word.Value) != nil {
		w.decide(here, KindDropDefault, text(word.Value), "")
		return members
	}
	w.decide(here, KindDefaultNotExecuted, text(word.Value), text(word.Value))
	return with
}

func compiles(members []strictjson.Member) bool {
	_, err := schema.CompileNested(objectValue(members).Append(nil))
	return err == nil
}

func objectValue(members []strictjson.Member) strictjson.Value {
	return strictjson.Value{Kind: strictjson.Object, Members: members}
}

func textValue(s string) strictjson.Value { return strictjson.Value{Kind: strictjson.String, Text: s} }
