package holdings

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/rights"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// What a copy of an older time may not allow: since then it may all have been taken
// back. Methods of the host itself are no one's to take back.
const (
	restoreTokens = "UPDATE tokens SET revoked_at = $1 WHERE revoked_at = 0"
	restoreGrants = "UPDATE grants SET state = 'needs_consent' WHERE state IN ('active', 'suspended')"
	// A capsule is a program, which the owner may have removed since, or replaced.
	restoreCapsules       = "UPDATE capsules SET off = 1 WHERE off = 0"
	restoreCapsuleMethods = "UPDATE methods SET state = 'gone', reason = 'the store was restored; install the capsule again' " +
		"WHERE state IN ('active', 'needs_consent', 'proposed') AND EXISTS (SELECT 1 FROM resources r " +
		"WHERE r.owner = methods.owner AND r.resource = methods.resource AND r.kind = 'capsule' AND r.state <> 'removed')"
	offCapsules    = "SELECT c.name, c.installed, c.off FROM capsules c WHERE c.off = 1 ORDER BY c.owner, c.name"
	restoreMethods = "UPDATE methods SET state = 'needs_consent', reason = 'the store was restored; look at it again' " +
		"WHERE state = 'active' AND EXISTS (SELECT 1 FROM resources r " +
		"WHERE r.owner = methods.owner AND r.resource = methods.resource AND r.kind NOT IN ('builtin', 'capsule'))"
	// What an entry starts or contacts may have been removed, and its secrets replaced.
	restoreEntries     = "UPDATE adapters SET state = 'disabled' WHERE state = 'enabled' AND kind <> '" + string(view.InCapsule) + "'"
	restoreTools       = "UPDATE adapters SET state = 'disabled' WHERE state = 'enabled' AND kind = '" + string(view.InCapsule) + "'"
	restoreCredentials = "DELETE FROM credentials"
	restoreQuestions   = "UPDATE confirmations SET state = 'denied', decided_at = $1 WHERE state IN ('open', 'approved')"
	countChanges       = "UPDATE owners SET changes = changes + 1"
)

// Restore takes every right back that a copied store holds: all tokens are revoked,
// grants and approved methods need the owner's new yes, entries and capsules are switched off,
// steward's own credentials are forgotten, and questions are denied (threats, A32). It is run on a copy that nobody else has open. About says what was
// restored, for the trail.
func (h *Holdings) Restore(ctx context.Context, about string) (out view.Restored, err error) {
	err = h.ledger.Write(ctx, func(tx *ledger.Tx) error {
		out = view.Restored{At: tx.Now}
		now := tx.Now.UnixMilli()
		for _, step := range []struct {
			count *int64
			query string
			args  []any
		}{
			{&out.Tokens, restoreTokens, []any{now}}, {&out.Grants, restoreGrants, nil},
			{&out.Methods, restoreMethods, nil},
			{&out.Entries, restoreEntries, nil}, {&out.Credentials, restoreCredentials, nil}, {&out.Questions, restoreQuestions, []any{now}},
		} {
			if *step.count, err = tx.Exec(step.query, step.args...); err != nil {
				return err
			}
		}
		for _, query := range []string{restoreCapsules, restoreCapsuleMethods, restoreTools, countChanges} {
			if _, err := tx.Exec(query); err != nil {
				return err
			}
		}
		rows, err := tx.Query(offCapsules)
		if out.Capsules, err = sqldb.Collect(rows, err, func(rows *sql.Rows) (v view.Installation, err error) {
			err = rows.Scan(record.Word(&v.Name), &v.Record, record.Flag(&v.Off))
			return v, err
		}); err != nil {
			return err
		}
		owners, err := rights.Owners(tx.Tx)
		if err != nil {
			return err
		}
		for _, owner := range owners {
			if err := rights.Pin(tx, owner); err != nil {
				return err
			}
		}
		return tx.SetRestored(fmt.Sprintf("%s: %d tokens revoked, %d grants and %d methods need consent, %d entries and %d capsules switched off, %d credentials forgotten, %d questions denied",
			about, out.Tokens, out.Grants, out.Methods, out.Entries, len(out.Capsules), out.Credentials, out.Questions))
	})
	h.tokens.Forget()
	return out, err
}
