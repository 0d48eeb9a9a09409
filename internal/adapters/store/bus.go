package store

import (
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/id"
)

// WasRead records one read of a capsule's resource with what came of it. The
// resource is zero where the caller was told that there is none.
func (s *Store) WasRead(c authority.Caller, which id.Resource, outcome string) {
	s.ledger.Later(audit.Entry{Owner: c.Owner, Client: c.Client, Kind: audit.Read, Subject: which.String(), Detail: outcome})
}

// BusEvent records what the bus dropped or decided about a source, count times.
func (s *Store) BusEvent(owner id.Owner, source, what string, count int64) {
	s.ledger.Later(audit.Entry{Owner: owner, Kind: audit.Alarm, Subject: source, Detail: what, Count: count})
}
