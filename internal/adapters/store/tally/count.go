package tally

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	// Of what is open and has not yet passed its deadline and grace: how many, and
	// the first deadline, for account, resource, client and grant.
	openNow = "SELECT COUNT(*), COALESCE(MIN(u.deadline_at), 0)" +
		", COALESCE(SUM(CASE WHEN u.resource = $3 THEN 1 ELSE 0 END), 0), COALESCE(MIN(CASE WHEN u.resource = $3 THEN u.deadline_at END), 0)" +
		", COALESCE(SUM(CASE WHEN u.resource = $3 AND u.client = $4 THEN 1 ELSE 0 END), 0)" +
		", COALESCE(MIN(CASE WHEN u.resource = $3 AND u.client = $4 THEN u.deadline_at END), 0)" +
		", COALESCE(SUM(CASE WHEN u.grant_id = $5 THEN 1 ELSE 0 END), 0), COALESCE(MIN(CASE WHEN u.grant_id = $5 THEN u.deadline_at END), 0)" +
		" FROM invocations u WHERE u.owner = $1 AND u.deadline_at > $2 AND u.state IN ('reserved', 'dispatching')"

	// The call with whose end of its minute there is room again.
	admitted       = "SELECT i.reserved_at FROM invocations i WHERE i.admitted > 0 AND i.admitted > $1 AND i.admitted <= $2"
	newest         = " ORDER BY i.admitted DESC LIMIT 1 OFFSET $3"
	fullOfResource = admitted + newest
	fullOfClient   = admitted + " AND i.client = $4" + newest
	fullOfGrant    = admitted + " AND i.grant_id = $4" + newest

	seedCounts = "SELECT COUNT(*), COALESCE(SUM(CASE WHEN i.client = $3 THEN 1 ELSE 0 END), 0)" +
		", COALESCE(SUM(CASE WHEN i.grant_id = $4 THEN 1 ELSE 0 END), 0)" +
		" FROM invocations i WHERE i.admitted > 0 AND i.admitted > $1 AND i.admitted <= $2"

	callsOfDay = "SELECT d.calls FROM spending d WHERE d.owner = $1 AND d.grant_id = $2 AND d.day = $3"
	spend      = "INSERT INTO spending (owner, grant_id, day, calls) VALUES ($1, $2, $3, 1) " +
		"ON CONFLICT (owner, grant_id, day) DO UPDATE SET calls = spending.calls + 1"
	carry  = "UPDATE spending SET grant_id = $4, calls = $5 WHERE owner = $1 AND grant_id = $2 AND day = $3"
	hold   = "UPDATE spending SET calls = calls + 1 WHERE owner = $1 AND grant_id = $2 AND day = $3"
	refund = "UPDATE spending SET calls = calls - 1 WHERE owner = $1 AND grant_id = $2 AND day = $3 AND calls > 0"
)

// count reads the true numbers of what is bounded.
func count(tx *sqldb.Tx, s Scope, n budget.Need, u *budget.Usage, now time.Time) error {
	var first [4]int64
	open := [4]*budget.Window{&u.Account, &u.Resource, &u.Client, &u.Grant}
	grace := now.Add(-bound.CallGrace.Duration()).UnixMilli()
	if _, err := tx.One(openNow, []any{s.Owner.String(), grace, s.Resource.String(), s.Client.String(), s.Grant.String()},
		&open[0].AtOnce, &first[0], &open[1].AtOnce, &first[1], &open[2].AtOnce, &first[2], &open[3].AtOnce, &first[3]); err != nil {
		return err
	}
	for i, w := range open {
		w.Free, w.Minute = free(first[i]), 0
	}
	for _, w := range []struct {
		query string
		most  int64
		key   string
		into  *budget.Window
	}{
		{fullOfResource, n.Resource.PerMinute, "", &u.Resource},
		{fullOfClient, n.Client.PerMinute, s.Client.String(), &u.Client},
		{fullOfGrant, n.Grant.PerMinute, s.Grant.String(), &u.Grant},
	} {
		if w.most == 0 {
			continue
		}
		after, last := since(s, now)
		args := []any{after, last, w.most - 1}
		if w.key != "" {
			args = append(args, w.key)
		}
		var at int64
		full, err := tx.One(w.query, args, &at)
		if err != nil {
			return err
		}
		if full {
			w.into.Minute, w.into.First = w.most, time.UnixMilli(at).UTC()
		}
	}
	return nil
}

// seed adds what the rows have of the last minute to fresh gauges; it leaves them
// a little later than the rows do.
func seed(tx *sqldb.Tx, s Scope, fresh [4]*gauge, now time.Time) error {
	var calls [3]int64
	after, last := since(s, now)
	if _, err := tx.One(seedCounts, []any{after, last, s.Client.String(), s.Grant.String()}, &calls[0], &calls[1], &calls[2]); err != nil {
		return err
	}
	for i, g := range fresh[1:] {
		if g != nil {
			g.add(periodOf(now), calls[i])
		}
	}
	return nil
}

func day(at time.Time) int64 { return budget.Today(at).UnixMilli() }

func today(tx *sqldb.Tx, s Scope, now time.Time) (calls int64, err error) {
	return Today(tx, s.Owner, s.Grant, now)
}

// Today is how many calls of a grant the day holds.
func Today(tx *sqldb.Tx, owner id.Owner, grant id.Grant, now time.Time) (calls int64, err error) {
	_, err = tx.One(callsOfDay, []any{owner.String(), grant.String(), day(now)}, &calls)
	return calls, err
}

// Spend takes one call of a grant's day.
func Spend(tx *sqldb.Tx, s Scope, now time.Time) error {
	_, err := tx.Exec(spend, s.Owner.String(), s.Grant.String(), day(now))
	return err
}

// Carry moves what the day of one grant holds to the grant that takes its place.
func Carry(tx *sqldb.Tx, owner id.Owner, from, to grant.Row, now time.Time) error {
	calls, err := Today(tx, owner, from.ID, now)
	if err != nil || calls == 0 {
		return err
	}
	_, err = tx.Exec(carry, owner.String(), from.ID.String(), day(now), to.ID.String(), budget.Carried(calls, from.Limit, to.Limit))
	return err
}

// Hold takes again what was given back, of a call that is in doubt after all.
func Hold(tx *sqldb.Tx, owner id.Owner, grant id.Grant, at time.Time) error {
	_, err := tx.Exec(hold, owner.String(), grant.String(), day(at))
	return err
}

// Refund gives a call back to the day that it was admitted on, where the day is
// counted.
func Refund(tx *sqldb.Tx, owner id.Owner, grant id.Grant, at time.Time) error {
	if grant.IsZero() {
		return nil
	}
	_, err := tx.Exec(refund, owner.String(), grant.String(), day(at))
	return err
}
