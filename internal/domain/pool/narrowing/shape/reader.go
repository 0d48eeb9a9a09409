package shape

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Reader follows the references of one document.
type Reader struct {
	document strictjson.Value
	steps    int
	open     []string // references to the schemas that are being written out, outermost first
}

// NewReader returns a reader that may take so many steps: a step is a schema, a
// keyword or a reference that is looked at.
func NewReader(document strictjson.Value, steps int) *Reader {
	return &Reader{document: document, steps: steps}
}

// Spend takes steps from the budget; at is what they are for.
func (r *Reader) Spend(n int, at string) *Misfit {
	if r.steps -= n; r.steps < 0 {
		return Fatal(at, "takes too much work to write out")
	}
	return nil
}

// Depth is how many schemas are being written out.
func (r *Reader) Depth() int { return len(r.open) }

// Enter says that the parts of a schema are about to be read, so that none of
// them may refer to the schemas that it comes from.
func (r *Reader) Enter(f Flat) { r.open = append(r.open, f.Opened...) }

// Leave goes back to a depth. A misfit of a definition that contains itself can
// be dropped from then on, if that definition was left.
func (r *Reader) Leave(depth int, m *Misfit) *Misfit {
	r.open = r.open[:depth]
	if m != nil && !slices.Contains(r.open, m.cycle) {
		m.cycle = ""
	}
	return m
}

// Flat is a schema with no reference and no allOf at its top.
type Flat struct {
	Shape
	Opened  []string // references to the schemas that it comes from, itself first
	Written []Word   // the $ref and allOf that were written out
	// Loose says that rules stand beside a reference. By draft-07 they are
	// ignored, so the upstream may demand less than the shape does.
	Loose bool
}

// Flatten writes out the references and the allOf at the top of a schema.
func (r *Reader) Flatten(s Shape) (Flat, *Misfit) {
	f := Flat{Shape: s, Opened: []string{"#" + s.At}}
	for {
		if bad := r.Spend(1+len(f.Words), f.At); bad != nil {
			return f, bad
		}
		i := slices.IndexFunc(f.Words, func(w Word) bool { return w.Name == "$ref" || w.Name == "allOf" })
		if i < 0 {
			return f, nil
		}
		next, follow := f.Words[i], r.refer
		if next.Name == "allOf" {
			follow = r.allOf
		}
		f.Shape = f.Without(next.Name)
		if bad := follow(&f, next); bad != nil {
			return f, bad
		}
		f.Written = append(f.Written, next)
	}
}

func (r *Reader) allOf(f *Flat, list Word) *Misfit {
	parts, bad := List(list)
	for i := 0; i < len(parts) && bad == nil; i++ {
		var part Shape
		if part, bad = Of(parts[i], schema.Under(list.At, strconv.Itoa(i))); bad != nil {
			return bad
		}
		f.Opened = append(f.Opened, "#"+part.At)
		if bad = r.Spend(1+len(part.Words), part.At); bad == nil {
			f.Shape, bad = Merge(f.Shape, part)
		}
	}
	return bad
}

// List returns the schemas of a keyword such as anyOf, of which there is at
// least one.
func List(list Word) ([]strictjson.Value, *Misfit) {
	if list.Value.Kind != strictjson.Array || len(list.Value.Items) == 0 {
		return nil, Unfit(list.At, "must be an array of schemas")
	}
	return list.Value.Items, nil
}

func (r *Reader) refer(f *Flat, ref Word) *Misfit {
	pointer, local := strings.CutPrefix(ref.Value.Text, "#")
	switch {
	case ref.Value.Kind != strictjson.String || !local:
		return Fatal(ref.At, "refers outside the schema; it is never fetched")
	case strings.Contains(pointer, "%") || pointer != "" && pointer[0] != '/':
		return Unfit(ref.At, "is a reference by name or with escapes")
	case slices.Contains(r.open, ref.Value.Text) || slices.Contains(f.Opened, ref.Value.Text):
		bad := Unfit(ref.At, "refers to a schema that contains itself")
		bad.cycle = ref.Value.Text
		return bad
	}
	v, ok := resolve(r.document, pointer)
	if !ok {
		return Unfit(ref.At, "refers to nothing in the schema")
	}
	target, bad := Of(v, pointer)
	if bad != nil {
		return bad
	}
	f.Loose = f.Loose || slices.ContainsFunc(f.Words, func(w Word) bool { return !IsNote(w.Name) })
	f.Opened = append(f.Opened, ref.Value.Text)
	f.Shape, bad = Merge(f.Shape, target)
	return bad
}

var unescapes = strings.NewReplacer("~1", "/", "~0", "~")

// resolve finds what a JSON pointer names. A schema on the way that has an $id
// gives its references another base, so nothing behind it can be found.
func resolve(v strictjson.Value, pointer string) (strictjson.Value, bool) {
	for i, token := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		if id, ok := v.Get("$id"); ok && i > 1 && id.Kind == strictjson.String {
			return v, false
		}
		ok := false
		switch v.Kind {
		case strictjson.Object:
			v, ok = v.Get(unescapes.Replace(token))
		case strictjson.Array:
			n, err := strconv.Atoi(token)
			if ok = err == nil && n >= 0 && n < len(v.Items); ok {
				v = v.Items[n]
			}
		}
		if !ok {
			return v, false
		}
	}
	return v, true
}
