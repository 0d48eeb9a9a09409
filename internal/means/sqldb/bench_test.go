package sqldb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"
)

var journalTree = fstest.MapFS{"0001_journal.sql": {Data: []byte(`
CREATE TABLE journal (
	owner TEXT NOT NULL,
	tx BIGINT NOT NULL,
	state TEXT NOT NULL,
	body BYTEA NOT NULL,
	PRIMARY KEY (owner, tx)
)`)}}

const (
	insertRow = "INSERT INTO journal (owner, tx, state, body) VALUES ($1, $2, $3, $4)"
	readRow   = "SELECT state, body FROM journal WHERE owner = $1 AND tx = $2"
)

func benchDB(b *testing.B) *DB {
	b.Helper()
	db, err := Open(b.Context(), filepath.Join(b.TempDir(), "store", "steward.db"), journalTree, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return db
}

// spread runs op for each number below b.N in n goroutines.
func spread(b *testing.B, n int, op func(i int64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	took := make([]time.Duration, b.N)
	b.ResetTimer()
	for range n {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				began := time.Now()
				if err := op(i); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(began)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "max-µs")
}

// BenchmarkWrite is one row a job, committed with FULL.
func BenchmarkWrite(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db := benchDB(b)
			body := make([]byte, 512)
			ctx := b.Context()
			spread(b, callers, func(i int64) error {
				return db.Write(ctx, func(tx *Tx) error {
					_, err := tx.Exec(insertRow, "owner", i, "succeeded", body)
					return err
				})
			})
			s := db.Stats()
			b.ReportMetric(float64(s.Jobs)/float64(s.Commits), "jobs/commit")
		})
	}
}

// BenchmarkRead is one row by its key, in a read transaction.
func BenchmarkRead(b *testing.B) {
	db := benchDB(b)
	const rows = 10_000
	if err := db.Write(b.Context(), func(tx *Tx) error {
		for i := range int64(rows) {
			if _, err := tx.Exec(insertRow, "owner", i, "succeeded", make([]byte, 512)); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	for _, callers := range []int{1, 4} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ctx := b.Context()
			spread(b, callers, func(i int64) error {
				return db.Read(ctx, func(tx *Tx) error {
					var state string
					var body []byte
					_, err := tx.One(readRow, []any{"owner", i * 7919 % rows}, &state, &body)
					return err
				})
			})
		})
	}
}

// BenchmarkFdatasync is the disk alone: 4 KiB at the end of a file, made durable.
func BenchmarkFdatasync(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	page := make([]byte, 4096)
	spread(b, 1, func(int64) error {
		if _, err := file.Write(page); err != nil {
			return err
		}
		return unix.Fdatasync(int(file.Fd()))
	})
}

// BenchmarkRawCommit is the engine alone: the statements of a one-row job on the
// writer's connection, without queue and goroutine.
func BenchmarkRawCommit(b *testing.B) {
	db := benchDB(b)
	body := make([]byte, 512)
	s := db.writer.session
	spread(b, 1, func(i int64) error {
		if err := s.control(beginWrite); err != nil {
			return err
		}
		tx := &Tx{session: s, ctx: b.Context()}
		if _, err := tx.Exec(insertRow, "owner", i, "succeeded", body); err != nil {
			return err
		}
		return s.control(commit)
	})
}
