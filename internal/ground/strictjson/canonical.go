package strictjson

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Canonical writes a document in the form of RFC 8785, for hashing.
//
// RFC 8785 rounds every number to a double, so Canonical first refuses each
// number that would not survive it (pool page, section 2): an integer, however
// it is spelled, must lie within ±(2^53-1); any other number must be finite and
// equal, digit for digit, the shortest text of its double. So two documents
// have the same canonical form only if they mean the same: 1e2 equals 100 and
// -0 equals 0, and 0.1000000000000000055 is refused. Strings are not
// normalised. Besides the rules of Check, the fault is invalid_request.
func Canonical(raw []byte, lim Limits) ([]byte, error) {
	if err := checkNumbers(raw, lim); err != nil {
		return nil, err
	}
	out := Raw(bytes.Clone(raw))
	if err := out.Canonicalize(); err != nil {
		return nil, refuse(err)
	}
	return out, nil
}

func checkNumbers(raw []byte, lim Limits) error {
	s, err := open(raw, lim)
	if err != nil {
		return err
	}
	defer s.close()
	return s.check(checkNumber)
}

// fewDigits make an integer that is safe.
const fewDigits = 15

var (
	errInteger  = fault.New(fault.InvalidRequest, "an integer beyond ±(2^53-1) has no canonical form")
	errFraction = fault.New(fault.InvalidRequest, "a number that a double cannot hold has no canonical form")
)

// checkNumber judges one valid literal in time linear to its length.
func checkNumber(literal string) error {
	if len(literal) <= fewDigits && !strings.ContainsAny(literal, ".eE") {
		return nil
	}
	d := ParseDecimal(literal)
	if d.IsInteger() && !d.IsSafe() {
		return errInteger
	}
	// The library writes what it reads as a double. It misreads exponents of six
	// digits, so integers are compared too.
	f, _ := strconv.ParseFloat(literal, 64)
	if ParseDecimal(strconv.FormatFloat(f, 'e', -1, 64)).Compare(d) != 0 {
		return errFraction
	}
	return nil
}
