// Package inquiry keeps the questions that calls put to the owner: it lists them
// and takes the owner's answer. What a call asks and which answer lets it through
// are the journal's. A verb is one transaction, and Inquiries are safe for
// concurrent use; a list is bounded by a page (bound.PageRows).
package inquiry

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	questions = "SELECT " + record.ConfirmationColumns + ", " + record.ConfirmationArgs + ", c.name, r.label FROM confirmations q " +
		"LEFT JOIN clients c ON c.owner = q.owner AND c.client = q.client " +
		"LEFT JOIN resources r ON r.owner = q.owner AND r.resource = q.resource WHERE q.owner = $1"
	newestQuestions = questions + " ORDER BY q.asked_at DESC, q.confirmation DESC LIMIT $2"
	openQuestions   = questions + " AND q.state = 'open' AND q.asked_at > $3 ORDER BY q.asked_at DESC LIMIT $2"
	questionByID    = "SELECT " + record.ConfirmationColumns + ", " + record.ConfirmationArgs + " FROM confirmations q WHERE q.owner = $1 AND q.confirmation = $2"
)

// Inquiries has the verbs.
type Inquiries struct {
	ledger *ledger.Ledger
	memory *record.Memory // opens what is asked about
}

// New returns the verbs over a ledger.
func New(l *ledger.Ledger, m *record.Memory) *Inquiries { return &Inquiries{l, m} }

// Confirmations lists the questions that wait for the owner, newest first, or the
// newest of all of them, each in the state that it has now.
func (i *Inquiries) Confirmations(ctx context.Context, owner id.Owner, all bool) (list []view.Confirmation, err error) {
	err = i.ledger.Read(ctx, func(tx *ledger.Tx) error {
		query, args := newestQuestions, []any{owner.String(), bound.PageRows.Int()}
		if !all {
			query, args = openQuestions, append(args, confirmation.WaitsSince(tx.Now).UnixMilli())
		}
		rows, err := tx.Query(query, args...)
		list, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (v view.Confirmation, err error) {
			if v.Row, err = i.scan(rows, record.Word(&v.App), record.Word(&v.Resource)); err != nil {
				return v, err
			}
			v.Row.State = v.Row.StateAt(tx.Now)
			return v, nil
		})
		return err
	})
	return list, err
}

// scan reads a question with what it is about. One of which that does not open is no
// question that an owner could answer.
func (i *Inquiries) scan(rows *sql.Rows, more ...any) (confirmation.Row, error) {
	var sealed []byte
	row, err := record.ScanConfirmation(rows, append([]any{&sealed}, more...)...)
	if err == nil {
		err = i.memory.UnsealQuestion(&row, sealed)
	}
	return row, err
}

// DecideConfirmation answers a question; answering it the same way again changes
// nothing.
func (i *Inquiries) DecideConfirmation(ctx context.Context, owner id.Owner, which id.Confirmation, approve bool) (confirmation.Row, error) {
	var row confirmation.Row
	err := i.ledger.Write(ctx, func(tx *ledger.Tx) error {
		rows, err := tx.Query(questionByID, owner.String(), which.String())
		list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (confirmation.Row, error) { return i.scan(rows) })
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return authority.NotFound()
		}
		if row, err = list[0].Decide(approve, tx.Now); err != nil || row.State == list[0].State {
			return err
		}
		if err := record.MoveConfirmation(tx.Tx, row); err != nil {
			return err
		}
		_, err = tx.Audit(audit.Entry{Owner: owner, Client: row.Key.Client, Kind: audit.Confirmed, Subject: which.String(), Detail: string(row.State)})
		return err
	})
	if err != nil {
		return confirmation.Row{}, err
	}
	return row, nil
}
