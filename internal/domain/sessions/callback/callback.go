// Package callback is the life of the calls that an application executes (guide,
// Execute once and Callback bounds).
//
//	Accept --> waiting --Bound, executor there--> pending --Submit--> settling --Settle--> succeeded, failed
//	              |                                  |
//	              +--cancelled, executor_unavailable +--cancelled, tool_timeout
//	                 effects not_dispatched             effects uncertain
//
// A call is dispatched at most once in its life: nothing leads back to waiting or
// a second time to pending. It is dispatched only after its binding was said to be
// durable, and a submitted result settles it only after that was. While a result
// is being made durable neither deadline nor cancellation touches the call.
// Deadlines are set once, when the call is needed and when it is dispatched; at
// the exact instant, the deadline wins. An outcome that the executor did not
// report is not_dispatched before dispatch and uncertain after it, whatever
// happens later.
//
// At most bound.Callbacks calls are held, those of a turn until the turn ends, and
// each reserves its place in what its executor is told on resume. A Book has one
// owner.
package callback

import (
	"slices"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Status is what is told of a call.
type Status string

// The statuses on the wire; a call whose result is being made durable is pending.
const (
	Waiting   Status = "waiting_for_executor"
	Pending   Status = "pending"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// The codes of calls that failed without the executor having said so.
const (
	CodeTimeout     = "tool_timeout"
	CodeUnavailable = "executor_unavailable"
	CodeCancelled   = "cancelled"
)

// The codes of calls that were refused before they were taken in.
const (
	CodeLimit     = "limit_exceeded"
	CodeArguments = "invalid_arguments"
)

// Tool is the contract of the tool as the turn was accepted with it.
type Tool struct {
	Name, Resource, Revision, Hash string
	Input, Output                  *schema.Schema
	Timeout                        time.Duration
}

// Call is one call. Only the Book changes it.
type Call struct {
	ID           string
	Session      string
	Turn         string
	ProviderCall string
	Executor     string // its ID
	Generation   int64  // of the executor, as accepted with the turn
	Tool         Tool
	Arguments    string

	Status  Status
	Effects effect.Outcome
	Code    string // of a failure
	Message string // of a failure
	Value   string // JSON, of a success

	bound     bool
	settling  bool
	result    *Result
	available time.Time // until then the executor may come
	run       time.Time // until then the result may come; zero before dispatch
	weight    int
}

// Settled reports whether the call has ended.
func (c *Call) Settled() bool { return c.Status != Waiting && c.Status != Pending }

// Dispatched reports whether the call was ever sent.
func (c *Call) Dispatched() bool { return !c.run.IsZero() }

// Book holds the calls of turns that have not ended. Use New.
type Book struct {
	calls map[string]*Call
	bytes map[string]int // reserved, by executor
}

// New returns an empty book.
func New() *Book { return &Book{calls: map[string]*Call{}, bytes: map[string]int{}} }

// Need is a call that the model asks for.
type Need struct {
	ID, Session, Turn, ProviderCall, Executor string
	Generation                                int64
	Tool                                      Tool
	Arguments                                 string
}

// Judge holds what the model wrote to the tool: the form of its call ID and
// arguments that fit the input schema. The faults are limit_exceeded and
// invalid_payload.
func (n Need) Judge() error {
	if n.ProviderCall == "" {
		return fault.New(fault.InvalidPayload, "the model gave the call no ID")
	}
	if err := bound.CallIDBytes.Check(len(n.ProviderCall)); err != nil {
		return err
	}
	if err := bound.ArgumentBytes.Check(len(n.Arguments)); err != nil {
		return err
	}
	v, err := strictjson.Parse([]byte(n.Arguments), strictjson.Limits{Bytes: bound.ArgumentBytes})
	if err == nil {
		err = n.Tool.Input.Check(v)
	}
	if err != nil {
		return fault.New(fault.InvalidPayload, "the arguments do not fit the tool's input schema").Because(err)
	}
	return nil
}

// Accept takes a call in, waiting. The faults are limit_exceeded and, for a call
// ID that the turn has seen, conflict.
func (b *Book) Accept(n Need, now time.Time) (*Call, error) {
	if err := bound.Callbacks.Check(len(b.calls) + 1); err != nil {
		return nil, err
	}
	for _, c := range b.calls {
		if c.Turn == n.Turn && c.ProviderCall == n.ProviderCall {
			return nil, fault.New(fault.Conflict, "the turn has seen this call ID")
		}
	}
	c := &Call{
		ID: n.ID, Session: n.Session, Turn: n.Turn, ProviderCall: n.ProviderCall, Executor: n.Executor, Generation: n.Generation,
		Tool: n.Tool, Arguments: n.Arguments, Status: Waiting, Effects: effect.NotDispatched,
		available: now.Add(bound.ExecutorAbsent.Duration()),
	}
	c.weight = c.weigh()
	if err := bound.PendingCallBytes.Check(b.bytes[n.Executor] + c.weight + resumeEnvelope); err != nil {
		return nil, err
	}
	b.calls[c.ID] = c
	b.bytes[c.Executor] += c.weight
	return c, nil
}

// Bound says that the call's binding is durable: it may be dispatched from now on.
func (b *Book) Bound(c *Call) { c.bound = true }

// Dispatch moves a call that may be dispatched to pending, and reports whether it
// did: then, and only then, it is to be sent, once.
func (b *Book) Dispatch(c *Call, now time.Time) bool {
	if c.Status != Waiting || !c.bound {
		return false
	}
	c.Status, c.Effects, c.run = Pending, effect.Uncertain, now.Add(c.Tool.Timeout)
	return true
}

// Waiting are the bound calls that wait for this executor, in the order of their
// need.
func (b *Book) Waiting(executor string) []*Call {
	return b.of(func(c *Call) bool { return c.Executor == executor && c.Status == Waiting && c.bound })
}

// of gives calls in the order of their need.
func (b *Book) of(match func(*Call) bool) []*Call {
	var out []*Call
	for _, c := range b.calls {
		if match(c) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(x, y *Call) int {
		if n := x.available.Compare(y.available); n != 0 {
			return n
		}
		if x.ID < y.ID {
			return -1
		}
		return 1
	})
	return out
}

// Cancel ends the turn's calls that no result is being made durable for, and
// gives those that it ended.
func (b *Book) Cancel(turn string) []*Call {
	out := b.of(func(c *Call) bool { return c.Turn == turn && !c.Settled() && !c.settling })
	for _, c := range out {
		c.end(Cancelled, CodeCancelled)
	}
	return out
}

// Abandon cancels one call, and reports whether it did: not one that has ended or
// that a result is being made durable for.
func (b *Book) Abandon(c *Call) bool {
	if c.Settled() || c.settling {
		return false
	}
	c.end(Cancelled, CodeCancelled)
	return true
}

// Forget takes a call back that was accepted this instant and is refused for
// another reason.
func (b *Book) Forget(c *Call) {
	c.end(Cancelled, CodeCancelled)
	b.drop(c)
}

func (b *Book) drop(c *Call) {
	delete(b.calls, c.ID)
	if b.bytes[c.Executor] -= c.weight; b.bytes[c.Executor] == 0 {
		delete(b.bytes, c.Executor)
	}
}

// end settles a call without a report; the effects stay what dispatch made them.
func (c *Call) end(s Status, code string) { c.Status, c.Code, c.result = s, code, nil }

// Expire ends the calls whose time is over, and gives them.
func (b *Book) Expire(now time.Time) []*Call {
	over := b.of(func(c *Call) bool {
		at, ok := c.deadline()
		return ok && !now.Before(at)
	})
	for _, c := range over {
		code := CodeUnavailable
		if c.Dispatched() {
			code = CodeTimeout
		}
		c.end(Failed, code)
	}
	return over
}

// deadline is the instant at which a call that nothing settles ends.
func (c *Call) deadline() (time.Time, bool) {
	switch {
	case c.Settled() || c.settling:
		return time.Time{}, false
	case c.Dispatched():
		return c.run, true
	default:
		return c.available, true
	}
}

// Next is the next instant at which Expire has something to do.
func (b *Book) Next() (at time.Time, ok bool) {
	for _, c := range b.calls {
		if t, has := c.deadline(); has && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}

// End forgets the calls of a turn that has ended; there must be none that is not
// settled.
func (b *Book) End(turn string) {
	for _, c := range b.calls {
		if c.Turn == turn {
			b.drop(c)
		}
	}
}

// Len is how many calls are held.
func (b *Book) Len() int { return len(b.calls) }

// Reserved is how many bytes are reserved for what an executor is told on resume.
func (b *Book) Reserved(executor string) int { return b.bytes[executor] }
