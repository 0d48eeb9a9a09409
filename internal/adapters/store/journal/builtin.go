package journal

import (
	"context"
	"errors"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// operation is what one built-in method does inside the transaction of its call.
// A fault means that the request itself is wrong and leaves no row; every other
// way it ends is journalled.
type operation func(tx *ledger.Tx, r run) (done, error)

// run is one call of a built-in.
type run struct {
	call      authority.Call
	row       invocation.Row
	condition []byte
}

// done is how an operation ended: with a result or with a failure.
type done struct {
	result  any
	version string // of the item that it found or made
	wrote   bool
	failed  *fault.Fault
}

type operationKey struct{ contract, method string }

// operations are the methods of the built-in contracts (pool page, section 10).
var operations = map[operationKey]operation{
	{contract.ItemStoreURL, "get"}:    getItem,
	{contract.ItemStoreURL, "list"}:   listItems,
	{contract.ItemStoreURL, "put"}:    putItem,
	{contract.ItemStoreURL, "delete"}: deleteItem,
	{contract.ProfileURL, "get"}:      getProfile,
	{contract.GrantsURL, "list"}:      listGrants,
	{contract.JournalURL, "list"}:     listJournal,
	{contract.JournalURL, "get"}:      getJournal,
}

// RunBuiltin decides about a call of a built-in, executes it and writes its
// outcome in one commit. A call that fails on the state of things, such as a
// precondition that does not hold, is journalled as failed and had no effect. A
// commit of unknown outcome is a doubt, never a refusal (fault points, FP18); it
// says nothing new of a call that was executed before. Condition is the raw
// precondition or nil.
func (j *Journal) RunBuiltin(ctx context.Context, c authority.Call, condition []byte) (invocation.Answer, error) {
	c.Ready = true
	var d decided
	err := j.ledger.Write(ctx, func(tx *ledger.Tx) (err error) {
		if d, err = j.decide(tx, c); err != nil || d.refusal != nil || d.Action == authority.Replay {
			return err
		}
		op, known := operations[operationKey{c.Target.Contract, c.Target.Method}]
		if !known {
			return fault.New(fault.Unsupported, "this host has no such built-in method")
		}
		end, err := op(tx, run{c, d.Row, condition})
		if err != nil {
			return err
		}
		if err := j.spend(tx, d, false); err != nil {
			return err
		}
		d.Row, err = j.finish(tx, d, end)
		return err
	})
	if errors.Is(err, sqldb.ErrUnknown) && d.Action == authority.Dispatch {
		return unknown(d.Row), nil
	}
	if err != nil {
		j.deny(c.Caller, c.Tx, d.named, err, d.refusal)
		if d.Known != "" && !authority.IsTrouble(err) {
			return invocation.Refusal(c.Tx, fault.From(err), d.Known), nil
		}
		return invocation.Answer{}, err
	}
	j.memory.Keep(d.read)
	answer := d.Row.Answer()
	if d.Action == authority.Replay {
		answer.Replayed = true
		j.replayed(c.Caller, d.Row)
	}
	return answer, nil
}

// unknown is the answer where nobody knows whether the row is in the journal: the
// next start finds it as it was written, or not at all.
func unknown(r invocation.Row) invocation.Answer {
	r.State, r.SettledAt, r.Reconciled = invocation.Indeterminate, time.Time{}, invocation.Reconciliation{}
	r.Outcome = invocation.Doubt(invocation.JournalUnknown)
	return r.Answer()
}

// finish writes the row of a built-in that has run.
func (j *Journal) finish(tx *ledger.Tx, ch decided, end done) (invocation.Row, error) {
	verdict := invocation.Verdict{State: invocation.Succeeded, Effects: effect.None}
	outcome := invocation.Outcome{Version: end.version, Effects: effect.None}
	switch {
	case end.failed != nil:
		verdict.State, verdict.Code = invocation.Failed, end.failed.Code
		outcome.Code, outcome.Text = end.failed.Code, end.failed.Text
	default:
		result, err := strictjson.Encode(end.result)
		if err != nil {
			return ch.Row, err
		}
		outcome.Result = result
	}
	if end.wrote {
		verdict.Effects, outcome.Effects = effect.Reported, effect.Reported
	}
	row, bad := authority.DecideSettle(ch.Row, authority.Settle{Attempt: authority.AttemptOf(ch.Row), Verdict: verdict, Outcome: outcome}, tx.Now)
	if bad != nil {
		return row, bad
	}
	told, err := tx.Audit(record.Telling(audit.Called, row, ""))
	if err != nil {
		return row, err
	}
	if !ch.Taken {
		return row, j.memory.AddInvocation(tx.Tx, ch.number, ch.admitted(), row, told)
	}
	if err := j.memory.RetakeInvocation(tx.Tx, ch.admitted(), ch.Row, nil); err != nil {
		return row, err
	}
	return row, j.memory.SettleInvocation(tx.Tx, row, told)
}

// arguments reads the arguments, which were held against the method's schema.
func arguments[T any](r run) (args T, err error) {
	err = strictjson.Decode(r.call.Args, strictjson.RequestLimits, &args)
	return args, err
}

const stampForm = "2006-01-02T15:04:05.000Z"
