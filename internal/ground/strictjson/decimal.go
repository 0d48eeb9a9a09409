package strictjson

import (
	"cmp"
	"strconv"
	"strings"
)

// MaxSafe is the largest integer that every JSON reader keeps exactly, 2^53-1;
// -MaxSafe is the smallest (pool page, section 2).
const MaxSafe = 1<<53 - 1

var (
	maxSafe = ParseDecimal(strconv.Itoa(MaxSafe))
	minSafe = ParseDecimal(strconv.Itoa(-MaxSafe))
)

// Decimal is the exact value of one JSON number. The zero value is 0. It refers
// to the literal that it was read from and takes no memory of its own, whatever
// the exponent.
//
//	12.50e1 = 0.125 × 10^3    head "12", tail "5", point 3
type Decimal struct {
	negative   bool
	head, tail string // the significant digits; none for zero
	point      int64  // where the decimal point stands before the first of them
}

// saturated stands for any exponent that is farther out than a literal is long.
const saturated = 1 << 40

// ParseDecimal reads a number literal of strict JSON in time linear to its
// length. Of an exponent beyond ±10^12 only the sign is kept, so two such
// giants may compare as equal; nothing that fits a schema is near them.
func ParseDecimal(literal string) Decimal {
	var d Decimal
	literal, d.negative = strings.CutPrefix(literal, "-")
	exponent := ""
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		literal, exponent = literal[:i], literal[i+1:]
	}
	d.head, d.tail, _ = strings.Cut(literal, ".")
	d.head = strings.TrimLeft(d.head, "0")
	d.point = int64(len(d.head))
	if d.head == "" {
		zeros := len(d.tail)
		d.tail = strings.TrimLeft(d.tail, "0")
		d.point = int64(len(d.tail) - zeros)
	}
	d.tail = strings.TrimRight(d.tail, "0")
	if d.tail == "" {
		d.head = strings.TrimRight(d.head, "0")
	}
	if d.digits() == 0 {
		return Decimal{}
	}
	d.point += exponentOf(exponent)
	return d
}

func exponentOf(text string) int64 {
	sign := int64(1)
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	text = strings.TrimLeft(text, "+-0")
	if len(text) > len("999999999999") {
		return sign * saturated
	}
	n, _ := strconv.ParseInt("0"+text, 10, 64)
	return sign * n
}

func (d Decimal) digits() int { return len(d.head) + len(d.tail) }

func (d Decimal) digit(i int) byte {
	if i < len(d.head) {
		return d.head[i]
	}
	return d.tail[i-len(d.head)]
}

func (d Decimal) sign() int {
	switch {
	case d.digits() == 0:
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// Compare is negative if d is less than e, zero if they are equal and positive
// if d is more. Its cost is bounded by the shorter literal.
func (d Decimal) Compare(e Decimal) int {
	sign := d.sign()
	if other := e.sign(); sign != other || sign == 0 {
		return cmp.Compare(sign, other)
	}
	return sign * d.compareSize(e)
}

func (d Decimal) compareSize(e Decimal) int {
	if d.point != e.point {
		return cmp.Compare(d.point, e.point)
	}
	for i := range min(d.digits(), e.digits()) {
		if a, b := d.digit(i), e.digit(i); a != b {
			return cmp.Compare(a, b)
		}
	}
	return cmp.Compare(d.digits(), e.digits())
}

// IsInteger reports whether the value has no fraction.
func (d Decimal) IsInteger() bool { return int64(d.digits()) <= d.point || d.digits() == 0 }

// IsSafe reports whether the value lies within ±MaxSafe.
func (d Decimal) IsSafe() bool { return d.Compare(minSafe) >= 0 && d.Compare(maxSafe) <= 0 }

// Floor returns the largest integer that is not above the value; the value must
// be safe.
func (d Decimal) Floor() int64 {
	n := int64(0)
	for i := range max(d.point, 0) {
		n *= 10
		if i < int64(d.digits()) {
			n += int64(d.digit(int(i)) - '0')
		}
	}
	switch {
	case !d.negative:
		return n
	case d.IsInteger():
		return -n
	default:
		return -n - 1
	}
}
