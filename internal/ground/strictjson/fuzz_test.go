package strictjson_test

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func seed(f *testing.F) {
	f.Helper()
	for _, line := range lines(f, "tools.jsonl") {
		f.Add([]byte(line))
	}
	for _, c := range refused(f) {
		f.Add(c.raw)
	}
	f.Add([]byte(callBody))
	for _, raw := range []string{` { "a\/" : [ 1e2 , -0.0 , 5e-324 , 9007199254740993 ] } `, `"\ud83d\ude00\u0000"`, `[[],{},"",null,true,false]`} {
		f.Add([]byte(raw))
	}
}

// Check, Parse, Members and Decode agree on every document; what Parse gives is written
// back without loss, and its own size is the limit that it just fits.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		given := bytes.Clone(raw)
		v, err := strictjson.Parse(raw, request)
		if checked := strictjson.Check(raw, request); !reflect.DeepEqual(err, checked) {
			t.Fatalf("Parse says %v, Check says %v", err, checked)
		}
		if err != nil {
			refusedProperly(t, v, err)
			if split, other := strictjson.Members(raw, request); split != nil || !reflect.DeepEqual(err, other) {
				t.Fatalf("Parse says %v, Members says %v", err, other)
			}
			return
		}
		if !utf8.Valid(raw) {
			t.Fatal("accepted bytes that are not UTF-8")
		}
		written := v.Append(nil)
		again, err := strictjson.Parse(written, ceilings)
		if err != nil || !reflect.DeepEqual(v, again) {
			t.Fatalf("written as %s, which reads as %+v, %v", written, again, err)
		}
		depth, nodes := size(t, v)
		fits := strictjson.Limits{Depth: rowOf(depth), Nodes: rowOf(nodes)}
		if err := strictjson.Check(raw, fits); err != nil {
			t.Fatalf("depth %d, nodes %d: %v", depth, nodes, err)
		}
		if strictjson.Check(raw, strictjson.Limits{Nodes: rowOf(nodes - 1)}) == nil {
			t.Fatalf("%d nodes fit in one less", nodes)
		}
		if depth > 0 && strictjson.Check(raw, strictjson.Limits{Depth: rowOf(depth - 1)}) == nil {
			t.Fatalf("%d levels fit in one less", depth)
		}
		decodesAlike(t, raw, v)
		if !bytes.Equal(raw, given) {
			t.Fatal("the input was changed")
		}
	})
}

func rowOf(n int) bound.Row {
	return bound.Row{Key: "own", Max: int64(n), Unit: bound.Count, Code: fault.TooLarge}
}

func refusedProperly(t *testing.T, v strictjson.Value, err error) {
	t.Helper()
	if !reflect.DeepEqual(v, strictjson.Value{}) {
		t.Fatalf("refused and still gives %+v", v)
	}
	texts := []string{
		"not strict JSON", "a member name stands twice in one object", "the JSON document ends too early",
		"something follows the JSON value", request.Depth.Exceeded().Text, request.Nodes.Exceeded().Text, request.Bytes.Exceeded().Text,
	}
	if got := fault.From(err); !slices.Contains(texts, got.Text) {
		t.Fatalf("refused with %v", got)
	}
}

// size counts levels and values, and refuses a name that stands twice.
func size(t *testing.T, v strictjson.Value) (depth, nodes int) {
	t.Helper()
	nodes = 1
	if v.Kind == strictjson.Array || v.Kind == strictjson.Object {
		depth = 1
	}
	children := slices.Clone(v.Items)
	names := map[string]bool{}
	for _, m := range v.Members {
		if names[m.Name] {
			t.Fatalf("%q stands twice", m.Name)
		}
		names[m.Name] = true
		children = append(children, m.Value)
	}
	for _, c := range children {
		d, n := size(t, c)
		depth, nodes = max(depth, d+1), nodes+n
	}
	return depth, nodes
}

func decodesAlike(t *testing.T, raw []byte, v strictjson.Value) {
	t.Helper()
	var members map[string]strictjson.Raw
	err := strictjson.Decode(raw, request, &members)
	if (err == nil) != (v.Kind == strictjson.Object) || len(members) != len(v.Members) {
		t.Fatalf("decodes as %v, %v", members, err)
	}
	children := v.Items
	for _, m := range v.Members {
		children = append(children, m.Value)
	}
	parts, err2 := strictjson.Parts(raw, request)
	if err2 != nil || len(parts) != len(children) {
		t.Fatalf("%d children, but %d parts, %v", len(children), len(parts), err2)
	}
	for i, p := range parts {
		if got, err := strictjson.Parse(raw[p.From:p.To], ceilings); err != nil || !reflect.DeepEqual(got, children[i]) {
			t.Fatalf("the part %q is %v, %v", raw[p.From:p.To], got, err)
		}
	}
	if split, other := strictjson.Members(raw, request); !reflect.DeepEqual(split, members) || (other == nil) != (err == nil) {
		t.Fatalf("decodes as %s, but splits into %s, %v", members, split, other)
	}
	for name, part := range members {
		got, err := strictjson.Parse(part, ceilings)
		want, ok := v.Get(name)
		if err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q decodes as %s, %v", name, part, err)
		}
	}
}

// A canonical form is its own, does not see order, white space or escapes, and
// keeps the meaning of every value.
func FuzzCanonical(f *testing.F) {
	seed(f)
	for _, raw := range []string{`[1e2,100,100.0,1E-7,0.000001,-0,9007199254740991.0,123456.789e-12]`, `{"b":{"z":1,"y":[{"d":0,"c":0}]},"a":0.1}`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		canonical, err := strictjson.Canonical(raw, request)
		v, parseErr := strictjson.Parse(raw, request)
		if err != nil {
			if canonical != nil || (parseErr == nil && !hasBadNumber(t, v)) {
				t.Fatalf("refused with %v and %s", err, canonical)
			}
			return
		}
		if parseErr != nil || hasBadNumber(t, v) {
			t.Fatalf("accepted as %s; Parse says %v", canonical, parseErr)
		}
		again, err := strictjson.Canonical(canonical, ceilings)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%s becomes %s, %v", canonical, again, err)
		}
		other, err := strictjson.Canonical(respell(nil, v), ceilings)
		if err != nil || !bytes.Equal(other, canonical) {
			t.Fatalf("%s spelled otherwise becomes %s, %v", canonical, other, err)
		}
		back, err := strictjson.Parse(canonical, ceilings)
		if err != nil {
			t.Fatal(err)
		}
		sameMeaning(t, v, back)
	})
}

func hasBadNumber(t *testing.T, v strictjson.Value) bool {
	t.Helper()
	bad := v.Kind == strictjson.Number && !cheaplyJudged(t, v.Text)
	for _, item := range v.Items {
		bad = bad || hasBadNumber(t, item)
	}
	for _, m := range v.Members {
		bad = bad || hasBadNumber(t, m.Value)
	}
	return bad
}

// cheaplyJudged keeps exact arithmetic away from exponents that it cannot pay
// for: far beyond the literal's own length only zero has a canonical form.
func cheaplyJudged(t *testing.T, literal string) bool {
	t.Helper()
	_, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	if exponent != "" {
		if e, err := strconv.Atoi(exponent); err != nil || e > len(literal)+400 || -e > len(literal)+400 {
			return isZero(literal)
		}
	}
	return hasCanonicalForm(t, literal)
}

// respell writes a value with its members reversed, white space around
// everything and names escaped where they can be.
func respell(dst []byte, v strictjson.Value) []byte {
	dst = append(dst, " \n"...)
	switch v.Kind {
	case strictjson.Array:
		dst = append(dst, '[')
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = respell(dst, item)
		}
		dst = append(dst, ']')
	case strictjson.Object:
		dst = append(dst, '{')
		for i, m := range slices.Backward(v.Members) {
			if i < len(v.Members)-1 {
				dst = append(dst, ',')
			}
			name := strictjson.Value{Kind: strictjson.String, Text: m.Name}.Append(nil)
			if !bytes.ContainsRune(name, '\\') {
				name = bytes.ReplaceAll(name, []byte("a"), []byte(`\u0061`))
			}
			dst = append(append(dst, name...), "\t:"...)
			dst = respell(dst, m.Value)
		}
		dst = append(dst, '}')
	default:
		dst = v.Append(dst)
	}
	return append(dst, '\r')
}

func sameMeaning(t *testing.T, a, b strictjson.Value) {
	t.Helper()
	if a.Kind != b.Kind || a.Bool != b.Bool || len(a.Items) != len(b.Items) || len(a.Members) != len(b.Members) {
		t.Fatalf("%+v becomes %+v", a, b)
	}
	if a.Kind == strictjson.Number {
		if isZero(a.Text) != (b.Text == "0") || (!isZero(a.Text) && exact(t, a.Text).Cmp(exact(t, b.Text)) != 0) {
			t.Fatalf("%s becomes %s", a.Text, b.Text)
		}
	} else if a.Text != b.Text {
		t.Fatalf("%q becomes %q", a.Text, b.Text)
	}
	for i := range a.Items {
		sameMeaning(t, a.Items[i], b.Items[i])
	}
	for _, m := range a.Members {
		other, ok := b.Get(m.Name)
		if !ok {
			t.Fatalf("%q is gone", m.Name)
		}
		sameMeaning(t, m.Value, other)
	}
}

func isZero(literal string) bool {
	mantissa, _, _ := strings.Cut(strings.ToLower(literal), "e")
	return !strings.ContainsAny(mantissa, "123456789")
}
