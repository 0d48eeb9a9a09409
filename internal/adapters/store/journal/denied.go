package journal

import (
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Denied records, without waiting, an attempt that a door or the port refused
// before any other verb saw it. A zero caller stands for nobody who is known
// (invariant I63).
func (j *Journal) Denied(c authority.Caller, code fault.Code) {
	j.ledger.Later(audit.Entry{Owner: c.Owner, Client: c.Client, Kind: audit.Denied, Detail: string(code)})
}
