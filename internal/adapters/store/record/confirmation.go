package record

import (
	"database/sql"

	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/means/sqldb"
	"github.com/stewardhost/steward/internal/means/vault"
)

// ConfirmationColumns are those of ScanConfirmation, of the table named q. What was
// asked about is ConfirmationArgs, for UnsealQuestion.
const ConfirmationColumns = "q.owner, q.confirmation, q.client, q.resource, q.contract, q.method, q.grant_id, q.method_digest, " +
	"q.binding_digest, q.input, q.state, q.asked_at, q.decided_at, q.used_by"

// ConfirmationArgs is the column of what is asked about, sealed, or NULL where it is
// no longer kept.
const ConfirmationArgs = "q.args"

const (
	addConfirmation = "INSERT INTO confirmations (owner, confirmation, client, resource, contract, method, grant_id, method_digest, " +
		"binding_digest, input, args, state, asked_at, decided_at, used_by) VALUES (" +
		"$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
	moveConfirmation = "UPDATE confirmations SET state = $3, decided_at = $4, used_by = $5 WHERE owner = $1 AND confirmation = $2"
)

// ScanConfirmation reads a row of ConfirmationColumns; more destinations follow.
func ScanConfirmation(rows *sql.Rows, more ...any) (r confirmation.Row, err error) {
	fields := []any{Text(&r.Key.Owner), Text(&r.ID), Text(&r.Key.Client), Text(&r.Key.Resource), Word(&r.Key.Contract),
		Word(&r.Key.Method), Text(&r.Grant), Text(&r.Pin.Method), Text(&r.Pin.Binding), Text(&r.Input), Word(&r.State),
		Moment(&r.AskedAt), Moment(&r.DecidedAt), Text(&r.UsedBy)}
	err = rows.Scan(append(fields, more...)...)
	return r, err
}

func questionOf(r *confirmation.Row) vault.Place {
	return vault.Place{Table: "confirmations", Row: r.Key.Owner.String() + " " + r.ID.String(), Column: "args"}
}

// UnsealQuestion opens what a question is about and puts it into the row; Unavailable
// where it was changed or is another question's (threats, A76).
func (m *Memory) UnsealQuestion(r *confirmation.Row, sealed []byte) (err error) {
	if len(sealed) > 0 {
		r.Args, err = m.vault.Open(questionOf(r), sealed)
	}
	return err
}

// AddConfirmation writes a new question to the owner.
func (m *Memory) AddConfirmation(tx *sqldb.Tx, r confirmation.Row) error {
	return one(tx.Exec(addConfirmation, r.Key.Owner.String(), r.ID.String(), r.Key.Client.String(), r.Key.Resource.String(),
		r.Key.Contract, r.Key.Method, r.Grant.String(), r.Pin.Method.String(), r.Pin.Binding.String(), r.Input.String(), m.vault.Seal(questionOf(&r), r.Args),
		string(r.State), Millis(r.AskedAt), Millis(r.DecidedAt), r.UsedBy.String()))
}

// MoveConfirmation writes where a question now stands.
func MoveConfirmation(tx *sqldb.Tx, r confirmation.Row) error {
	return one(tx.Exec(moveConfirmation, r.Key.Owner.String(), r.ID.String(), string(r.State), Millis(r.DecidedAt), r.UsedBy.String()))
}
