package narrowing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// branch is one alternative of a union. One that cannot be written out is kept,
// since the others of a oneOf must be told apart from it.
type branch struct {
	shape.Flat
	bad *shape.Misfit
}

// union narrows a schema with anyOf or oneOf to one of the alternatives.
func (w *walk) union(s shape.Shape, list shape.Word, here spot) (strictjson.Value, *shape.Misfit) {
	rest := s.Without(list.Name)
	branches, bad := w.branches(list)
	if bad != nil {
		return strictjson.Value{}, bad
	}
	if values, ok := fold(branches, list); ok {
		return w.only(rest, branch{Flat: values}, newDecision(here.site, KindFoldConstUnion, list.Name, ""), here)
	}
	if len(branches) == 1 {
		return w.only(rest, branches[0], newDecision(here.site, KindFoldAllOf, list.Name, ""), here)
	}
	var first *shape.Misfit
	for _, null := range []bool{false, true} {
		for i, b := range branches {
			if b.isNull() != null {
				continue
			}
			m := w.mark()
			note := newDecision(here.site, KindPickBranch, list.Name+": "+describeAll(branches), b.describe())
			v, bad := w.only(rest, b, note, here)
			if bad == nil && null {
				w.nothingButNull(m)
			}
			if bad == nil && list.Name == "oneOf" && !w.apartFromOthers(v, branches, i) {
				bad = shape.Unfit(b.At, "may overlap with another branch of oneOf")
			}
			switch {
			case bad == nil:
				return v, nil
			case bad.Fatal:
				return v, bad
			case first == nil:
				first = bad
			}
			w.back(m)
		}
	}
	return strictjson.Value{}, first
}

// nothingButNull turns the choice that was recorded first after a mark into a
// loss: of everything else that could be given, nothing was expressible.
func (w *walk) nothingButNull(m mark) {
	w.lost = append(w.lost, w.decisions[m.decisions])
	w.decisions = slices.Delete(w.decisions, m.decisions, m.decisions+1)
}

func (w *walk) branches(list shape.Word) ([]branch, *shape.Misfit) {
	items, bad := shape.List(list)
	if bad != nil {
		return nil, bad
	}
	var branches []branch
	for i, item := range items {
		var b branch
		b.Shape, b.bad = shape.Of(item, schema.Under(list.At, strconv.Itoa(i)))
		if b.bad == nil {
			b.Flat, b.bad = w.Flatten(b.Shape)
		}
		if b.bad != nil && b.bad.Fatal {
			return nil, b.bad
		}
		branches = append(branches, b)
	}
	return branches, nil
}

// only narrows the schema that remains when one branch is chosen.
func (w *walk) only(rest shape.Shape, b branch, note Decision, here spot) (strictjson.Value, *shape.Misfit) {
	if b.bad != nil {
		return strictjson.Value{}, b.bad
	}
	s, bad := shape.Merge(rest, b.Shape)
	if bad != nil {
		return strictjson.Value{}, bad
	}
	depth := w.Depth()
	w.Enter(b.Flat)
	w.decisions = append(w.decisions, note)
	w.wroteOut(b.Flat, here)
	v, bad := w.flattened(s, here)
	return v, w.Leave(depth, bad)
}

// apartFromOthers reports whether no value of the proposal can also fit another
// branch of the oneOf that it was chosen from.
func (w *walk) apartFromOthers(proposal strictjson.Value, branches []branch, chosen int) bool {
	for i, b := range branches {
		if i != chosen && (b.bad != nil || b.Loose || !w.Apart(proposal, b.Shape)) {
			return false
		}
	}
	return true
}

func (b branch) isNull() bool {
	if t, ok := b.Get("type"); ok {
		return t.Value.Kind == strictjson.String && t.Value.Text == "null"
	}
	c, ok := b.Get("const")
	return ok && c.Value.Kind == strictjson.Null
}

// describe names a branch in a few words.
func (b branch) describe() string {
	for _, name := range []string{"const", "enum", "type"} {
		if w, ok := b.Get(name); ok {
			return strings.Trim(text(w.Value), `"`)
		}
	}
	switch {
	case len(b.Written) > 0:
		return b.Written[0].String()
	case len(b.Words) > 0:
		return b.Words[0].String()
	}
	return "anything"
}

func describeAll(branches []branch) string {
	var all []string
	for _, b := range branches {
		all = append(all, b.describe())
	}
	return strings.Join(all, " or ")
}

// fold turns a union of constants into the list of values that it accepts. A
// value that stands in two branches of a oneOf is accepted by neither.
func fold(branches []branch, list shape.Word) (shape.Flat, bool) {
	var order []strictjson.Value
	times := make(map[string]int) // how many branches accept it
	for _, b := range branches {
		constants, ok := b.constants()
		if !ok {
			return shape.Flat{}, false
		}
		once := make(map[string]bool)
		for _, v := range constants {
			key := canonical(v)
			if once[key] {
				continue
			}
			once[key] = true
			if times[key]++; times[key] == 1 {
				order = append(order, v)
			}
		}
	}
	values := strictjson.Value{Kind: strictjson.Array}
	for _, v := range order {
		if list.Name == "anyOf" || times[canonical(v)] == 1 {
			values.Items = append(values.Items, v)
		}
	}
	word := shape.Word{Name: "enum", Value: values, At: list.At}
	return shape.Flat{Shape: shape.Shape{Words: []shape.Word{word}, At: list.At}}, true
}

// constants are the values of a branch that lists them and says nothing else.
func (b branch) constants() ([]strictjson.Value, bool) {
	if b.bad != nil || b.Loose {
		return nil, false
	}
	lists := 0
	for _, w := range b.Words {
		switch {
		case w.Name == "const" || w.Name == "enum":
			lists++
		case w.Name != "type" && !shape.IsNote(w.Name):
			return nil, false
		}
	}
	values, ok := b.Listed()
	if !ok || lists != 1 {
		return nil, false
	}
	t, typed := b.Get("type")
	if !typed {
		return values, true
	}
	names, ok := shape.Types(t.Value)
	var fitting []strictjson.Value
	for _, v := range values {
		if shape.IsOf(v, names) {
			fitting = append(fitting, v)
		}
	}
	return fitting, ok
}

// canonical is one text for all spellings of a value; a value that has none, as
// no profile can hold it, stands for itself.
func canonical(v strictjson.Value) string {
	raw := v.Append(nil)
	if c, err := strictjson.Canonical(raw, limits); err == nil {
		return string(c)
	}
	return string(raw)
}
