// Package sqldb keeps an SQL database: one writer with group commit, read
// transactions beside it, and the migrations of its schema.
//
// It promises that Write returns nil only after the commit is durable; that the
// jobs of a batch see each other in one serial order and that a failing job
// undoes itself alone; that Read sees one snapshot which holds every Write that
// returned before; that a lone job is committed at once; and that nothing is
// written after the first sign that durability is in doubt (pool page, section
// 6): the database is then fenced until the process starts anew, which checks
// the whole file before it goes on. A full disk is no such sign: the jobs are
// refused, and later ones succeed once there is room.
//
// It does not promise that a job runs once (a batch is run again without the
// job that spoiled it, so a job is a function of the database and its own
// command and has no other effect), nor that a job may wait: while it runs,
// every other writer waits. A job must not call Write, and a Read inside a job
// sees the state before the batch.
//
// Statements are the SQL that SQLite and PostgreSQL share, with $1 to $n and
// columns of TEXT, BIGINT and BYTEA; only the file sqlite.go knows the engine.
// The queue, a batch, the read connections and the prepared statements of a
// connection are bounded by Options and constants. A DB is safe for concurrent
// use; a Tx is not. Faults are those of the pool wing; the causes ErrNewer,
// ErrChanged, ErrLocked, ErrUnsafe, ErrDamaged and ErrUnknown can be asked for with
// errors.Is.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/lockedfile"
	"github.com/stewardhost/steward/internal/means/sqldb/migration"
)

// Options are what a caller may choose; the zero value works.
type Options struct {
	ReadConns int // read transactions at a time; 4 if zero
	BatchMax  int // jobs in one commit; 256 if zero
	QueueMax  int // jobs that wait for the writer; 1024 if zero. Write waits for a place.
}

func (o Options) filled() Options {
	if o.ReadConns <= 0 {
		o.ReadConns = 4
	}
	if o.BatchMax <= 0 {
		o.BatchMax = 256
	}
	if o.QueueMax <= 0 {
		o.QueueMax = 1024
	}
	return o
}

// The causes of faults that a caller may want to tell apart.
var (
	ErrNewer   = migration.ErrNewer
	ErrChanged = migration.ErrChanged
	ErrLocked  = lockedfile.ErrHeld
	ErrUnsafe  = lockedfile.ErrUnsafe

	// ErrDamaged is under the fault of Open for a file that is no database, or not a
	// whole one, or not a steward's, and under the fault of whoever meets the damage
	// later. Time does not mend it.
	ErrDamaged = errors.New("the database is damaged")

	// ErrUnknown is under the fault of a job whose commit failed in such a way
	// that the job may or may not be in the database after the next start
	// (proof page, FP17 and FP18). All other faults of Write mean that it is not.
	ErrUnknown = errors.New("the outcome of the commit is not known")

	errClosed = errors.New("the database is closed")
)

// DB is an open database.
type DB struct {
	pool    *sql.DB
	lock    *lockedfile.Lock
	writer  *writer
	readers chan *session
	fence   *fence
	count   *counters

	gate    sync.RWMutex // held for reading while a job enters the queue
	closed  bool         // under gate
	closing chan struct{}
	tidied  sync.WaitGroup // the checkpointer
	tidy    chan struct{}  // asks it; holds one
}

// Write queues a job for the writer and returns after the transaction that it
// was part of is durable, with the job's own error or nil. The error of a job
// that wrote nothing is also told only after the commit, because it may rest on
// what the batch wrote before it.
//
// A job that is still queued when ctx ends is taken out, and the fault says
// Unavailable; a job that has started is finished. A panic of the job comes back
// as Internal with the panic and its stack in the cause. A statement that failed
// fails its job, whatever the job returns.
func (db *DB) Write(ctx context.Context, job func(*Tx) error) error {
	if err := db.Fenced(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	r := &request{job: job, answered: make(chan struct{})}
	if err := db.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.answered:
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, dropped) {
			return cancelled(ctx.Err())
		}
		<-r.answered
	}
	return r.err
}

func (db *DB) enqueue(ctx context.Context, r *request) error {
	db.gate.RLock()
	defer db.gate.RUnlock()
	if db.closed {
		return shut()
	}
	select {
	case db.writer.queue <- r:
		return nil
	case <-ctx.Done():
		return cancelled(ctx.Err())
	}
}

// Read runs a job in the caller's goroutine on one snapshot of the database. A
// statement that would write fails. When ctx ends, the next statement fails; it
// waits for one of the read connections, so a job must not call Read.
func (db *DB) Read(ctx context.Context, job func(*Tx) error) (err error) {
	var s *session
	select {
	case s = <-db.readers:
	case <-ctx.Done():
		return cancelled(ctx.Err())
	case <-db.closing:
		return shut()
	}
	defer func() { db.readers <- s }()
	db.count.reads.Add(1)
	if err := s.control(beginRead); err != nil {
		return statementFault(beginRead, err)
	}
	tx := &Tx{session: s, ctx: ctx}
	defer func() {
		// Also on a panic, which goes on to the caller.
		err = tx.end(err)
		if rerr := s.control(rollback); rerr != nil && err == nil {
			err = statementFault(rollback, rerr)
		}
		if judge(err, false) == fatal {
			_ = db.fence.raise("a read failed", err)
		}
	}()
	return job(tx)
}

// Fenced is nil, or the fault that every Write gives since durability came into
// doubt. Reads go on.
func (db *DB) Fenced() error {
	if f := db.fence.fault(); f != nil {
		return f
	}
	return nil
}

// FencedCh is closed when the database becomes fenced, so that the process can
// end and start anew.
func (db *DB) FencedCh() <-chan struct{} { return db.fence.up }

// Close refuses new jobs, lets the queued ones and the running reads finish, and
// closes the file. A second call does nothing.
func (db *DB) Close() error {
	db.gate.Lock()
	if db.closed {
		db.gate.Unlock()
		return nil
	}
	db.closed = true
	close(db.closing)
	close(db.writer.queue)
	db.gate.Unlock()

	<-db.writer.done
	close(db.tidy)
	db.tidied.Wait()
	var errs []error
	for range cap(db.readers) {
		errs = append(errs, (<-db.readers).close())
	}
	errs = append(errs, db.closeWriter(), db.pool.Close(), db.lock.Release())
	return errors.Join(errs...)
}

// closeWriter copies the log into the file and closes the last connection. On a
// fenced database neither may happen: the engine would copy pages whose first
// fsync failed and then remove the log. The connection is left to the end of the
// process, which keeps the log for the next start.
func (db *DB) closeWriter() error {
	if db.Fenced() == nil {
		if _, err := runCheckpoint(db.writer.session.conn, checkpointFinal); judge(err, false) == fatal {
			_ = db.fence.raise("the last checkpoint failed", err)
		}
	}
	if err := db.Fenced(); err != nil {
		return err
	}
	return db.writer.session.close()
}

func cancelled(err error) *fault.Fault {
	return fault.New(fault.Unavailable, "the caller gave up before the store could act").Because(err)
}

func shut() *fault.Fault {
	return fault.New(fault.Unavailable, "the store is closed").Because(errClosed)
}

func noRoom(err error) *fault.Fault {
	return fault.New(fault.Unavailable, "the store has no room left").Because(err)
}
