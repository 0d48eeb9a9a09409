package mcp

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// The members of a call's _meta that are the host's own.
const (
	metaTx         = "io.github.stewardhost/tx"         // the call's tx; minted where it is not given
	metaAck        = "io.github.stewardhost/ack"        // request: the tx in doubt that the caller knows of
	metaEffects    = "io.github.stewardhost/effects"    // answer: what is known of effects
	metaReplayed   = "io.github.stewardhost/replayed"   // answer: it was recorded before
	metaValidated  = "io.github.stewardhost/validated"  // answer: structured content fits the approved schema
	metaReconciled = "io.github.stewardhost/reconciled" // answer: how a doubt ended
	metaError      = "io.github.stewardhost/error"      // answer: code, retry class and details of a failure
)

// callTool runs one call through the port and tells what is durably known.
func (x *exchange) callTool(p parameters) {
	name, req, bad := x.readCall(p)
	if bad != nil {
		x.fail(bad)
		return
	}
	t, err := x.find(x.r.Context(), name)
	switch {
	case err != nil:
		x.refuse(err)
		return
	case t == nil:
		x.fail(absent)
		return
	}
	req.Ref = t.reference()
	if t.conditional && req.Args != nil {
		req.Args, req.If = splitCondition(req.Args)
	}
	if full := x.door.occupy(x.app); full != nil {
		x.tell(t, invocation.Refusal(req.Tx, full, effect.NotDispatched))
		return
	}
	defer x.door.vacate(x.app)
	ctx, part, bad := x.cancellable()
	if bad != nil {
		x.fail(bad)
		return
	}
	answer := x.door.ports.Call(ctx, x.caller, req)
	part()
	switch {
	case x.hidden(name, answer):
		x.fail(absent)
	case answer.Fault != nil && answer.Fault.Code == fault.Unauthenticated:
		x.refuse(answer.Fault)
	default:
		x.tell(t, answer)
	}
}

// readCall reads the parameters. What a client sends in _meta goes no further
// than here.
func (x *exchange) readCall(p parameters) (name string, r dispatch.Request, bad *problem) {
	name, ok := text(p.members["name"])
	if !ok {
		return "", r, &problem{code: codeParams, message: "a call names its tool"}
	}
	if args, given := p.members["arguments"]; given {
		if args.Kind() != '{' {
			return "", r, problemOf(fault.New(fault.InvalidArgs, "the arguments are a JSON object"))
		}
		r.Args = args
	}
	if r.Tx, bad = p.tx(metaTx); bad != nil {
		return "", r, bad
	}
	if r.Ack, bad = p.tx(metaAck); bad != nil {
		return "", r, bad
	}
	if r.Tx.IsZero() {
		r.Tx = id.NewTx(x.door.now())
	}
	return name, r, nil
}

// tx reads a tx out of _meta; an absent one is zero.
func (p parameters) tx(member string) (id.Tx, *problem) {
	raw, given := p.meta[member]
	if !given {
		return id.Tx{}, nil
	}
	s, _ := text(raw)
	tx, err := id.Parse[id.Tx](s)
	if err != nil {
		return id.Tx{}, problemOf(fault.New(fault.InvalidRequest, "_meta "+member+" is not a tx"))
	}
	return tx, nil
}

// find looks a name up among the caller's own methods, and asks the store before
// it says that there is none. A method that is remembered may be gone; the port
// says so.
func (x *exchange) find(ctx context.Context, name string) (*tool, error) {
	d := x.door
	d.mu.Lock()
	c := x.app.catalog
	d.mu.Unlock()
	if t, ok := c.tool(name); ok {
		return t, nil
	}
	c, err := d.read(ctx, x.app, x.caller)
	if err != nil {
		return nil, err
	}
	t, _ := c.tool(name)
	return t, nil
}

// hidden reports whether a refusal must look as if there were no such tool: the
// method is not the caller's, or is not listed any more. What a method of the
// host itself does not find is another thing: that call has its journal row.
func (x *exchange) hidden(name string, a invocation.Answer) bool {
	if a.Fault == nil || !a.Invocation.IsZero() {
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
		_, listed := c.tool(name)
		return !listed
	}
	return false
}

func (d *Door) occupy(a *app) *fault.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.calls >= bound.MCPCalls.Int() {
		return bound.MCPCalls.Exceeded()
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
func (x *exchange) cancellable() (context.Context, func(), *problem) {
	if x.era == modern {
		return x.r.Context(), func() {}, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
	if !x.door.join(x.seat, x.msg.key, cancel) {
		cancel()
		return nil, nil, &problem{code: codeRequest, message: "a request with this id is being answered"}
	}
	return ctx, func() {
		x.door.part(x.seat, x.msg.key)
		cancel()
	}, nil
}
