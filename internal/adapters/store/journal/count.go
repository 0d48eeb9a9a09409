package journal

import (
	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/tally"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
)

// place is where a call is written and counted.
type place struct {
	number int64 // of the row, if it is new
	scope  tally.Scope
	need   budget.Need
	read   record.CallStanding
}

func placeOf(c authority.Call, s record.CallStanding) place {
	at := place{number: s.Next, read: s, scope: tally.Scope{Owner: c.Caller.Owner, Client: c.Caller.Client, Resource: c.Target.Resource, Place: s.Place}}
	if s.Grant != nil {
		at.scope.Grant = s.Grant.ID
	}
	return at
}

// counts reports whether a call may come so far that its budget is asked. A call
// that is answered from its row uses nothing, and who holds no row sees none of it.
func counts(f authority.CallFacts) bool {
	s := f.Standing
	known := s.Client != nil && s.Method != nil && (s.Grant != nil || s.Client.Kind == authority.OwnersHand)
	return known && (f.Row == nil || f.Row.State == invocation.NotDispatched)
}

// need is what bounds the call. What the host executes itself has no ceiling; it
// holds no place.
func (j *Journal) need(s record.CallStanding) budget.Need {
	var c budget.Ceiling
	if s.Method.Binding.Kind != resource.ByHost {
		c = j.ceiling
	}
	var l budget.Limit
	if s.Grant != nil {
		l = s.Grant.Limit
	}
	return budget.Needs(c, l, s.Apps, s.Client.Kind == authority.OwnersHand)
}

// spend counts an admitted call, which holds a place if it stays open.
func (j *Journal) spend(tx *ledger.Tx, d decided, open bool) error {
	j.tally.Enter(attemptOf(d.Row), d.scope, open, tx.Now)
	if open {
		j.memory.Opened(d.Row)
	}
	if !d.need.Limit.Daily() {
		return nil
	}
	return tally.Spend(tx.Tx, d.scope, d.Row.ReservedAt)
}

// admitted is how the call's minute finds its row.
func (d decided) admitted() int64 { return tally.Admitted(d.scope, d.need, d.Row.ReservedAt) }

// refund gives a day's call back where it is known that nothing happened.
func refund(tx *ledger.Tx, r invocation.Row) error {
	if r.State != invocation.NotDispatched && r.State != invocation.ReconciledFailed {
		return nil
	}
	return tally.Refund(tx.Tx, r.Owner, r.Grant, r.ReservedAt)
}

func attemptOf(r invocation.Row) tally.Attempt {
	return tally.Attempt{Client: r.Client, Tx: r.Tx, Number: r.Attempt}
}

// ended frees the place of an attempt that was over before, or is now, or that was
// never written.
func (j *Journal) ended(a authority.Attempt) {
	j.tally.Leave(tally.Attempt{Client: a.Client, Tx: a.Tx, Number: a.Number})
	j.memory.Ended(a.Client, a.Tx, a.Number)
}
