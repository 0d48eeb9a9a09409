package witness

import (
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/confirmation"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	shownOf = "SELECT c.shown FROM consents c WHERE c.owner = $1 AND c.consent = $2"

	// What a record of consent has to be there for.
	grantStands = "SELECT g.grant_id FROM grants g WHERE g.owner = $1 AND g.grant_id = $2 AND g.state <> 'revoked' " +
		"AND (g.expires_at = 0 OR g.expires_at > $3)"
	resourceStands = "SELECT r.resource FROM resources r WHERE r.owner = $1 AND r.resource = $2 AND r.state <> 'removed'"

	questionsAfter = "SELECT q.owner, q.confirmation, " + record.ConfirmationArgs + " FROM confirmations q " +
		"WHERE q.owner > $1 OR q.owner = $1 AND q.confirmation > $2 ORDER BY q.owner, q.confirmation LIMIT $3"
)

// consent checks the record that an approval or a granting rests on: what the owner
// was shown is what the trail has the digest of. A sweep may have taken it where
// nothing rests on it any more.
func (w *walk) consent(tx *sqldb.Tx, e audit.Entry, number int64) error {
	words := strings.Fields(e.Detail)
	at := slices.IndexFunc(words, func(word string) bool {
		_, err := id.Parse[id.Consent](word)
		return err == nil
	})
	if at < 0 || at+1 == len(words) {
		return nil // it rests on none
	}
	var shown []byte
	found, err := tx.One(shownOf, []any{e.Owner.String(), words[at]}, &shown)
	holds := found && digest.Of(digest.Consent, shown).String() == words[at+1]
	if err == nil && !found && number <= w.swept.consents {
		holds, err = w.idle(tx, e)
	}
	if err == nil && !holds {
		w.mismatch(words[at])
	}
	return err
}

// idle reports whether nothing rests on the consent of an entry.
func (w *walk) idle(tx *sqldb.Tx, e audit.Entry) (bool, error) {
	query, args := grantStands, []any{e.Owner.String(), e.Subject, w.now.UnixMilli()}
	if e.Kind == audit.Approved {
		query, args = resourceStands, args[:2]
	}
	var which string
	stands, err := tx.One(query, args, &which)
	return !stands, err
}

func (w *walk) question(owner, which string, sealed []byte, err error) error {
	var r confirmation.Row
	bad := errors.Join(r.Key.Owner.UnmarshalText([]byte(owner)), r.ID.UnmarshalText([]byte(which)))
	if err == nil && (bad != nil || w.memory.UnsealQuestion(&r, sealed) != nil) {
		w.mismatch(which)
	}
	return err
}

// questions opens what every question to the owner is about.
func (w *walk) questions(tx *sqldb.Tx) error {
	var owner, last string
	for {
		rows, err := tx.Query(questionsAfter, owner, last, callsAtOnce)
		list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (sealed []byte, err error) {
			err = rows.Scan(&owner, &last, &sealed)
			return sealed, w.question(owner, last, sealed, err)
		})
		if err != nil || len(list) == 0 {
			return err
		}
	}
}
