package record

import (
	"database/sql"
	"encoding"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/vault"
)

// InvocationColumns are those of ScanInvocation, of the table named i.
const InvocationColumns = "i.invocation, i.owner, i.client, i.tx, i.resource, i.contract, i.method, i.request, i.input, i.grant_id, " +
	"i.revision, i.classes, i.state, i.node, i.epoch, i.attempt, i.reserved_at, i.dispatched_at, i.deadline_at, i.settled_at, " +
	"i.code, i.message, i.reason, i.effects, i.result, i.removed, i.version, i.detail, i.reconciled_by, i.reconciled_at"

const (
	invocationByTx = "SELECT " + InvocationColumns + " FROM invocations i WHERE i.owner = $1 AND i.client = $2 AND i.tx = $3"
	invocationByID = "SELECT " + InvocationColumns + " FROM invocations i WHERE i.owner = $1 AND i.invocation = $2"

	// A row without an outcome, and one that has it from the start.
	reserveInvocation = "INSERT INTO invocations (number, owner, client, tx, invocation, resource, contract, method, request, input, grant_id, " +
		"revision, classes, state, node, epoch, attempt, reserved_at, dispatched_at, deadline_at, effects, settled_at, " +
		"code, message, reason, result, version, detail, reconciled_by, reconciled_at, told, admitted, removed, args) VALUES (" +
		"$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, 0, '', '', '', NULL, '', '', '', 0, 0, $22, '', $23)"
	addInvocation = "INSERT INTO invocations (number, owner, client, tx, invocation, resource, contract, method, request, input, grant_id, " +
		"revision, classes, state, node, epoch, attempt, reserved_at, dispatched_at, deadline_at, effects, settled_at, " +
		"code, message, reason, result, version, detail, reconciled_by, reconciled_at, told, admitted, removed) VALUES (" +
		"$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $23, $24, $25, $26, $27, $28, $29, '', 0, $30, $22, '')"

	// The next take-up of a row that was not dispatched.
	retakeInvocation = "UPDATE invocations SET resource = $4, contract = $5, method = $6, request = $7, input = $8, grant_id = $9, " +
		"revision = $10, classes = $11, state = $12, node = $13, epoch = $14, attempt = $15, reserved_at = $16, dispatched_at = $17, " +
		"deadline_at = $18, settled_at = $19, code = $20, message = $21, reason = $22, effects = $23, result = $24, version = $25, " +
		"detail = $26, admitted = $27, args = $28 WHERE owner = $1 AND client = $2 AND tx = $3"

	markInvocation = "UPDATE invocations SET state = $4, dispatched_at = $5 WHERE owner = $1 AND client = $2 AND tx = $3"

	settleInvocation = "UPDATE invocations SET state = $4, dispatched_at = $5, settled_at = $6, code = $7, message = $8, reason = $9, " +
		"effects = $10, result = $11, version = $12, detail = $13, reconciled_by = $14, reconciled_at = $15, " +
		"told = $16, args = CASE WHEN $4 = 'indeterminate' THEN args END WHERE owner = $1 AND client = $2 AND tx = $3"
)

func invocationFields(r *invocation.Row, text func(encoding.TextUnmarshaler) sql.Scanner) []any {
	return []any{text(&r.ID), text(&r.Owner), text(&r.Client), text(&r.Tx), text(&r.Target.Resource), Word(&r.Target.Contract),
		Word(&r.Target.Method), text(&r.Request), text(&r.Input), text(&r.Grant), text(&r.Revision), text(&r.Classes), Word(&r.State),
		text(&r.Node), Number(&r.Epoch), Number(&r.Attempt), Moment(&r.ReservedAt), Moment(&r.DispatchedAt), Moment(&r.DeadlineAt),
		Moment(&r.SettledAt), Word(&r.Outcome.Code), Word(&r.Outcome.Text), Word(&r.Outcome.Reason), Word(&r.Outcome.Effects),
		&r.Outcome.Result, text(&r.Outcome.Removed), Word(&r.Outcome.Version), Word(&r.Outcome.Detail), Word(&r.Reconciled.By), Moment(&r.Reconciled.At)}
}

// openColumns are those by which a row is known to be the one that this process
// reserved, and those that may have changed since: a fraction of what each call
// that settles would read else.
const openColumns = "i.state, i.node, i.epoch, i.attempt, i.reserved_at, i.dispatched_at, i.deadline_at"

func openFields(r *invocation.Row) []any {
	return []any{Word(&r.State), Text(&r.Node), Number(&r.Epoch), Number(&r.Attempt), Moment(&r.ReservedAt), Moment(&r.DispatchedAt),
		Moment(&r.DeadlineAt)}
}

// ScanInvocation reads a row of InvocationColumns; more destinations follow it. Its
// result is sealed until Open.
func ScanInvocation(rows *sql.Rows, more ...any) (r invocation.Row, err error) {
	err = rows.Scan(append(invocationFields(&r, Text), more...)...)
	return r, err
}

// ScanClaimedInvocation is ScanInvocation for a row that may have been tampered
// with.
func ScanClaimedInvocation(rows *sql.Rows, more ...any) (r invocation.Row, err error) {
	err = rows.Scan(append(invocationFields(&r, Claimed), more...)...)
	return r, err
}

// InvocationByTx reads the row of a client's tx, nil if there is none.
func (m *Memory) InvocationByTx(tx *sqldb.Tx, owner id.Owner, client id.Client, which id.Tx) (*invocation.Row, error) {
	return m.OneInvocation(tx, invocationByTx, owner.String(), client.String(), which.String())
}

// InvocationByID reads a row of the owner's, nil if there is none.
func (m *Memory) InvocationByID(tx *sqldb.Tx, owner id.Owner, which id.Invocation) (*invocation.Row, error) {
	return m.OneInvocation(tx, invocationByID, owner.String(), which.String())
}

// OneInvocation reads the at most one row of InvocationColumns that a query gives,
// nil if there is none.
func (m *Memory) OneInvocation(tx *sqldb.Tx, query string, args ...any) (*invocation.Row, error) {
	var r invocation.Row
	found, err := tx.One(query, args, invocationFields(&r, Text)...)
	if err != nil || !found {
		return nil, err
	}
	return &r, m.Unseal(&r)
}

// resultOf is where a call's result lies.
func resultOf(r *invocation.Row) vault.Place {
	return vault.Place{Table: "invocations", Row: r.Owner.String() + " " + r.ID.String(), Column: "result"}
}

// Unseal opens the result of a row that was read; Unavailable where it was changed or
// is another row's (threats, A76).
func (m *Memory) Unseal(r *invocation.Row) (err error) {
	if len(r.Outcome.Result) > 0 {
		r.Outcome.Result, err = m.vault.Open(resultOf(r), r.Outcome.Result)
	}
	return err
}

func (m *Memory) sealed(r *invocation.Row) []byte {
	return m.vault.Seal(resultOf(r), r.Outcome.Result)
}

// argsOf is where the arguments of a call lie while nobody knows how it ended.
func argsOf(r *invocation.Row) vault.Place {
	return vault.Place{Table: "invocations", Row: r.Owner.String() + " " + r.ID.String(), Column: "args"}
}

// UnsealArgs opens the arguments that stand with a row; Unavailable as for Unseal.
func (m *Memory) UnsealArgs(r *invocation.Row, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 {
		return nil, nil
	}
	return m.vault.Open(argsOf(r), sealed)
}

// ReserveInvocation writes a new row without an outcome, under its number, and what is
// to be sent. How its minute finds it is admitted, see tally.Admitted.
func (m *Memory) ReserveInvocation(tx *sqldb.Tx, number, admitted int64, r invocation.Row, args []byte) error {
	return one(tx.Exec(reserveInvocation, append(reservedArgs(number, admitted, r), m.vault.Seal(argsOf(&r), args))...))
}

// AddInvocation writes a new row with its outcome. Told is the entry of the trail
// that has the outcome.
func (m *Memory) AddInvocation(tx *sqldb.Tx, number, admitted int64, r invocation.Row, told int64) error {
	o := r.Outcome
	return one(tx.Exec(addInvocation, append(reservedArgs(number, admitted, r), Millis(r.SettledAt), string(o.Code), o.Text, o.Reason, m.sealed(&r),
		o.Version, o.Detail, told)...))
}

func reservedArgs(number, admitted int64, r invocation.Row) []any {
	return []any{number, r.Owner.String(), r.Client.String(), r.Tx.String(), r.ID.String(), r.Target.Resource.String(), r.Target.Contract,
		r.Target.Method, r.Request.String(), r.Input.String(), r.Grant.String(), r.Revision.String(), r.Classes.String(), string(r.State),
		r.Node.String(), r.Epoch, r.Attempt, Millis(r.ReservedAt), Millis(r.DispatchedAt), Millis(r.DeadlineAt), string(r.Outcome.Effects), admitted}
}

// RetakeInvocation writes the next attempt over a row that was not dispatched.
func (m *Memory) RetakeInvocation(tx *sqldb.Tx, admitted int64, r invocation.Row, args []byte) error {
	o := r.Outcome
	return one(tx.Exec(retakeInvocation, r.Owner.String(), r.Client.String(), r.Tx.String(), r.Target.Resource.String(),
		r.Target.Contract, r.Target.Method, r.Request.String(), r.Input.String(), r.Grant.String(), r.Revision.String(),
		r.Classes.String(), string(r.State), r.Node.String(), r.Epoch, r.Attempt, Millis(r.ReservedAt), Millis(r.DispatchedAt),
		Millis(r.DeadlineAt), Millis(r.SettledAt), string(o.Code), o.Text, o.Reason, string(o.Effects), o.Result, o.Version, o.Detail, admitted, m.vault.Seal(argsOf(&r), args)))
}

// MarkInvocation writes the dispatch mark.
func MarkInvocation(tx *sqldb.Tx, r invocation.Row) error {
	return one(tx.Exec(markInvocation, r.Owner.String(), r.Client.String(), r.Tx.String(), string(r.State), Millis(r.DispatchedAt)))
}

// SettleInvocation writes an outcome, or how a doubt ended, and the entry of the
// trail that has it. What was sent is kept while it is in doubt.
func (m *Memory) SettleInvocation(tx *sqldb.Tx, r invocation.Row, told int64) error {
	o := r.Outcome
	return one(tx.Exec(settleInvocation, r.Owner.String(), r.Client.String(), r.Tx.String(), string(r.State), Millis(r.DispatchedAt),
		Millis(r.SettledAt), string(o.Code), o.Text, o.Reason, string(o.Effects), m.sealed(&r), o.Version, o.Detail, r.Reconciled.By,
		Millis(r.Reconciled.At), told))
}
