package holdings

import (
	"context"
	"fmt"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/rights"
	"github.com/stewardhost/steward/internal/domain/pool/view"
)

// What a copy of an older time may not allow: since then it may all have been taken
// back. Methods of the host itself are no one's to take back.
const (
	restoreTokens  = "UPDATE tokens SET revoked_at = $1 WHERE revoked_at = 0"
	restoreGrants  = "UPDATE grants SET state = 'needs_consent' WHERE state IN ('active', 'suspended')"
	restoreMethods = "UPDATE methods SET state = 'needs_consent', reason = 'the store was restored; look at it again' " +
		"WHERE state = 'active' AND EXISTS (SELECT 1 FROM resources r " +
		"WHERE r.owner = methods.owner AND r.resource = methods.resource AND r.kind <> 'builtin')"
	// What an entry starts or contacts may have been removed, and its secrets replaced.
	restoreEntries     = "UPDATE adapters SET state = 'disabled' WHERE state = 'enabled'"
	restoreCredentials = "DELETE FROM credentials"
	restoreQuestions   = "UPDATE confirmations SET state = 'denied', decided_at = $1 WHERE state IN ('open', 'approved')"
	countChanges       = "UPDATE owners SET changes = changes + 1"
)

// Restore takes every right back that a copied store holds: all tokens are revoked,
// grants and approved methods need the owner's new yes, entries are switched off,
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
		if _, err := tx.Exec(countChanges); err != nil {
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
		return tx.SetRestored(fmt.Sprintf("%s: %d tokens revoked, %d grants and %d methods need consent, %d entries switched off, %d credentials forgotten, %d questions denied",
			about, out.Tokens, out.Grants, out.Methods, out.Entries, out.Credentials, out.Questions))
	})
	h.tokens.Forget()
	return out, err
}
