package narrowing

import (
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// trim drops optional members until a proposal has no more nodes than the
// profile admits: the smallest one that suffices, else the largest one.
func (w *walk) trim(v strictjson.Value) (strictjson.Value, *shape.Misfit) {
	for {
		excess := size(v) - bound.SchemaNodes.Int()
		if excess <= 0 {
			return v, nil
		}
		var best option
		for _, o := range options(v, nil) {
			better := o.size > best.size
			if best.size >= excess {
				better = o.size >= excess && o.size < best.size
			}
			if better {
				best = o
			}
		}
		if best.size == 0 {
			return v, shape.Over("", bound.SchemaNodes)
		}
		v = without(v, best.path)
		site := best.site()
		gone := func(d Decision) bool { return d.Pointer == site || strings.HasPrefix(d.Pointer, site+"/") }
		w.decisions = slices.DeleteFunc(w.decisions, gone)
		w.lost = slices.DeleteFunc(w.lost, gone)
		w.lose(site, KindDropOptional, bound.SchemaNodes.Exceeded().Text, "")
	}
}

// option is one optional member anywhere in a proposal.
type option struct {
	path []string // of member names
	size int      // in nodes
}

func (o option) site() string {
	site := ""
	for _, token := range o.path {
		site = schema.Under(site, token)
	}
	return site
}

func options(v strictjson.Value, path []string) []option {
	var found []option
	if items, ok := v.Get("items"); ok {
		found = options(items, append(slices.Clone(path), "items"))
	}
	properties, _ := v.Get("properties")
	required, _ := v.Get("required")
	for _, m := range properties.Members {
		at := append(slices.Clone(path), "properties", m.Name)
		if !slices.ContainsFunc(required.Items, func(r strictjson.Value) bool { return r.Text == m.Name }) {
			found = append(found, option{at, size(m.Value)})
		}
		found = append(found, options(m.Value, at)...)
	}
	return found
}

// size counts the schemas in a proposal.
func size(v strictjson.Value) int {
	n := 1
	if items, ok := v.Get("items"); ok {
		n += size(items)
	}
	properties, _ := v.Get("properties")
	for _, m := range properties.Members {
		n += size(m.Value)
	}
	return n
}

// without returns a copy that lacks the member at the end of a path.
func without(v strictjson.Value, path []string) strictjson.Value {
	v.Members = slices.Clone(v.Members)
	i := slices.IndexFunc(v.Members, func(m strictjson.Member) bool { return m.Name == path[0] })
	if len(path) == 1 {
		v.Members = slices.Delete(v.Members, i, i+1)
	} else {
		v.Members[i].Value = without(v.Members[i].Value, path[1:])
	}
	return v
}
