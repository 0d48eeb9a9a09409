// Package dispatch is the one port through which methods are executed. Whoever
// asks, and over whichever door, the port resolves an approved binding, has the
// store decide in one transaction, makes the dispatch mark durable before the
// first byte, calls the executor once, and makes the outcome durable before the
// answer (pool page, sections 6 and 7; draft, "trusted capability-dispatch
// port").
//
// It promises: at most one dispatch for a tx over all restarts; an answer only
// after its outcome is durable; `indeterminate` for every doubt. It does not
// promise that an executor does what its method says. A Port is safe for
// concurrent use; a call belongs to its caller's goroutine.
package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/failpoint"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Reference names a method as a door received it, and Resolved what it stands for
// in the pool; the domain defines both.
type (
	Reference = invocation.Reference
	Resolved  = invocation.Resolved
)

// Journal is the store, as far as the port needs it. Each verb is one
// transaction that is durable when it returns without an error; a *fault.Fault
// is a decision, any other error means that nothing is known to have changed.
type Journal interface {
	// Resolve reads a method without authorizing anything; false if there is none,
	// with the target as it was claimed.
	Resolve(ctx context.Context, owner id.Owner, ref Reference) (Resolved, bool, error)
	Reserve(ctx context.Context, c authority.Call) (authority.CallChanges, error)
	Mark(ctx context.Context, c authority.Caller, a authority.Attempt) (invocation.Row, error)
	Settle(ctx context.Context, c authority.Caller, s authority.Settle) (invocation.Answer, error)
	// RunBuiltin reserves, executes a built-in and settles in one commit.
	RunBuiltin(ctx context.Context, c authority.Call, condition []byte) (invocation.Answer, error)
	Lookup(ctx context.Context, c authority.Caller, tx id.Tx) (invocation.Answer, error)
	// Recall answers a call that could not be decided from what is recorded of its
	// tx, without writing; false where nothing of it was sent.
	Recall(ctx context.Context, c authority.Call) (invocation.Answer, bool, error)
	// Denied records an attempt that none of the other verbs has seen.
	Denied(c authority.Caller, code fault.Code)
}

// Executor is one outside thing that can execute tools. Call sends at most one
// message for the call, ever; a clean answer that comes after Call has returned
// in doubt goes to late, at most once.
type Executor interface {
	Ready() bool
	Open(ctx context.Context) error
	Call(ctx context.Context, tool string, args []byte, late func(invocation.Event)) invocation.Event
}

// Reporter is an Executor that can also tell how far a call is: progress is called
// while CallReporting runs, and must not wait.
type Reporter interface {
	CallReporting(ctx context.Context, tool string, args []byte, late func(invocation.Event), progress func(invocation.Progress)) invocation.Event
}

// FindExecutor gives the executor of an adapter, false if there is none.
type FindExecutor func(id.Adapter) (Executor, bool)

// Request is one call as a door received it. Args is a raw JSON object, nil for
// none; If is raw JSON or nil; a zero Deadline is the longest allowed.
type Request struct {
	Tx       id.Tx
	Minted   bool // the door made the tx for this call
	Ref      Reference
	Contract digest.Digest
	Args     []byte
	If       []byte
	Deadline time.Duration
	Ack      id.Tx
	Confirm  id.Confirmation
	Progress func(invocation.Progress) // told how far the call is, where the executor tells; must not wait; may be nil
}

// Port executes calls.
type Port struct {
	journal   Journal
	executors FindExecutor
	now       func() time.Time
	node      id.Node
	epoch     int64
	log       *slog.Logger
	known     *definitions
	unsettled *unsettled
	watch     Watcher
}

// Watcher is told of each answer and how long it took, on the caller's goroutine.
type Watcher func(authority.Caller, invocation.Answer, time.Duration)

// Watch has the port tell of its answers; it is called before the first call.
func (p *Port) Watch(w Watcher) { p.watch = w }

// New returns a port for one process of the host, named by node and epoch.
func New(journal Journal, executors FindExecutor, node id.Node, epoch int64, log *slog.Logger) *Port {
	return &Port{journal: journal, executors: executors, now: time.Now, node: node, epoch: epoch, log: log,
		known: newDefinitions(), unsettled: newUnsettled(), watch: func(authority.Caller, invocation.Answer, time.Duration) {}}
}

// Call executes one request for a caller and returns what is durably known. It
// never fails: every refusal and failure is an answer. When ctx ends after the
// mark, the executor is told to cancel and the outcome is still settled.
func (p *Port) Call(ctx context.Context, caller authority.Caller, r Request) (answer invocation.Answer) {
	began := p.now()
	defer func() { p.watch(caller, answer, p.now().Sub(began)) }()
	if err := failpoint.Hit(failpoint.Parsed); err != nil {
		return refusal(r.Tx, err)
	}
	c, answer, err := p.try(ctx, caller, r)
	if authority.IsStale(err) {
		p.known.renew(caller, r.Ref)
		if c, answer, err = p.try(ctx, caller, r); authority.IsStale(err) {
			p.journal.Denied(caller, fault.From(err).Code) // the attempt is over with it
		}
	}
	switch {
	case err == nil:
	case authority.IsTrouble(err):
		answer = p.recall(ctx, c, err)
	case c.Request.IsZero() && !r.Minted:
		answer = p.misformed(ctx, caller, r.Tx, err)
	default:
		answer = refusal(r.Tx, err)
	}
	if answer.Fault != nil && answer.Invocation.IsZero() && isAuthority(answer.Fault.Code) {
		p.known.dismiss(caller, r.Ref)
	}
	return answer
}

// isAuthority tells the refusals that are about who asks for what.
func isAuthority(c fault.Code) bool {
	switch c {
	case fault.Unauthenticated, fault.NotFound, fault.GrantRequired, fault.NeedsConsent:
		return true
	}
	return false
}

// try gives an answer, or an error about which nothing of this request was sent, with
// the call as far as it was made out by then.
func (p *Port) try(ctx context.Context, caller authority.Caller, r Request) (authority.Call, invocation.Answer, error) {
	defer p.unsettled.begin(caller, r.Tx)()
	var def definition
	whole := false
	if !p.known.lets(caller, r.Ref) {
		def, whole = claimed(r.Ref)
	}
	if !whole {
		var err error
		if def, err = p.known.resolve(ctx, p.journal, caller.Owner, r.Ref); err != nil {
			err = unavailable(err)
			p.journal.Denied(caller, fault.From(err).Code)
			return authority.Call{Caller: caller, Tx: r.Tx, Minted: r.Minted}, invocation.Answer{}, err
		}
	}
	c, args, err := p.command(caller, r, def)
	if err != nil {
		p.journal.Denied(caller, fault.From(err).Code)
		return c, invocation.Answer{}, err
	}
	if def.Method.Binding.Kind == resource.ByHost {
		answer, err := p.journal.RunBuiltin(ctx, c, r.If)
		if err == nil && answer.Status == invocation.InDoubt && !answer.Replayed {
			p.unsettled.remember(c.Caller, answer) // it may not be in the journal
		}
		return c, answer, err
	}
	if err := p.payDebts(ctx, c.Deadline); err != nil {
		p.journal.Denied(caller, fault.From(err).Code)
		return c, invocation.Answer{}, err
	}
	exec, found := p.executors(def.Method.Binding.Adapter)
	c.Ready = found && exec.Ready()
	ch, err := p.journal.Reserve(ctx, c)
	if err != nil && ch.Known != "" && !authority.IsTrouble(err) {
		return c, invocation.Refusal(r.Tx, fault.From(err), ch.Known), nil
	}
	if err != nil {
		return c, invocation.Answer{}, err
	}
	if ch.Action == authority.Replay {
		answer := ch.Row.Answer()
		answer.Replayed = true
		return c, answer, nil
	}
	e := execution{p, caller, def, ch.Row, args, make(chan struct{}), r.Progress}
	// One clock for all of it: the deadline is set once, by the decision, and a changed
	// wall clock does not move it.
	ctx, cancel := context.WithTimeout(ctx, ch.Row.DeadlineAt.Sub(ch.Row.ReservedAt))
	defer cancel()
	if ch.Action == authority.Wait {
		return c, e.wait(ctx, exec, found), nil
	}
	return c, e.send(ctx, exec), nil
}

// command builds the plain command from a request. Its faults depend on nothing
// but the request itself.
func (p *Port) command(caller authority.Caller, r Request, def definition) (authority.Call, []byte, error) {
	args, bad := canonicalArgs(r.Args)
	if bad != nil {
		return authority.Call{}, nil, bad
	}
	condition, bad := canonicalIf(r.If)
	if bad != nil {
		return authority.Call{}, nil, bad
	}
	deadline := r.Deadline
	if deadline <= 0 {
		deadline = bound.CallDeadline.Duration()
	}
	if deadline > bound.CallDeadline.Duration() {
		return authority.Call{}, nil, bound.CallDeadline.Exceeded()
	}
	t := def.Target
	parts := digest.Join(t.Resource.String(), t.Contract, t.Method).Bytes(args).Bytes(condition)
	c := authority.Call{
		Caller: caller, Tx: r.Tx, Minted: r.Minted, Target: t, Contract: r.Contract,
		Request: parts.Sum(digest.Request), Input: parts.Sum(digest.Input), Args: args,
		HasIf: len(condition) > 0, Ack: r.Ack, Confirm: r.Confirm, Deadline: deadline,
		Node: p.node, Epoch: p.epoch, NewInvocation: id.New[id.Invocation](), NewConfirmation: id.New[id.Confirmation](),
	}
	if def.input != nil {
		c.CheckedAgainst = def.pin
		c.ArgsFault = def.checkArgs(args)
	}
	if len(r.Args) > 0 {
		args = r.Args // the executor gets the caller's own bytes
	}
	return c, args, nil
}

func unavailable(err error) error {
	if fault.Is(err, fault.From(err).Code) {
		return err
	}
	return fault.New(fault.Unavailable, "the store cannot be read now").Because(err)
}
