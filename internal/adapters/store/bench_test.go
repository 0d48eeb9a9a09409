package store_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// spread runs op b.N times in n goroutines.
func spread(b *testing.B, n int, op func(i int64) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	cpu := processTime(b)
	for range n {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := op(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "call/s")
	b.ReportMetric(float64((processTime(b)-cpu).Microseconds())/float64(b.N), "cpu-µs/call")
}

// processTime is the time that the process has spent on a processor.
func processTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCall is one dispatched call: reserve and settle, two durable commits.
func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			p := newPool(b)
			app := p.app(b, p.owner, "editor")
			s := p.upstream(b, p.owner, "notes", "add_note")
			p.approve(b, p.owner, s.resource, "add_note")
			p.grant(b, app, s.resource, grant.Never, "add_note")
			got, _, err := p.Resolve(b.Context(), p.owner, invocation.Reference{Resource: s.resource.String(), Method: "add_note"})
			must(b, err)
			calls := make([]authority.Call, b.N+1)
			for i := range calls {
				calls[i] = p.commandOf(app, p.tx(), got, fmt.Sprintf(`{"text":"%d"}`, i))
			}
			before := p.Stats()
			spread(b, callers, func(i int64) error {
				ch, err := p.Reserve(b.Context(), calls[i])
				if err != nil {
					return err
				}
				_, err = p.Settle(b.Context(), app, outcome(ch.Row, answered, false))
				return err
			})
			after := p.Stats()
			b.ReportMetric(float64(after.WriteStatements-before.WriteStatements)/float64(b.N), "statements/call")
			b.ReportMetric(float64(after.Jobs-before.Jobs)/float64(after.Commits-before.Commits), "jobs/commit")
		})
	}
}

// BenchmarkBuiltin is one call of a built-in that reads, and one that writes: one
// durable commit.
func BenchmarkBuiltin(b *testing.B) {
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("put/callers=%d", callers), func(b *testing.B) {
			p := newPool(b)
			got, _, err := p.Resolve(b.Context(), p.owner, invocation.Reference{Resource: "@items", Method: "put"})
			must(b, err)
			calls := make([]authority.Call, b.N+1)
			for i := range calls {
				calls[i] = p.commandOf(p.hand, p.tx(), got, fmt.Sprintf(`{"key":"%d","value":"x"}`, i))
				calls[i].HasIf = true
			}
			before := p.Stats()
			spread(b, callers, func(i int64) error {
				answer, err := p.RunBuiltin(b.Context(), calls[i], []byte(`{"absent":true}`))
				if err == nil && answer.Status != invocation.OK {
					err = answer.Fault
				}
				return err
			})
			after := p.Stats()
			b.ReportMetric(float64(after.WriteStatements-before.WriteStatements)/float64(b.N), "statements/call")
		})
	}
}

// BenchmarkTwoCommits is the floor under BenchmarkCall: two jobs of one small
// statement each on the same database.
func BenchmarkTwoCommits(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			tree := fstest.MapFS{"0001_rows.sql": {Data: []byte("CREATE TABLE rows (k TEXT NOT NULL, v BYTEA NOT NULL, PRIMARY KEY (k));")}}
			db, err := sqldb.Open(b.Context(), filepath.Join(b.TempDir(), "store", "raw.db"), tree, sqldb.Options{})
			must(b, err)
			defer db.Close()
			keys := make([]string, b.N+1)
			for i := range keys {
				keys[i] = id.New[id.Invocation]().String()
			}
			spread(b, callers, func(i int64) error {
				for _, query := range []string{"INSERT INTO rows (k, v) VALUES ($1, $2)", "UPDATE rows SET v = $2 WHERE k = $1"} {
					if err := db.Write(b.Context(), func(tx *sqldb.Tx) error {
						_, err := tx.Exec(query, keys[i], make([]byte, 500))
						return err
					}); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// BenchmarkCatalog lists what an app with 100 grants may call.
func BenchmarkCatalog(b *testing.B) {
	p := newPool(b)
	app := p.app(b, p.owner, "editor")
	var tools []string
	for i := range 100 {
		tools = append(tools, fmt.Sprintf("tool_%d", i))
	}
	s := p.upstream(b, p.owner, "notes", tools...)
	p.approve(b, p.owner, s.resource, tools...)
	p.grant(b, app, s.resource, grant.Never, tools...)
	b.ReportAllocs()
	for b.Loop() {
		list, err := p.Catalog(b.Context(), app)
		if err != nil || len(list) != len(tools) {
			b.Fatal(len(list), err)
		}
	}
}

// What a change of rights costs beside five hundred methods, all of which its row of
// the trail pins.
func BenchmarkChangeBesideManyMethods(b *testing.B) {
	p := newPool(b)
	for i := range 16 {
		var tools []string
		for j := range 32 {
			tools = append(tools, fmt.Sprintf("tool%d", j))
		}
		s := p.upstream(b, p.owner, fmt.Sprint("server ", i), tools...)
		p.approve(b, p.owner, s.resource, tools...)
	}
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		p.app(b, p.owner, fmt.Sprint("app ", i))
	}
}
