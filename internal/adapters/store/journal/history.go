package journal

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	namesOfCall = " LEFT JOIN clients c ON c.owner = i.owner AND c.client = i.client LEFT JOIN resources r ON r.owner = i.owner AND r.resource = i.resource"

	callByID = "SELECT " + record.InvocationColumns + ", c.name, r.label, i.args FROM invocations i" + namesOfCall +
		" WHERE i.owner = $1 AND i.invocation = $2"
	// Of each client's own key; two clients may use one tx.
	callByTx = "SELECT " + record.InvocationColumns + ", c.name, r.label, i.args FROM clients c " +
		"JOIN invocations i ON i.owner = c.owner AND i.client = c.client AND i.tx = $2 " +
		"LEFT JOIN resources r ON r.owner = i.owner AND r.resource = i.resource WHERE c.owner = $1 LIMIT 2"
	lateOfCall = "SELECT e.at FROM audit e WHERE e.kind = 'alarm' AND e.owner = $1 AND e.subject = $2 ORDER BY e.entry LIMIT 1"
	yesOfCall  = "SELECT q.confirmation, q.decided_at FROM confirmations q WHERE q.owner = $1 AND q.client = $2 AND q.used_by = $3 AND q.state = 'used' " +
		"ORDER BY q.decided_at DESC LIMIT 1"
	pageOrder = " ORDER BY i.number DESC LIMIT $3"
)

// pageOfCalls leaves results out, which may be large, and arguments.
var pageOfCalls = "SELECT " + strings.Replace(record.InvocationColumns, "i.result", "NULL", 1) + ", c.name, r.label, i.number - o.number " +
	"FROM owners o JOIN invocations i ON i.owner = o.owner AND i.number > o.number AND i.number < o.number + $2" + namesOfCall + " WHERE o.owner = $1"

// scanCall reads a whole call, with what was sent where that is kept.
func (j *Journal) scanCall(rows *sql.Rows) (v view.Invocation, err error) {
	var args []byte
	if v.Row, err = record.ScanInvocation(rows, record.Word(&v.App), record.Word(&v.Resource), &args); err != nil {
		return v, err
	}
	if err = j.memory.Unseal(&v.Row); err == nil {
		v.Args, err = j.memory.UnsealArgs(&v.Row, args)
	}
	return v, err
}

// Invocations lists the owner's calls, newest first, without their results, and
// the cursor of the next page, empty on the last one.
func (j *Journal) Invocations(ctx context.Context, owner id.Owner, f view.JournalFilter) (list []view.Invocation, next string, err error) {
	if err := bound.PageRows.Check(f.Limit); err != nil {
		return nil, "", err
	}
	before, err := parseCursor(f.Before)
	if err != nil {
		return nil, "", err
	}
	limit := pageOr(f.Limit)
	query, args := pageOfCalls, []any{owner.String(), before, limit + 1}
	if f.State != "" {
		if !slices.Contains(invocation.States(), f.State) {
			return nil, "", fault.New(fault.InvalidRequest, "there is no such state of a call")
		}
		args = append(args, string(f.State))
		query += fmt.Sprintf(" AND i.state = $%d", len(args))
	}
	if !f.Client.IsZero() {
		args = append(args, f.Client.String())
		query += fmt.Sprintf(" AND i.client = $%d", len(args))
	}
	var places []int64
	err = j.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(query+pageOrder, args...)
		list, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (v view.Invocation, err error) {
			var place int64
			v.Row, err = record.ScanInvocation(rows, record.Word(&v.App), record.Word(&v.Resource), &place)
			places = append(places, place)
			return v, err
		})
		return err
	})
	if err == nil && len(list) > limit {
		list, next = list[:limit], strconv.FormatInt(places[limit-1], 10)
	}
	return list, next, err
}

// parseCursor reads the place of the last row of a page; the empty text is the
// place behind all of them.
func parseCursor(text string) (int64, error) {
	if text == "" {
		return record.CallsOfOwner, nil
	}
	place, err := strconv.ParseInt(text, 10, 64)
	if err != nil || place < 1 || place > record.CallsOfOwner {
		return 0, fault.New(fault.InvalidRequest, "not the cursor of a page")
	}
	return place, nil
}

// Invocation finds one call of the owner's by its id or tx.
func (j *Journal) Invocation(ctx context.Context, owner id.Owner, ref string) (view.Invocation, error) {
	query, key := callByID, ""
	if which, err := id.Parse[id.Invocation](ref); err == nil {
		key = which.String()
	} else if tx, err := id.Parse[id.Tx](ref); err == nil {
		query, key = callByTx, tx.String()
	}
	var list []view.Invocation
	err := j.ledger.Read(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(query, owner.String(), key)
		if list, err = sqldb.Collect(rows, err, j.scanCall); err != nil || len(list) != 1 {
			return err
		}
		v := &list[0]
		_, err = tx.One(yesOfCall, []any{owner.String(), v.Row.Client.String(), v.Row.Tx.String()}, record.Text(&v.Confirmation), record.Moment(&v.ConfirmedAt))
		if err == nil {
			_, err = tx.One(lateOfCall, []any{owner.String(), v.Row.ID.String()}, record.Moment(&v.LateAt))
		}
		return err
	})
	switch {
	case err != nil:
		return view.Invocation{}, err
	case len(list) == 0:
		return view.Invocation{}, authority.NotFound()
	case len(list) > 1:
		return view.Invocation{}, fault.New(fault.Conflict, "more than one app used this tx; name the call by its id")
	}
	return list[0], nil
}

// Reconcile ends a doubt by the owner's statement.
func (j *Journal) Reconcile(ctx context.Context, owner id.Owner, which id.Invocation, say authority.Statement) (invocation.Row, error) {
	var row invocation.Row
	err := j.ledger.Write(ctx, func(tx *ledger.Tx) error {
		before, err := j.memory.InvocationByID(tx.Tx, owner, which)
		if err != nil {
			return err
		}
		if before == nil {
			return authority.NotFound()
		}
		after, bad := authority.DecideReconcile(*before, say, tx.Now)
		if bad != nil {
			return bad
		}
		if row = after; row.State == before.State {
			return nil
		}
		return j.settle(tx, audit.Reconciled, row, "")
	})
	if err != nil {
		return invocation.Row{}, err
	}
	return row, nil
}
