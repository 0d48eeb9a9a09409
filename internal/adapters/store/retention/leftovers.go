package retention

import (
	"context"
	"database/sql"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// What stands beside the calls. Each of these rows has a moment of the store's time,
// which never goes back, so it is as old as the mark that was set no earlier.
const (
	// Nothing waits for an answer, holds by one or is taken up again under one for so
	// long: see bound.QuestionLife and bound.ConfirmationLife.
	over           = "q.asked_at <= $1 AND q.decided_at <= $1"
	oldArguments   = "SELECT q.owner, q.confirmation FROM confirmations q WHERE q.args IS NOT NULL AND " + over + " ORDER BY q.asked_at LIMIT $2"
	oldQuestions   = "SELECT q.owner, q.confirmation FROM confirmations q WHERE " + over + " ORDER BY q.asked_at LIMIT $2"
	forgetArgument = "UPDATE confirmations SET args = NULL WHERE owner = $1 AND confirmation = $2"
	removeQuestion = "DELETE FROM confirmations WHERE owner = $1 AND confirmation = $2"

	// What a grant rests on is the record of the granting that made it, and the one of a
	// reaffirmation that it names; an approval stands as long as its resource.
	idleConsents = "SELECT c.owner, c.consent FROM consents c WHERE c.ended_at = 0 " +
		"AND (c.kind <> 'granting' OR NOT EXISTS (SELECT 1 FROM grants g WHERE g.owner = c.owner AND g.client = c.client AND g.resource = c.resource " +
		"AND (g.consent = c.consent OR g.created_at = c.at) AND g.state <> 'revoked' AND (g.expires_at = 0 OR g.expires_at > $1))) " +
		"AND (c.kind = 'granting' OR NOT EXISTS (SELECT 1 FROM resources r WHERE r.owner = c.owner AND r.resource = c.resource AND r.state <> 'removed')) " +
		"LIMIT $2"
	endConsent    = "UPDATE consents SET ended_at = $3 WHERE owner = $1 AND consent = $2"
	oldConsents   = "SELECT c.owner, c.consent FROM consents c WHERE c.ended_at > 0 AND c.ended_at <= $1 ORDER BY c.ended_at LIMIT $2"
	removeConsent = "DELETE FROM consents WHERE owner = $1 AND consent = $2"

	oldDays   = "SELECT d.owner, d.grant_id, d.day FROM spending d WHERE d.day < $1 ORDER BY d.day LIMIT $2"
	removeDay = "DELETE FROM spending WHERE owner = $1 AND grant_id = $2 AND day = $3"

	// An answer holds for the proposal that it was given to, as long as that waits.
	idleDeferrals = "SELECT d.owner, d.resource, d.contract, d.method FROM deferrals d WHERE d.answered_at <= $1 " +
		"AND NOT EXISTS (SELECT 1 FROM methods m WHERE m.owner = d.owner AND m.resource = d.resource AND m.contract = d.contract AND m.method = d.method " +
		"AND m.method_digest = d.method_digest AND m.binding_digest = d.binding_digest AND m.state IN ('proposed', 'needs_consent')) LIMIT $2"
	removeDeferral = "DELETE FROM deferrals WHERE owner = $1 AND resource = $2 AND contract = $3 AND method = $4"
)

// row is the key of something to take, the owner first.
type row []any

func keys(n int) func(rows *sql.Rows) (row, error) {
	return func(rows *sql.Rows) (row, error) {
		out, into := make(row, n), make([]any, n)
		for i := range out {
			into[i] = &out[i]
		}
		return out, rows.Scan(into...)
	}
}

// leftover is a kind of rows beside the calls.
type leftover struct {
	find, take string
	columns    int    // of the key
	more       []any  // of take, behind the key
	subject    string // in the trail, which tells of them through an entry; empty where nothing is promised of such rows
	through    int64
}

// beside takes what is over and old enough beside the calls, a few rows a transaction.
func (r *Retention) beside(ctx context.Context, old, older due, out *view.Swept) error {
	var now time.Time
	if err := r.ledger.Read(ctx, func(tx *ledger.Tx) error {
		now = tx.Now
		return nil
	}); err != nil {
		return err
	}
	day := budget.Today(time.UnixMilli(older.at)).UnixMilli()
	if err := r.clear(ctx, leftover{find: idleConsents, take: endConsent, columns: 2, more: []any{now.UnixMilli()}}, []any{now.UnixMilli()}, new(int)); err != nil {
		return err
	}
	for _, s := range []struct {
		leftover
		due   due
		args  []any
		taken *int
	}{
		{leftover{find: oldArguments, take: forgetArgument, columns: 2, subject: record.SweptArguments}, old, []any{old.at}, &out.Arguments},
		{leftover{find: oldQuestions, take: removeQuestion, columns: 2, subject: record.SweptQuestions}, older, []any{older.at}, &out.Questions},
		{leftover{find: oldConsents, take: removeConsent, columns: 2, subject: record.SweptConsents}, older, []any{older.at}, &out.Consents},
		{leftover{find: oldDays, take: removeDay, columns: 3}, older, []any{day}, &out.Days},
		{leftover{find: idleDeferrals, take: removeDeferral, columns: 4}, older, []any{older.at}, &out.Deferrals},
	} {
		if s.due == (due{}) {
			continue
		}
		s.through = s.due.entry
		if err := r.clear(ctx, s.leftover, s.args, s.taken); err != nil {
			return err
		}
	}
	return nil
}

// clear takes all rows of a kind. It looks before it writes, so that a sweep which finds
// nothing costs no commit, and finds them again in the transaction that takes them.
func (r *Retention) clear(ctx context.Context, l leftover, args []any, taken *int) error {
	args = append(args, atOnce)
	found := func(tx *ledger.Tx) ([]row, error) {
		rows, err := tx.Query(l.find, args...)
		return sqldb.Collect(rows, err, keys(l.columns))
	}
	for {
		var list []row
		err := r.ledger.Read(ctx, func(tx *ledger.Tx) (err error) {
			list, err = found(tx)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		if err := r.ledger.Write(ctx, func(tx *ledger.Tx) (err error) {
			if list, err = found(tx); err != nil {
				return err
			}
			for _, key := range list {
				if _, err := tx.Exec(l.take, append(key, l.more...)...); err != nil {
					return err
				}
			}
			if l.subject == "" || len(list) == 0 {
				return nil
			}
			_, err = tx.Audit(told(id.Owner{}, l.subject, l.through, int64(len(list))))
			return err
		}); err != nil {
			return err
		}
		if *taken += len(list); len(list) < atOnce {
			return nil
		}
	}
}
