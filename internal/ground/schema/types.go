package schema

import (
	"strconv"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func (c *compiler) object(n *node, v strictjson.Value, at *place, depth int) *Refusal {
	further, given := v.Get("additionalProperties")
	n.open = !given || further.Kind != strictjson.Bool || further.Bool
	switch {
	case n.open && !c.output && !given:
		return at.refuse("must have additionalProperties: false")
	case n.open && !c.output:
		return at.to("additionalProperties").refuse("must be false")
	case given && further.Kind != strictjson.Bool:
		return at.to("additionalProperties").refuse("must be true or false")
	}
	if properties, ok := v.Get("properties"); ok {
		if refusal := c.properties(n, properties, at.to("properties"), depth); refusal != nil {
			return refusal
		}
	}
	if required, ok := v.Get("required"); ok {
		return n.readRequired(required, at.to("required"))
	}
	return nil
}

func (c *compiler) properties(n *node, v strictjson.Value, at *place, depth int) *Refusal {
	if v.Kind != strictjson.Object {
		return at.refuse("must be an object")
	}
	if int64(len(v.Members)) > bound.SchemaProperties.Max {
		return at.exceeds(bound.SchemaProperties.Exceeded())
	}
	n.properties = make(map[string]property, len(v.Members))
	for _, m := range v.Members {
		here := at.to(m.Name)
		if IsReserved(m.Name) {
			return here.refuse("is a reserved name")
		}
		child, refusal := c.node(m.Value, here, depth+1)
		if refusal != nil {
			return refusal
		}
		n.properties[m.Name] = property{node: child}
	}
	return nil
}

func (n *node) readRequired(v strictjson.Value, at *place) *Refusal {
	if v.Kind != strictjson.Array {
		return at.refuse("must be an array")
	}
	for i, item := range v.Items {
		here := at.to(strconv.Itoa(i))
		p, ok := n.properties[item.Text]
		switch {
		case item.Kind != strictjson.String:
			return here.refuse("must be a string")
		case !ok:
			return here.refuse("must name one of the properties")
		case p.required:
			return here.refuse("stands twice")
		}
		p.required = true
		n.properties[item.Text] = p
		n.required = append(n.required, item.Text)
	}
	return nil
}

func (c *compiler) array(n *node, v strictjson.Value, at *place, depth int) *Refusal {
	items, ok := v.Get("items")
	if !ok {
		return at.refuse("must have items")
	}
	var refusal *Refusal
	if n.items, refusal = c.node(items, at.to("items"), depth+1); refusal != nil {
		return refusal
	}
	return n.size(v, at, "minItems", "maxItems", !c.output)
}

func (c *compiler) text(n *node, v strictjson.Value, at *place) *Refusal {
	return n.size(v, at, "minLength", "maxLength", c.mustBound(n))
}

// mustBound reports whether a text or number needs limits: where its values are
// listed it does not.
func (c *compiler) mustBound(n *node) bool { return !c.output && len(n.enum)+len(n.constant) == 0 }

// size reads a pair of counts, of which the upper one may be needed.
func (n *node) size(v strictjson.Value, at *place, least, most string, needed bool) *Refusal {
	n.most = strictjson.MaxSafe
	if low, ok := v.Get(least); ok {
		if n.least, ok = count(low); !ok {
			return at.to(least).refuse("must be a non-negative safe integer")
		}
	}
	high, ok := v.Get(most)
	switch {
	case !ok && needed:
		return at.refuse("must have " + most)
	case !ok:
		return nil
	}
	if n.most, ok = count(high); !ok {
		return at.to(most).refuse("must be a non-negative safe integer")
	}
	if n.least > n.most {
		return at.to(least).refuse("must not be above " + most)
	}
	return nil
}

func count(v strictjson.Value) (int64, bool) {
	d := strictjson.ParseDecimal(v.Text)
	if v.Kind != strictjson.Number || !d.IsInteger() || !d.IsSafe() || d.Compare(strictjson.Decimal{}) < 0 {
		return 0, false
	}
	return d.Floor(), true
}

func (c *compiler) number(n *node, v strictjson.Value, at *place) *Refusal {
	var refusal *Refusal
	if n.lower, refusal = limit(v, at, "minimum"); refusal != nil {
		return refusal
	}
	if n.upper, refusal = limit(v, at, "maximum"); refusal != nil {
		return refusal
	}
	switch needed := c.mustBound(n); {
	case needed && n.lower == nil:
		return at.refuse("must have minimum")
	case needed && n.upper == nil:
		return at.refuse("must have maximum")
	}
	if n.lower != nil && n.upper != nil && n.lower.value.Compare(n.upper.value) > 0 {
		return at.to("minimum").refuse("must not be above maximum")
	}
	return nil
}

func limit(v strictjson.Value, at *place, name string) (*edge, *Refusal) {
	m, ok := v.Get(name)
	if !ok {
		return nil, nil
	}
	d := strictjson.ParseDecimal(m.Text)
	if m.Kind != strictjson.Number || !d.IsSafe() {
		return nil, at.to(name).refuse("must be a number within ±(2^53-1)")
	}
	return &edge{d, m.Text}, nil
}
