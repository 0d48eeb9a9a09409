package narrowing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// node narrows one schema of the document. A failed attempt may leave decisions
// behind; whoever goes on takes them back.
func (w *walk) node(s shape.Shape, here spot) (strictjson.Value, *shape.Misfit) {
	if int64(here.depth) > bound.SchemaDepth.Max {
		return strictjson.Value{}, shape.Over(s.At, bound.SchemaDepth)
	}
	f, bad := w.Flatten(s)
	if bad != nil {
		return strictjson.Value{}, w.Leave(w.Depth(), bad)
	}
	depth := w.Depth()
	w.Enter(f)
	w.wroteOut(f, here)
	v, bad := w.flattened(f.Shape, here)
	return v, w.Leave(depth, bad)
}

// wroteOut decides about the references and lists of schemas that are gone.
func (w *walk) wroteOut(f shape.Flat, here spot) {
	if f.Loose {
		w.loose++
	}
	for _, word := range f.Written {
		if word.Name == "$ref" {
			w.decide(here, KindInlineRef, word.Value.Text, "")
		} else {
			w.decide(here, KindFoldAllOf, word.Name, "")
		}
	}
}

// flattened narrows a schema without references at its top.
func (w *walk) flattened(s shape.Shape, here spot) (strictjson.Value, *shape.Misfit) {
	for _, word := range s.Words {
		if word.Name == "anyOf" || word.Name == "oneOf" {
			return w.union(s, word, here)
		}
	}
	types, note, bad := typesOf(s, here)
	if bad != nil {
		return strictjson.Value{}, bad
	}
	var first *shape.Misfit
	for _, t := range types {
		m := w.mark()
		if note.Kind != "" {
			note.To = t
			w.decisions = append(w.decisions, note)
		}
		v, bad := w.typed(s, t, here)
		if bad == nil && t == "null" && len(types) > 1 {
			w.nothingButNull(m)
		}
		if bad == nil || bad.Fatal {
			return v, bad
		}
		if first == nil {
			first = bad
		}
		w.back(m)
	}
	return strictjson.Value{}, first
}

// typed narrows a schema read as one type.
func (w *walk) typed(s shape.Shape, t string, here spot) (strictjson.Value, *shape.Misfit) {
	members, bad := w.notes(s, t, here)
	if bad != nil {
		return strictjson.Value{}, bad
	}
	values, bad := w.values(s, t, here)
	if bad != nil {
		return strictjson.Value{}, bad
	}
	members = append(members, strictjson.Member{Name: "type", Value: textValue(t)})
	members = append(members, values...)
	var rules []strictjson.Member
	switch t {
	case "object":
		rules, bad = w.object(s, here)
	case "array":
		rules, bad = w.array(s, here)
	case "string":
		rules, bad = w.size(s, sizeOfText, w.profile.text(here.name), len(values) == 0, here)
	case "number", "integer":
		rules, bad = w.bounds(s, t, len(values) == 0, here)
	}
	if bad != nil {
		return strictjson.Value{}, bad
	}
	return objectValue(w.withDefault(s, append(members, rules...), here)), nil
}

// nullLast puts null last: it is the least useful choice.
func nullLast(names []string) []string {
	others := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "null" })
	if len(others) < len(names) {
		others = append(others, "null")
	}
	return others
}

// typesOf lists the types that a schema may be read as, best first, and the
// decision that this takes, if any.
func typesOf(s shape.Shape, here spot) ([]string, Decision, *shape.Misfit) {
	if t, ok := s.Get("type"); ok {
		names, ok := shape.Types(t.Value)
		switch {
		case !ok:
			return nil, Decision{}, shape.Unfit(t.At, "must be JSON types")
		case t.Value.Kind == strictjson.String:
			return names, Decision{}, nil
		case len(names) == 1:
			return names, newDecision(here.site, KindInferType, "", ""), nil
		}
		return nullLast(names), newDecision(here.site, KindTypeList, strings.Join(names, " or "), ""), nil
	}
	if values, ok := s.Listed(); ok {
		var names []string
		for _, v := range values {
			if name := shape.TypeOf(v); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return nil, Decision{}, shape.Unfit(s.At, "lists no scalar")
		}
		if len(names) > 1 {
			return nullLast(names), newDecision(here.site, KindTypeList, strings.Join(names, " or "), ""), nil
		}
		return names, newDecision(here.site, KindInferType, "", ""), nil
	}
	if here.site == "" {
		// The arguments of a tool are an object whatever its schema says.
		return objects, newDecision(here.site, KindSetType, "", ""), nil
	}
	return typeOfRules(s, here)
}

// typeOfRules guesses the type from the rules, if they agree on one.
func typeOfRules(s shape.Shape, here spot) ([]string, Decision, *shape.Misfit) {
	var found []string
	for _, word := range s.Words {
		types := keywords[word.Name].types
		if len(types) == 0 {
			continue
		}
		if len(found) > 0 && found[0] != types[0] {
			return nil, Decision{}, shape.Unfit(s.At, "does not say of which type it is")
		}
		found = types[:1]
	}
	if len(found) == 0 {
		return nil, Decision{}, shape.Unfit(s.At, "accepts any JSON value")
	}
	return found, newDecision(here.site, KindSetType, "", ""), nil
}

// values narrows enum and const to scalars of one type that the profile holds.
func (w *walk) values(s shape.Shape, t string, here spot) ([]strictjson.Member, *shape.Misfit) {
	var members []strictjson.Member
	if c, ok := s.Get("const"); ok {
		if !shape.IsOf(c.Value, []string{t}) || !exact(c.Value) {
			return nil, shape.Unfit(c.At, "is no scalar of the type that can be expressed")
		}
		members = append(members, strictjson.Member{Name: "const", Value: c.Value})
	}
	e, ok := s.Get("enum")
	if !ok {
		return members, nil
	}
	if e.Value.Kind != strictjson.Array {
		return nil, shape.Unfit(e.At, "must be an array")
	}
	kept := strictjson.Value{Kind: strictjson.Array}
	more := false
	for _, v := range e.Value.Items {
		known := slices.ContainsFunc(kept.Items, func(k strictjson.Value) bool { return schema.SameScalar(k, v) })
		if known || !shape.IsOf(v, []string{t}) || !exact(v) {
			continue
		}
		if more = int64(len(kept.Items)) == bound.SchemaEnum.Max; more {
			break
		}
		kept.Items = append(kept.Items, v)
	}
	switch before, after := strconv.Itoa(len(e.Value.Items)), strconv.Itoa(len(kept.Items)); {
	case after == "0":
		return nil, shape.Unfit(e.At, "lists no scalar of the type that can be expressed")
	case more:
		w.lose(here.site, KindEnumMembers, before, after)
	case before != after:
		w.decide(here, KindEnumMembers, before, after)
	}
	return append(members, strictjson.Member{Name: "enum", Value: kept}), nil
}

// exact reports whether a scalar keeps its value in canonical JSON.
func exact(v strictjson.Value) bool {
	if v.Kind != strictjson.Number {
		return true
	}
	_, err := strictjson.Canonical([]byte(v.Text), limits)
	return err == nil && strictjson.ParseDecimal(v.Text).IsSafe()
}
