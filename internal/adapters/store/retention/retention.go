// Package retention takes out of the journal what was kept long enough: results
// after a week, whole rows after ninety days, calls in doubt never (pool page,
// section 6; invariant I61). Beside the calls it takes the arguments of questions that
// are over after a week, and after ninety days these questions, the records of consents
// on which no right rests any more, the days of budgets, and answers to proposals that are
// no longer made.
//
// Time counts here only while a host was running and saw it pass on a clock that
// nobody sets, so that no change of the wall clock deletes anything early; a host
// that is off keeps what it has (threats, A31). How long hosts have run is noted in
// the table of processes, and every hour of it is marked with the end of the audit
// trail; a row is as old as the first mark behind the entry that has its outcome, or
// behind the moment at which it was over.
//
// What is taken out is told by the trail, so that a check of it knows a sweep from
// a theft. Rows go in transactions of a few, one after the other; a sweep that stops
// half way goes on the next time. One lock guards a Retention, which is held for
// a sweep.
package retention

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store/ledger"
	"github.com/stewardhost/steward/internal/adapters/store/record"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/id"
)

// Retention has the verb.
type Retention struct {
	ledger *ledger.Ledger
	memory *record.Memory

	mu    sync.Mutex
	moved [2]int64 // how far rows that were moved later were looked at by this process, of each kind
}

// New returns the verb over a ledger.
func New(l *ledger.Ledger, m *record.Memory) *Retention { return &Retention{ledger: l, memory: m} }

const (
	livedBefore = "SELECT COALESCE(SUM(n.lived), 0) FROM nodes n WHERE n.chain < $1"
	noteLife    = "UPDATE nodes SET lived = $2 WHERE chain = $1"
	lastMark    = "SELECT k.lived, k.entry, k.at FROM marks k WHERE k.lived <= $1 ORDER BY k.lived DESC LIMIT 1"
	addMark     = "INSERT INTO marks (lived, entry, at) VALUES ($1, $2, $3)"
	dropMarks   = "DELETE FROM marks WHERE lived < $1"
	newestEntry = "SELECT a.entry FROM audit a WHERE a.entry > $1 ORDER BY a.entry DESC LIMIT 1"

	markEvery = time.Hour
)

// kind is what a sweep takes.
type kind struct {
	index   int
	subject string // in the trail
	kept    bound.Row
}

var (
	results = kind{0, record.SweptResults, bound.ResultsKept}
	calls   = kind{1, record.SweptCalls, bound.CallsKept}
)

// due is what was there when a mark was set: the last entry of the trail, and the
// moment. What is no later is as old as the mark; zero is none.
type due struct{ entry, at int64 }

// Sweep notes how long hosts have run and takes out what is due, until nothing is or
// ctx ends. A fault leaves the rest for the next time.
func (r *Retention) Sweep(ctx context.Context) (out view.Swept, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var old [2]due
	if err := r.ledger.Write(ctx, func(tx *ledger.Tx) error {
		old, err = r.note(tx)
		return err
	}); err != nil {
		return out, err
	}
	for _, k := range []kind{results, calls} {
		n, err := r.sweep(ctx, k, old[k.index].entry)
		if k == results {
			out.Results = n
		} else {
			out.Calls = n
		}
		if err != nil {
			return out, err
		}
	}
	return out, r.beside(ctx, old[results.index], old[calls.index], &out)
}

// Note notes how long hosts have run, at the end of this one.
func (r *Retention) Note(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Write(ctx, func(tx *ledger.Tx) error {
		_, err := r.note(tx)
		return err
	})
}

// note gives, for each kind, up to where things are old enough; zero where nothing is.
func (r *Retention) note(tx *ledger.Tx) (old [2]due, err error) {
	var before, marked, entry, at int64
	chain, lived := r.ledger.Chain(), r.ledger.Lived().Milliseconds()
	if _, err := tx.One(livedBefore, []any{chain}, &before); err != nil {
		return old, err
	}
	if _, err := tx.Exec(noteLife, chain, lived); err != nil {
		return old, err
	}
	total := before + lived
	found, err := tx.One(lastMark, []any{total}, &marked, &entry, &at)
	if err != nil {
		return old, err
	}
	if !found || total-marked >= markEvery.Milliseconds() {
		if _, err := tx.One(newestEntry, []any{ledger.EntryOf(chain, 0)}, &entry); err != nil {
			return old, err
		}
		if _, err := tx.Exec(addMark, total, entry, tx.Now.UnixMilli()); err != nil {
			return old, err
		}
	}
	for _, k := range []kind{results, calls} {
		found, err := tx.One(lastMark, []any{total - k.kept.Duration().Milliseconds()}, &marked, &old[k.index].entry, &old[k.index].at)
		if err != nil {
			return old, err
		}
		if found && k == calls {
			if _, err := tx.Exec(dropMarks, marked); err != nil {
				return old, err
			}
		}
	}
	return old, nil
}

// told is the row of the trail about what one transaction has taken: all of it had
// its outcome at an entry no later than due.
func told(owner id.Owner, subject string, due, n int64) audit.Entry {
	return audit.Entry{Owner: owner, Kind: audit.Swept, Subject: subject, Detail: "through " + strconv.FormatInt(due, 10), Count: n}
}
