package retention

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	everyOwner = "SELECT o.owner, o.number, COALESCE(s.results, 0), COALESCE(s.calls, 0) FROM owners o LEFT JOIN sweeps s ON s.owner = o.owner"
	saveSweep  = "INSERT INTO sweeps (owner, results, calls) VALUES ($1, $2, $3) ON CONFLICT (owner) DO UPDATE SET results = $2, calls = $3"

	// In the order of their reservation, which is that of their outcomes but for
	// rows that were moved later: those are found by the entry of that.
	nextCalls = "SELECT " + record.InvocationColumns + ", i.told, i.number FROM invocations i WHERE i.number > $1 AND i.number < $2 ORDER BY i.number LIMIT $3"
	movedRows = "SELECT " + record.InvocationColumns + ", i.told, i.number FROM invocations i WHERE (i.reconciled_at > 0 OR i.attempt > 1) " +
		"AND i.told > $1 AND i.told <= $2 ORDER BY i.told LIMIT $3"
	newestCall = "SELECT n.number FROM invocations n WHERE n.number > $1 AND n.number < $2 ORDER BY n.number DESC LIMIT 1"

	forget = "UPDATE invocations SET result = NULL, removed = $2 WHERE number = $1"
	remove = "DELETE FROM invocations WHERE number = $1"

	atOnce = 64 // rows of a transaction; each may hold a result
)

// cursor is how far an owner's rows were looked at, by their numbers.
type cursor struct {
	owner  id.Owner
	base   int64
	places [2]int64 // of each kind
}

// call is a row with its places in the trail and in the journal.
type call struct {
	row    invocation.Row
	told   int64
	number int64
}

func scan(rows *sql.Rows) (c call, err error) {
	c.row, err = record.ScanInvocation(rows, &c.told, &c.number)
	return c, err
}

// moved reports whether the row's outcome may be much younger than its number.
func (c call) moved() bool { return !c.row.Reconciled.At.IsZero() || c.row.Attempt > 1 }

// sweep takes what is due of one kind and says how many rows it changed.
func (r *Retention) sweep(ctx context.Context, k kind, due int64) (taken int, err error) {
	if due == 0 {
		return 0, nil
	}
	var owners []cursor
	if err := r.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(everyOwner)
		owners, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (c cursor, err error) {
			err = rows.Scan(record.Text(&c.owner), &c.base, &c.places[0], &c.places[1])
			return c, err
		})
		return err
	}); err != nil {
		return 0, err
	}
	for i := range owners {
		n, err := r.repeat(ctx, func(tx *ledger.Tx) (step, error) { return r.ofOwner(tx, k, due, &owners[i]) })
		if taken += n; err != nil {
			return taken, err
		}
	}
	n, err := r.repeat(ctx, func(tx *ledger.Tx) (step, error) { return r.ofMoved(tx, k, due) })
	return taken + n, err
}

// step is what one transaction of a sweep did, and where the next one starts once it
// is durable.
type step struct {
	taken   int
	more    bool
	reached *int64
	to      int64
}

// repeat runs a job, each time in a transaction of its own, until it is at an end.
func (r *Retention) repeat(ctx context.Context, job func(tx *ledger.Tx) (step, error)) (taken int, err error) {
	for more := true; more; {
		var s step
		if err := r.ledger.Write(ctx, func(tx *ledger.Tx) (err error) {
			s, err = job(tx)
			return err
		}); err != nil {
			return taken, err
		}
		*s.reached, more = s.to, s.more
		taken += s.taken
	}
	return taken, nil
}

// ofOwner takes the next rows of an owner. It stops at the first that is not due,
// but for those that wait for somebody or were moved.
func (r *Retention) ofOwner(tx *ledger.Tx, k kind, due int64, c *cursor) (step, error) {
	from := max(c.base, c.places[k.index])
	s := step{reached: &c.places[k.index], to: from}
	rows, err := tx.Query(nextCalls, from, c.base+record.CallsOfOwner, atOnce)
	list, err := sqldb.Collect(rows, err, scan)
	if err != nil {
		return s, err
	}
	s.more = len(list) == atOnce
	for _, at := range list {
		if !at.moved() && at.row.State != invocation.Indeterminate {
			if at.row.State.Unresolved() || at.told > due {
				s.more = false
				break
			}
			n, err := r.take(tx, k, at)
			if err != nil {
				return s, err
			}
			if n == 0 && k == calls { // the newest, which is looked at again
				s.more = false
				break
			}
			s.taken += n
		}
		s.to = at.number
	}
	if s.to == from {
		return s, nil
	}
	places := c.places
	places[k.index] = s.to
	if _, err := tx.Exec(saveSweep, c.owner.String(), places[0], places[1]); err != nil {
		return s, err
	}
	return s, r.tell(tx, c.owner, k, due, s.taken)
}

// ofMoved takes rows that were moved after others that came behind them.
func (r *Retention) ofMoved(tx *ledger.Tx, k kind, due int64) (step, error) {
	s := step{reached: &r.moved[k.index], to: r.moved[k.index]}
	rows, err := tx.Query(movedRows, s.to, due, atOnce)
	list, err := sqldb.Collect(rows, err, scan)
	if err != nil {
		return s, err
	}
	s.more = len(list) == atOnce
	for _, at := range list {
		if at.row.State.Settled() && at.row.State != invocation.Indeterminate || at.row.State == invocation.NotDispatched {
			n, err := r.take(tx, k, at)
			if err != nil {
				return s, err
			}
			s.taken += n
		}
		s.to = at.told
	}
	return s, r.tell(tx, id.Owner{}, k, due, s.taken)
}

func (r *Retention) tell(tx *ledger.Tx, owner id.Owner, k kind, due int64, taken int) error {
	if taken == 0 {
		return nil
	}
	_, err := tx.Audit(told(owner, k.subject, due, int64(taken)))
	return err
}

// take takes the result of a row, or the row. The newest row of an owner stays, since
// the next one's number follows from it; so does a result that does not open, which
// is for a check of the trail to name.
func (r *Retention) take(tx *ledger.Tx, k kind, at call) (int, error) {
	if k == results {
		if len(at.row.Outcome.Result) == 0 || !r.opens(&at.row) {
			return 0, nil
		}
		_, err := tx.Exec(forget, at.number, at.row.Forget().Outcome.Removed.String())
		return 1, err
	}
	base := at.number / record.CallsOfOwner * record.CallsOfOwner
	var newest int64
	if _, err := tx.One(newestCall, []any{base, base + record.CallsOfOwner}, &newest); err != nil || newest == at.number {
		return 0, err
	}
	_, err := tx.Exec(remove, at.number)
	return 1, err
}

// opens unseals a result, if it does open.
func (r *Retention) opens(row *invocation.Row) bool { return r.memory.Unseal(row) == nil }
