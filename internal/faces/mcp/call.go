package mcp

import (
	"context"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/faces/mcp/feed"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/toolset"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// callTool runs one call through the port and tells what is durably known.
func (x *exchange) callTool(p frame.Params) {
	name, req, bad := x.readCall(p)
	if bad != nil {
		x.deny(bad)
		return
	}
	t, err := x.find(x.r.Context(), name)
	switch {
	case err != nil:
		x.refuse(err)
		return
	case t == nil:
		x.deny(absent)
		return
	}
	req.Ref = t.Reference()
	if req.Args != nil {
		req.Args, req.If = t.Split(req.Args)
	}
	if full := x.door.occupy(x.app); full != nil {
		x.door.doorman.Denied(x.caller, full.Code)
		x.tell(t, invocation.Refusal(req.Tx, full, unasked(req)))
		return
	}
	defer x.door.vacate(x.app)
	token, bad := frame.ProgressToken(p)
	if bad != nil {
		x.deny(bad)
		return
	}
	ctx, part, bad := x.cancellable()
	if bad != nil {
		x.deny(bad)
		return
	}
	answer := x.run(ctx, req, token)
	part()
	note(x.w, "tx", answer.Tx.String())
	note(x.w, "invocation", answer.Invocation.String())
	switch {
	case x.hidden(name, answer):
		x.fail(absent)
	case answer.Fault != nil && answer.Fault.Code == fault.Unauthenticated:
		x.refuse(answer.Fault)
	default:
		x.tell(t, answer)
	}
}

// run makes the call, and tells how far it is where the client asks for that.
func (x *exchange) run(ctx context.Context, req dispatch.Request, token strictjson.Raw) invocation.Answer {
	if token != nil {
		x.reporter = feed.Report(x.w, token)
		req.Progress = x.reporter.Hear
		defer x.reporter.Halt()
	}
	return x.door.ports.Call(ctx, x.caller, req)
}

// readCall reads the frame.Params. What a client sends in _meta goes no further
// than here.
func (x *exchange) readCall(p frame.Params) (name string, r dispatch.Request, bad *frame.Problem) {
	name, ok := frame.Text(p.Members["name"])
	if !ok {
		return "", r, &frame.Problem{Code: frame.BadParams, Message: "a call names its tool"}
	}
	if args, given := p.Members["arguments"]; given {
		if args.Kind() != '{' {
			return "", r, frame.ProblemOf(fault.New(fault.InvalidArgs, "the arguments are a JSON object"))
		}
		r.Args = args
	}
	if r.Tx, bad = frame.Tx(p, frame.MetaTx); bad != nil {
		return "", r, bad
	}
	if r.Ack, bad = frame.Tx(p, frame.MetaAck); bad != nil {
		return "", r, bad
	}
	if r.Tx.IsZero() {
		r.Tx, r.Minted = id.NewTx(x.door.now()), true
	}
	return name, r, nil
}

// find looks a name up among the caller's own methods, and asks the store before
// it says that there is none. A method that is remembered may be gone; the port
// says so.
func (x *exchange) find(ctx context.Context, name string) (*toolset.Tool, error) {
	d := x.door
	d.mu.Lock()
	c := x.app.catalog
	d.mu.Unlock()
	if t, ok := c.Find(name); ok {
		return t, nil
	}
	c, err := d.read(ctx, x.app, x.caller)
	if err != nil {
		return nil, err
	}
	t, _ := c.Find(name)
	return t, nil
}

// hidden reports whether a refusal must look as if there were no such tool: the
// method is not the caller's, or is not listed any more. What a method of the
// host itself does not find is another thing: that call has its journal row.
func (x *exchange) hidden(name string, a invocation.Answer) bool {
	// A call that went out is never told as if there had been nothing to call.
	wentOut := a.Effects == effect.Reported || a.Effects == effect.Uncertain
	if a.Fault == nil || !a.Invocation.IsZero() || wentOut {
		return false
	}
	switch a.Fault.Code {
	case fault.NotFound, fault.GrantRequired:
		return true
	case fault.NeedsConsent:
		c, err := x.door.read(context.WithoutCancel(x.r.Context()), x.app, x.caller)
		if err != nil {
			return false
		}
		_, listed := c.Find(name)
		return !listed
	}
	return false
}

// aMoment is when it is worth to come again where too many calls are under way.
const aMoment = 500 * time.Millisecond

// unasked is what is known of the effects of a call that the port was not asked
// about. A tx that the client made may have been sent before.
func unasked(r dispatch.Request) effect.Outcome {
	if r.Minted {
		return effect.NotDispatched
	}
	return effect.Uncertain
}

func (d *Door) occupy(a *app) *fault.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.calls >= bound.MCPCalls.Int() {
		return bound.MCPCalls.Exceeded().RetryAfter(aMoment)
	}
	a.calls++
	return nil
}

func (d *Door) vacate(a *app) {
	d.mu.Lock()
	a.calls--
	d.mu.Unlock()
}

// cancellable gives the context of a call that its client may cancel: in a
// session by a notification, since a lost connection says nothing there; without
// one by closing the response. The returned function ends it.
func (x *exchange) cancellable() (context.Context, func(), *frame.Problem) {
	if x.era == frame.Modern {
		return x.r.Context(), func() {}, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
	if !x.door.join(x.seat, x.msg.Key, cancel) {
		cancel()
		return nil, nil, &frame.Problem{Code: frame.BadRequest, Message: "a request with this id is being answered"}
	}
	return ctx, func() {
		x.door.part(x.seat, x.msg.Key)
		cancel()
	}, nil
}
