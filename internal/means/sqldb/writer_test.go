package sqldb

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	codes "modernc.org/sqlite/lib"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/test/modelsize"
)

func TestWhatQueuesUpIsOneCommit(t *testing.T) {
	db := notes(t)
	var jobs []func(*Tx) error
	for i := range 64 {
		jobs = append(jobs, add(fmt.Sprintf("n%02d", i)))
	}
	before := db.Stats()
	for i, err := range batch(t, db, jobs...) {
		if err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	after := db.Stats()
	got := Stats{Commits: after.Commits - before.Commits, Jobs: after.Jobs - before.Jobs, WriteStatements: after.WriteStatements - before.WriteStatements, Batches: after.Batches}
	want := Stats{Commits: 1, Jobs: 65, WriteStatements: 64}
	want.Batches[7] = 1 // up to 128
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(noteNames(t, db)); n != 64 {
		t.Errorf("%d notes", n)
	}
}

func TestBatchIsBounded(t *testing.T) {
	db := begin(t, storePath(t), noteTree, Options{BatchMax: 4}, seams{})
	var jobs []func(*Tx) error
	for i := range 11 {
		jobs = append(jobs, add(fmt.Sprintf("n%02d", i)))
	}
	batch(t, db, jobs...)
	if got := db.Stats(); got.Commits != 3 || got.Batches[2] != 3 {
		t.Errorf("12 jobs, 4 at most in a commit: %+v", got)
	}
}

func TestLoneJobIsCommittedAtOnce(t *testing.T) {
	db := notes(t)
	for i := range 5 {
		write(t, db, add(fmt.Sprint(i)))
	}
	if got := db.Stats(); got.Commits != 5 || got.Batches[0] != 5 {
		t.Errorf("%+v", got)
	}
}

// What goes wrong in one job stays in it, whatever else is in its batch.
func TestFailingJobUndoesItselfAlone(t *testing.T) {
	refusal := fault.New(fault.PreconditionFailed, "not this version")
	runs := map[string]int{}
	count := func(name string, job func(*Tx) error) func(*Tx) error {
		return func(tx *Tx) error {
			runs[name]++
			return job(tx)
		}
	}
	then := func(first func(*Tx) error, after error) func(*Tx) error {
		return func(tx *Tx) error { return errors.Join(first(tx), after) }
	}
	db := notes(t)
	errs := batch(t, db,
		count("first", add("a")),
		count("refused without a write", func(tx *Tx) error {
			var size int
			if found, err := tx.One("SELECT size FROM note WHERE name = $1", []any{"a"}, &size); err != nil || !found {
				return fmt.Errorf("a batch does not see itself: %v %w", found, err)
			}
			if n, err := tx.Exec("INSERT INTO note (name) VALUES ($1) ON CONFLICT DO NOTHING", "a"); n != 0 || err != nil {
				return fmt.Errorf("%d rows, %w", n, err)
			}
			return refusal
		}),
		count("refused after a write", then(add("b"), refusal)),
		count("statement in conflict", add("a")),
		count("statement in conflict, passed over", func(tx *Tx) error {
			_, _ = tx.Exec(addNote, "a", 1)
			_, _ = tx.Exec(addNote, "c", 1)
			return nil
		}),
		count("panic after a write", func(tx *Tx) error {
			_ = add("d")(tx)
			panic("no invariant")
		}),
		count("panic without a write", func(tx *Tx) error { panic("no invariant") }),
		count("last", add("e")),
	)
	var codesGot []fault.Code
	for _, err := range errs {
		var f *fault.Fault
		if errors.As(err, &f) {
			codesGot = append(codesGot, f.Code)
		} else {
			codesGot = append(codesGot, "")
		}
	}
	want := []fault.Code{"", fault.PreconditionFailed, fault.PreconditionFailed, fault.Internal, fault.Internal, fault.Internal, fault.Internal, ""}
	if diff := cmp.Diff(want, codesGot); diff != "" {
		t.Error(diff)
	}
	for _, i := range []int{5, 6} {
		if cause := errors.Unwrap(errs[i]); cause == nil || !strings.Contains(cause.Error(), "no invariant") || !strings.Contains(cause.Error(), "writer_test.go") {
			t.Errorf("the panic of job %d is told as %v", i, cause)
		}
	}
	wantNames(t, db, "a", "e")
	if runs["panic after a write"] != 1 || runs["panic without a write"] > 5 || runs["refused after a write"] != 2 {
		t.Errorf("runs: %v", runs)
	}
	write(t, db, add("f"))
	wantNames(t, db, "a", "e", "f")
}

// Any mix of good and bad jobs leaves what the good ones wrote.
func TestBatchesEqualTheModel(t *testing.T) {
	modelsize.Set(t)
	db := notes(t)
	rapid.Check(t, func(rt *rapid.T) {
		write(t, db, func(tx *Tx) error {
			_, err := tx.Exec("DELETE FROM note")
			return err
		})
		kinds := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 12).Draw(rt, "kinds")
		var jobs []func(*Tx) error
		var good []string
		for i, kind := range kinds {
			name := fmt.Sprintf("n%02d", i)
			if kind < 2 {
				good = append(good, name)
			}
			jobs = append(jobs, func(tx *Tx) error {
				if kind == 2 {
					return errors.New("refused")
				}
				if _, err := tx.Exec(addNote, name, kind); err != nil {
					return err
				}
				switch kind {
				case 3:
					return errors.New("failed after its write")
				case 4:
					_, err := tx.Exec(addNote, name, kind)
					return err
				case 5:
					panic("after its write")
				}
				return nil
			})
		}
		for i, err := range batch(rt, db, jobs...) {
			if (err == nil) != (kinds[i] < 2) {
				rt.Errorf("job %d of kind %d: %v", i, kinds[i], err)
			}
		}
		if got := noteNames(rt, db); !slices.Equal(got, good) {
			rt.Errorf("the database holds %q, want %q", got, good)
		}
	})
}

func TestDeferredKeyFailsItsOwnJob(t *testing.T) {
	db := notes(t)
	orphan := func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO line (note, number) VALUES ($1, $2)", "nowhere", 1)
		return err
	}
	errs := batch(t, db, add("a"), orphan, add("b"))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("its neighbours: %v, %v", errs[0], errs[2])
	}
	wantFault(t, errs[1], fault.Internal)
	wantNames(t, db, "a", "b")
}

func TestJobThatEndsItsGoroutine(t *testing.T) {
	db := notes(t)
	errs := batch(t, db, add("a"), func(*Tx) error {
		runtime.Goexit()
		return nil
	}, add("b"))
	for _, err := range errs[:2] {
		wantFault(t, err, fault.Internal)
	}
	write(t, db, add("c"))
	if got := noteNames(t, db); slices.Contains(got, "a") || !slices.Contains(got, "c") {
		t.Errorf("%q", got)
	}
}

func TestCallerGivesUp(t *testing.T) {
	db := notes(t)
	ctx, cancel := context.WithCancel(t.Context())

	started, release := make(chan struct{}), make(chan struct{})
	running := make(chan error)
	go func() {
		running <- db.Write(ctx, func(tx *Tx) error {
			close(started)
			<-release
			return add("started")(tx)
		})
	}()
	<-started
	queued := make(chan error)
	go func() { queued <- db.Write(ctx, add("queued")) }()
	for len(db.writer.queue) == 0 {
		runtime.Gosched()
	}
	cancel()
	err := <-queued
	wantFault(t, err, fault.Unavailable)
	if !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnknown) {
		t.Errorf("%v", errors.Unwrap(err))
	}
	close(release)
	if err := <-running; err != nil {
		t.Errorf("a job that has started is finished: %v", err)
	}
	wantFault(t, db.Write(ctx, add("late")), fault.Unavailable)
	wantNames(t, db, "started")
}

func TestFullQueueHoldsTheCaller(t *testing.T) {
	db := begin(t, storePath(t), noteTree, Options{QueueMax: 1}, seams{})
	release, started := make(chan struct{}), make(chan struct{})
	answers := make(chan error, 2)
	go func() {
		answers <- db.Write(t.Context(), func(*Tx) error {
			close(started)
			<-release
			return nil
		})
	}()
	<-started
	go func() { answers <- db.Write(t.Context(), add("second")) }()
	for len(db.writer.queue) == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	third := make(chan error)
	go func() { third <- db.Write(ctx, add("third")) }()
	for db.gate.TryLock() { // until the third waits for its place
		db.gate.Unlock()
		runtime.Gosched()
	}
	cancel()
	wantFault(t, <-third, fault.Unavailable)
	close(release)
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	wantNames(t, db, "second")
}

func TestCloseDrains(t *testing.T) {
	path := storePath(t)
	db := begin(t, path, noteTree, Options{}, seams{})
	started, release := make(chan struct{}), make(chan struct{})
	answers := make(chan error, 2)
	go func() {
		answers <- db.Write(t.Context(), func(tx *Tx) error {
			close(started)
			<-release
			return add("a")(tx)
		})
	}()
	<-started
	go func() { answers <- db.Write(t.Context(), add("b")) }()
	for len(db.writer.queue) == 0 {
		runtime.Gosched()
	}
	closed := make(chan error)
	go func() { closed <- db.Close() }()
	<-db.closing
	close(release)
	for _, err := range []error{<-answers, <-answers, <-closed, db.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	wantFault(t, db.Write(t.Context(), add("c")), fault.Unavailable)
	wantFault(t, db.Read(t.Context(), func(*Tx) error { return nil }), fault.Unavailable)
	wantNames(t, begin(t, path, noteTree, Options{}, seams{}), "a", "b")
}

func TestJudge(t *testing.T) {
	type both struct{ statement, commit severity }
	for _, c := range []struct {
		name string
		err  error
		want both
	}{
		{"fsync", coded(codes.SQLITE_IOERR_FSYNC), both{fatal, fatal}},
		{"write", coded(codes.SQLITE_IOERR_WRITE), both{fatal, fatal}},
		{"wrapped", fmt.Errorf("x: %w", fault.New(fault.Internal, "").Because(coded(codes.SQLITE_IOERR))), both{fatal, fatal}},
		{"corrupt", coded(codes.SQLITE_CORRUPT_VTAB), both{fatal, fatal}},
		{"not a database", coded(codes.SQLITE_NOTADB), both{fatal, fatal}},
		{"full", coded(codes.SQLITE_FULL), both{full, full}},
		{"busy", coded(codes.SQLITE_BUSY_SNAPSHOT), both{busy, busy}},
		{"deferred key", coded(codes.SQLITE_CONSTRAINT_FOREIGNKEY), both{harmless, harmless}},
		{"no memory", coded(codes.SQLITE_NOMEM), both{harmless, fatal}},
		{"read only", coded(codes.SQLITE_READONLY_DBMOVED), both{harmless, fatal}},
		{"anything", coded(codes.SQLITE_ERROR), both{harmless, fatal}},
		{"no code", errors.New("x"), both{harmless, fatal}},
		{"nil", nil, both{harmless, harmless}},
	} {
		if c.err == nil {
			c.want.commit = fatal // nobody asks
		}
		if got := (both{judge(c.err, false), judge(c.err, true)}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
