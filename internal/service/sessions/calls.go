package sessions

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// wait is a worker that waits for its call, and the request whose result is being
// made durable.
type wait struct {
	changed chan struct{} // holds one
	result  *Request
}

func (x *wait) nudge() {
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// contract is what the application promised, as it is recorded with a call.
type contract struct {
	Input     strictjson.Raw `json:"input_schema"`
	Output    strictjson.Raw `json:"output_schema"`
	TimeoutMS int64          `json:"timeout_ms"`
}

// binding is who alone may answer a call, as it is recorded with it.
type binding struct {
	ExecutorID         string `json:"executor_id"`
	ExecutorGeneration int64  `json:"executor_generation"`
	ResourceID         string `json:"resource_id"`
	RevisionID         string `json:"revision_id"`
	RevisionSHA256     string `json:"revision_sha256"`
}

// call is Hands.Call, on the worker's side.
func (s *Service) call(ctx context.Context, w *work, asked turn.Call) turn.Answer {
	x := &wait{changed: make(chan struct{}, 1)}
	need := callback.Need{ID: fresh(), Session: w.life.Session, Turn: w.life.ID, ProviderCall: asked.ProviderCallID, Arguments: asked.Arguments}
	var c *callback.Call
	refusal := gone()
	s.ask(func(now time.Time) { c, refusal = s.need(w, &need, asked.Name, x, now) })
	if err := s.recordCall(w, asked, need, c); err != nil {
		return s.unrecorded(w, c)
	}
	if refusal != nil {
		return s.refused(w, need, refusal)
	}
	s.ask(func(now time.Time) {
		s.callbacks.Bound(c)
		s.dispatch(c, now)
	})
	return s.await(ctx, w, c, x)
}

func gone() error { return fault.New(fault.ShuttingDown, "the daemon is stopping") }

// need takes a call in and reserves its places.
func (s *Service) need(w *work, n *callback.Need, name string, x *wait, now time.Time) (*callback.Call, error) {
	if w.ending || w.stopped != "" || w.fatal != "" {
		return nil, fault.New(fault.UnknownTurn, "the turn is over")
	}
	if !w.offers(name, n) {
		return nil, fault.New(fault.InvalidPayload, "the turn has no such tool")
	}
	if err := n.Judge(); err != nil {
		return nil, err
	}
	c, err := s.callbacks.Accept(*n, now)
	if err != nil {
		return nil, err
	}
	if err := s.evidence.Add(n.Turn, c); err != nil {
		s.callbacks.Forget(c)
		return nil, err
	}
	s.waits[c.ID] = x
	return c, nil
}

// offers gives a need the contract of a tool that the turn was accepted with.
func (w *work) offers(name string, n *callback.Need) bool {
	if w.snapshot == nil || w.executor == nil {
		return false
	}
	for _, e := range w.snapshot.Tools() {
		if d := e.Descriptor; d.Name == name {
			n.Executor, n.Generation = w.executor.ExecutorID, w.executor.ExecutorGeneration
			n.Tool = callback.Tool{Name: d.Name, Resource: d.ResourceID, Revision: d.RevisionID, Hash: d.RevisionSHA256,
				Input: e.Resource.Input, Output: e.Resource.Output, Timeout: e.Resource.Timeout}
			return true
		}
	}
	return false
}

// recordCall makes a call durable, with its binding where it was taken in.
func (s *Service) recordCall(w *work, asked turn.Call, n callback.Need, c *callback.Call) error {
	r := transcript.Call{
		Round: asked.Round, CallID: n.ID, ProviderCallID: asked.ProviderCallID, Name: asked.Name, Arguments: asked.Arguments,
		Source: transcript.Application, Contract: strictjson.Raw("null"), Binding: strictjson.Raw("null"),
	}
	if c != nil {
		t := c.Tool
		var err error
		if r.Contract, err = strictjson.Encode(contract{t.Input.Canonical(), t.Output.Canonical(), t.Timeout.Milliseconds()}); err != nil {
			return err
		}
		if r.Binding, err = strictjson.Encode(binding{c.Executor, c.Generation, t.Resource, t.Revision, t.Hash}); err != nil {
			return err
		}
	}
	return w.stream.Append(s.base, w.life.ID, transcript.ToolCall, r)
}

// dispatch sends a call that may be sent, if its executor is there.
func (s *Service) dispatch(c *callback.Call, now time.Time) {
	seat := s.executors.At(c.Executor)
	if seat.Connection == "" || !seat.Confirmed || !s.callbacks.Dispatch(c, now) {
		return
	}
	s.send(seat.Connection, Event{Session: c.Session, Payload: Dispatched{
		Turn: c.Turn, Call: c.ID, ProviderCall: c.ProviderCall, Executor: c.Executor, Generation: seat.Generation,
		Resource: c.Tool.Resource, Revision: c.Tool.Revision, Hash: c.Tool.Hash, Name: c.Tool.Name,
		Arguments: c.Arguments, TimeoutMS: c.Tool.Timeout.Milliseconds(),
	}})
}

// await waits until a call has ended. A result that is reported is made durable
// here, by the session's own worker, before anybody hears of it.
func (s *Service) await(ctx context.Context, w *work, c *callback.Call, x *wait) turn.Answer {
	given := ctx.Done()
	for {
		select {
		case <-x.changed:
		case <-given:
			given = nil
			s.ask(func(time.Time) {
				if s.callbacks.Abandon(c) {
					s.expired(c)
				}
			})
		case <-s.done:
			return turn.Answer{Status: transcript.Failed, Code: turn.CodeShutdown, Effects: c.Effects, Fatal: turn.CodeShutdown}
		}
		var now callback.Call
		s.ask(func(time.Time) { now = *c })
		switch reported := now.Submitted(); {
		case reported != nil:
			return s.settle(w, c, x, *reported)
		case now.Settled():
			return s.unreported(w, &now)
		}
	}
}

// settle records a reported result, and only then acknowledges it.
func (s *Service) settle(w *work, c *callback.Call, x *wait, reported callback.Result) turn.Answer {
	answer := turn.Answer{CallID: c.ID, Status: transcript.Succeeded, Text: reported.Value, Effects: effect.Reported}
	if reported.Value == "" {
		answer.Status, answer.Code, answer.Text = transcript.Failed, reported.Code, errorText(reported.Code, reported.Message)
	}
	err := failpoint.Hit(failpoint.ResultRead)
	if err == nil {
		err = s.recordResult(w, c.ID, c.ProviderCall, answer)
	}
	if err == nil {
		err = failpoint.Hit(failpoint.ResultDurable)
	}
	s.ask(func(now time.Time) {
		s.callbacks.Settle(c, err == nil)
		delete(s.waits, c.ID)
		s.finish(x.result, Settled{c.ID}, Settled{c.ID}, err, now)
	})
	if err != nil {
		return s.unrecorded(w, c)
	}
	return answer
}

// unreported records a call that ended without a report.
func (s *Service) unreported(w *work, c *callback.Call) turn.Answer {
	answer := turn.Answer{CallID: c.ID, Status: transcript.Failed, Code: c.Code, Text: errorText(c.Code, ""), Effects: c.Effects, Fatal: turn.CodeToolFailed}
	if c.Status == callback.Cancelled {
		answer.Status, answer.Fatal = transcript.Cancelled, turn.CodeCancelled
	}
	s.ask(func(time.Time) { delete(s.waits, c.ID) })
	if err := s.recordResult(w, c.ID, c.ProviderCall, answer); err != nil {
		return s.unrecorded(w, c)
	}
	return answer
}

// The codes of calls that were refused before they were taken in.
const (
	codeLimit     = "limit_exceeded"
	codeArguments = "invalid_arguments"
)

// refused records a call that was never taken in; the model may go on.
func (s *Service) refused(w *work, n callback.Need, refusal error) turn.Answer {
	code, fatal := codeArguments, ""
	switch {
	case fault.Is(refusal, fault.LimitExceeded):
		code = codeLimit
	case fault.Is(refusal, fault.UnknownTurn), fault.Is(refusal, fault.ShuttingDown):
		code, fatal = callback.CodeCancelled, turn.CodeCancelled
	}
	answer := turn.Answer{Status: transcript.Failed, Code: code, Text: errorText(code, fault.From(refusal).Text), Effects: effect.NotDispatched, Fatal: fatal}
	if err := s.recordResult(w, n.ID, n.ProviderCall, answer); err != nil {
		return s.unrecorded(w, nil)
	}
	return answer
}

func (s *Service) recordResult(w *work, call, providerCall string, a turn.Answer) error {
	return w.stream.Append(s.base, w.life.ID, transcript.ToolResult, transcript.Result{
		CallID: call, ProviderCallID: providerCall, Status: a.Status, Effects: string(a.Effects), Code: a.Code, Text: a.Text,
	})
}

// unrecorded ends a turn whose record cannot be written.
func (s *Service) unrecorded(w *work, c *callback.Call) turn.Answer {
	answer := turn.Answer{Status: transcript.Failed, Code: turn.CodePersistenceFailed, Text: errorText(turn.CodePersistenceFailed, ""),
		Effects: effect.NotDispatched, Fatal: turn.CodePersistenceFailed}
	s.ask(func(time.Time) {
		w.fatal = turn.CodePersistenceFailed
		if c == nil {
			return
		}
		if s.callbacks.Abandon(c) {
			s.expired(c)
		}
		delete(s.waits, c.ID)
		answer.CallID, answer.Effects = c.ID, c.Effects
	})
	return answer
}

// errorText is what the model is told of a failure.
func errorText(code, message string) string {
	type failure struct {
		Code    string `json:"code"`
		Message string `json:"message,omitzero"`
	}
	text, err := strictjson.Encode(struct {
		Error failure `json:"error"`
	}{failure{code, message}})
	if err != nil { // both were checked to be text
		panic(err)
	}
	return string(text)
}

// Result settles a call. Its sender must be the executor, under the generation
// that counts; it is answered once the result is durable.
type Result struct {
	Submission callback.Submission
	Generation int64
}

func (c Result) ready(s *Service, r *Request, _ time.Time) error {
	return s.executors.Authority(c.Submission.Executor, c.Generation, r.Connection)
}

func (c Result) run(s *Service, r *Request, now time.Time) {
	call, err := s.callbacks.Submit(c.Submission)
	if err != nil {
		s.finish(r, nil, nil, err, now)
		return
	}
	x := s.waits[call.ID]
	x.result = r
	x.nudge()
}

// Proofs tells what ran of a turn and what did not.
type Proofs struct {
	always
	Turn string
}

func (c Proofs) run(s *Service, r *Request, now time.Time) {
	answer, err := s.evidence.Read(c.Turn, r.Session, now)
	s.finish(r, answer, nil, err, now)
}
