package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// execution is one attempt of one row, from its reservation to its answer.
type execution struct {
	port   *Port
	caller authority.Caller
	def    definition
	row    invocation.Row
	args   []byte
	told   chan struct{} // closed once what the executor said was settled, or is owed

	progress func(invocation.Progress)
}

// wait makes the executor ready for a reserved row, marks the row and sends.
func (e *execution) wait(ctx context.Context, exec Executor, found bool) invocation.Answer {
	if why := e.open(ctx, exec, found); why != "" {
		return e.settle(ctx, invocation.Event{Kind: invocation.Unreached, Detail: why})
	}
	row, err := e.port.journal.Mark(context.WithoutCancel(ctx), e.caller, authority.AttemptOf(e.row))
	if err != nil {
		answer := refusal(e.row.Tx, markFault(err))
		e.owe(invocation.Event{Kind: invocation.Unreached, Detail: "the dispatch mark could not be written"}, answer)
		return answer
	}
	e.row = row
	return e.send(ctx, exec)
}

// open gives the reason for which the executor cannot be made ready, or none.
func (e *execution) open(ctx context.Context, exec Executor, found bool) string {
	defer e.settlePanic(invocation.Unreached)
	if err := failpoint.Hit(failpoint.Reserved); err != nil {
		return err.Error()
	}
	if !found {
		return "the connection is gone"
	}
	if err := exec.Open(ctx); err != nil {
		return fault.From(err).Text
	}
	return ""
}

// markFault keeps a decision and turns a lost commit into "not dispatched": what
// may have been marked was certainly not sent.
func markFault(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	return fault.New(fault.Unavailable, "the journal could not be written").Because(err)
}

// send calls the executor once and settles what came of it.
func (e *execution) send(ctx context.Context, exec Executor) invocation.Answer {
	defer close(e.told)
	defer e.settlePanic(invocation.Broken)
	if err := failpoint.Hit(failpoint.Marked); err != nil {
		return e.settle(ctx, invocation.Event{Kind: invocation.Broken, Detail: err.Error()})
	}
	ev := e.call(ctx, exec)
	if err := failpoint.Hit(failpoint.AnswerRead); err != nil {
		ev = invocation.Event{Kind: invocation.Broken, Detail: err.Error()}
	}
	return e.settle(ctx, ev)
}

func (e *execution) call(ctx context.Context, exec Executor) invocation.Event {
	tool := e.def.Method.Binding.Tool
	if r, ok := exec.(Reporter); ok && e.progress != nil {
		return r.CallReporting(ctx, tool, e.args, e.settleLate, e.progress)
	}
	return exec.Call(ctx, tool, e.args, e.settleLate)
}

// settlePanic keeps a broken invariant of ours from leaving a row open in a
// process that lives on: the row is settled as far as is known, and the panic
// goes on to the door. A row that was settled before stays as it is.
func (e *execution) settlePanic(kind invocation.EventKind) {
	bad := recover()
	if bad == nil {
		return
	}
	e.settle(context.Background(), invocation.Event{Kind: kind, Detail: "the host failed; its log has the reason"})
	panic(bad)
}

// settle makes the outcome durable and gives the answer. If that fails, the
// answer is a doubt and never a success (fault point FP18), and the outcome is
// owed to the journal.
func (e *execution) settle(ctx context.Context, ev invocation.Event) invocation.Answer {
	ctx = context.WithoutCancel(ctx)
	answer, err := e.port.journal.Settle(ctx, e.caller, e.outcome(ev, false))
	if err != nil {
		e.port.log.Error("outcome not durable", "invocation", e.row.ID.String(), "tx", e.row.Tx.String(), "err", err)
		answer := e.unknown()
		e.owe(ev, answer)
		return answer
	}
	_ = failpoint.Hit(failpoint.Settled) // nothing here can fail any more
	return answer
}

// owe has the port settle the attempt as soon as the store takes it: first as the
// doubt that the caller is told, so that the answer of the tx stays what it was,
// then with what the executor really said.
func (e *execution) owe(ev invocation.Event, told invocation.Answer) {
	if e.row.DispatchedAt.IsZero() {
		e.port.unsettled.owe(debt{e.caller, told, []authority.Settle{e.outcome(ev, false)}})
		return
	}
	doubt := authority.Settle{Attempt: authority.AttemptOf(e.row), Outcome: invocation.Doubt(invocation.JournalUnknown),
		Verdict: invocation.Verdict{State: invocation.Indeterminate, Code: fault.Indeterminate, Effects: effect.Uncertain}}
	e.port.unsettled.owe(debt{e.caller, told, []authority.Settle{doubt, e.outcome(ev, true)}})
}

func (e *execution) unknown() invocation.Answer {
	row := e.row
	row.State, row.Outcome = invocation.Indeterminate, invocation.Doubt(invocation.JournalUnknown)
	if row.DispatchedAt.IsZero() {
		return invocation.Refusal(row.Tx, fault.New(fault.Unavailable, "the journal could not be written"), effect.NotDispatched)
	}
	return row.Answer()
}

// settleLate offers a clean answer that came after the call had ended in doubt, once
// the doubt is recorded. There is nobody to tell; the row and the owner's views have
// it.
func (e *execution) settleLate(ev invocation.Event) {
	ctx, cancel := context.WithTimeout(context.Background(), lateSettle)
	defer cancel()
	select {
	case <-e.told:
	case <-ctx.Done():
	}
	if _, err := e.port.journal.Settle(ctx, e.caller, e.outcome(ev, true)); err != nil {
		e.port.log.Warn("late answer not recorded", "invocation", e.row.ID.String(), "err", err)
	}
}

const lateSettle = 10 * time.Second

func (e *execution) outcome(ev invocation.Event, late bool) authority.Settle {
	ev = invocation.Shape(ev, e.def.output)
	if bound.ResultBytes.Check(len(ev.Result)) != nil {
		ev = invocation.Event{Kind: invocation.TooLarge, Detail: ev.Detail}
	}
	v := invocation.Classify(ev)
	return authority.Settle{Attempt: authority.AttemptOf(e.row), Verdict: v, Late: late, Outcome: invocation.Outcome{
		Code: v.Code, Text: publicText(ev, v), Reason: v.Reason, Effects: v.Effects, Result: ev.Result, Detail: ev.Detail,
	}}
}

// publicText is the message of a failure. What an upstream said is in the
// result, as data, and in Detail for the owner; it is never our message.
func publicText(ev invocation.Event, v invocation.Verdict) string {
	switch {
	case v.Code == "":
		return ""
	case ev.Kind == invocation.ToolError:
		return "the tool answered with an error; the result has its words"
	case ev.Kind == invocation.Unanswerable:
		return "the upstream answered in a way that this host cannot take up"
	case ev.Kind == invocation.TooNarrow:
		return "the upstream was called and refused: " + ev.Detail
	case v.Code == fault.UpstreamFailed:
		return "the upstream was called and refused"
	case v.Code == fault.Unavailable:
		// Why nothing was sent is in our own words, and tells of no secret (field
		// faults, FF30).
		return "the upstream cannot be called now; nothing was sent: " + ev.Detail
	}
	return "the call may have happened; do not repeat it, ask the owner"
}
