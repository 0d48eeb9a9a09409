package sqldb

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"
)

func TestSmoke(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "a", "s.db"), fstest.MapFS{"0001_a.sql": {Data: []byte("CREATE TABLE t (k TEXT NOT NULL PRIMARY KEY, n BIGINT, b BYTEA);")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), func(tx *Tx) error {
		n, err := tx.Exec("INSERT INTO t (k, n, b) VALUES ($1, $2, $3)", "k", 7, []byte(nil))
		t.Log(n, err)
		n, err = tx.Exec("INSERT INTO t (k, n, b) VALUES ($1, $2, $3)", "k2", 7, []byte{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Read(t.Context(), func(tx *Tx) error {
		var k string
		found, err := tx.One("SELECT $3||$1||$2", []any{"a", "b", "c"}, &k)
		t.Log(found, k, err)
		rows, err := tx.Query("SELECT typeof(b) FROM t ORDER BY k")
		l, err := Collect(rows, err, func(r *sql.Rows) (s string, err error) { err = r.Scan(&s); return })
		t.Log(l, err)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", db.Stats())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
