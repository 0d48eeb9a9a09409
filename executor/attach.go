package executor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

// attach makes this connection the executor's, under the proof that Memory has or
// a new one, and settles what Memory knows. Telling comes before a new proof: the
// time of open calls runs.
func (c *Client) attach(ctx context.Context) error {
	known, err := c.options.Memory.enter(ctx, c)
	if err != nil {
		return err
	}
	defer c.options.Memory.leave()
	if known.Executor == "" || known.Instance != c.wire.instance {
		return c.create(ctx)
	}
	resumed, proof, err := c.resume(ctx, known)
	if gone(err) {
		return c.create(ctx)
	}
	if err != nil {
		return err
	}
	c.settled(sessionwire.ExecutorAt{ExecutorID: resumed.ExecutorID, ExecutorGeneration: resumed.ExecutorGeneration})
	if err := c.settle(ctx, known.Calls, resumed.PendingCalls); err != nil {
		return err
	}
	return c.rotate(ctx, proof)
}

// gone is the one answer to resume that is final: the daemon knows no executor of
// this proof. Every other one leaves the proof and the outcomes their worth.
func gone(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && refused.Method == sessionwire.ExecutorResume && refused.Code == "stale_connection"
}

// resume tries the proof that a rotation left, if there is one, and then the one
// before it (guide, Rotate without losing reconnect authority).
func (c *Client) resume(ctx context.Context, known state) (sessionwire.ExecutorResumedAnswer, string, error) {
	var a sessionwire.ExecutorResumedAnswer
	var err error
	for _, proof := range []string{known.Candidate, known.Proof} {
		if proof == "" {
			continue
		}
		err = c.Call(ctx, sessionwire.ExecutorResume, "", nil, NewOperation(), sessionwire.ExecutorProof{ExecutorID: known.Executor, ResumeSecret: proof}, &a)
		if !gone(err) {
			return a, proof, err
		}
	}
	return a, "", err
}

// create makes a new executor. What an earlier one had open can never be settled
// any more: the daemon that asked for it is gone, or has given it up.
func (c *Client) create(ctx context.Context) error {
	var made sessionwire.ExecutorSecretAnswer
	if err := c.Call(ctx, sessionwire.ExecutorCreate, "", nil, NewOperation(), sessionwire.Empty{}, &made); err != nil {
		return err
	}
	err := c.options.Memory.update(func(s *state) {
		*s = state{Instance: c.wire.instance, Executor: made.ExecutorID, Proof: made.ResumeSecret, Calls: map[string]remembered{}}
	})
	if err != nil {
		return err
	}
	var a sessionwire.ExecutorResumedAnswer
	proof := sessionwire.ExecutorProof{ExecutorID: made.ExecutorID, ResumeSecret: made.ResumeSecret}
	if err := c.Call(ctx, sessionwire.ExecutorConfirm, "", nil, NewOperation(), proof, &a); err != nil {
		return err
	}
	c.settled(sessionwire.ExecutorAt{ExecutorID: a.ExecutorID, ExecutorGeneration: a.ExecutorGeneration})
	return nil
}

// settled says under which generation outcomes are told.
func (c *Client) settled(at sessionwire.ExecutorAt) {
	c.mu.Lock()
	c.executor = at
	c.mu.Unlock()
}

// attached is the executor under its current generation.
func (c *Client) attached() sessionwire.ExecutorAt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.executor
}

// rotate takes a new proof in the place of the one that was resumed with. Both are
// remembered until the daemon has confirmed, so that no lost reply locks the
// application out.
func (c *Client) rotate(ctx context.Context, proof string) error {
	at, m := c.attached(), c.options.Memory
	var a sessionwire.ExecutorRotationAnswer
	if err := c.Call(ctx, sessionwire.ExecutorRotate, "", nil, NewOperation(), at, &a); err != nil {
		return err
	}
	if err := m.update(func(s *state) { s.Proof, s.Candidate = proof, a.ResumeSecret }); err != nil {
		return err
	}
	both := sessionwire.ExecutorProofAt{ExecutorID: at.ExecutorID, ExecutorGeneration: at.ExecutorGeneration, ResumeSecret: a.ResumeSecret}
	if err := c.Call(ctx, sessionwire.ExecutorRotated, "", nil, NewOperation(), both, nil); err != nil {
		return err
	}
	return m.update(func(s *state) { s.Proof, s.Candidate = a.ResumeSecret, "" })
}

const (
	cutOff   = "the application ended while the call ran; it may have happened"
	notHeard = "the call did not reach the application; it was not executed"
)

// settle tells the outcome of each call that the daemon still waits for. What is
// running here is left to its handler; nothing runs again. Known are the calls from
// before the resume: of a later one the daemon's answer says nothing, so that only
// its own outcome may end it.
func (c *Client) settle(ctx context.Context, known map[string]remembered, open []sessionwire.PendingCall) error {
	m := c.options.Memory
	wanted := map[string]bool{}
	for _, p := range open {
		wanted[p.CallID] = true
		if p.Status != "pending" {
			continue // it will be sent
		}
		r, tells := m.outcome(p)
		if !tells {
			continue
		}
		err := c.tell(ctx, r)
		var refused *Error
		if errors.As(err, &refused) && refused.Method == sessionwire.ToolResult && refused.Code != "stale_connection" {
			m.start(func() { c.insist(r) }) // one outcome does not keep the connection from the others
		} else if err != nil {
			return err
		}
	}
	_ = m.update(func(s *state) { // what the daemon does not wait for is reconciled; if it stays, the next connection sees that again
		for id := range known {
			if _, runs := m.running[id]; !wanted[id] && !runs {
				delete(s.Calls, id)
			}
		}
	})
	return nil
}

// outcome is what there is to tell of a call that the daemon has sent and waits
// for; nothing while its handler runs.
func (m *Memory) outcome(p sessionwire.PendingCall) (r remembered, tells bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.state.Calls[p.CallID]
	_, runs := m.running[p.CallID]
	if !known {
		r = remembered{Session: p.SessionID, Result: sessionwire.ResultPayload{
			TurnID: p.TurnID, CallID: p.CallID, ResourceID: p.ResourceID, RevisionID: p.RevisionID, RevisionSHA256: p.RevisionSHA256,
			Outcome: failure("execution_failed", notHeard),
		}}
	} else if !r.Done {
		r.Result.Outcome = failure("execution_failed", cutOff)
	}
	return r, !runs
}

// event takes what the daemon sends unasked.
func (c *Client) event(e sessionwire.Event) {
	switch e.Event {
	case sessionwire.ToolCall:
		var p sessionwire.CallPayload
		if e.SessionID == nil || strict(e.Payload, &p) != nil || c.options.Memory == nil {
			c.wire.fail(errForeign)
			return
		}
		c.options.Memory.take(c, *e.SessionID, p)
	case sessionwire.ToolCancel:
		var p sessionwire.CallCancelPayload
		if strict(e.Payload, &p) == nil && c.options.Memory != nil {
			c.options.Memory.cancel(p.CallID)
		}
	default:
		select {
		case c.events <- e:
		default:
			c.wire.fail(errors.New("nobody reads the events of the connection"))
		}
	}
}

// take remembers a call and starts its handler. A call that is known is not
// started again.
func (m *Memory) take(c *Client, session string, p sessionwire.CallPayload) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.state.Calls[p.CallID]; known || m.closed {
		return
	}
	r := remembered{Session: session, Result: sessionwire.ResultPayload{
		TurnID: p.TurnID, CallID: p.CallID, ResourceID: p.ResourceID, RevisionID: p.RevisionID, RevisionSHA256: p.RevisionSHA256,
	}}
	err := m.keep(r)
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(p.TimeoutMS)*time.Millisecond)
	m.running[p.CallID] = stop
	handler := c.options.Tools[p.Name]
	if err != nil {
		handler = func(context.Context, Call) (any, error) {
			return nil, errors.New("the application could not remember the call; it was not executed")
		}
	}
	call := Call{SessionID: session, TurnID: p.TurnID, CallID: p.CallID, Name: p.Name, Arguments: json.RawMessage(p.Arguments), Timeout: time.Duration(p.TimeoutMS) * time.Millisecond}
	m.runs.Go(func() {
		defer stop()
		r.Result.Outcome = outcomeOf(ctx, handler, call)
		r.Done = true
		m.finish(r)
	})
}

func (m *Memory) cancel(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if stop, ok := m.running[call]; ok {
		stop()
	}
}

// finish remembers an outcome and tells it, if there is a connection. If it cannot
// be made durable it is told all the same: it is what happened.
func (m *Memory) finish(r remembered) {
	m.mu.Lock()
	delete(m.running, r.Result.CallID)
	_ = m.keep(r)
	c := m.client
	m.mu.Unlock()
	if c != nil {
		<-c.attaching
		c.insist(r)
	}
}

// insist tells an outcome, again and again while the daemon cannot take it now. If
// the connection or the memory ends first, the next connection tells it.
func (c *Client) insist(r remembered) {
	for pause := firstPause; passing(c.tell(context.Background(), r)); pause = min(2*pause, longestWait) {
		select {
		case <-c.Done():
			return
		case <-c.options.Memory.ended:
			return
		case <-time.After(pause):
		}
	}
}

// tell submits an outcome under the current generation and forgets the call once
// the daemon has it or does not want it. One that could not be forgotten is told
// again some day, which settles nothing twice.
func (c *Client) tell(ctx context.Context, r remembered) error {
	at := c.attached()
	r.Result.ExecutorID, r.Result.ExecutorGeneration = at.ExecutorID, at.ExecutorGeneration
	err := c.submit(ctx, r)
	if IsCode(err, "invalid_payload") { // the daemon keeps the call open for an outcome that fits
		r.Result.Outcome = failure("execution_failed", misfit)
		err = c.submit(ctx, r)
	}
	if err != nil && !IsCode(err, "unknown_turn") {
		return err
	}
	_ = c.options.Memory.update(func(s *state) { delete(s.Calls, r.Result.CallID) })
	return nil
}

func (c *Client) submit(ctx context.Context, r remembered) error {
	return c.Call(ctx, sessionwire.ToolResult, r.Session, nil, NewOperation(), r.Result, nil)
}
