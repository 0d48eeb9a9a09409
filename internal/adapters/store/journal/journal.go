// Package journal has the verbs of a call's life: reserve, mark, settle, look
// up, run a built-in, and what the owner does with journalled calls.
//
// Each verb is one transaction: it loads the facts, has authority decide, and
// writes what was decided (product page, "Authority"). Every attempt leaves
// exactly one row in the trail: an executed one in the commit that has its
// outcome, a replay or a denial without being waited for (invariant I63).
// Nothing here dispatches or repeats anything. A Journal is safe for concurrent
// use.
package journal

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/tally"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Journal holds the verbs.
type Journal struct {
	ledger  *ledger.Ledger
	memory  *record.Memory
	tally   *tally.Tally
	ceiling budget.Ceiling // of each resource behind an outside executor
}

// New returns the verbs over a ledger.
func New(l *ledger.Ledger, m *record.Memory, c budget.Ceiling) *Journal {
	return &Journal{l, m, tally.New(), c}
}

const (
	resourceByAlias = "SELECT r.resource FROM resources r WHERE r.owner = $1 AND r.alias = $2 AND r.alias <> ''"
	resolveMethod   = "SELECT m.contract, m.document_digest, m.definition, m.binding, m.state, m.reason FROM methods m " +
		"WHERE m.owner = $1 AND m.resource = $2 AND m.contract = $3 AND m.method = $4"
	resolveAnyContract = "SELECT m.contract, m.document_digest, m.definition, m.binding, m.state, m.reason FROM methods m " +
		"WHERE m.owner = $1 AND m.resource = $2 AND m.contract >= $3 AND m.method = $4 ORDER BY m.contract LIMIT 1"

	newestDoubt = "SELECT " + record.InvocationColumns + " FROM invocations i WHERE i.owner = $1 AND i.client = $2 AND i.input = $3 " +
		"AND i.state = 'indeterminate' ORDER BY i.settled_at DESC, i.number DESC LIMIT 1"
	pendingQuestions = "SELECT " + record.ConfirmationColumns + " FROM confirmations q WHERE q.owner = $1 AND q.client = $2 AND q.input = $3 " +
		"AND q.state IN ('open', 'approved', 'denied') ORDER BY q.asked_at, q.confirmation"
	usedQuestions = "SELECT " + record.ConfirmationColumns + " FROM confirmations q WHERE q.owner = $1 AND q.client = $2 AND q.used_by = $3 " +
		"AND q.state = 'used' ORDER BY q.confirmation"
	openQuestions = "SELECT COUNT(*), COALESCE(SUM(CASE WHEN q.client = $2 THEN 1 ELSE 0 END), 0) FROM confirmations q " +
		"WHERE q.owner = $1 AND q.state = 'open' AND q.asked_at > $3"
)

// Resolve reads a method without authorizing anything; false if there is none. The
// target is then what the reference claims, so that a decision about it cannot tell
// a method that is not there from one that the caller may not see.
func (j *Journal) Resolve(ctx context.Context, owner id.Owner, ref invocation.Reference) (out invocation.Resolved, found bool, err error) {
	query := resolveMethod
	if ref.Contract == "" {
		query = resolveAnyContract
	}
	if contract.CheckMethodID(ref.Method) != nil || ref.Contract != "" && contract.CheckURL(ref.Contract) != nil {
		return out, false, nil
	}
	err = j.ledger.Read(ctx, func(tx *ledger.Tx) error {
		t, m := &out.Target, &out.Method
		if t.Resource, err = j.resource(tx.Tx, owner, ref.Resource); err != nil {
			return err
		}
		var definition, binding []byte
		found, err = tx.One(query, []any{owner.String(), t.Resource.String(), ref.Contract, ref.Method}, record.Word(&m.Contract),
			record.Text(&m.Document), &definition, &binding, record.Word(&m.State), record.Word(&m.Reason))
		if err != nil || !found {
			t.Contract, t.Method = ref.Contract, ref.Method
			return err
		}
		t.Contract, t.Method = m.Contract, ref.Method
		m.Definition, m.Binding, err = record.DecodeMethod(ref.Method, definition, binding)
		return err
	})
	if err != nil {
		return invocation.Resolved{}, false, err
	}
	return out, found, nil
}

// resource gives the id that a reference names; one that names nothing is zero.
func (j *Journal) resource(tx *sqldb.Tx, owner id.Owner, ref string) (id.Resource, error) {
	if which, err := id.Parse[id.Resource](ref); err == nil {
		return which, nil
	}
	var which id.Resource
	if !resource.Readable(ref) {
		return which, nil
	}
	_, err := tx.One(resourceByAlias, []any{owner.String(), ref}, record.Text(&which))
	return which, err
}

// facts loads what a decision about a call looks at, and where a new row would be
// counted.
func (j *Journal) facts(tx *ledger.Tx, c authority.Call) (f authority.CallFacts, at place, err error) {
	s, err := j.memory.CallStanding(tx.Tx, c.Caller, c.Target, c.Tx, c.Input, tx.Now)
	f = authority.CallFacts{Standing: s.Standing, Restored: j.ledger.Restored()}
	at = placeOf(c, s)
	if err == nil && s.Known {
		f.Row, err = j.memory.InvocationByTx(tx.Tx, c.Caller.Owner, c.Caller.Client, c.Tx)
	}
	if err == nil && s.InDoubt {
		f.Held, err = j.memory.OneInvocation(tx.Tx, newestDoubt, c.Caller.Owner.String(), c.Caller.Client.String(), c.Input.String())
	}
	if err == nil && counts(f) {
		f.Need = j.need(s)
		at.need = f.Need
		f.Use, err = j.tally.Use(tx.Tx, at.scope, f.Need, tx.Now)
	}
	if err != nil || s.Grant == nil || !s.Grant.Asks() {
		return f, at, err
	}
	f.Confirmations, err = questions(tx, pendingQuestions, c, c.Input.String())
	if err == nil && f.Row != nil {
		var used []confirmation.Row
		used, err = questions(tx, usedQuestions, c, c.Tx.String())
		f.Confirmations = append(used, f.Confirmations...) // its own yes first
	}
	if err == nil {
		_, err = tx.One(openQuestions, []any{c.Caller.Owner.String(), c.Caller.Client.String(), confirmation.WaitsSince(tx.Now).UnixMilli()},
			&f.OpenQuestions, &f.AppQuestions)
	}
	return f, at, err
}

func questions(tx *ledger.Tx, query string, c authority.Call, key string) ([]confirmation.Row, error) {
	rows, err := tx.Query(query, c.Caller.Owner.String(), c.Caller.Client.String(), key)
	return sqldb.Collect(rows, err, func(rows *sql.Rows) (confirmation.Row, error) { return record.ScanConfirmation(rows) })
}

// decided is what came of a decision inside its transaction. A refusal that was
// recorded there needs no other row in the trail.
type decided struct {
	authority.CallChanges
	place
	refusal *fault.Fault
	named   invocation.Target // what the owner may be told was asked for
}

// decide loads, decides and writes everything but the row itself.
func (j *Journal) decide(tx *ledger.Tx, c authority.Call) (d decided, err error) {
	f, at, err := j.facts(tx, c)
	if err != nil {
		return d, err
	}
	ch, bad := authority.DecideCall(f, c, tx.Now)
	d.CallChanges, d.place = ch, at
	d.named = named(f.Standing, c.Target)
	if bad != nil && ch.Ask == nil {
		return d, bad
	}
	if bad != nil {
		if err := j.memory.AddConfirmation(tx.Tx, *ch.Ask); err != nil {
			return d, err
		}
		if _, err := tx.Audit(denial(c.Caller, about(ch.Ask.ID.String(), d.named), bad)); err != nil {
			return d, err
		}
		d.refusal = bad
		return d, tx.Refuse(bad)
	}
	for _, q := range f.Confirmations {
		if q.ID == ch.Use && !ch.Use.IsZero() {
			q.State, q.UsedBy = confirmation.Used, c.Tx
			err = record.MoveConfirmation(tx.Tx, q)
		}
	}
	return d, err
}

// named is as much of a target as the pool has. A name that it has not may be anything
// that a caller wrote, and stands nowhere.
func named(s authority.Standing, t invocation.Target) (out invocation.Target) {
	if s.Resource != nil {
		out.Resource = t.Resource
	}
	if s.Method != nil {
		out.Method = t.Method
	}
	return out
}

// about is what a refused attempt was about: a tx or a question, and what was named.
func about(subject string, t invocation.Target) string {
	if t.Resource.IsZero() {
		return subject
	}
	return strings.TrimSuffix(subject+" "+t.Resource.String()+" "+t.Method, " ")
}

// denial is the row of the trail about a refused attempt.
func denial(c authority.Caller, subject string, err error) audit.Entry {
	return audit.Entry{Owner: c.Owner, Client: c.Client, Kind: audit.Denied, Subject: subject, Detail: string(fault.From(err).Code)}
}

// deny records a refused attempt without waiting for it, unless the commit that
// refused it has done so.
func (j *Journal) deny(c authority.Caller, which id.Tx, t invocation.Target, err error, recorded *fault.Fault) {
	if authority.IsStale(err) {
		return // the attempt goes on with the definition as it is now
	}
	if recorded == nil || !errors.Is(err, recorded) {
		j.ledger.Later(denial(c, about(which.String(), t), err))
	}
}

// replayed records that an answer was given again.
func (j *Journal) replayed(c authority.Caller, r invocation.Row) {
	j.ledger.Later(audit.Entry{Owner: c.Owner, Client: c.Client, Kind: audit.Replayed, Subject: r.ID.String(), Detail: string(r.State)})
}
