package narrowing

import (
	"math"
	"strconv"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing/shape"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

func numberValue(literal string) strictjson.Value {
	return strictjson.Value{Kind: strictjson.Number, Text: literal}
}

func (w *walk) array(s shape.Shape, here spot) ([]strictjson.Member, *shape.Misfit) {
	items, ok := s.Get("items")
	if !ok {
		return nil, shape.Unfit(s.At, "does not say what its entries are")
	}
	child, bad := shape.Of(items.Value, items.At)
	if bad != nil {
		return nil, bad
	}
	v, bad := w.node(child, spot{schema.Under(here.site, "items"), here.name, here.depth + 1})
	if bad != nil {
		return nil, bad
	}
	members, bad := w.size(s, sizeOfArray, w.profile.List, true, here)
	return append(members, strictjson.Member{Name: "items", Value: v}), bad
}

// sizes names the keywords of a size and the decision that bounds it.
type sizes struct{ least, most, kind string }

var (
	sizeOfText  = sizes{"minLength", "maxLength", KindMaxLength}
	sizeOfArray = sizes{"minItems", "maxItems", KindMaxItems}
)

// size carries the limits of a size; limit is proposed where an input needs an
// upper one and there is none that the profile can hold.
func (w *walk) size(s shape.Shape, of sizes, limit int, needed bool, here spot) ([]strictjson.Member, *shape.Misfit) {
	var members []strictjson.Member
	least := int64(0)
	if low, ok := s.Get(of.least); ok {
		n, safe, ok := count(low.Value)
		if !ok || !safe {
			return nil, shape.Unfit(low.At, "is no size that can be expressed")
		}
		least = n
		members = append(members, strictjson.Member{Name: of.least, Value: low.Value})
	}
	from, most := "", max(int64(limit), least)
	high, given := s.Get(of.most)
	if given {
		n, safe, ok := count(high.Value)
		switch {
		case !ok:
			return nil, shape.Unfit(high.At, "is no size that can be expressed")
		case safe && n < least:
			return nil, shape.Unfit(high.At, "leaves no value, as it is below "+of.least)
		case safe:
			return append(members, strictjson.Member{Name: of.most, Value: high.Value}), nil
		}
		from = high.Value.Text
	}
	if w.wide || !given && !needed {
		return members, nil
	}
	w.decide(here, of.kind, from, number(most))
	return append(members, strictjson.Member{Name: of.most, Value: numberValue(number(most))}), nil
}

// count reads a non-negative integer and whether it is a safe one.
func count(v strictjson.Value) (n int64, safe, ok bool) {
	d := strictjson.ParseDecimal(v.Text)
	if v.Kind != strictjson.Number || !d.IsInteger() || d.Compare(strictjson.Decimal{}) < 0 {
		return 0, false, false
	}
	if !d.IsSafe() {
		return 0, false, true
	}
	return d.Floor(), true, true
}

// side is one end of a range of numbers.
type side struct {
	inclusive, exclusive string // keywords
	kind                 string
	sign                 int // -1 for the lower end
}

var (
	lowerSide = side{"minimum", "exclusiveMinimum", KindMinimum, -1}
	upperSide = side{"maximum", "exclusiveMaximum", KindMaximum, 1}
)

func (sd side) farthest() strictjson.Value {
	return numberValue(number(int64(sd.sign) * strictjson.MaxSafe))
}

// bounds carries the range of a number and adds the ends that it lacks.
func (w *walk) bounds(s shape.Shape, t string, needed bool, here spot) ([]strictjson.Member, *shape.Misfit) {
	var members []strictjson.Member
	var ends []strictjson.Decimal
	for _, sd := range []side{lowerSide, upperSide} {
		v, ok, bad := w.end(s, sd, t, needed, here)
		if bad != nil {
			return nil, bad
		}
		if ok {
			members = append(members, strictjson.Member{Name: sd.inclusive, Value: v})
			ends = append(ends, strictjson.ParseDecimal(v.Text))
		}
	}
	if len(ends) == 2 && ends[0].Compare(ends[1]) > 0 {
		return nil, shape.Unfit(s.At, "leaves no number between its bounds")
	}
	return members, nil
}

// end finds one end of the range as an inclusive bound: of an input the nearest
// inside, of an output the same number or none.
func (w *walk) end(s shape.Shape, sd side, t string, needed bool, here spot) (strictjson.Value, bool, *shape.Misfit) {
	in, hasIn := s.Get(sd.inclusive)
	out, hasOut := s.Get(sd.exclusive)
	for _, word := range []shape.Word{in, out} {
		if word.Name != "" && word.Value.Kind != strictjson.Number {
			return in.Value, false, shape.Unfit(word.At, "must be a number")
		}
	}
	if !hasIn && !hasOut {
		if needed = needed && !w.wide; needed {
			w.decide(here, sd.kind, "", sd.farthest().Text)
		}
		return sd.farthest(), needed, nil
	}
	limit, exclusive := in, false
	if hasOut {
		tighter := strictjson.ParseDecimal(out.Value.Text).Compare(strictjson.ParseDecimal(in.Value.Text)) * sd.sign
		if !hasIn || tighter <= 0 {
			limit, exclusive = out, true
		}
	}
	if w.wide {
		return limit.Value, exact(limit.Value), nil
	}
	v, bad := inside(limit, sd, t, exclusive)
	if bad != nil {
		return v, false, bad
	}
	if hasOut {
		w.decide(here, KindExclusiveBound, out.String(), sd.inclusive+" "+v.Text)
	}
	if hasIn && !schema.SameScalar(in.Value, v) {
		w.decide(here, sd.kind, in.Value.Text, v.Text)
	}
	return v, true, nil
}

// inside returns the outermost number that the profile can hold and that lies
// within a limit: the limit itself, or else the nearest integer, or double for
// a type that has fractions.
func inside(limit shape.Word, sd side, t string, exclusive bool) (strictjson.Value, *shape.Misfit) {
	d := strictjson.ParseDecimal(limit.Value.Text)
	fits := func(v strictjson.Value) bool {
		c := strictjson.ParseDecimal(v.Text).Compare(d) * sd.sign
		return exact(v) && (c < 0 || c == 0 && !exclusive)
	}
	switch {
	case fits(limit.Value):
		return limit.Value, nil
	case fits(sd.farthest()):
		return sd.farthest(), nil
	case !d.IsSafe():
		return limit.Value, shape.Unfit(limit.At, "leaves no safe number")
	}
	var next func() strictjson.Value // from just outside inwards
	if t == "integer" {
		n := d.Floor() + 2*int64(sd.sign)
		next = func() strictjson.Value { n -= int64(sd.sign); return numberValue(number(n)) }
	} else {
		f, _ := strconv.ParseFloat(limit.Value.Text, 64)
		f = math.Nextafter(f, math.Inf(sd.sign))
		next = func() strictjson.Value {
			f = math.Nextafter(f, math.Inf(-sd.sign))
			return numberValue(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	const tries = 4
	for range tries {
		if v := next(); fits(v) {
			return v, nil
		}
	}
	return limit.Value, shape.Unfit(limit.At, "leaves no safe number")
}
