//go:build machine

package crash_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/figure"
	"github.com/stewardhost/steward/test/hosttest"
)

// The system calls on a store's files at which something may go wrong. strace
// takes names that this machine does not have where they have a question mark.
var sites = []string{"fdatasync", "fsync", "pwrite64", "renameat", "openat", "?open", "ftruncate", "?unlink", "unlinkat"}

// fate is one system call that goes wrong: the nth of the thread that comes to it
// first, since strace counts for each thread.
type fate struct {
	site   string
	action string // signal=SIGKILL or error=EIO
	n      int
}

func (f fate) String() string { return fmt.Sprintf("%s %d %s", f.site, f.n, f.action) }

// storedFiles lists the files whose system calls are touched; the upstream's are not.
func storedFiles(home string) (words []string) {
	for _, name := range []string{"", "node", "node.new", "steward.db", "steward.db-wal", "steward.db-shm", "steward.db-journal", "steward.db.lock", "steward.db.fenced"} {
		words = append(words, "-P", filepath.Join(home, name))
	}
	return words
}

// traced makes the stage's next host run under strace, whose words go to a file.
// The host stays this process's child. It has one processor, so that few threads
// share its system calls.
func (s *stage) traced(strace string, f fate) (trace string) {
	trace = filepath.Join(s.dir, "trace")
	s.wrap = []string{strace, "-D", "-f", "--seccomp-bpf", "-q", "-y", "-E", "GOMAXPROCS=1", "-o", trace, "-e", "trace=" + strings.Join(sites, ",")}
	if f.n > 0 {
		s.wrap = append(s.wrap, "-e", fmt.Sprintf("inject=%s:%s:when=%d", f.site, f.action, f.n))
	}
	s.wrap = append(s.wrap, storedFiles(s.home)...)
	return trace
}

// R3 and R6. A fixed script of operations runs while one system call of the store
// fails, or the host is killed at it. Afterwards the host starts, and all that was
// told is true. A failed flush of the disk ends the host, which says why.
func TestAnySystemCallMayFail(t *testing.T) {
	s := newStage(t, 1)
	w := sweep{t: t, strace: needStrace(t), stage: func(t *testing.T) *stage { return s.copied(t) }, work: (*stage).script}
	w.run(func(c *stage) {
		c.classified()
		c.judge()
	})
	figure.Tell(t, "R3", "work: %s", w.count())
	figure.Tell(t, "R6", "failed flushes=%d", w.fenced)
}

// R3, while a store is made. Whatever it left is taken up by the next start.
func TestAnySystemCallMayFailAtTheFirstStart(t *testing.T) {
	s := newStage(t, 0)
	w := sweep{t: t, strace: needStrace(t), work: func(*stage, context.Context) {}, stage: func(t *testing.T) *stage {
		c := s.copied(t)
		if err := os.RemoveAll(c.home); err != nil {
			t.Fatal(err)
		}
		return c
	}}
	w.run(func(c *stage) { c.verify() })
	figure.Tell(t, "R3", "first start: %s", w.count())
}

// sweep runs work once for each fate.
type sweep struct {
	t      *testing.T
	strace string
	stage  func(*testing.T) *stage
	work   func(*stage, context.Context)

	seed                       uint64
	ran, total, struck, fenced int
}

func (w *sweep) count() string {
	return fmt.Sprintf("seed=%d fates=%d of %d, came true=%d", w.seed, w.ran, w.total, w.struck)
}

func (w *sweep) run(afterwards func(*stage)) {
	w.seed = figure.Seed(w.t)
	fates := w.fates()
	w.total = len(fates)
	fates = chosen(w.t, fates, w.seed)
	w.ran = len(fates)
	for _, f := range fates {
		w.t.Run(f.String(), func(t *testing.T) {
			c := w.stage(t)
			trace := c.traced(w.strace, f)
			c.suffer(w.work)
			struck := strikes(t, trace)
			if struck != "" {
				w.struck++
			}
			if c.flushFailed(f, struck) {
				w.fenced++
				c.saysWhy()
			}
			c.wrap = nil
			c.opens()
			afterwards(c)
			c.stop()
		})
	}
}

// chosen takes some of each kind for the quick size, every seventh for the gate,
// and all of them for a release (proof, R3).
func chosen(t *testing.T, all []fate, seed uint64) (out []fate) {
	t.Helper()
	const ofKind = 2
	every := figure.Of(t, 0, 7, 1)
	chance := figure.Rand(seed, 0)
	kinds := map[string][]fate{}
	for _, f := range all {
		kinds[f.site+" "+f.action] = append(kinds[f.site+" "+f.action], f)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list := kinds[kind]
		if every > 0 {
			for at := chance.IntN(min(every, len(list))); at < len(list); at += every {
				out = append(out, list[at])
			}
			continue
		}
		for range min(ofKind, len(list)) {
			out = append(out, list[chance.IntN(len(list))])
		}
	}
	return out
}

// fates counts the system calls of a run in which nothing goes wrong.
func (w *sweep) fates() (out []fate) {
	t := w.t
	t.Helper()
	c := w.stage(t)
	trace := c.traced(w.strace, fate{})
	c.suffer(w.work)
	if code := c.up.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit code %d without any failure:\n%s", code, c.lastWords())
	}
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	most, ofThread := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(raw)) {
		if m := entered.FindStringSubmatch(line); m != nil {
			ofThread[m[0]]++
			most[m[2]] = max(most[m[2]], ofThread[m[0]])
		}
	}
	if most["fdatasync"] < 5 || most["pwrite64"] < 50 {
		t.Fatalf("the trace has not seen the store at work: %v", most)
	}
	for _, site := range slices.Sorted(maps.Keys(most)) {
		for n := range most[site] {
			out = append(out, fate{site, "signal=SIGKILL", n + 1}, fate{site, "error=EIO", n + 1})
		}
	}
	return out
}

// flushFailed reports whether the fate was a failed flush that steward hears of. The
// engine drops the error of its own fdatasync of a folder; steward flushes the
// folder once more.
func (c *stage) flushFailed(f fate, struck string) bool {
	return struck != "" && f.action == "error=EIO" && strings.HasSuffix(f.site, "sync") &&
		!(f.site == "fdatasync" && strings.Contains(struck, "<"+c.home+">"))
}

// entered is the beginning of a line about a call that begins.
var entered = regexp.MustCompile(`^(\d+) +([a-z0-9]+)\(`)

// strikes gives the line of the call that went wrong, none if it was not reached.
// strace may still be writing.
func strikes(t *testing.T, trace string) (struck string) {
	t.Helper()
	hosttest.WaitFor(t, "strace to end", func() error {
		raw, err := os.ReadFile(trace)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, "(INJECTED)") || strings.Contains(line, "killed by SIGKILL") {
				struck = line
				return nil
			}
		}
		if !strings.Contains(string(raw), "+++") {
			return fmt.Errorf("it has not ended")
		}
		return nil
	})
	return struck
}

// suffer does the work for as long as the host answers, and ends the host in
// order if it still runs then.
func (c *stage) suffer(work func(*stage, context.Context)) {
	c.t.Helper()
	c.start()
	defer func() { <-c.ended }()
	hosttest.WaitFor(c.t, "the host to end or to serve", func() error {
		if c.over() {
			return nil
		}
		return c.healthy()
	})
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	go func() {
		<-c.ended
		cancel()
	}()
	work(c, ctx)
	if !c.over() {
		c.up.Process.Signal(syscall.SIGTERM)
		select {
		case <-c.ended:
		case <-time.After(time.Minute):
			c.t.Errorf("the host does not end:\n%s", c.lastWords())
			c.kill()
		}
	}
}

// script is the fixed work: effects, repeats of them, items, look-ups, rights. It
// goes on after failures and stops when nobody answers.
func (c *stage) script(ctx context.Context) {
	app := c.clients[0]
	w := warden{&worker{actor: app, chance: figure.Rand(0, 0)}}
	owner := c.owner()
	defer owner.Close()
	version := ""
	for i := range figure.Of(c.t, 6, 40, 40) {
		tx := app.newTx()
		q := app.effect(tx, fmt.Sprintf("effect %d", i), 0, 0, "")
		app.send(ctx, q)
		app.send(ctx, q)
		put := app.put(app.newTx(), "item", fmt.Sprint("value ", i), version)
		if got, err := app.send(ctx, put); err == nil && got.Status == "ok" {
			version = got.Version
		}
		app.lookup(ctx, tx)
		if i == 3 {
			w.change(ctx, "revoke", "revoked", func() error {
				_, err := client.Call(ctx, owner, adminwire.GrantsRevoke, adminwire.RevokeGrants{App: app.ID, Resource: c.oracle.Resource})
				return err
			})
			w.give(ctx, owner)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// saysWhy holds a host whose disk could not be flushed to a clear end.
func (c *stage) saysWhy() {
	c.t.Helper()
	said := c.lastWords()
	if c.up.ProcessState.ExitCode() <= 0 {
		c.t.Errorf("exit code %d after a failed flush:\n%s", c.up.ProcessState.ExitCode(), said)
	}
	if !slices.ContainsFunc([]string{"the store ", "the file with the node's id ", "the root key cannot be used: a new one cannot be made durable"}, func(what string) bool {
		return strings.Contains(said, "error: "+what)
	}) {
		c.t.Errorf("the host does not say why it ended:\n%s", said)
	}
}
