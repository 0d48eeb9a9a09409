package strictjson_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The table of RFC 8785, appendix B: the bits of a double and its text.
// Integers beyond 2^53-1 are in it; they have no canonical form here.
func TestNumbersOfRFC8785(t *testing.T) {
	for _, line := range lines(t, "rfc8785-numbers.txt") {
		bits, text, _ := strings.Cut(line, " ")
		n, err := strconv.ParseUint(bits, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		f := math.Float64frombits(n)
		integer := f == math.Trunc(f)
		for _, spelled := range []string{text, strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'f', -1, 64)} {
			got, err := strictjson.Canonical([]byte(spelled), ceilings)
			switch {
			case integer && math.Abs(f) > 1<<53-1:
				if !fault.Is(err, fault.InvalidRequest) {
					t.Errorf("%s as %s: got %s, %v", bits, spelled, got, err)
				}
			case err != nil || string(got) != text:
				t.Errorf("%s as %s: got %s, %v, want %s", bits, spelled, got, err, text)
			}
		}
	}
}

// Equal meaning gives equal bytes, other meaning other bytes, and what would be
// rounded is refused.
func TestCanonicalForms(t *testing.T) {
	const refused = ""
	for _, c := range []struct{ raw, want string }{
		{`100`, `100`}, {`1e2`, `100`}, {`1E+2`, `100`}, {`100.0`, `100`}, {`0.1e3`, `100`}, {`10000e-2`, `100`},
		{`1e000000000000000000000000000002`, `100`}, {`12.5e+00000000000000000000001`, `125`}, {`10e9223372036854775807`, refused},
		{`0.` + strings.Repeat("0", 1<<17) + `1e131073`, refused}, {`1` + strings.Repeat("0", 1<<17) + `e-131072`, refused},
		{`0`, `0`}, {`-0`, `0`}, {`0.00`, `0`}, {`-0e-99999999999999999999`, `0`}, {`0e999999999`, `0`},
		{`9007199254740991`, `9007199254740991`}, {`-9007199254740991`, `-9007199254740991`},
		{`9007199254740991.000`, `9007199254740991`}, {`9007199254740.991e3`, `9007199254740991`},
		{`9007199254740992`, refused}, {`-9007199254740992`, refused}, {`9007199254740993`, refused},
		{`9.007199254740992e15`, refused}, {`1e16`, refused}, {`1e21`, refused}, {`1e308`, refused},
		{`9223372036854775807`, refused}, {`18446744073709551617`, refused},
		{`1e400`, refused}, {`-1e400`, refused}, {`1e999999999999999999999`, refused},
		{`1e-400`, refused}, {`1e-999999999`, refused}, {`-1e-99999999999999999999`, refused},
		{`0.1`, `0.1`}, {`1e-1`, `0.1`}, {`0.10`, `0.1`}, {`0.1000000000000000055`, refused},
		{`0.1000000000000000055511151231257827021181583404541015625`, refused},
		{`0.30000000000000004`, `0.30000000000000004`}, {`0.30000000000000003`, refused},
		{`1.0000000000000001`, refused}, {`4503599627370495.5`, `4503599627370495.5`}, {`4503599627370497.5`, refused},
		{`9007199254740991.5`, refused}, {`5e-324`, `5e-324`}, {`4e-324`, refused}, {`2e-324`, refused},
		{`2.2250738585072014e-308`, `2.2250738585072014e-308`}, {`2.2250738585072011e-308`, refused},
		{`1e-7`, `1e-7`}, {`0.000001`, `0.000001`}, {`123456.789e-12`, `1.23456789e-7`},
		{`{"b":[1.0,{"d":1,"c":2}],"a":{}}`, `{"a":{},"b":[1,{"c":2,"d":1}]}`},
		{`{"a":9007199254740993}`, refused}, {`[[[1e400]]]`, refused},
		// UTF-16 order: U+1F600 starts with D83D and so stands before U+FB33.
		{`{"\ufb33":1,"\ud83d\ude00":2,"€":3,"ö":4,"1":5,"\r":6,"":7}`, `{"":7,"\r":6,"1":5,"ö":4,"€":3,"😀":2,"` + "\ufb33" + `":1}`},
		{`"\u0000\u001F\b\t\n\f\r\"\\\/\u007f\u2028<>&"`, `"\u0000\u001f\b\t\n\f\r\"\\/` + "\u007f\u2028" + `<>&"`},
		// No normalisation: composed and decomposed text differ.
		{`"\u00e9"`, `"é"`}, {`"e\u0301"`, "\"e\u0301\""}, {`"\u212b"`, "\"\u212b\""}, {`"\u00c5"`, `"Å"`},
	} {
		got, err := strictjson.Canonical([]byte(c.raw), ceilings)
		if string(got) != c.want || (c.want == refused) != fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%.100s: got %s, %v, want %s", c.raw, got, err, c.want)
		}
	}
}

func TestARefusedNumberIsNamedByItsPlaceOnly(t *testing.T) {
	_, err := strictjson.Canonical([]byte(`{"args":{"n":[0,90071992547409931]}}`), ceilings)
	if f := fault.From(err); f == nil || f.Details["pointer"] != "/args/n/1" || strings.Contains(f.Error(), "90071992547409931") {
		t.Errorf("got %+v", f)
	}
}

// The rule for numbers, told slowly: an exact rational is an integer within
// ±(2^53-1), or it is the exact value of its double's shortest text.
func hasCanonicalForm(t interface{ Fatalf(string, ...any) }, literal string) bool {
	value := exact(t, literal)
	if value.IsInt() {
		return new(big.Int).Abs(value.Num()).Cmp(big.NewInt(1<<53-1)) <= 0
	}
	f, _ := value.Float64()
	if math.IsInf(f, 0) {
		return false
	}
	return exact(t, strconv.FormatFloat(f, 'g', -1, 64)).Cmp(value) == 0
}

func exact(t interface{ Fatalf(string, ...any) }, literal string) *big.Rat {
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		t.Fatalf("%q is no number", literal)
	}
	return r
}

// literals draws numbers near the edges: of integers, of doubles' precision
// and of their range; and numbers that lie close together, in all the ways that
// JSON spells them.
func literals() *rapid.Generator[string] {
	double := rapid.Map(rapid.Float64().Filter(func(f float64) bool { return !math.IsInf(f, 0) && !math.IsNaN(f) }), func(f float64) string {
		return strconv.FormatFloat(f, 'e', -1, 64)
	})
	written := rapid.StringMatching(`-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,19})?([eE][+-]?[0-3]?[0-9]{1,2})?`)
	decimals := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3}|1000000|9007199254740[0-9]{3})(\.[0-9]{0,3}[0-9]|\.000)?([eE][+-]?0?(1?[0-9]|20))?`)
	edge := rapid.Map(rapid.Int64Range(1<<53-9, 1<<53+9), func(n int64) string { return strconv.FormatInt(n, 10) })
	return rapid.OneOf(double, written, decimals, edge)
}

func TestNumbersAgreeWithExactArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := literals().Draw(t, "a"), literals().Draw(t, "b")
		ca, errA := strictjson.Canonical([]byte(a), ceilings)
		cb, errB := strictjson.Canonical([]byte(b), ceilings)
		if want := hasCanonicalForm(t, a); want != (errA == nil) {
			t.Fatalf("%s: has a canonical form: %v; got %s, %v", a, want, ca, errA)
		}
		if errA == nil && errB == nil && (exact(t, a).Cmp(exact(t, b)) == 0) != (string(ca) == string(cb)) {
			t.Fatalf("%s and %s become %s and %s", a, b, ca, cb)
		}
	})
}
