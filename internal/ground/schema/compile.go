package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// keywords are all that nested-v1 accepts, with the types that each may stand
// beside. A rule about another type would mislead whoever reads the schema.
var keywords = map[string]kind{
	"type": anyKind, "enum": anyKind, "const": anyKind,
	"title": anyKind, "description": anyKind,
	"$schema": anyKind, "default": anyKind, "examples": anyKind, "$comment": anyKind,
	"properties": objectKind, "required": objectKind, "additionalProperties": objectKind,
	"items": arrayKind, "minItems": arrayKind, "maxItems": arrayKind,
	"minLength": stringKind, "maxLength": stringKind,
	"minimum": numericKind, "maximum": numericKind,
}

// dialects are the values of $schema that are understood.
var dialects = []string{
	"http://json-schema.org/draft-07/schema",
	"https://json-schema.org/draft/2020-12/schema",
}

var reserved = []string{"__proto__", "constructor", "prototype"}

// IsReserved reports whether a member may not have this name, because some
// readers of JSON treat it as their own (draft, importer subset).
func IsReserved(name string) bool { return slices.Contains(reserved, name) }

// compiler counts what one schema has used of its bounds.
type compiler struct {
	output bool // which variant
	nodes  int
}

// node compiles one subschema; depth counts schemas, the root being 1.
func (c *compiler) node(v strictjson.Value, at *place, depth int) (*node, *Refusal) {
	if v.Kind != strictjson.Object {
		return nil, at.refuse("must be a schema object")
	}
	if int64(depth) > bound.SchemaDepth.Max {
		return nil, at.exceeds(bound.SchemaDepth.Exceeded())
	}
	if c.nodes++; int64(c.nodes) > bound.SchemaNodes.Max {
		return nil, at.exceeds(bound.SchemaNodes.Exceeded())
	}
	n := new(node)
	if refusal := n.readType(v, at); refusal != nil {
		return nil, refusal
	}
	for _, m := range v.Members {
		switch applies, known := keywords[m.Name]; {
		case !known:
			return nil, at.to(m.Name).refuse("is a keyword outside the profile")
		case applies&n.kind == 0:
			return nil, at.to(m.Name).refuse("does not apply to " + n.kind.String())
		}
		if refusal := n.common(m, at.to(m.Name), depth == 1); refusal != nil {
			return nil, refusal
		}
	}
	var refusal *Refusal
	switch n.kind {
	case objectKind:
		refusal = c.object(n, v, at, depth)
	case arrayKind:
		refusal = c.array(n, v, at, depth)
	case stringKind:
		refusal = c.text(n, v, at)
	case numberKind, integerKind:
		refusal = c.number(n, v, at)
	}
	return n, refusal
}

func (n *node) readType(v strictjson.Value, at *place) *Refusal {
	t, ok := v.Get("type")
	if !ok {
		// The keyword that brought the author here is the better news.
		for _, m := range v.Members {
			if _, known := keywords[m.Name]; !known {
				return at.to(m.Name).refuse("is a keyword outside the profile")
			}
		}
		return at.refuse("has no type")
	}
	if n.kind, ok = kindOf(t.Text); !ok || t.Kind != strictjson.String {
		return at.to("type").refuse("must be exactly one JSON type")
	}
	return nil
}

// common reads the keywords that any type may have.
func (n *node) common(m strictjson.Member, at *place, root bool) *Refusal {
	switch m.Name {
	case "title":
		return carried(m.Value, at, bound.TitleBytes)
	case "description":
		return carried(m.Value, at, bound.DescriptionBytes)
	case "$comment":
		if m.Value.Kind != strictjson.String {
			return at.refuse("must be a string")
		}
	case "examples":
		if m.Value.Kind != strictjson.Array {
			return at.refuse("must be an array")
		}
	case "$schema":
		if !root {
			return at.refuse("may stand at the root only")
		}
		return dialect(m.Value, at)
	case "enum":
		return n.readEnum(m.Value, at)
	case "const":
		if refusal := n.member(m.Value, at); refusal != nil {
			return refusal
		}
		n.constant = []strictjson.Value{m.Value}
	}
	return nil
}

func carried(v strictjson.Value, at *place, row bound.Row) *Refusal {
	if v.Kind != strictjson.String {
		return at.refuse("must be a string")
	}
	if int64(len(v.Text)) > row.Max {
		return at.exceeds(row.Exceeded())
	}
	return nil
}

func dialect(v strictjson.Value, at *place) *Refusal {
	for _, uri := range dialects {
		if v.Kind == strictjson.String && strings.TrimSuffix(v.Text, "#") == uri {
			return nil
		}
	}
	return at.refuse("must name draft-07 or 2020-12")
}

func (n *node) readEnum(v strictjson.Value, at *place) *Refusal {
	if v.Kind != strictjson.Array || len(v.Items) == 0 {
		return at.refuse("must be an array with at least one value")
	}
	if int64(len(v.Items)) > bound.SchemaEnum.Max {
		return at.exceeds(bound.SchemaEnum.Exceeded())
	}
	for i, item := range v.Items {
		here := at.to(strconv.Itoa(i))
		if refusal := n.member(item, here); refusal != nil {
			return refusal
		}
		for _, earlier := range v.Items[:i] {
			if SameScalar(item, earlier) {
				return here.refuse("stands twice")
			}
		}
	}
	n.enum = v.Items
	return nil
}

// member checks one value of enum or const.
func (n *node) member(v strictjson.Value, at *place) *Refusal {
	switch {
	case !isScalar(v):
		return at.refuse("must be a scalar")
	case !n.kind.fits(v):
		return at.refuse("must be " + n.kind.String() + ", as the type says")
	case v.Kind == strictjson.Number && !strictjson.ParseDecimal(v.Text).IsSafe():
		return at.refuse("must lie within ±(2^53-1)")
	}
	return nil
}
