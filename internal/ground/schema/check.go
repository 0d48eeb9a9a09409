package schema

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Check holds a value to the schema. The error is a *Violation that names the
// first part, in document order, that does not fit. A member that the schema
// does not name is refused by a closed object and ignored by an open one;
// nothing is added or converted.
//
// It visits each part of the value at most once, at most as many parts as the
// parser admits (bound.JSONNodes), and allocates only to report.
func (s *Schema) Check(v strictjson.Value) error {
	c := checker{steps: bound.JSONNodes.Int()}
	if violation := c.value(s.root, v); violation != nil {
		return violation
	}
	return nil
}

// checker counts down the parts that it may still visit.
type checker struct{ steps int }

func (c *checker) value(n *node, v strictjson.Value) *Violation {
	if c.steps--; c.steps < 0 {
		return violation("has too many parts")
	}
	if !n.kind.fits(v) {
		return violation("must be " + n.kind.String())
	}
	if len(n.constant) > 0 && !contains(n.constant, v) {
		return violation("must be the one value that is allowed")
	}
	if len(n.enum) > 0 && !contains(n.enum, v) {
		return violation("must be one of the values that are allowed")
	}
	switch n.kind {
	case objectKind:
		return c.object(n, v)
	case arrayKind:
		return c.array(n, v)
	case stringKind:
		return n.checkText(v.Text)
	case numberKind, integerKind:
		return n.checkNumber(v.Text)
	}
	return nil
}

func contains(set []strictjson.Value, v strictjson.Value) bool {
	return slices.ContainsFunc(set, func(w strictjson.Value) bool { return SameScalar(v, w) })
}

func (c *checker) object(n *node, v strictjson.Value) *Violation {
	found := 0
	for _, m := range v.Members {
		p, ok := n.properties[m.Name]
		switch {
		case !ok && n.open:
			continue
		case !ok:
			return unknown(m.Name)
		}
		if bad := c.value(p.node, m.Value); bad != nil {
			return bad.under(m.Name)
		}
		if p.required {
			found++
		}
	}
	if found == len(n.required) {
		return nil
	}
	for _, name := range n.required {
		if _, ok := v.Get(name); !ok {
			return violation("is required").under(name)
		}
	}
	return nil
}

func (c *checker) array(n *node, v strictjson.Value) *Violation {
	if bad := n.checkSize(len(v.Items), "entries", "Items"); bad != nil {
		return bad
	}
	for i, item := range v.Items {
		if bad := c.value(n.items, item); bad != nil {
			return bad.under(strconv.Itoa(i))
		}
	}
	return nil
}

func (n *node) checkText(text string) *Violation {
	return n.checkSize(utf8.RuneCountInString(text), "characters", "Length")
}

func (n *node) checkSize(size int, unit, keyword string) *Violation {
	switch {
	case int64(size) < n.least:
		return violation("has too few " + unit + ": min" + keyword + " is " + strconv.FormatInt(n.least, 10))
	case int64(size) > n.most:
		return violation("has too many " + unit + ": max" + keyword + " is " + strconv.FormatInt(n.most, 10))
	}
	return nil
}

func (n *node) checkNumber(literal string) *Violation {
	if n.lower == nil && n.upper == nil {
		return nil
	}
	d := strictjson.ParseDecimal(literal)
	switch {
	case n.lower != nil && d.Compare(n.lower.value) < 0:
		return violation("is too small: minimum is " + n.lower.literal)
	case n.upper != nil && d.Compare(n.upper.value) > 0:
		return violation("is too large: maximum is " + n.upper.literal)
	}
	return nil
}

func violation(text string) *Violation { return &Violation{Text: text} }

// nameBytes bounds what a violation repeats of a name that the caller chose.
const nameBytes = 128

func unknown(name string) *Violation {
	if len(name) > nameBytes {
		return violation("has a member that the schema does not name")
	}
	return violation("is no member that the schema names").under(name)
}

func (v *Violation) under(token string) *Violation {
	v.Pointer = Under("", token) + v.Pointer
	return v
}
