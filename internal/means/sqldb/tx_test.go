package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stewardhost/steward/internal/ground/fault"
)

func TestParametersGoByTheirNumber(t *testing.T) {
	db := notes(t)
	var got string
	err := db.Read(t.Context(), func(tx *Tx) error {
		_, err := tx.One("SELECT $3||$1||$2||'$9?'||$1 -- $7", []any{"a", "b", "c"}, &got)
		return err
	})
	if got != "cab$9?a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	type name string
	type row struct {
		Name name
		Size sql.Null[int64]
		Body []byte
	}
	rows := []row{
		{"", sql.Null[int64]{V: -1 << 63, Valid: true}, nil},
		{"ü\n'", sql.Null[int64]{V: 1<<63 - 1, Valid: true}, []byte{}},
		{"12", sql.Null[int64]{}, []byte{0, 255}},
	}
	db := notes(t)
	write(t, db, func(tx *Tx) error {
		for _, r := range rows {
			if n, err := tx.Exec("INSERT INTO note (name, size, body) VALUES ($1, $2, $3)", r.Name, r.Size, r.Body); n != 1 || err != nil {
				return fmt.Errorf("%d, %w", n, err)
			}
		}
		return nil
	})
	var got []row
	err := db.Read(t.Context(), func(tx *Tx) (err error) {
		rows, err := tx.Query("SELECT name, size, body FROM note ORDER BY name DESC")
		got, err = Collect(rows, err, func(rows *sql.Rows) (r row, err error) {
			err = rows.Scan(&r.Name, &r.Size, &r.Body)
			return r, err
		})
		return err
	})
	want := []row{rows[1], rows[2], rows[0]}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// What one of the engines would refuse, and what would break the transaction, is
// a fault of the job and stays the answer of the transaction.
func TestMisuse(t *testing.T) {
	exec := func(query string, args ...any) func(*Tx) error {
		return func(tx *Tx) error {
			_, err := tx.Exec(query, args...)
			return err
		}
	}
	for _, c := range []struct {
		name string
		job  func(*Tx) error
		want string
	}{
		{"wrong type", exec(addNote, "a", "text"), "cannot store TEXT value in INTEGER column"},
		{"too few arguments", exec(addNote, "a"), "1 arguments for 2 parameters"},
		{"too many arguments", exec(addNote, "a", 1, 2), "3 arguments for 2 parameters"},
		{"a gap", exec("UPDATE note SET size = $3 WHERE name = $1", 1, 2, 3), "only 2 occur"},
		{"another engine's parameter", exec("DELETE FROM note WHERE name = ?", "a"), "does not belong"},
		{"two statements", exec("DELETE FROM note; DELETE FROM note"), "does not belong"},
		{"bool", exec(addNote, "a", true), "a bool has no column type"},
		{"float", exec(addNote, "a", 1.0), "a float64 has no column type"},
		{"zero byte", exec(addNote, "a\x00b", 1), "zero byte"},
		{"bad text", exec(addNote, "a\xff", 1), "not UTF-8"},
		{"a string in double quotes", exec(`DELETE FROM note WHERE name = "a"`), "no such column"},
		{"no SQL", exec("HELLO"), "syntax error"},
		{"rows left open", func(tx *Tx) error {
			if _, err := tx.Query("SELECT name FROM note"); err != nil {
				return err
			}
			return exec("DELETE FROM note")(tx)
		}, "are still open"},
		{"a second row", func(tx *Tx) error {
			var name string
			_, err := tx.One("SELECT name FROM note", nil, &name)
			return err
		}, "more than one row"},
		{"wrong destination", func(tx *Tx) error {
			var size int
			_, err := tx.One("SELECT name FROM note WHERE name = $1", []any{"x"}, &size)
			return err
		}, "converting driver.Value"},
		{"a write that reads", func(tx *Tx) error {
			var name string
			_, err := tx.One("UPDATE note SET size = 1 RETURNING name", nil, &name)
			return err
		}, "more than one row"},
	} {
		db := notes(t)
		write(t, db, add("x"))
		write(t, db, add("y"))
		var first, second error
		err := db.Write(t.Context(), func(tx *Tx) error {
			first = c.job(tx)
			_, second = tx.Exec("DELETE FROM note")
			return nil // passed over
		})
		wantFault(t, err, fault.Internal)
		if cause := errors.Unwrap(err); cause == nil || !strings.Contains(cause.Error(), c.want) {
			t.Errorf("%s: %v", c.name, cause)
		}
		if err != first || err != second {
			t.Errorf("%s: three answers: %v, %v, %v", c.name, first, second, err)
		}
		wantNames(t, db, "x", "y")
	}
}

func TestTransactionEndsWithItsJob(t *testing.T) {
	db := notes(t)
	var kept *Tx
	var rows *sql.Rows
	write(t, db, func(tx *Tx) (err error) {
		kept = tx
		if err := add("a")(tx); err != nil {
			return err
		}
		rows, err = tx.Query("SELECT name FROM note")
		return err
	})
	if rows.Next() {
		t.Error("rows outlive their transaction")
	}
	_, err := kept.Exec("DELETE FROM note")
	wantFault(t, err, fault.Internal)
	wantNames(t, db, "a")
}

// RETURNING writes, though it is asked like a read.
func TestFailureAfterReturningIsUndone(t *testing.T) {
	db := notes(t)
	errs := batch(t, db, add("a"), func(tx *Tx) error {
		var name string
		if _, err := tx.One("INSERT INTO note (name) VALUES ($1) RETURNING name", []any{"b"}, &name); err != nil || name != "b" {
			return fmt.Errorf("%q, %w", name, err)
		}
		return fault.New(fault.Conflict, "no")
	})
	wantFault(t, errs[1], fault.Conflict)
	wantNames(t, db, "a")
}

func TestReadSeesOneSnapshot(t *testing.T) {
	db := notes(t)
	write(t, db, add("a"))
	count := func(tx *Tx) (n int) {
		if _, err := tx.One("SELECT count(*) FROM note", nil, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	if err := db.Read(t.Context(), func(tx *Tx) error {
		before := count(tx)
		write(t, db, add("b"))
		if after := count(tx); before != 1 || after != 1 {
			t.Errorf("%d, then %d", before, after)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	wantNames(t, db, "a", "b")
}

func TestReadDoesNotWrite(t *testing.T) {
	db := notes(t)
	wantFault(t, db.Read(t.Context(), add("a")), fault.Internal)
	wantNames(t, db)
}

func TestReadOfACallerThatGaveUp(t *testing.T) {
	db := begin(t, storePath(t), noteTree, Options{ReadConns: 1}, seams{})
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Read(ctx, func(tx *Tx) error {
		cancel()
		// The one connection is taken.
		wantFault(t, db.Read(ctx, func(*Tx) error { return nil }), fault.Unavailable)
		var n int
		_, err := tx.One("SELECT count(*) FROM note", nil, &n)
		return err
	})
	wantFault(t, err, fault.Unavailable)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantNames(t, db)
}

func TestPanicInARead(t *testing.T) {
	db := begin(t, storePath(t), noteTree, Options{ReadConns: 1}, seams{})
	func() {
		defer func() {
			if v := recover(); v != "no invariant" {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = db.Read(t.Context(), func(tx *Tx) error {
			if _, err := tx.Query("SELECT name FROM note"); err != nil {
				t.Error(err)
			}
			panic("no invariant")
		})
	}()
	write(t, db, add("a"))
	wantNames(t, db, "a") // on the one connection, on a new snapshot
}

func TestPreparedStatementsAreBounded(t *testing.T) {
	db := notes(t)
	write(t, db, func(tx *Tx) error {
		for i := range 3*cacheSize + 1 {
			var n int
			if _, err := tx.One(fmt.Sprintf("SELECT %d", i), nil, &n); err != nil || n != i {
				return fmt.Errorf("%d, %w", n, err)
			}
		}
		return nil
	})
	if n := len(db.writer.session.cache); n > cacheSize {
		t.Errorf("%d statements are kept", n)
	}
}
