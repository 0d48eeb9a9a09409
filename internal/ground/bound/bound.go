// Package bound is the one table of limits on input from outside: bytes, depth,
// count and time. A check reads its row, so that the number, its source and the
// fault it gives are written once.
//
// Rows are constants in spirit: nothing changes them after start. An operator's
// raised ceiling is a value of its own that a view can show beside the row.
package bound

import (
	"fmt"
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Unit says what a row counts.
type Unit string

// The units.
const (
	Bytes        Unit = "bytes"
	Count        Unit = "count"
	Depth        Unit = "levels"
	Milliseconds Unit = "milliseconds"
	Seconds      Unit = "seconds"
)

// Row is one limit: the largest value that is still accepted.
type Row struct {
	Key    string     // on the wires and in the generated reference
	Max    int64      // inclusive
	Unit   Unit       //
	Code   fault.Code // given when exceeded
	Source string     // the document and section that the number comes from
	Floor  string     // the package that enforces it
}

// Check returns the row's fault if n is over the bound, else nil.
func (r Row) Check(n int) error {
	if int64(n) <= r.Max {
		return nil
	}
	return r.Exceeded()
}

// Exceeded is the fault of a value that is over the bound.
func (r Row) Exceeded() *fault.Fault {
	text := fmt.Sprintf("%s is limited to %d", r.Key, r.Max)
	if r.Unit != Count { // of what, the key says
		text += " " + string(r.Unit)
	}
	return fault.New(r.Code, text).With("bound", r.Key).With("max", r.Max)
}

// Int is Max as an int.
func (r Row) Int() int { return int(r.Max) }

// Duration is Max of a row that counts time.
func (r Row) Duration() time.Duration {
	if r.Unit == Seconds {
		return time.Duration(r.Max) * time.Second
	}
	return time.Duration(r.Max) * time.Millisecond
}

// Rows returns the whole table. The caller owns the slice.
func Rows() []Row {
	return slices.Concat(poolRows, turnRows, upstreamRows, remoteRows, daemonRows, profileRows, busRows)
}
