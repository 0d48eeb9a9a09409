package strictjson_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func TestDecimalIsExact(t *testing.T) {
	safe := new(big.Rat).SetInt64(strictjson.MaxSafe)
	rapid.Check(t, func(t *rapid.T) {
		a, b := literals().Draw(t, "a"), literals().Draw(t, "b")
		x, y := strictjson.ParseDecimal(a), strictjson.ParseDecimal(b)
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
			got := strictjson.ParseDecimal(a).Compare(strictjson.ParseDecimal(b))
			if want := min(max(i-j, -1), 1); got != want {
				t.Errorf("%s compares to %s as %d, want %d", a, b, got, want)
			}
		}
	}
}
