package alone

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stewardhost/steward/bench/load"
	"github.com/stewardhost/steward/bench/meter"
	"github.com/stewardhost/steward/bench/whole"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// databaseFile is the store's.
const databaseFile = "steward.db"

// Rows writes the rows that a call leaves, byte for byte but for their keys,
// through the writer alone: no facts are read, nothing is decided, and the trail
// is no chain. It is the floor under the verbs.
type Rows struct {
	db   *sqldb.DB
	next atomic.Int64 // added to the numbers of the samples
	item *sample
	kept map[load.Kind]kept
}

// firstRow leaves room for what the pool itself has written.
const firstRow = 1 << 20

// after is the nth number after all of the pool's own.
func after(of any, n int64) int64 { return of.(int64)/firstRow*firstRow + n }

// kept are the rows of one finished call.
type kept struct{ call, trail *sample }

// sample is one stored row and the statement that writes such a row.
type sample struct {
	insert  string
	columns []string
	values  []any
}

// OpenRows opens a copy of a pool; migrations are the store's.
func OpenRows(ctx context.Context, p whole.Pool, migrations fs.FS) (*Rows, error) {
	db, err := sqldb.Open(ctx, filepath.Join(p.Dir, databaseFile), migrations, sqldb.Options{})
	if err != nil {
		return nil, err
	}
	r := &Rows{db: db, kept: map[load.Kind]kept{}}
	r.next.Store(firstRow)
	err = db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		for kind, method := range map[load.Kind]string{load.Direct: whole.Method, load.Get: "get", load.Put: "put"} {
			var k kept
			if k.call, err = read(tx, "invocations", "method = $1", method); err != nil {
				return err
			}
			if k.trail, err = read(tx, "audit", "subject = $1", k.call.of("invocation")); err != nil {
				return err
			}
			r.kept[kind] = k
		}
		r.item, err = read(tx, "items", "key = $1", []byte(load.Key))
		return err
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return r, nil
}

// Close closes the database.
func (r *Rows) Close() error { return r.db.Close() }

// read takes the first row of a table that the condition finds.
func read(tx *sqldb.Tx, table, where string, arg any) (*sample, error) {
	rows, err := tx.Query("SELECT * FROM "+table+" WHERE "+where+" LIMIT 1", arg)
	found, err := sqldb.Collect(rows, err, func(rows *sql.Rows) (*sample, error) {
		columns, err := rows.Columns()
		if err != nil {
			return nil, err
		}
		s := &sample{columns: columns, values: make([]any, len(columns))}
		into := make([]any, len(columns))
		for i := range into {
			into[i] = &s.values[i]
		}
		return s, rows.Scan(into...)
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("alone: no row of %s is there to look at", table)
	}
	s := found[0]
	marks := make([]string, len(s.columns))
	for i := range marks {
		marks[i] = fmt.Sprintf("$%d", i+1)
	}
	s.insert = "INSERT INTO " + table + " (" + strings.Join(s.columns, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
	return s, nil
}

func (s *sample) of(column string) any { return s.values[slices.Index(s.columns, column)] }

// with is the row with other values in some columns.
func (s *sample) with(other map[string]any) []any {
	values := slices.Clone(s.values)
	for column, value := range other {
		values[slices.Index(s.columns, column)] = value
	}
	return values
}

// fresh are the columns in which the rows of two calls must differ.
func (r *Rows) fresh(k kept) (call, trail map[string]any) {
	invocation, n := id.New[id.Invocation]().String(), r.next.Add(1)
	number, entry := after(k.call.of("number"), n), after(k.trail.of("entry"), n)
	call = map[string]any{"number": number, "tx": id.NewTx(time.Now()).String(), "invocation": invocation, "told": entry}
	trail = map[string]any{"entry": entry, "seq": after(k.trail.of("seq"), n), "subject": invocation}
	return call, trail
}

func insert(tx *sqldb.Tx, s *sample, other map[string]any) error {
	_, err := tx.Exec(s.insert, s.with(other)...)
	return err
}

const settle = "UPDATE invocations SET state = $2, settled_at = $3, effects = $4, result = $5, told = $6 WHERE number = $1"

// Dispatched writes the rows of n calls of echo: one commit for the open row, one
// for its outcome and the row of the trail.
func (r *Rows) Dispatched(ctx context.Context, callers, n int) (meter.Times, error) {
	k := r.kept[load.Direct]
	return meter.Spread(callers, n, func(_, _ int) error {
		call, trail := r.fresh(k)
		told := call["told"]
		maps.Copy(call, map[string]any{"state": "dispatching", "settled_at": int64(0), "effects": "", "result": nil, "told": int64(0)})
		if err := r.db.Write(ctx, func(tx *sqldb.Tx) error { return insert(tx, k.call, call) }); err != nil {
			return err
		}
		return r.db.Write(ctx, func(tx *sqldb.Tx) error {
			if err := insert(tx, k.trail, trail); err != nil {
				return err
			}
			_, err := tx.Exec(settle, call["number"], k.call.of("state"), k.call.of("settled_at"), k.call.of("effects"), k.call.of("result"), told)
			return err
		})
	})
}

// Builtin writes the rows of n calls of a built-in method: one commit each.
func (r *Rows) Builtin(ctx context.Context, kind load.Kind, callers, n int) (meter.Times, error) {
	k := r.kept[kind]
	return meter.Spread(callers, n, func(_, _ int) error {
		call, trail := r.fresh(k)
		return r.db.Write(ctx, func(tx *sqldb.Tx) error {
			if kind == load.Put {
				if err := insert(tx, r.item, map[string]any{"key": []byte(load.KeyOf(call["number"].(int64)))}); err != nil {
					return err
				}
			}
			if err := insert(tx, k.trail, trail); err != nil {
				return err
			}
			return insert(tx, k.call, call)
		})
	})
}
