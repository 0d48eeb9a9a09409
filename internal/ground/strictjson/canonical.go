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

const (
	maxInteger    = 1<<53 - 1
	integerDigits = 16 // of maxInteger
	doubleDigits  = 17 // no shortest text of a double has more
)

var (
	errInteger  = fault.New(fault.InvalidRequest, "an integer beyond ±(2^53-1) has no canonical form")
	errFraction = fault.New(fault.InvalidRequest, "a number that a double cannot hold has no canonical form")
)

// checkNumber judges one valid literal in time linear to its length.
func checkNumber(literal string) error {
	if len(literal) < integerDigits && !strings.ContainsAny(literal, ".eE") {
		return nil
	}
	d := decimalOf(literal)
	switch {
	case d.digits == "":
		return nil
	case d.exp >= 0:
		if len(d.digits)+d.exp > integerDigits {
			return errInteger
		}
		n, _ := strconv.ParseInt(d.digits+strings.Repeat("0", d.exp), 10, 64)
		if n > maxInteger {
			return errInteger
		}
		return nil
	case len(d.digits) > doubleDigits:
		return errFraction
	}
	// The literal may be long; the digits that count are few. A value that is
	// too small for a double becomes zero and so another decimal.
	f, _ := strconv.ParseFloat(d.digits+"e"+strconv.Itoa(d.exp), 64)
	if decimalOf(strconv.FormatFloat(f, 'e', -1, 64)) != d {
		return errFraction
	}
	return nil
}

// decimal is digits × 10^exp, without sign: digits have no zero at either end,
// and zero has none, so equal values are equal decimals.
type decimal struct {
	digits string
	exp    int
}

func decimalOf(literal string) decimal {
	mantissa, exponent := strings.TrimPrefix(literal, "-"), ""
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		mantissa, exponent = mantissa[:i], mantissa[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole
	if fraction != "" {
		digits = whole + fraction
	}
	kept := strings.TrimRight(digits, "0")
	shift := len(digits) - len(kept) - len(fraction)
	if kept = strings.TrimLeft(kept, "0"); kept == "" {
		return decimal{}
	}
	return decimal{kept, shift + exponentOf(exponent)}
}

// exponentOf reads a written exponent; one that is beyond every document's
// length stands for all larger ones.
func exponentOf(text string) int {
	n, _ := strconv.Atoi("0" + strings.TrimLeft(text, "+-")) // the largest int, if out of range
	n = min(n, 1<<30)
	if strings.HasPrefix(text, "-") {
		return -n
	}
	return n
}
