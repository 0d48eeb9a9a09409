package dispatch

import (
	"context"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Lookup tells what is recorded of a tx. It never dispatches and extends
// nothing.
func (p *Port) Lookup(ctx context.Context, caller authority.Caller, tx id.Tx) invocation.Answer {
	answer, err := p.journal.Lookup(ctx, caller, tx)
	if err != nil {
		err = unavailable(err)
	}
	told, was := p.unsettled.told(caller, tx)
	switch {
	case err != nil && authority.IsTrouble(err):
		return unknown(tx, err)
	case was && (fault.Is(err, fault.NotFound) || err == nil && !answer.Invocation.IsZero()):
		return told
	case err != nil:
		return refusal(tx, err)
	}
	return answer
}

// recall answers a call that the store could not decide about. This request has sent
// nothing; what an earlier one with its tx did, the caller is told as before
// (invariants I55, I59, I64; proof, "What indeterminate must look like").
func (p *Port) recall(ctx context.Context, c authority.Call, why error) invocation.Answer {
	if c.Minted {
		return refusal(c.Tx, why)
	}
	if c.Request.IsZero() { // not even the method could be read
		return unknown(c.Tx, why)
	}
	answer, known, err := p.journal.Recall(ctx, c)
	if err != nil {
		return unknown(c.Tx, why)
	}
	other := p.unsettled.sent(c.Caller, c.Tx) // before what it was told is looked up
	told, was := p.unsettled.told(c.Caller, c.Tx)
	switch {
	case was && (!known || !answer.Invocation.IsZero() || answer.Fault.Code == fault.TxInProgress):
		// What can be read of it now may not be durable.
		return told
	case other && !was && (!known || !answer.Invocation.IsZero()):
		// It may be in the very commit of which nobody knows whether it is durable.
		return unknown(c.Tx, why)
	case !known:
		return refusal(c.Tx, why)
	}
	return answer
}

// Refuse answers a request that a door could not read far enough to make a call of it,
// and records that. Nothing of it was sent; what an earlier one with its tx did, is told.
func (p *Port) Refuse(ctx context.Context, caller authority.Caller, tx id.Tx, why error) invocation.Answer {
	p.journal.Denied(caller, fault.From(why).Code)
	return p.misformed(ctx, caller, tx, why)
}

// misformed is the refusal of what has no form, under a tx that its client made.
func (p *Port) misformed(ctx context.Context, caller authority.Caller, tx id.Tx, why error) invocation.Answer {
	answer := refusal(tx, why)
	if tx.IsZero() {
		return answer
	}
	told, was := p.unsettled.told(caller, tx)
	known, is, err := p.journal.Recall(ctx, authority.Call{Caller: caller, Tx: tx})
	switch {
	case was:
		answer.Effects = told.Effects
	case err != nil:
		answer.Effects = effect.Uncertain
	case is:
		answer.Effects = known.Effects
	}
	return answer
}

// unknown answers where it cannot be looked up whether the tx was sent before.
func unknown(tx id.Tx, why error) invocation.Answer {
	f := fault.From(why)
	if f.Code == fault.Unavailable {
		f = fault.New(fault.Unavailable, "the store cannot be read now; whether this tx was sent before is not known").Because(why)
	}
	return invocation.Refusal(tx, f, effect.Uncertain)
}

// refusal answers an error that came before anything of the tx was dispatched.
func refusal(tx id.Tx, err error) invocation.Answer {
	f := fault.From(err)
	effects := effect.None
	switch f.Code {
	case fault.Unavailable, fault.Conflict, fault.InvalidRequest, fault.InvalidArgs, fault.TooLarge:
		effects = effect.NotDispatched
	}
	return invocation.Refusal(tx, f, effects)
}
