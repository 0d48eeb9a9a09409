// Package errand runs one call of an application tool on the worker's side, from
// the model's need to the answer (guide, Execute once): the call is durable before
// it may be dispatched, a reported result before anybody hears of it.
//
//	need -> tool_call durable -> may be dispatched -> reported -> tool_result durable -> acknowledged -> answer
//	                                               \-> ended otherwise -> tool_result durable -> answer
//
// Whatever needs the coordinator's state is done by its owner, through the
// functions of a Desk. The package keeps nothing and starts no goroutine.
package errand

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Desk is what the owner does for an errand. Each function returns once it is
// done.
type Desk struct {
	Accept  func(n *callback.Need, name string, changed chan<- struct{}) (*callback.Call, error) // takes the call in, or says why not
	Bound   func(c *callback.Call)                                                               // its binding is durable
	Look    func(c *callback.Call) callback.Call                                                 // how it stands
	Settle  func(c *callback.Call, err error)                                                    // its result is durable, or could not be made so
	Abandon func(c *callback.Call)                                                               // nobody waits for it any more
	Drop    func(c *callback.Call)                                                               // its errand is over
	Broken  func()                                                                               // the turn's record cannot be written
	Append  func(kind transcript.Kind, data any) error                                           // durable when it returns nil
	Gone    <-chan struct{}                                                                      // closed when there is no owner any more
}

// Run runs one call and gives its answer.
func Run(ctx context.Context, d Desk, need callback.Need, asked turn.Call) turn.Answer {
	changed := make(chan struct{}, 1)
	c, refusal := d.Accept(&need, asked.Name, changed)
	record, err := need.Record(asked.Round, asked.Name)
	if err == nil {
		err = d.Append(transcript.ToolCall, record)
	}
	switch {
	case err != nil:
		return d.unrecorded(c)
	case refusal != nil:
		return d.refused(need, refusal)
	}
	defer d.Drop(c)
	d.Bound(c)
	given := ctx.Done()
	for {
		select {
		case <-changed:
		case <-given:
			given = nil
			d.Abandon(c)
		case <-d.Gone:
			return answer(c.Unreported(), turn.CodeShutdown)
		}
		switch now := d.Look(c); {
		case now.Submitted() != nil:
			return d.settle(c, *now.Submitted())
		case now.Settled():
			return d.unreported(&now)
		}
	}
}

// settle records a reported result, and only then has it acknowledged.
func (d Desk) settle(c *callback.Call, reported callback.Result) turn.Answer {
	o := c.Reported(reported)
	err := failpoint.Hit(failpoint.ResultRead)
	if err == nil {
		err = d.Append(transcript.ToolResult, o.Record())
	}
	if err == nil {
		err = failpoint.Hit(failpoint.ResultDurable)
	}
	d.Settle(c, err)
	if err != nil {
		return d.unrecorded(c)
	}
	return answer(o, "")
}

// unreported records a call that ended without a report.
func (d Desk) unreported(c *callback.Call) turn.Answer {
	o := c.Unreported()
	if err := d.Append(transcript.ToolResult, o.Record()); err != nil {
		return d.unrecorded(c)
	}
	if c.Status == callback.Cancelled {
		return answer(o, turn.CodeCancelled)
	}
	return answer(o, turn.CodeToolFailed)
}

// refused records a call that was never taken in; the model may go on, unless the
// turn is over.
func (d Desk) refused(n callback.Need, refusal error) turn.Answer {
	code, fatal := callback.CodeArguments, ""
	switch {
	case fault.Is(refusal, fault.LimitExceeded):
		code = callback.CodeLimit
	case fault.Is(refusal, fault.UnknownTurn), fault.Is(refusal, fault.ShuttingDown):
		code, fatal = callback.CodeCancelled, turn.CodeCancelled
	}
	o := n.Failure(code, fault.From(refusal).Text, effect.NotDispatched)
	if err := d.Append(transcript.ToolResult, o.Record()); err != nil {
		return d.unrecorded(nil)
	}
	return answer(o, fatal)
}

// unrecorded ends a turn whose record cannot be written.
func (d Desk) unrecorded(c *callback.Call) turn.Answer {
	d.Broken()
	o := callback.Need{}.Failure(turn.CodePersistenceFailed, "", effect.NotDispatched)
	if c != nil {
		d.Abandon(c)
		o.CallID, o.Effects = c.ID, d.Look(c).Effects
		d.Drop(c)
	}
	return answer(o, turn.CodePersistenceFailed)
}

// answer is what the agent loop gets of an outcome.
func answer(o callback.Outcome, fatal string) turn.Answer {
	return turn.Answer{CallID: o.CallID, Status: o.Status, Text: o.Text, Code: o.Code, Effects: o.Effects, Fatal: fatal}
}
