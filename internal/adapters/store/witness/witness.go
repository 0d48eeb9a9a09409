// Package witness holds the audit trail against its own chains, and the journal and
// the records of consent against the trail (invariant I63; threats, A78).
//
// What an owner's rights and definitions are is held against the newest row about them.
//
// It reads one snapshot in constant memory and changes nothing but that it first
// writes what the trail still waits for. A Witness is safe for concurrent use.
package witness

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/adapters/store/rights"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

const (
	countEntries = "SELECT COUNT(*) FROM audit"
	allChains    = "SELECT n.chain FROM nodes n ORDER BY n.node, n.epoch"
	entriesAfter = "SELECT " + record.EntryColumns + ", e.entry FROM audit e WHERE e.entry > $1 AND e.entry < $2 ORDER BY e.entry LIMIT $3"
	entryAt      = "SELECT " + record.EntryColumns + " FROM audit e WHERE e.entry = $1"

	callsAfter = "SELECT " + record.InvocationColumns + ", i.told, i.removed, i.args, i.number FROM invocations i WHERE i.number > $1 ORDER BY i.number LIMIT $2"
	toldOf     = "SELECT i.told FROM invocations i WHERE i.owner = $1 AND i.invocation = $2"

	entriesAtOnce = 512
	callsAtOnce   = 64   // each may hold a result
	mismatchesMax = 1000 // a journal that differs more than this is lost anyway
)

// swept is up to which entry of the trail the outcomes of calls may have lost their
// result, or their row, and consents theirs.
type swept struct{ results, calls, consents int64 }

const (
	newestSweep = "SELECT e.detail FROM audit e WHERE e.kind = 'swept' AND e.subject = $1 ORDER BY e.entry DESC LIMIT 1"
	ended       = "SELECT e.entry FROM audit e WHERE e.kind = 'reconciled' AND e.owner = $1 AND e.subject = $2 AND e.entry > $3 AND e.entry <= $4 " +
		"ORDER BY e.entry LIMIT 1"
)

// sweeps reads how far sweeps came. What they say is in rows of the trail that are
// checked with all others.
func (w *walk) sweeps(tx *sqldb.Tx) error {
	for subject, into := range map[string]*int64{record.SweptResults: &w.swept.results, record.SweptCalls: &w.swept.calls, record.SweptConsents: &w.swept.consents} {
		var detail string
		if _, err := tx.One(newestSweep, []any{subject}, record.Word(&detail)); err != nil {
			return err
		}
		*into, _ = strconv.ParseInt(strings.TrimPrefix(detail, "through "), 10, 64) // unreadable is not swept
	}
	return nil
}

// missing reports whether a call of which the trail has an outcome may have no row any
// more: a sweep came as far, and the call was over.
func (w *walk) missing(tx *sqldb.Tx, e audit.Entry, number int64) (bool, error) {
	if number > w.swept.calls {
		return false, nil
	}
	if !strings.HasPrefix(e.Detail, string(invocation.Indeterminate)+" ") {
		return true, nil
	}
	var at int64
	return tx.One(ended, []any{e.Owner.String(), e.Subject, number, w.swept.calls}, &at)
}

// Witness has the verb.
type Witness struct {
	ledger *ledger.Ledger
	memory *record.Memory // opens results
}

// New returns the verb over a ledger.
func New(l *ledger.Ledger, m *record.Memory) *Witness { return &Witness{l, m} }

// Verify holds the whole trail against its chains, and the journal and the records
// of consent against the trail: the newest row about a call pins what the call's row
// says. It walks one
// snapshot in constant memory; progress, which may be nil, is told of the rows
// of the trail.
func (w *Witness) Verify(ctx context.Context, progress func(done, total int64)) (view.Verification, error) {
	// What cannot be written now is no part of what is checked.
	_ = w.ledger.Flush(ctx)
	if progress == nil {
		progress = func(_, _ int64) {}
	}
	look := &walk{memory: w.memory, head: w.ledger.Confirmed(), progress: progress, named: map[string]bool{}, pins: map[string]pin{}}
	err := w.ledger.Read(ctx, func(tx *ledger.Tx) error {
		look.now = tx.Now
		if err := look.sweeps(tx.Tx); err != nil {
			return err
		}
		if err := look.trail(tx.Tx); err != nil {
			return err
		}
		if err := look.journal(tx.Tx); err != nil {
			return err
		}
		if err := look.rights(tx.Tx); err != nil {
			return err
		}
		if err := look.questions(tx.Tx); err != nil {
			return err
		}
		return look.form(tx.Tx)
	})
	return look.found, err
}

// Form holds the tables against the indexes that lead to their rows, and says what is
// wrong, in the engine's words. It reads the whole database and changes nothing.
func (w *Witness) Form(ctx context.Context) (found []string, err error) {
	err = w.ledger.Read(ctx, func(tx *ledger.Tx) error {
		found, err = tx.Findings()
		return err
	})
	return found, err
}

// form holds the rows against what leads to them. A row that is right and stands
// under another's name is not seen by reading every row.
func (w *walk) form(tx *sqldb.Tx) error {
	found, err := tx.Findings()
	for _, what := range found {
		w.mismatch("the database: " + what)
	}
	return err
}

// walk is one verification.
type walk struct {
	memory   *record.Memory
	swept    swept
	head     audit.Entry // durable before the snapshot, so the snapshot must hold it
	seen     bool        // it does
	total    int64       // rows of the trail
	checker  audit.Checker
	found    view.Verification
	named    map[string]bool
	pins     map[string]pin // of rights, by owner
	progress func(done, total int64)
	now      time.Time
}

func (w *walk) mismatch(which string) {
	if !w.named[which] && len(w.named) < mismatchesMax {
		w.named[which] = true
		w.found.Mismatches = append(w.found.Mismatches, which)
	}
}

// trail follows the chains, each node's in their order, up to the first break.
func (w *walk) trail(tx *sqldb.Tx) error {
	if _, err := tx.One(countEntries, nil, &w.total); err != nil {
		return err
	}
	rows, err := tx.Query(allChains)
	chains, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (chain int64, err error) {
		err = rows.Scan(&chain)
		return chain, err
	})
	for i := 0; err == nil && i < len(chains) && w.found.Break == nil; i++ {
		err = w.chain(tx, chains[i])
	}
	w.found.Rows = w.checker.Rows()
	if err == nil && w.found.Break == nil {
		w.found.Break = w.end()
	}
	return err
}

// end names what is missing after chains that hold.
func (w *walk) end() *audit.Break {
	last := w.checker.Last()
	switch {
	case !w.seen:
		return &audit.Break{Node: w.head.Node, Epoch: w.head.Epoch, Seq: w.head.Seq, What: "the last rows are missing"}
	case w.checker.Rows() != w.total:
		return &audit.Break{Node: last.Node, Epoch: last.Epoch, Seq: last.Seq, What: "there are rows of an epoch that never began"}
	}
	return nil
}

func (w *walk) chain(tx *sqldb.Tx, chain int64) error {
	last, end := ledger.EntryOf(chain, 0), ledger.EntryOf(chain+1, 0)
	for w.found.Break == nil {
		var numbers []int64
		rows, err := tx.Query(entriesAfter, last, end, entriesAtOnce)
		list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (audit.Entry, error) {
			e, err := record.ScanClaimedEntry(rows, &last)
			numbers = append(numbers, last)
			return e, err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for i, e := range list {
			if err := w.entry(tx, e, numbers[i]); err != nil || w.found.Break != nil {
				return err
			}
		}
		w.progress(w.checker.Rows(), w.total)
	}
	return nil
}

// entry checks one row of the trail. Where it pins the outcome of a call, the
// call's row must be there and name this row of the trail or a later one.
func (w *walk) entry(tx *sqldb.Tx, e audit.Entry, number int64) error {
	if w.found.Break = w.checker.Next(e); w.found.Break != nil {
		return nil
	}
	if e.Node == w.head.Node { // chains of other nodes, which a restore leaves, grow no more
		w.found.Last = e.Hash
	}
	if e.Hash == w.head.Hash {
		w.seen = true
	}
	if e.Kind == audit.Approved || e.Kind == audit.Granted {
		return w.consent(tx, e, number)
	}
	if e.Kind == audit.Rights && w.pins[e.Subject].entry < number {
		w.pins[e.Subject] = pin{number, e.Detail}
	}
	if _, pins := record.Pinned(e); !pins {
		return nil
	}
	var told int64
	found, err := tx.One(toldOf, []any{e.Owner.String(), e.Subject}, &told)
	fits := told >= number
	if err == nil && !found {
		fits, err = w.missing(tx, e, number)
	}
	if err == nil && !fits {
		w.mismatch(e.Subject)
	}
	return err
}

// pin is the newest row of the trail about an owner's rights.
type pin struct {
	entry int64
	sum   string
}

// rights holds everything that says who may do what against the trail. A trail that
// breaks off has not told the newest of it.
func (w *walk) rights(tx *sqldb.Tx) error {
	if w.found.Break != nil {
		return nil
	}
	owners, err := rights.Owners(tx)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		sum, err := rights.Sum(tx, owner)
		if err != nil {
			return err
		}
		if p, told := w.pins[owner.String()]; !told || p.sum != sum.String() {
			w.mismatch("rights of " + owner.String())
		}
		delete(w.pins, owner.String())
		wrong, err := rights.Definitions(tx, owner)
		if err != nil {
			return err
		}
		for _, which := range wrong {
			w.mismatch(which)
		}
	}
	for owner := range w.pins {
		w.mismatch("rights of " + owner) // who is gone
	}
	return nil
}

// told is a call with the number of the row that pins it.
type told struct {
	row     invocation.Row
	entry   int64
	removed string // as it stands there
	args    []byte // sealed
}

// journal holds every row with an outcome against the row of the trail that it
// names. A row without one that had one before was taken up again, which only what
// was not dispatched may be.
func (w *walk) journal(tx *sqldb.Tx) error {
	last := int64(0)
	for {
		rows, err := tx.Query(callsAfter, last, callsAtOnce)
		list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (t told, err error) {
			t.row, err = record.ScanClaimedInvocation(rows, &t.entry, &t.removed, &t.args, &last)
			return t, err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, t := range list {
			if !w.opens(t) {
				w.mismatch(t.row.ID.String())
			}
			if !t.row.State.Unresolved() {
				w.found.Invocations++
			} else if t.entry == 0 {
				continue // it has no outcome, and never had one
			}
			if w.memory.Unseal(&t.row) != nil || !w.gone(t) {
				w.mismatch(t.row.ID.String())
				continue
			}
			holds, err := pins(tx, t)
			if err != nil {
				return err
			}
			if !holds {
				w.mismatch(t.row.ID.String())
			}
		}
	}
}

// opens reports whether the arguments that stand with a call are its own. A call that
// is over has none.
func (w *walk) opens(t told) bool {
	_, err := w.memory.UnsealArgs(&t.row, t.args)
	return err == nil && (t.args == nil || t.row.State.Unresolved() || t.row.State == invocation.Indeterminate)
}

// gone reports whether what a row says of a result that is no longer there is so: there
// is none, and a sweep that the trail tells of came as far as the row.
func (w *walk) gone(t told) bool {
	if t.removed == "" {
		return true
	}
	return t.removed == t.row.Outcome.Removed.String() && t.row.Outcome.Result == nil && t.entry <= w.swept.results
}

// pins reports whether the row of the trail that a call names pins the call as it
// stands.
func pins(tx *sqldb.Tx, t told) (bool, error) {
	rows, err := tx.Query(entryAt, t.entry)
	list, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (audit.Entry, error) { return record.ScanClaimedEntry(rows) })
	if err != nil || len(list) == 0 {
		return false, err
	}
	sum, ok := record.Pinned(list[0])
	if t.row.State.Unresolved() {
		return ok && strings.HasPrefix(list[0].Detail, string(invocation.NotDispatched)+" "), nil
	}
	return ok && sum != (digest.Digest{}) && sum == t.row.Digest(), nil
}
