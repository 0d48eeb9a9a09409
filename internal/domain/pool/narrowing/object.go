package narrowing

import (
	"slices"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// object closes an object and narrows its members. Optional members that cannot
// be expressed are dropped; of an output all such members are, and it is open.
func (w *walk) object(s shape.Shape, here spot) ([]strictjson.Member, *shape.Misfit) {
	required, bad := w.requiredOf(s)
	if bad != nil {
		return nil, bad
	}
	closed, bad := w.close(s, here)
	if bad != nil {
		return nil, bad
	}
	var members, kept []strictjson.Member
	if properties, ok := s.Get("properties"); ok {
		if kept, bad = w.properties(properties, required, here); bad != nil {
			return nil, bad
		}
		closed = closed && (!w.wide || len(kept) == len(properties.Value.Members))
		members = append(members, strictjson.Member{Name: "properties", Value: objectValue(kept)})
	}
	if r, ok := s.Get("required"); ok {
		undescribed := func(name strictjson.Value) bool { _, ok := objectValue(kept).Get(name.Text); return !ok }
		r.Value.Items = slices.DeleteFunc(slices.Clone(r.Value.Items), undescribed)
		members = append(members, strictjson.Member{Name: "required", Value: r.Value})
	}
	if closed {
		members = append(members, strictjson.Member{Name: "additionalProperties", Value: strictjson.Value{Kind: strictjson.Bool}})
	}
	return members, nil
}

// requiredOf returns the names of the required members, each of which must be
// one of the properties: a required member of any kind cannot be expressed.
func (w *walk) requiredOf(s shape.Shape) (map[string]bool, *shape.Misfit) {
	names := make(map[string]bool)
	r, ok := s.Get("required")
	if !ok {
		return names, nil
	}
	if r.Value.Kind != strictjson.Array {
		return nil, shape.Unfit(r.At, "must be an array of names")
	}
	properties, _ := s.Get("properties")
	for _, item := range r.Value.Items {
		if item.Kind != strictjson.String || names[item.Text] {
			return nil, shape.Unfit(r.At, "must be an array of names that stand once")
		}
		if _, ok := properties.Value.Get(item.Text); !ok && !w.wide {
			return nil, shape.Unfit(r.At, "demands "+clip(text(item))+", which the properties do not describe")
		}
		names[item.Text] = true
	}
	return names, nil
}

// close decides how an object gets rid of members that it does not name; that of
// an output keeps them. One that names none is a map, which says nothing once it
// is closed; only at the root does that have a meaning: no arguments.
func (w *walk) close(s shape.Shape, here spot) (closed bool, bad *shape.Misfit) {
	properties, _ := s.Get("properties")
	further, given := s.Get("additionalProperties")
	closed = given && further.Value.Kind == strictjson.Bool && !further.Value.Bool
	open := given && !closed && (further.Value.Kind == strictjson.Bool || further.Value.Kind == strictjson.Object && len(further.Value.Members) == 0)
	switch {
	case properties.Name != "" && properties.Value.Kind != strictjson.Object:
		return false, shape.Unfit(properties.At, "must be an object")
	case given && !open && !closed && further.Value.Kind != strictjson.Object:
		return false, shape.Unfit(further.At, "is not a schema")
	case closed, w.wide:
		return closed, nil
	case here.site != "" && len(properties.Value.Members) == 0:
		return false, shape.Unfit(s.At, "is a map whose members have no fixed names")
	case !given:
		w.decide(here, KindCloseObject, "", "")
	case open:
		w.decide(here, KindCloseOpenObject, "", "")
	default:
		w.lose(here.site, KindCloseMap, text(further.Value), "")
	}
	return true, nil
}

func (w *walk) properties(properties shape.Word, required map[string]bool, here spot) ([]strictjson.Member, *shape.Misfit) {
	room := bound.SchemaProperties.Int() - len(required)
	if room < 0 {
		return nil, shape.Over(properties.At, bound.SchemaProperties)
	}
	var kept []strictjson.Member
	for _, m := range properties.Value.Members {
		at := schema.Under(properties.At, m.Name)
		if bad := w.Spend(1, at); bad != nil {
			return nil, bad
		}
		site := schema.Under(schema.Under(here.site, "properties"), m.Name)
		before := w.mark()
		var v strictjson.Value
		var bad *shape.Misfit
		if optional := !required[m.Name]; optional && room == 0 {
			bad = shape.Over(properties.At, bound.SchemaProperties)
		} else if v, bad = w.property(m, at, spot{site, m.Name, here.depth + 1}); bad == nil && !(w.wide && w.narrows(before)) {
			kept = append(kept, strictjson.Member{Name: m.Name, Value: v})
			if optional {
				room--
			}
			continue
		}
		if bad != nil && (required[m.Name] && !w.wide || !bad.Droppable()) {
			return nil, bad
		}
		if w.back(before); !w.wide {
			w.lose(site, KindDropOptional, bad.Error(), "")
		}
	}
	if len(kept) == 0 && len(properties.Value.Members) > 0 && here.site != "" && !w.wide {
		return nil, shape.Unfit(properties.At, "has no member that can be expressed")
	}
	return kept, nil
}

func (w *walk) property(m strictjson.Member, at string, here spot) (strictjson.Value, *shape.Misfit) {
	if schema.IsReserved(m.Name) {
		return strictjson.Value{}, shape.Unfit(at, "is a reserved name")
	}
	s, bad := shape.Of(m.Value, at)
	if bad != nil {
		return strictjson.Value{}, bad
	}
	return w.node(s, here)
}
