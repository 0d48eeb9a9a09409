package sqldb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

const childVariable = "SQLDB_TEST_CHILD"

// children are the processes that the parent kills.
var children = map[string]func(path string){
	"writes":   childWrites,
	"migrates": childMigrates,
}

// startChild runs the test binary as one of the children and returns its output.
func startChild(t *testing.T, which, path string) (kill func(), out *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], path)
	cmd.Env = append(os.Environ(), childVariable+"="+which)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	return sync.OnceFunc(func() {
		timer.Stop()
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, pipe)
		_ = cmd.Wait()
	}), bufio.NewScanner(pipe)
}

var pairTree = fstest.MapFS{"0001_pair.sql": {Data: []byte(`
CREATE TABLE left_half (number BIGINT NOT NULL PRIMARY KEY, body BYTEA NOT NULL);
CREATE TABLE right_half (number BIGINT NOT NULL PRIMARY KEY);`)}}

// childWrites acknowledges each pair of rows on its standard output as soon as
// Write has returned. Its numbers go on where the last child's ended.
func childWrites(path string) {
	ctx := context.Background()
	db, err := Open(ctx, path, pairTree, Options{})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	var last int64
	if err := db.Read(ctx, func(tx *Tx) error {
		_, err := tx.One("SELECT coalesce(max(number), 0) FROM left_half", nil, &last)
		return err
	}); err != nil {
		fmt.Println("read:", err)
		return
	}
	var wg sync.WaitGroup
	for w := range int64(8) {
		wg.Go(func() {
			for n := last + 1 + w; ; n += 8 {
				if err := db.Write(ctx, func(tx *Tx) error {
					if _, err := tx.Exec("INSERT INTO left_half (number, body) VALUES ($1, $2)", n, make([]byte, 6000)); err != nil {
						return err
					}
					_, err := tx.Exec("INSERT INTO right_half (number) VALUES ($1)", n)
					return err
				}); err != nil {
					fmt.Println("write:", err)
					return
				}
				_, _ = os.Stdout.WriteString(strconv.FormatInt(n, 10) + "\n")
			}
		})
	}
	wg.Wait()
}

// A killed process has lost nothing that it acknowledged, and no transaction is
// there by half.
func TestKilledWhileWriting(t *testing.T) {
	path := storePath(t)
	acknowledged := map[int64]bool{}
	for range 20 {
		kill, out := startChild(t, "writes", path)
		for limit := 1 + rand.IntN(400); limit > 0 && out.Scan(); limit-- {
			acknowledge(t, acknowledged, out.Text())
		}
		kill()
		for out.Scan() {
			acknowledge(t, acknowledged, out.Text())
		}

		db, err := Open(t.Context(), path, pairTree, Options{})
		if err != nil {
			t.Fatalf("open after a kill: %v", err)
		}
		there := map[int64]bool{}
		if err := db.Read(t.Context(), func(tx *Tx) error {
			rows, err := tx.Query("SELECT l.number FROM left_half l JOIN right_half r ON r.number = l.number")
			if err != nil {
				return err
			}
			for rows.Next() {
				var n int64
				if err := rows.Scan(&n); err != nil {
					return err
				}
				there[n] = true
			}
			var left, right int
			if _, err := tx.One("SELECT (SELECT count(*) FROM left_half), (SELECT count(*) FROM right_half)", nil, &left, &right); err != nil {
				return err
			}
			if left != len(there) || right != len(there) {
				return fmt.Errorf("%d left halves, %d right halves, %d pairs", left, right, len(there))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		for n := range acknowledged {
			if !there[n] {
				t.Errorf("row %d was acknowledged and is gone", n)
			}
		}
		if err := checkIntegrity(t.Context(), db.writer.session.conn); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if len(acknowledged) < 20 {
		t.Errorf("only %d rows were acknowledged", len(acknowledged))
	}
}

func acknowledge(t *testing.T, rows map[int64]bool, line string) {
	t.Helper()
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatalf("the child says %q", line)
	}
	rows[n] = true
}

var twoSteps = fstest.MapFS{
	"0001_note.sql": noteTree["0001_note.sql"],
	"0002_more.sql": {Data: []byte(`
ALTER TABLE note ADD COLUMN colour TEXT;
UPDATE note SET colour = 'none';
CREATE TABLE more (name TEXT NOT NULL PRIMARY KEY);`)},
}

// childMigrates stops right before the commit of its migration.
func childMigrates(path string) {
	_, err := open(context.Background(), path, twoSteps, Options{}, seams{func(func() error) error {
		fmt.Println("all statements have run")
		select {}
	}})
	fmt.Println(err)
}

// FP16: a migration that was cut off has left nothing.
func TestKilledWhileMigrating(t *testing.T) {
	for _, start := range []fstest.MapFS{nil, noteTree} {
		path := filepath.Join(t.TempDir(), "steward.db")
		if start != nil {
			db := begin(t, path, start, Options{}, seams{})
			write(t, db, add("a"))
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		kill, out := startChild(t, "migrates", path)
		if !out.Scan() || !strings.HasPrefix(out.Text(), "all statements") {
			t.Fatalf("the child says %q", out.Text())
		}
		kill()
		if start != nil {
			db := begin(t, path, start, Options{}, seams{})
			wantNames(t, db, "a")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		db := begin(t, path, twoSteps, Options{}, seams{})
		write(t, db, func(tx *Tx) error {
			_, err := tx.Exec("INSERT INTO more (name) VALUES ($1)", "b")
			return err
		})
	}
}
