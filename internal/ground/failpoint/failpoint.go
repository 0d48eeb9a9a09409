// Package failpoint names the instants at which the journal's promises are
// tested by stopping the process. In an ordinary build Hit does nothing and
// costs nothing; built with the tag "failpoints", it does what the environment
// says (proof, "Fault points").
package failpoint

// Point is one named instant.
type Point string

// The instants of one journalled call, in order.
const (
	Parsed      Point = "FP1" // request parsed, nothing durable
	Reserved    Point = "FP2" // row reserved, not marked
	Marked      Point = "FP3" // dispatch mark durable, no byte sent
	Sent        Point = "FP4" // request sent, no answer yet
	HalfRead    Point = "FP5" // the answer is on its way
	AnswerRead  Point = "FP6" // answer read, outcome not durable
	Settled     Point = "FP7" // outcome durable, reply not sent
	HalfReplied Point = "FP8" // reply half written
)

// The instants of an executor's result.
const (
	ResultRead    Point = "FP11" // result received, not durable
	ResultDurable Point = "FP12" // result durable, not acknowledged
)

// Before is the instant before a record of a session's log is written; kind is
// the record's.
func Before(kind string) Point { return Point("before_" + kind) }

// After is the instant at which it is durable and nobody has heard of it.
func After(kind string) Point { return Point("after_" + kind) }
