// Package ledger is what every verb of the store stands on: the database, the
// process's place in it (a node and an epoch), a clock that never goes back
// behind what is stored, and the audit trail.
//
// Write gives one transaction that is durable when it returns without an error.
// A job of it may run more than once, so it is a function of the database, its
// own command and the time that it is given. Rows of the trail that a job adds
// are durable together with what they tell of; Later adds rows that nobody waits
// for, in bounded memory, and what cannot be kept is counted and told by a row
// of its own.
//
// Two files beside the database keep the end of the trail, so that the next process
// does not take an older, cut or damaged database for its own. node is written
// durably at each start, at Close, and where rows were added every fifteen seconds;
// node.latest is written after each commit and not flushed, so that it is whole after
// a process was killed, and may lack the last seconds after a power cut. Whoever writes
// both files too is not noticed.
//
// Faults that a job returns are decisions and come back unchanged; those of the
// database are Unavailable or Internal. A Ledger is safe for concurrent use; a Tx is
// not.
package ledger

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// Ledger is an open store, without its verbs.
type Ledger struct {
	db      *sqldb.DB
	node    id.Node
	epoch   int64
	clock   *clock
	trail   *trail
	notices *notices
	born    time.Duration // by the clock that nobody sets

	denials  atomic.Int64 // refused attempts that the trail has or will have
	restored time.Time    // set before the ledger is shared

	identity identity // as it is in the file
	latest   *latest
	order    int64 // of jobs; the writer's goroutine counts
}

// LatestSuffix is what the file latest has behind the name of the node's.
const LatestSuffix = ".latest"

const (
	newestChain = "SELECT n.chain, n.started_at FROM nodes n ORDER BY n.chain DESC LIMIT 1"
	lastEpoch   = "SELECT n.chain, n.epoch FROM nodes n WHERE n.node = $1 ORDER BY n.epoch DESC LIMIT 1"
	endEpochs   = "UPDATE nodes SET ended_at = $1 WHERE ended_at = 0"
	beginEpoch  = "INSERT INTO nodes (chain, node, epoch, started_at, ended_at, restored_at, lived) VALUES ($1, $2, $3, $4, 0, 0, 0)"
	tryOut      = "UPDATE nodes SET ended_at = 0 WHERE node = $1 AND epoch = $2"
	lastRestore = "SELECT COALESCE(MAX(n.restored_at), 0) FROM nodes n"
	setRestored = "UPDATE nodes SET restored_at = $3 WHERE node = $1 AND epoch = $2"
	lastTimes   = "SELECT COALESCE(MAX(i.reserved_at), 0), COALESCE(MAX(i.dispatched_at), 0) FROM invocations i " +
		"WHERE i.state IN ('reserved', 'dispatching')"
)

// Begin starts the next epoch of the node that the file names, or of a new one where
// there is no file: all other epochs are over, since only one process can have the
// database open, and the trail's new chain is anchored in the node's last one. A
// database that is not the newest of its node is Unavailable, with ErrOlder under it.
// The clocks are the wall's and one that nobody sets. The ledger owns the database
// where there is no fault.
func Begin(ctx context.Context, db *sqldb.DB, path string, wall func() time.Time, passed func() time.Duration) (*Ledger, error) {
	file, err := readIdentity(path)
	if err != nil {
		return nil, err
	}
	before, err := readLatest(path + LatestSuffix)
	if err != nil {
		return nil, err
	}
	node := file.node
	if node.IsZero() {
		node = id.New[id.Node]()
	}
	l := &Ledger{db: db, node: node, clock: &clock{wall: wall, passed: passed}, identity: file, born: passed()}
	l.trail = &trail{node: node}
	l.latest = &latest{path: path + LatestSuffix, node: node}
	err = l.Write(ctx, func(tx *Tx) error {
		newest, err := lastMoment(tx)
		if err != nil {
			return err
		}
		tx.Now = l.clock.take()
		last, err := lastOf(tx, node)
		if err != nil {
			return err
		}
		var restored int64
		if _, err := tx.One(lastRestore, nil, &restored); err != nil {
			return err
		}
		if restored > 0 {
			l.restored = time.UnixMilli(restored).UTC()
		}
		if err := l.identity.check(tx, last.Epoch, newest > 0); err != nil {
			return err
		}
		if err := before.check(tx, node); err != nil {
			return err
		}
		l.epoch = last.Epoch + 1
		l.trail.begin(newest+1, l.epoch)
		if _, err := tx.Exec(endEpochs, tx.Now.UnixMilli()); err != nil {
			return err
		}
		if _, err := tx.Exec(beginEpoch, newest+1, node.String(), l.epoch, tx.Now.UnixMilli()); err != nil {
			return err
		}
		_, err = tx.Audit(audit.Entry{Kind: audit.Anchor, Subject: node.String(), Detail: last.Hash.String()})
		return err
	})
	if err != nil {
		return nil, err
	}
	// Only now: a file that is ahead of its database would lock the owner out.
	if err := errors.Join(l.mark(), l.latest.open()); err != nil {
		return nil, err
	}
	l.notices = newNotices(l)
	return l, nil
}

// lastMoment lifts the clock to the latest time that the store holds and gives
// the newest chain. Times grow along each chain, every outcome has its row there,
// and what has no outcome yet is in an index of its own.
func lastMoment(tx *Tx) (chain int64, err error) {
	var started, reserved, dispatched int64
	found, err := tx.One(newestChain, nil, &chain, &started)
	if err != nil || !found {
		return 0, err
	}
	if _, err := tx.One(lastTimes, nil, &reserved, &dispatched); err != nil {
		return 0, err
	}
	head, err := readHead(tx.Tx, chain)
	tx.ledger.clock.raise(max(started, reserved, dispatched, head.At.UnixMilli()))
	return chain, err
}

// lastOf reads the end of the node's last epoch; a new node has none.
func lastOf(tx *Tx, node id.Node) (audit.Entry, error) {
	var chain, epoch int64
	found, err := tx.One(lastEpoch, []any{node.String()}, &chain, &epoch)
	if err != nil || !found {
		return audit.Entry{}, err
	}
	e, err := readHead(tx.Tx, chain)
	e.Epoch = epoch
	return e, err
}

// Node names the store of identity that this process speaks for.
func (l *Ledger) Node() id.Node { return l.node }

// Epoch counts the node's processes; it is this one's.
func (l *Ledger) Epoch() int64 { return l.epoch }

// Restored is when the store was last restored from a copy, zero for never. What a
// client sent between the copy and then is not known here.
func (l *Ledger) Restored() time.Time { return l.restored }

// SetRestored notes that this process has restored the store, with a row of the
// trail that tells of it. What is written later knows of it after the next Begin.
func (tx *Tx) SetRestored(detail string) error {
	l := tx.ledger
	if _, err := tx.Exec(setRestored, l.node.String(), l.epoch, tx.Now.UnixMilli()); err != nil {
		return err
	}
	_, err := tx.Audit(audit.Entry{Kind: audit.Restored, Subject: l.node.String(), Detail: detail})
	return err
}

// Chain numbers this process's chain of the trail, above those of all before it.
func (l *Ledger) Chain() int64 { return l.trail.chain }

// Lived is how long this process has had the store, by a clock that nobody sets.
func (l *Ledger) Lived() time.Duration { return l.clock.passed() - l.born }

// DB gives the database, for its counts and its fence.
func (l *Ledger) DB() *sqldb.DB { return l.db }

// Now is the store's time for what only reads.
func (l *Ledger) Now() time.Time { return l.clock.now() }

// Behind is how far the wall clock is behind the store's time, which goes on by
// itself. Where it is more than moments, the wall clock was set back or once stood
// far ahead.
func (l *Ledger) Behind() time.Duration { return l.clock.behind() }

// Tx is one transaction of a verb. Now is the time of the whole verb, in UTC and
// whole milliseconds, and never before a time that the store holds.
type Tx struct {
	*sqldb.Tx
	Now time.Time

	// RightsStand is set by a job that found nothing to change of who may do what.
	RightsStand bool

	ledger  *Ledger
	last    audit.Entry
	refused *fault.Fault
	order   int64
	taken   takeUp
}

// Refuse makes Write return the fault and yet keeps what the job wrote, where a
// refusal has something to record.
func (tx *Tx) Refuse(f *fault.Fault) error {
	tx.refused = f
	return nil
}

// Write runs a job as one transaction, durable when it returns without a fault
// or with one that was given to Refuse.
func (l *Ledger) Write(ctx context.Context, job func(*Tx) error) error {
	var done *Tx
	err := l.db.Write(ctx, func(stx *sqldb.Tx) error {
		l.order++
		done = &Tx{Tx: stx, Now: l.clock.take(), ledger: l, order: l.order}
		return job(done)
	})
	if err != nil {
		return err
	}
	l.trail.confirm(done.last)
	l.latest.note(done)
	if done.refused != nil {
		l.denials.Add(1)
		return done.refused
	}
	return nil
}

// Try writes nothing new, durably, to learn whether anything can be written.
func (l *Ledger) Try(ctx context.Context) error {
	return l.Write(ctx, func(tx *Tx) error {
		_, err := tx.Exec(tryOut, l.node.String(), l.epoch)
		return err
	})
}

// Denials counts the refused attempts of this process.
func (l *Ledger) Denials() int64 { return l.denials.Load() }

// Read runs a job on one snapshot; it must not write.
func (l *Ledger) Read(ctx context.Context, job func(*Tx) error) error {
	return l.db.Read(ctx, func(stx *sqldb.Tx) error {
		return job(&Tx{Tx: stx, Now: l.clock.now(), ledger: l})
	})
}

// Close writes the rows of the trail that nobody waited for and closes the
// database.
func (l *Ledger) Close() error {
	err := errors.Join(l.notices.close(), l.mark(), l.latest.close())
	if cerr := l.db.Close(); err == nil {
		err = cerr
	}
	return err
}
