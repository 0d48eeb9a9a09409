// Package alone does what a host's calls leave in its store, without a host:
// once through the store's own verbs, and once as bare rows through the same
// writer. Figures of the host are ratios to these, taken in the same run.
//
// Verbs and Rows each own a data folder of their own and are safe for concurrent
// use.
package alone

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/bench/whole"
	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Verbs is a store whose verbs are called as the port calls them.
type Verbs struct {
	store  *store.Store
	caller authority.Caller
	echo   invocation.Resolved
	get    invocation.Resolved
	put    invocation.Resolved
	result []byte // of a call of echo, as the host recorded it
	made   int64
}

// OpenVerbs opens a copy of a pool. The calls of its dead host count as
// recovered.
func OpenVerbs(ctx context.Context, p whole.Pool) (*Verbs, error) {
	s, err := store.Open(ctx, p.Dir, store.Options{Ceiling: whole.Ceiling})
	if err != nil {
		return nil, err
	}
	v := &Verbs{store: s}
	if err := v.load(ctx, p); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return v, nil
}

func (v *Verbs) load(ctx context.Context, p whole.Pool) (err error) {
	if _, err := v.store.Recover(ctx); err != nil {
		return err
	}
	if v.caller, err = whole.Who(ctx, v.store.FindToken, p.RPC); err != nil {
		return err
	}
	for _, m := range []struct {
		into *invocation.Resolved
		ref  invocation.Reference
	}{
		{&v.echo, invocation.Reference{Resource: p.Resource, Method: whole.Method}},
		{&v.get, invocation.Reference{Resource: resource.AliasItems, Contract: contract.ItemStoreURL, Method: "get"}},
		{&v.put, invocation.Reference{Resource: resource.AliasItems, Contract: contract.ItemStoreURL, Method: "put"}},
	} {
		var found bool
		if *m.into, found, err = v.store.Resolve(ctx, v.caller.Owner, m.ref); err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("alone: %s is not there", m.ref.Method)
		}
	}
	row, err := v.store.Invocation(ctx, v.caller.Owner, p.FirstCall)
	v.result = row.Row.Outcome.Result
	return err
}

// Close closes the store.
func (v *Verbs) Close() error { return v.store.Close() }

// Stats are the store's counts.
func (v *Verbs) Stats() sqldb.Stats { return v.store.Stats() }

// ResultBytes is how long the recorded result of a call of echo is.
func (v *Verbs) ResultBytes() int { return len(v.result) }

// command is the command that the port makes of a request.
func (v *Verbs) command(m invocation.Resolved, args, condition string) authority.Call {
	t := m.Target
	parts := digest.Join(t.Resource.String(), t.Contract, t.Method).Text(args).Text(condition)
	return authority.Call{
		Caller: v.caller, Tx: id.NewTx(time.Now()), Target: t, Request: parts.Sum(digest.Request), Input: parts.Sum(digest.Input),
		Args: []byte(args), HasIf: condition != "", Deadline: 30 * time.Second, CheckedAgainst: m.Method.Definition.Digest(), Ready: true,
		Node: v.store.Node(), Epoch: v.store.Epoch(), NewInvocation: id.New[id.Invocation](), NewConfirmation: id.New[id.Confirmation](),
	}
}

// Dispatched reserves and settles n calls of echo: two commits each, one after
// the other.
func (v *Verbs) Dispatched(ctx context.Context, callers, n int) (meter.Times, error) {
	calls := make([]authority.Call, n)
	for i := range calls {
		calls[i] = v.command(v.echo, fmt.Sprintf(`{"text":%q}`, load.Text), "")
	}
	return meter.Spread(callers, n, func(_, i int) error {
		ch, err := v.store.Reserve(ctx, calls[i])
		if err != nil {
			return err
		}
		ev := invocation.Event{Kind: invocation.Answered, Result: v.result}
		verdict := invocation.Classify(ev)
		_, err = v.store.Settle(ctx, v.caller, authority.Settle{Attempt: authority.AttemptOf(ch.Row), Verdict: verdict,
			Outcome: invocation.Outcome{Effects: verdict.Effects, Result: ev.Result}})
		return err
	})
}

// Builtin gets one item n times, or puts n new ones: one commit each.
func (v *Verbs) Builtin(ctx context.Context, kind load.Kind, callers, n int) (meter.Times, error) {
	calls := make([]authority.Call, n)
	condition := ""
	for i := range calls {
		if kind == load.Get {
			calls[i] = v.command(v.get, fmt.Sprintf(`{"key":%q}`, load.Key), "")
			continue
		}
		v.made++
		condition = `{"absent":true}`
		calls[i] = v.command(v.put, fmt.Sprintf(`{"key":%q,"value":%q}`, load.KeyOf(v.made), load.Value), condition)
	}
	return meter.Spread(callers, n, func(_, i int) error {
		answer, err := v.store.RunBuiltin(ctx, calls[i], []byte(condition))
		if err == nil && answer.Status != invocation.OK {
			err = answer.Fault
		}
		return err
	})
}

// Leave reserves n calls of echo and lets go of them, as a host does that dies. An
// account has a bounded number of places at once, and a call gives its place up
// when its time is over; so the calls have next to none, and come in parts.
func (v *Verbs) Leave(ctx context.Context, callers, n int) error {
	part := bound.AccountAtOnce.Int() / 2
	for done := 0; done < n; done += part {
		_, err := meter.Spread(min(callers, part), min(part, n-done), func(_, i int) error {
			c := v.command(v.echo, fmt.Sprintf(`{"text":"%d"}`, done+i), "")
			c.Deadline, c.Ready = time.Millisecond, i%2 == 0 // the others are reserved only
			_, err := v.store.Reserve(ctx, c)
			return err
		})
		if err != nil {
			return err
		}
		select {
		case <-time.After(2 * bound.CallGrace.Duration()):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Verify checks the whole trail and returns the number of its rows.
func (v *Verbs) Verify(ctx context.Context) (int64, error) {
	got, err := v.store.Verify(ctx, nil)
	if err == nil && (got.Break != nil || len(got.Mismatches) > 0) {
		err = fmt.Errorf("alone: the trail does not hold: %+v", got)
	}
	return got.Rows, err
}
