package ledger

import (
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// trail appends to the chain of this process.
//
// head is what the writer appended last. It is a guess: the transaction that it
// was appended in may have been rolled back, or somebody may have cut the table.
// So a row is only added behind its predecessor as it stands in the table. When
// that is gone the table's own last row takes its place, but never one before
// the confirmed row: that one was durable, and if it is missing now, the gap
// must stay visible.
type trail struct {
	node      id.Node
	chain     int64
	epoch     int64
	head      audit.Entry // of the writer's goroutine
	confirmed atomic.Pointer[audit.Entry]
}

const (
	entryColumns = "entry, node, epoch, seq, at, owner, client, kind, subject, detail, count, prev, hash"

	// The selection of the predecessor costs less than reading the head first.
	appendBehind = "INSERT INTO audit (" + entryColumns + ") " +
		"SELECT CAST($1 AS BIGINT), a.node, a.epoch, CAST($2 AS BIGINT), CAST($3 AS BIGINT), $4, $5, $6, $7, $8, CAST($9 AS BIGINT), a.hash, $10 " +
		"FROM audit a WHERE a.entry = $11 AND a.hash = $12 ON CONFLICT DO NOTHING"
	appendAnyway = "INSERT INTO audit (" + entryColumns + ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
	headOfChain  = "SELECT a.seq, a.at, a.hash FROM audit a WHERE a.entry > $1 AND a.entry < $2 ORDER BY a.entry DESC LIMIT 1"

	seqBits = 40
)

// EntryOf numbers the rows of all chains; chain 0 is none.
func EntryOf(chain, seq int64) int64 { return chain<<seqBits + seq }

func (t *trail) begin(chain, epoch int64) { t.chain, t.epoch, t.head = chain, epoch, audit.Entry{} }

// Audit adds a row to the trail in this transaction and returns its number. Node,
// epoch, time and place of the row are the ledger's; a zero count is 1.
func (tx *Tx) Audit(e audit.Entry) (int64, error) {
	t := tx.ledger.trail
	e.Node, e.Epoch, e.At = t.node, t.epoch, tx.Now
	if e.Count == 0 {
		e.Count = 1
	}
	linked := audit.Link(t.head, e)
	added := int64(0)
	if t.head.Seq > 0 {
		var err error
		added, err = tx.Exec(appendBehind, EntryOf(t.chain, linked.Seq), linked.Seq, e.At.UnixMilli(), e.Owner.String(), e.Client.String(),
			string(e.Kind), e.Subject, e.Detail, e.Count, linked.Hash.String(), EntryOf(t.chain, t.head.Seq), t.head.Hash.String())
		if err != nil {
			return 0, err
		}
	}
	if added == 0 {
		base, err := t.base(tx.Tx)
		if err != nil {
			return 0, err
		}
		linked = audit.Link(base, e)
		if _, err := tx.Exec(appendAnyway, EntryOf(t.chain, linked.Seq), t.node.String(), t.epoch, linked.Seq, e.At.UnixMilli(),
			e.Owner.String(), e.Client.String(), string(e.Kind), e.Subject, e.Detail, e.Count, linked.Prev.String(), linked.Hash.String()); err != nil {
			return 0, err
		}
	}
	t.head, tx.last = linked, linked
	return EntryOf(t.chain, linked.Seq), nil
}

// base is the row that the next one stands behind.
func (t *trail) base(tx *sqldb.Tx) (audit.Entry, error) {
	last, err := readHead(tx, t.chain)
	if err != nil {
		return audit.Entry{}, err
	}
	if c := t.confirmed.Load(); c != nil && (c.Seq > last.Seq || c.Seq == last.Seq && c.Hash != last.Hash) {
		return *c, nil
	}
	return last, nil
}

// confirm notes a row whose commit was durable.
func (t *trail) confirm(e audit.Entry) {
	for e.Seq > 0 {
		old := t.confirmed.Load()
		if old != nil && old.Seq >= e.Seq || t.confirmed.CompareAndSwap(old, &e) {
			return
		}
	}
}

// Confirmed is a row of this process's chain that was durable when asked; every
// later snapshot must hold it.
func (l *Ledger) Confirmed() audit.Entry {
	if c := l.trail.confirmed.Load(); c != nil {
		return *c
	}
	return audit.Entry{}
}

// readHead reads place, time and hash of a chain's last row, zero if it has none.
func readHead(tx *sqldb.Tx, chain int64) (e audit.Entry, err error) {
	var at int64
	var hash string
	found, err := tx.One(headOfChain, []any{EntryOf(chain, 0), EntryOf(chain+1, 0)}, &e.Seq, &at, &hash)
	if err != nil || !found {
		return audit.Entry{At: time.UnixMilli(0)}, err
	}
	e.At = time.UnixMilli(at).UTC()
	e.Hash, _ = digest.Parse(hash) // one that cannot be read is none, and no row can stand behind it unseen
	return e, nil
}
