package schema_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/schema"
)

// literal draws number literals that lie close together and are spelled in all
// the ways that JSON allows.
func literal() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3}|1000000|9007199254740[0-9]{3})(\.[0-9]{0,3}[0-9]|\.000)?`).Draw(t, "mantissa")
		if rapid.Bool().Draw(t, "written exponent") {
			text += fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"e", "E", "e+", "e-", "E-0"}).Draw(t, "e"), rapid.IntRange(0, 20).Draw(t, "exponent"))
		}
		return text
	})
}

func exact(t interface{ Fatalf(string, ...any) }, literal string) *big.Rat {
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		t.Fatalf("%q is no number", literal)
	}
	return r
}

func TestDecimalIsExact(t *testing.T) {
	safe := new(big.Rat).SetInt64(schema.MaxSafe)
	rapid.Check(t, func(t *rapid.T) {
		a, b := literal().Draw(t, "a"), literal().Draw(t, "b")
		x, y := schema.ParseDecimal(a), schema.ParseDecimal(b)
		p, q := exact(t, a), exact(t, b)
		if got, want := x.Compare(y), p.Cmp(q); got != want {
			t.Fatalf("%s compares to %s as %d, want %d", a, b, got, want)
		}
		if got := x.IsInteger(); got != p.IsInt() {
			t.Fatalf("%s is an integer: %v", a, got)
		}
		within := new(big.Rat).Abs(p).Cmp(safe) <= 0
		if got := x.IsSafe(); got != within {
			t.Fatalf("%s is safe: %v", a, got)
		}
		if !within {
			return
		}
		floor := new(big.Int).Div(p.Num(), p.Denom()) // Euclidean: rounds down
		if got := x.Floor(); got != floor.Int64() {
			t.Fatalf("the floor of %s is %d, want %v", a, got, floor)
		}
	})
}

func TestDecimalGiants(t *testing.T) {
	ascending := []string{"-1e99999999999999999999", "-1e400", "-1", "-1e-400", "0", "1e-99999999999999999999",
		"1e-400", "0.1", "1e0", "1e400", "1e99999999999999999999"}
	for i, a := range ascending {
		for j, b := range ascending {
			got := schema.ParseDecimal(a).Compare(schema.ParseDecimal(b))
			if want := min(max(i-j, -1), 1); got != want {
				t.Errorf("%s compares to %s as %d, want %d", a, b, got, want)
			}
		}
	}
}
