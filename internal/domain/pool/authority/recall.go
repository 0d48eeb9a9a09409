package authority

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Recall answers a call about which nothing can be written now, from what is
// recorded of its tx: an answer must not say of a call that was sent that nothing
// was (invariants I55, I59, I64). It is false where nothing of the tx was sent. Of
// the facts it looks at the standing, which is that of the row's target, the row and
// the restore. A row that the call itself reserved will not be sent.
func Recall(f CallFacts, c Call, now time.Time) (invocation.Answer, bool) {
	if f.Row == nil || f.Row.ID == c.NewInvocation {
		return Unknown(f, c.Caller, c.Tx, c.Minted, now)
	}
	ch, bad, over := past(f, c, now)
	switch {
	case !over:
		return invocation.Answer{}, false
	case bad != nil && ch.Known == "":
		return invocation.Refusal(c.Tx, bad, effect.None), true
	case bad != nil:
		return invocation.Refusal(c.Tx, bad, ch.Known), true
	}
	answer := ch.Row.Answer()
	answer.Replayed = true
	return answer, true
}

// Unknown answers about a tx that has no row, where that proves nothing; false where
// it proves that nothing of the tx was sent.
func Unknown(f CallFacts, c Caller, tx id.Tx, minted bool, now time.Time) (invocation.Answer, bool) {
	if bad := Authenticate(f.Standing, c, now); bad != nil {
		return invocation.Refusal(tx, bad, effect.None), true
	}
	if bad := checkRestored(f.Restored, Call{Tx: tx, Minted: minted}); bad != nil {
		return invocation.Refusal(tx, bad, effect.Uncertain), true
	}
	return invocation.Answer{}, false
}

// IsTrouble reports whether an error says that the store could not decide, and
// nothing of what it would have decided.
func IsTrouble(err error) bool {
	code := fault.From(err).Code
	return code == fault.Unavailable || code == fault.Internal
}
