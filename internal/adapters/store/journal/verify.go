package journal

import (
	"context"
	"database/sql"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	countEntries = "SELECT COUNT(*) FROM audit"
	entriesAfter = "SELECT " + record.EntryColumns + ", e.node FROM audit e WHERE (e.node, e.epoch, e.seq) > ($1, $2, $3) " +
		"ORDER BY e.node, e.epoch, e.seq LIMIT $4"
	entryAt = "SELECT " + record.EntryColumns + " FROM audit e WHERE e.node = $1 AND e.epoch = $2 AND e.seq = $3"

	callsAfter = "SELECT " + record.InvocationColumns + ", i.told_node, i.told_epoch, i.told_seq, i.owner, i.client, i.tx FROM invocations i " +
		"WHERE (i.owner, i.client, i.tx) > ($1, $2, $3) ORDER BY i.owner, i.client, i.tx LIMIT $4"
	toldOf = "SELECT i.told_node, i.told_epoch, i.told_seq FROM invocations i WHERE i.owner = $1 AND i.invocation = $2"

	entriesAtOnce = 512
	callsAtOnce   = 64   // each may hold a result
	mismatchesMax = 1000 // a journal that differs more than this is lost anyway
)

// Verify holds the whole trail against its chains, and the journal against the
// trail: the newest row about a call pins what the call's row says. It walks one
// snapshot in constant memory; progress is told of the rows of the trail.
func (j *Journal) Verify(ctx context.Context, progress func(done, total int64)) (view.Verification, error) {
	// What cannot be written now is no part of what is checked.
	_ = j.ledger.Flush(ctx)
	w := &walk{head: j.ledger.Confirmed(), progress: progress, named: map[string]bool{}}
	err := j.ledger.Read(ctx, func(tx *ledger.Tx) error {
		if err := w.trail(tx.Tx); err != nil {
			return err
		}
		return w.journal(tx.Tx)
	})
	return w.found, err
}

// walk is one verification.
type walk struct {
	head     audit.Entry // durable before the snapshot, so the snapshot must hold it
	seen     bool        // it does
	checker  audit.Checker
	found    view.Verification
	named    map[string]bool
	progress func(done, total int64)
}

// place names a row of the trail.
type place struct {
	node       string
	epoch, seq int64
}

func (w *walk) mismatch(which string) {
	if !w.named[which] && len(w.named) < mismatchesMax {
		w.named[which] = true
		w.found.Mismatches = append(w.found.Mismatches, which)
	}
}

// trail follows the chains up to the first break.
func (w *walk) trail(tx *sqldb.Tx) error {
	var total int64
	if _, err := tx.One(countEntries, nil, &total); err != nil {
		return err
	}
	last := place{}
	for w.found.Break == nil {
		rows, err := tx.Query(entriesAfter, last.node, last.epoch, last.seq, entriesAtOnce)
		list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (e audit.Entry, err error) {
			e, err = record.ScanClaimedEntry(rows, &last.node)
			last.epoch, last.seq = e.Epoch, e.Seq
			return e, err
		})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		if err := w.entries(tx, list); err != nil {
			return err
		}
		if w.progress != nil {
			w.progress(w.checker.Rows(), total)
		}
	}
	w.found.Rows, w.found.Last = w.checker.Rows(), w.checker.Last().Hash
	if w.found.Break == nil && !w.seen {
		w.found.Break = &audit.Break{Node: w.head.Node, Epoch: w.head.Epoch, Seq: w.head.Seq, What: "the last rows are missing"}
	}
	return nil
}

func (w *walk) entries(tx *sqldb.Tx, list []audit.Entry) error {
	for _, e := range list {
		if w.found.Break = w.checker.Next(e); w.found.Break != nil {
			return nil
		}
		if e.Hash == w.head.Hash {
			w.seen = true
		}
		if _, pins := pinned(e); !pins {
			continue
		}
		// A call's row must be there and name this row of the trail or a later one.
		told := place{}
		found, err := tx.One(toldOf, []any{e.Owner.String(), e.Subject}, &told.node, &told.epoch, &told.seq)
		if err != nil {
			return err
		}
		older := told.node == e.Node.String() && (told.epoch < e.Epoch || told.epoch == e.Epoch && told.seq < e.Seq)
		if !found || older {
			w.mismatch(e.Subject)
		}
	}
	return nil
}

// told is a call with the place of the row that pins it.
type told struct {
	row invocation.Row
	at  place
}

// journal holds every row with an outcome against the row of the trail that it
// names.
func (w *walk) journal(tx *sqldb.Tx) error {
	var owner, client, last string
	for {
		rows, err := tx.Query(callsAfter, owner, client, last, callsAtOnce)
		list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (t told, err error) {
			t.row, err = record.ScanClaimedInvocation(rows, &t.at.node, &t.at.epoch, &t.at.seq, &owner, &client, &last)
			return t, err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, t := range list {
			if t.row.State.Unresolved() {
				continue
			}
			w.found.Invocations++
			rows, err := tx.Query(entryAt, t.at.node, t.at.epoch, t.at.seq)
			entries, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (audit.Entry, error) { return record.ScanClaimedEntry(rows) })
			if err != nil {
				return err
			}
			sum := digest.Digest{}
			if len(entries) == 1 && entries[0].Subject == t.row.ID.String() {
				sum, _ = pinned(entries[0])
			}
			if sum != t.row.Digest() {
				w.mismatch(t.row.ID.String())
			}
		}
	}
}
