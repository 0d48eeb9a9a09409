package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/sqldb/statement"
)

// Tx is one job's view of one transaction. It belongs to the goroutine that
// runs the job and is of no use after the job has returned.
//
// After the first error of a statement, and after any misuse, every later call
// gives the same fault and the job as a whole has failed: both engines refuse a
// transaction with an error in it, so a job that expects a conflict says ON
// CONFLICT DO NOTHING and looks at the number of rows.
type Tx struct {
	session *session
	ctx     context.Context // asked before each statement; a statement that runs is not interrupted
	rows    *sql.Rows       // of the latest query
	query   string          // its text
	failed  *fault.Fault
	wrote   bool
	over    bool
}

// Exec runs one statement and returns how many rows it changed. Text is
// portable SQL with $1 to $n; arguments are integers, string, []byte, nil (a
// nil []byte too is NULL) and named types of those. An empty BYTEA may come back
// as nil: whoever has to tell it from NULL scans into sql.Null.
func (tx *Tx) Exec(query string, args ...any) (rowsAffected int64, err error) {
	st, err := tx.prepare(query, args)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, tx.fail(query, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, tx.fail(query, err)
	}
	if st.verb == statement.Other || st.verb == statement.Changes && n > 0 {
		tx.wrote = true
	}
	return n, nil
}

// Query runs one statement that gives rows. The caller closes them, or reads
// them to their end, before it runs the next statement: one of the engines
// cannot do otherwise. Collect does that.
func (tx *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	st, err := tx.prepare(query, args)
	if err != nil {
		return nil, err
	}
	if st.verb != statement.Reads {
		tx.wrote = true
	}
	rows, err := st.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, tx.fail(query, err)
	}
	tx.rows, tx.query = rows, query
	return rows, nil
}

// One runs a statement that gives at most one row and scans it into dest. It
// reports false, and leaves dest alone, if there is none. A second row is a
// fault: whoever wants the first of many says so with LIMIT 1.
func (tx *Tx) One(query string, args []any, dest ...any) (found bool, err error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, tx.settle()
	}
	if err := rows.Scan(dest...); err != nil {
		return false, tx.fail(query, err)
	}
	if rows.Next() {
		return false, tx.fail(query, errors.New("more than one row"))
	}
	return true, tx.settle()
}

// Findings holds every table against the indexes that lead to its rows, page by
// page, and says what is wrong with them, in the engine's words, at most 20. It
// reads the whole database.
func (tx *Tx) Findings() ([]string, error) {
	if err := tx.settle(); err != nil {
		return nil, err
	}
	found, err := findings(tx.ctx, tx.session.conn)
	if err != nil {
		return nil, tx.fail(integrityCheck, err)
	}
	return found, nil
}

// Collect reads what Query returned into a slice: rows, err := tx.Query(…);
// Collect(rows, err, scan). It closes the rows, and stops at the first error of
// scan. No rows give a nil slice.
func Collect[T any](rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// prepare checks that a statement may run now and returns it prepared.
func (tx *Tx) prepare(query string, args []any) (*prepared, error) {
	if tx.over {
		return nil, statementFault(query, errors.New("the transaction is over"))
	}
	if err := tx.settle(); err != nil {
		return nil, err
	}
	if err := tx.ctx.Err(); err != nil {
		return nil, cancelled(err)
	}
	if tx.rows != nil {
		if _, err := tx.rows.Columns(); err == nil {
			return nil, tx.fail(query, fmt.Errorf("the rows of %q are still open", brief(tx.query)))
		}
		tx.rows = nil
	}
	st, err := tx.session.prepare(query)
	if err != nil {
		return nil, tx.fail(query, err)
	}
	if len(args) != st.params {
		return nil, tx.fail(query, fmt.Errorf("%d arguments for %d parameters", len(args), st.params))
	}
	for i, arg := range args {
		if err := portable(arg); err != nil {
			return nil, tx.fail(query, fmt.Errorf("$%d: %w", i+1, err))
		}
	}
	tx.session.statements.Add(1)
	return st, nil
}

// settle takes over an error that showed itself while rows were read, which a
// job may have turned into something else.
func (tx *Tx) settle() error {
	if tx.failed == nil && tx.rows != nil {
		if err := tx.rows.Err(); err != nil {
			return tx.fail(tx.query, err)
		}
	}
	if tx.failed != nil {
		return tx.failed
	}
	return nil
}

// fail makes the error the one that this transaction gives from now on.
func (tx *Tx) fail(query string, err error) error {
	if tx.failed == nil {
		tx.failed = statementFault(query, err)
	}
	return tx.failed
}

// end closes what the job left open and returns the job's error, or that of a
// statement which the job passed over.
func (tx *Tx) end(err error) error {
	if tx.rows != nil {
		if cerr := tx.rows.Close(); cerr != nil {
			_ = tx.fail(tx.query, cerr)
		}
	}
	if failed := tx.settle(); failed != nil && !errors.Is(err, failed) {
		err = failed
	}
	tx.over = true
	return err
}

// statementFault is the fault of a statement. Its cause names the statement, without
// its arguments, for the log.
func statementFault(query string, err error) *fault.Fault {
	cause := fmt.Errorf("%s: %w", brief(query), err)
	switch judge(err, false) {
	case full:
		return noRoom(cause)
	case busy:
		return fault.New(fault.Unavailable, "the store is in use by another program").Because(cause)
	case fatal:
		if !failedIO(err) {
			cause = fmt.Errorf("%w: %w", ErrDamaged, cause)
		}
	}
	return fault.From(cause)
}

// brief is a statement on one line, cut to what a log line can hold.
func brief(query string) string {
	s := strings.Join(strings.Fields(query), " ")
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}

// portable refuses arguments that one of the engines would refuse or would
// store as something else.
func portable(arg any) error {
	switch v := arg.(type) {
	case string:
		if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
			return errors.New("text that is not UTF-8 or holds a zero byte")
		}
	case bool, float32, float64:
		return fmt.Errorf("a %T has no column type of its own", arg)
	}
	return nil
}

// session is one connection with its prepared statements. It belongs to one
// goroutine at a time.
type session struct {
	conn       *sql.Conn
	cache      map[string]*prepared
	statements *atomic.Int64
}

type prepared struct {
	*sql.Stmt
	params int
	verb   statement.Verb
}

// cacheSize bounds the prepared statements of a connection. The texts of a
// program are far fewer; a text made at run time must not grow the cache.
const cacheSize = 512

func (s *session) prepare(query string) (*prepared, error) {
	if st, ok := s.cache[query]; ok {
		return st, nil
	}
	t, err := statement.Parse(query)
	if err != nil {
		return nil, err
	}
	if len(s.cache) >= cacheSize {
		if err := s.forget(); err != nil {
			return nil, err
		}
	}
	stmt, err := s.conn.PrepareContext(context.Background(), rebind(t))
	if err != nil {
		return nil, err
	}
	st := &prepared{stmt, t.Params, t.Verb}
	s.cache[query] = st
	return st, nil
}

// forget closes the prepared statements. The pool does not do that for a
// connection of its own, and the engine keeps a connection open, with its files,
// as long as a statement of it is.
func (s *session) forget() error {
	var errs []error
	for _, st := range s.cache {
		errs = append(errs, st.Close())
	}
	clear(s.cache)
	return errors.Join(errs...)
}

func (s *session) close() error { return errors.Join(s.forget(), s.conn.Close()) }

// control runs BEGIN, COMMIT or ROLLBACK.
func (s *session) control(text string) error {
	st, err := s.prepare(text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(context.Background())
	return err
}

// commit makes the transaction durable; an error may leave open whether it is.
func (s *session) commit(at seams) error {
	next := func() error { return s.control(commit) }
	if at.commit == nil {
		return next()
	}
	return at.commit(next)
}
