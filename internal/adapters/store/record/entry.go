package record

import (
	"database/sql"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
)

// EntryColumns are those of ScanClaimedEntry, of the table named e.
const EntryColumns = "e.node, e.epoch, e.seq, e.at, e.owner, e.client, e.kind, e.subject, e.detail, e.count, e.prev, e.hash"

// ScanClaimedEntry reads a row of the audit trail as it stands there, which may
// have been tampered with; more destinations follow it.
func ScanClaimedEntry(rows *sql.Rows, more ...any) (e audit.Entry, err error) {
	fields := []any{Claimed(&e.Node), Number(&e.Epoch), Number(&e.Seq), Moment(&e.At), Claimed(&e.Owner), Claimed(&e.Client),
		Word(&e.Kind), Word(&e.Subject), Word(&e.Detail), Number(&e.Count), Claimed(&e.Prev), Claimed(&e.Hash)}
	err = rows.Scan(append(fields, more...)...)
	return e, err
}
