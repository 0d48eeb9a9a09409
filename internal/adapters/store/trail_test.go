package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// raw opens the database behind the store's back.
func (p *pool) raw(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, "steward.db")+"?_pragma=busy_timeout(5000)")
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// tamper changes the database behind the store's back.
func (p *pool) tamper(t testing.TB, statement string, args ...any) {
	t.Helper()
	res, err := p.raw(t).Exec(statement, args...)
	must(t, err)
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s changed nothing: %v", statement, err)
	}
}

// counts sums the rows of the trail by kind and detail, of the attempts of calls.
func (p *pool) counts(t testing.TB) map[string]int64 {
	t.Helper()
	must(t, p.flushed(t))
	rows, err := p.raw(t).Query("SELECT kind, detail, SUM(count) FROM audit WHERE kind IN ('call', 'denied', 'replayed', 'interrupted', 'reconciled', 'listed') GROUP BY kind, detail")
	must(t, err)
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var kind, detail string
		var n int64
		must(t, rows.Scan(&kind, &detail, &n))
		words := strings.Fields(detail)
		if len(words) == 3 {
			words[0] += " withheld"
		}
		out[kind+" "+words[0]] += n
	}
	must(t, rows.Err())
	return out
}

func TestEveryAttemptHasOneRowInTheTrail(t *testing.T) {
	n := newNotes(t)
	call := n.call(t, n.tx(), `{}`)
	row := n.dispatch(t, call)
	_, err := n.Reserve(t.Context(), call)
	wantFault(t, err, fault.TxInProgress)
	n.settle(t, row, answered)
	for range 2 {
		_, err = n.Reserve(t.Context(), call)
		must(t, err)
	}
	_, err = n.Lookup(t.Context(), n.app, call.Tx)
	must(t, err)
	_, err = n.Lookup(t.Context(), n.app, n.tx())
	wantFault(t, err, fault.NotFound)
	n.ok(t, n.hand, "@items", "put", `{"key":"a","value":""}`, `{"absent":true}`)
	n.fails(t, n.hand, "@items", "put", `{"key":"a","value":""}`, `{"absent":true}`, fault.PreconditionFailed)
	_, err = n.run(t, n.hand, "@items", "put", `{"key":"a","value":""}`, "")
	wantFault(t, err, fault.PreconditionRequired)

	// A question to the owner is a denial that is in the question's own commit.
	n.grant(t, n.app, n.resource, grant.Always, "drop")
	ask := n.command(t, n.app, n.tx(), n.resource.String(), "drop", `{}`)
	_, err = n.Reserve(t.Context(), ask)
	wantFault(t, err, fault.ConfirmationRequired)

	waiting := n.call(t, n.tx(), `{"text":"w"}`)
	waiting.Ready = false
	ch, err := n.Reserve(t.Context(), waiting)
	must(t, err)
	lost := n.dispatch(t, n.call(t, n.tx(), `{"text":"lost"}`))
	doubt := n.dispatch(t, n.call(t, n.tx(), `{"text":"doubt"}`))
	n.settle(t, doubt, invocation.Event{Kind: invocation.Broken})
	_, err = n.Settle(t.Context(), n.app, outcome(doubt, answered, true))
	must(t, err)
	withheld := n.dispatch(t, n.call(t, n.tx(), `{"text":"withheld"}`))
	_, err = n.RevokeAll(t.Context(), n.owner, n.app.Client, n.resource)
	must(t, err)
	_, err = n.Mark(t.Context(), n.app, authority.AttemptOf(ch.Row))
	wantFault(t, err, fault.NotFound)
	n.settle(t, withheld, answered)
	same(t, n.restart(t), view.Recovery{Indeterminate: 1})
	if n.stored(t, lost.ID).State != invocation.Indeterminate {
		t.Fatal("a call of a dead process is not in doubt")
	}
	same(t, n.counts(t), map[string]int64{
		"call succeeded": 2, "call failed": 1, "call indeterminate": 1, "call not_dispatched": 1, "call succeeded withheld": 1,
		"reconciled reconciled_succeeded": 1, "interrupted indeterminate": 1,
		"replayed succeeded": 3, "denied tx_in_progress": 1, "denied not_found": 1, "denied precondition_required": 1, "denied confirmation_required": 1,
	})
	n.holds(t)
}

func TestManyEqualDenialsAreOneRowWithACount(t *testing.T) {
	n := newNotes(t)
	refused := n.call(t, n.tx(), `{}`)
	refused.ArgsFault = fault.New(fault.InvalidArgs, "no")
	deny := func(times int) {
		t.Helper()
		for range times {
			_, err := n.Reserve(t.Context(), refused)
			wantFault(t, err, fault.InvalidArgs)
		}
	}
	deny(100)
	rows := func() (rows, sum int64) {
		t.Helper()
		must(t, n.flushed(t))
		must(t, n.raw(t).QueryRow("SELECT COUNT(*), SUM(count) FROM audit WHERE kind = 'denied'").Scan(&rows, &sum))
		return rows, sum
	}
	if r, s := rows(); r != 60 || s != 60 {
		t.Fatalf("%d rows for %d denials within the minute", r, s)
	}
	n.clock.step(time.Minute)
	deny(1)
	if r, s := rows(); r != 62 || s != 101 {
		t.Fatalf("%d rows for %d denials after the minute", r, s)
	}
	deny(70)
	n.restart(t) // closing tells what is still counted
	if r, s := rows(); r != 122 || s != 171 {
		t.Fatalf("%d rows for %d denials after a restart", r, s)
	}
	n.holds(t)
}

func TestOneListingAMinuteIsARow(t *testing.T) {
	n := newNotes(t)
	for range 5 {
		_, err := n.Catalog(t.Context(), n.app)
		must(t, err)
	}
	n.restart(t)
	if got := n.counts(t)["listed methods"]; got != 5 {
		t.Fatalf("%d listings are told: %v", got, n.counts(t))
	}
}

func TestADeadProcessesCallsAreClassified(t *testing.T) {
	n := newNotes(t)
	reserved := n.call(t, n.tx(), `{"text":"reserved"}`)
	reserved.Ready = false
	ch, err := n.Reserve(t.Context(), reserved)
	must(t, err)
	marked := n.call(t, n.tx(), `{"text":"marked"}`)
	row := n.dispatch(t, marked)
	epoch := n.Epoch()

	same(t, n.restart(t), view.Recovery{NotDispatched: 1, Indeterminate: 1})
	if n.Epoch() != epoch+1 {
		t.Fatalf("epoch %d after %d", n.Epoch(), epoch)
	}
	same(t, n.restart(t), view.Recovery{})
	_, err = n.Settle(t.Context(), n.app, outcome(row, answered, false))
	wantFault(t, err, fault.Conflict)
	answer, err := n.Lookup(t.Context(), n.app, marked.Tx)
	must(t, err)
	if answer.Status != invocation.InDoubt || answer.Fault.Details["reason"] != "restart" {
		t.Fatalf("%+v", answer)
	}
	// What was never marked may be taken up once more; the rest is never sent again.
	reserved.Ready, reserved.Epoch = true, n.Epoch()
	again := n.dispatch(t, reserved)
	n.holds(t) // while it is under way too
	if again.ID != ch.Row.ID || again.Attempt != 2 {
		t.Fatalf("%+v", again)
	}
	marked.Epoch = n.Epoch()
	replayed, err := n.Reserve(t.Context(), marked)
	must(t, err)
	if replayed.Action != authority.Replay {
		t.Fatalf("%+v", replayed)
	}
	// A living process keeps its rows.
	found, err := n.Recover(t.Context())
	must(t, err)
	same(t, found, view.Recovery{})
	n.settle(t, again, answered)
	n.holds(t)
}

func TestManyLeftBehindAreClassifiedInBatches(t *testing.T) {
	n := newNotes(t)
	rows := 1203
	if testing.Short() {
		rows = 523 // the race detector makes the engine slow
	}
	got, _, err := n.Resolve(t.Context(), n.owner, invocation.Reference{Resource: n.resource.String(), Method: "add"})
	must(t, err)
	for i := range rows {
		if i%200 == 199 {
			n.clock.step(31 * time.Second) // so that places are free again
		}
		c := n.commandOf(n.app, n.tx(), got, fmt.Sprintf(`{"text":"%d"}`, i))
		n.dispatch(t, c)
	}
	same(t, n.restart(t), view.Recovery{Indeterminate: rows})
	v := n.holds(t)
	if v.Invocations != int64(rows) {
		t.Fatalf("%+v", v)
	}
}

// history is a trail of two epochs with calls that were settled, reconciled and
// denied.
func history(t *testing.T) *notes {
	n := newNotes(t)
	doubt := n.dispatch(t, n.call(t, n.tx(), `{"text":"1"}`))
	n.settle(t, doubt, invocation.Event{Kind: invocation.Broken})
	n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"2"}`)), answered)
	_, err := n.Lookup(t.Context(), n.app, n.tx())
	wantFault(t, err, fault.NotFound)
	n.restart(t)
	_, err = n.Reconcile(t.Context(), n.owner, doubt.ID, authority.Happened)
	must(t, err)
	n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"3"}`)), answered)
	n.ok(t, n.hand, "@items", "put", `{"key":"a","value":""}`, `{"absent":true}`)
	n.holds(t)
	return n
}

// Whatever is done to the tables behind the host's back is named (threats, A78).
func TestTamperingIsNamed(t *testing.T) {
	const second = "(SELECT MAX(chain) FROM nodes) * 1099511627776"
	cases := map[string]struct {
		statement  string
		epoch, seq int64 // of the break; 0 for none
		mismatches int
	}{
		"a row edited":          {"UPDATE audit SET detail = 'x' WHERE epoch = 1 AND seq = 3", 1, 3, 0},
		"a row's count edited":  {"UPDATE audit SET count = 2 WHERE epoch = 1 AND seq = 3", 1, 3, 0},
		"a row made unreadable": {"UPDATE audit SET hash = 'x', owner = 'y' WHERE epoch = 1 AND seq = 4", 1, 4, 0},
		"a row dropped":         {"DELETE FROM audit WHERE epoch = 1 AND seq = 4", 1, 5, 0},
		"two rows exchanged": {"UPDATE audit SET entry = -1 WHERE epoch = 1 AND seq = 3; UPDATE audit SET entry = entry - 1 WHERE epoch = 1 AND seq = 4; " +
			"UPDATE audit SET entry = 1099511627776 + 4 WHERE entry = -1", 1, 4, 0},
		"an epoch's end cut":             {"DELETE FROM audit WHERE epoch = 1 AND seq > 5", 2, 1, 0},
		"an epoch's start cut":           {"DELETE FROM audit WHERE epoch = 2 AND seq < 3", 2, 3, 0},
		"a whole epoch cut":              {"DELETE FROM audit WHERE epoch = 1", 2, 1, 0},
		"an epoch cut with its process":  {"DELETE FROM nodes WHERE epoch = 1", 2, 1, 0},
		"the last row cut":               {"DELETE FROM audit WHERE entry = (SELECT MAX(entry) FROM audit)", 2, 0, 1},
		"a row moved to a strange epoch": {"UPDATE audit SET entry = entry + 50 * 1099511627776 WHERE entry = (SELECT MAX(entry) FROM audit)", 2, 0, 1},
		"a row added to an epoch that never began": {"INSERT INTO audit SELECT entry + 50 * 1099511627776, node, epoch, seq, at, owner, client, kind, subject, " +
			"detail, count, prev, hash FROM audit WHERE epoch = 1 AND seq = 3", 2, 0, 0},
		"a result edited":    {"UPDATE invocations SET result = x'7b7d' WHERE state = 'succeeded' AND told < " + second, 0, 0, 1},
		"a state edited":     {"UPDATE invocations SET state = 'failed' WHERE state = 'reconciled_succeeded'", 0, 0, 1},
		"an unreadable call": {"UPDATE invocations SET request = 'x' WHERE state = 'reconciled_succeeded'", 0, 0, 1},
		"a reconciliation taken back": {"UPDATE invocations SET state = 'indeterminate', code = 'indeterminate', message = 'indeterminate', effects = 'uncertain', reconciled_by = '', " +
			"reconciled_at = 0, told = (SELECT a.entry FROM audit a WHERE a.subject = invocation AND a.kind = 'call') WHERE state = 'reconciled_succeeded'", 0, 0, 1},
		"an approval's sight edited": {"UPDATE consents SET shown = x'7b7d' WHERE kind = 'activation'", 0, 0, 1},
		"a granting's sight edited":  {"UPDATE consents SET shown = x'7b7d' WHERE kind = 'granting'", 0, 0, 1},
		"a consent dropped":          {"DELETE FROM consents WHERE kind = 'granting'", 0, 0, 1},
		"a call dropped":             {"DELETE FROM invocations WHERE state = 'reconciled_succeeded'", 0, 0, 1},
		"a call pinned by other":     {"UPDATE invocations SET told = told - 1 WHERE state = 'succeeded' AND told > " + second, 0, 0, 2},
		"a call that never was": {"INSERT INTO invocations SELECT number + 1000, owner, client, 'tx_00000000000000000000000000', 'inv_00000000000000000000000000', resource, contract, " +
			"method, request, input, grant_id, revision, classes, state, node, epoch, attempt, reserved_at, dispatched_at, deadline_at, settled_at, code, message, reason, " +
			"effects, result, removed, version, detail, reconciled_by, reconciled_at, told, admitted, args FROM invocations WHERE state = 'reconciled_succeeded'", 0, 0, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n := history(t)
			n.tamper(t, c.statement)
			v, err := n.Verify(t.Context(), nil)
			must(t, err)
			if c.epoch == 0 && v.Break != nil || c.epoch != 0 && (v.Break == nil || v.Break.Epoch != c.epoch || c.seq != 0 && v.Break.Seq != c.seq) {
				t.Errorf("break %+v, want epoch %d row %d", v.Break, c.epoch, c.seq)
			}
			if c.epoch == 0 && len(v.Mismatches) != c.mismatches || len(v.Mismatches) < c.mismatches {
				t.Errorf("mismatches %v, want %d", v.Mismatches, c.mismatches)
			}
		})
	}
}

// Every column of a settled call is pinned, also one that is added later.
func TestEveryColumnOfASettledCallIsPinned(t *testing.T) {
	n := history(t)
	rows, err := n.raw(t).Query("SELECT name, type FROM pragma_table_info('invocations')")
	must(t, err)
	defer rows.Close()
	columns := map[string]string{}
	for rows.Next() {
		var name, kind string
		must(t, rows.Scan(&name, &kind))
		columns[name] = kind
	}
	must(t, rows.Err())
	delete(columns, "number")   // the order of a list, which no answer tells
	delete(columns, "admitted") // how a minute is counted
	const call = " WHERE number = (SELECT MAX(number) FROM invocations WHERE state = 'succeeded' AND client = '%s')"
	for name, kind := range columns {
		to := map[string]string{"TEXT": name + " || 'x'", "INTEGER": name + " + 1", "BLOB": "x'7b7d'"}[kind]
		n.tampered(t, name, name+" = "+to, fmt.Sprintf(call, n.app.Client))
	}
	for _, state := range invocation.States() {
		if state != invocation.Succeeded {
			n.tampered(t, string(state), "state = '"+string(state)+"'", fmt.Sprintf(call, n.app.Client))
		}
	}
	n.holds(t)
}

// tampered fails unless Verify names a call while some of its columns are edited.
func (n *notes) tampered(t *testing.T, name, edit, which string) {
	t.Helper()
	db := n.raw(t)
	_, err := db.Exec("CREATE TABLE was AS SELECT * FROM invocations" + which)
	must(t, err)
	_, err = db.Exec("UPDATE invocations SET " + edit + which)
	must(t, err)
	v, err := n.Verify(t.Context(), nil)
	must(t, err)
	if len(v.Mismatches) == 0 {
		t.Errorf("%s was edited, and nobody is told", name)
	}
	for _, back := range []string{"DELETE FROM invocations WHERE number IN (SELECT number FROM was)", "INSERT INTO invocations SELECT * FROM was", "DROP TABLE was"} {
		_, err := db.Exec(back)
		must(t, err)
	}
}

// Rows that are cut while the host runs do not go unseen because it writes on.
func TestWritingOnDoesNotHealACutTrail(t *testing.T) {
	n := history(t)
	n.tamper(t, "DELETE FROM audit WHERE entry = (SELECT MAX(entry) FROM audit)")
	for _, key := range []string{"b", "c", "d"} {
		n.ok(t, n.hand, "@items", "put", `{"key":"`+key+`","value":""}`, `{"absent":true}`)
	}
	v, err := n.Verify(t.Context(), nil)
	must(t, err)
	if v.Break == nil || v.Break.Epoch != 2 {
		t.Fatalf("%+v", v)
	}
}

// A database that was removed under the store fences it: what was not known to be
// durable is no success (fault points FP17 and FP18).
func TestAnUnknownCommitIsNoSuccess(t *testing.T) {
	n := newNotes(t)
	row := n.dispatch(t, n.call(t, n.tx(), `{}`))
	moved := filepath.Join(n.dir, "moved.db")
	must(t, os.Rename(filepath.Join(n.dir, "steward.db"), moved))
	answer, err := n.Settle(t.Context(), n.app, outcome(row, answered, false))
	if !fault.Is(err, fault.Unavailable) || answer.Status != "" {
		t.Fatalf("%+v %v", answer, err)
	}
	if n.Fenced() == nil {
		t.Fatal("the store goes on")
	}
	ch, err := n.Reserve(t.Context(), n.call(t, n.tx(), `{"text":"x"}`))
	if !fault.Is(err, fault.Unavailable) || ch.Action != "" {
		t.Fatalf("%+v %v", ch, err)
	}
	if err := n.Close(); err == nil {
		t.Fatal("the trail's last rows were not written, and nobody is told")
	}
	must(t, os.Rename(moved, filepath.Join(n.dir, "steward.db")))
	n.open(t)
	found, err := n.Recover(t.Context())
	must(t, err)
	state := n.stored(t, row.ID).State
	if state != invocation.Succeeded && (state != invocation.Indeterminate || found.Indeterminate != 1) {
		t.Fatalf("%s after %+v", state, found)
	}
}

// A built-in has its effect and its journal row in one commit; whoever is told that
// it had none may find after the next start that it had.
func TestABuiltinOfUnknownCommitIsInDoubt(t *testing.T) {
	p := newPool(t)
	p.ok(t, p.hand, "@items", "put", `{"key":"a","value":"1"}`, `{"absent":true}`)
	moved := filepath.Join(p.dir, "moved.db")
	must(t, os.Rename(filepath.Join(p.dir, "steward.db"), moved))
	tx := p.tx()
	answer, err := p.runTx(t, p.hand, tx, "@items", "put", `{"key":"b","value":"1"}`, `{"absent":true}`)
	if err != nil || answer.Status != invocation.InDoubt || answer.Effects != effect.Uncertain || answer.Fault.Details["reason"] != "journal_unknown" ||
		answer.Invocation.IsZero() {
		t.Fatalf("%+v %v", answer, err)
	}
	// What comes later is not written, and nobody is in doubt about it.
	_, err = p.runTx(t, p.hand, p.tx(), "@items", "put", `{"key":"c","value":"1"}`, `{"absent":true}`)
	wantFault(t, err, fault.Unavailable)
	_ = p.Close()
	must(t, os.Rename(moved, filepath.Join(p.dir, "steward.db")))
	p.open(t)
	again, err := p.runTx(t, p.hand, tx, "@items", "put", `{"key":"b","value":"1"}`, `{"absent":true}`)
	must(t, err)
	if again.Status != invocation.OK || again.Invocation != answer.Invocation && again.Replayed {
		t.Fatalf("%+v %+v", again, again.Fault)
	}
}

func TestAFolderBelongsToOneProcessAndOneNode(t *testing.T) {
	p := newPool(t)
	_, err := store.Open(context.Background(), p.dir, store.Options{})
	wantFault(t, err, fault.Conflict)
	node := p.Node()
	p.restart(t)
	if p.Node() != node {
		t.Fatal("the node is another one after a restart")
	}
	must(t, p.Close())
	must(t, os.Remove(filepath.Join(p.dir, "node")))
	p.open(t)
	if p.Node() == node || p.Epoch() != 1 {
		t.Fatal("a node without its file is a new one")
	}
	p.holds(t)
	must(t, p.Close())
	must(t, os.WriteFile(filepath.Join(p.dir, "node"), []byte("what"), 0o600))
	if _, err := store.Open(context.Background(), p.dir, store.Options{}); !fault.Is(err, fault.Unavailable) {
		t.Fatal(err)
	}
	must(t, os.WriteFile(filepath.Join(p.dir, "node"), []byte(id.New[id.Node]().String()), 0o600))
	p.open(t)
}

// Whoever begins with an empty database executes what was executed before.
func TestALostDatabaseIsNoNewOne(t *testing.T) {
	p := newPool(t)
	must(t, p.Close())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(p.dir, "steward.db"+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for range 2 { // the refusal itself makes no difference
		if _, err := store.Open(context.Background(), p.dir, store.Options{}); !fault.Is(err, fault.Unavailable) || !errors.Is(err, store.ErrOlder) {
			t.Fatal(err)
		}
	}
	must(t, os.Remove(filepath.Join(p.dir, "node")))
	p.open(t)
}

// files reads the database of a closed store, and its file node.
func (p *pool) files(t testing.TB) (database, node []byte) {
	t.Helper()
	database, err := os.ReadFile(filepath.Join(p.dir, "steward.db"))
	must(t, err)
	node, err = os.ReadFile(filepath.Join(p.dir, "node"))
	must(t, err)
	return database, node
}

func (p *pool) place(t testing.TB, database, node []byte) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(p.dir, "steward.db"), database, 0o600))
	must(t, os.WriteFile(filepath.Join(p.dir, "node"), node, 0o600))
	if err := os.Remove(filepath.Join(p.dir, "node.latest")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// A database that lacks what its node has done executes calls again and gives back
// what was revoked (threats, A32), and a trail that was cut while nobody had it open
// would hold (threats, A78).
func TestAnOlderDatabaseIsNotTakenForTheNewest(t *testing.T) {
	n := newNotes(t)
	first := n.Epoch()
	must(t, n.Close())
	older, olderNode := n.files(t)
	n.open(t)
	must(t, n.Close())
	before, _ := n.files(t)
	n.open(t)
	call := n.call(t, n.tx(), `{}`)
	n.settle(t, n.dispatch(t, call), answered)
	must(t, n.Close())
	newest, newestNode := n.files(t)

	// What a killed process leaves of its epoch, when the file was not yet written.
	n.place(t, newest, olderNode)
	n.open(t)
	n.holds(t)
	must(t, n.Close())

	edit := func(statement string) []byte {
		t.Helper()
		n.place(t, newest, newestNode)
		db, err := sql.Open("sqlite", "file:"+filepath.Join(n.dir, "steward.db"))
		must(t, err)
		_, err = db.Exec(statement)
		must(t, errors.Join(err, db.Close()))
		database, _ := n.files(t)
		return database
	}
	cut := edit("DELETE FROM audit WHERE entry = (SELECT MAX(entry) FROM audit)")
	edited := edit("UPDATE audit SET hash = 'sha256:0' WHERE entry = (SELECT MAX(entry) FROM audit)")
	foreign := newPool(t)
	must(t, foreign.Close())
	strange, _ := foreign.files(t)
	foreign.open(t)
	for name, database := range map[string][]byte{"two epochs older": older, "one epoch older": before, "cut": cut, "with another end": edited,
		"of another node": strange} {
		n.place(t, database, newestNode)
		s, err := store.Open(context.Background(), n.dir, store.Options{Now: n.clock.now})
		if !fault.Is(err, fault.Unavailable) || !errors.Is(err, store.ErrOlder) {
			t.Errorf("a database %s: %v", name, err)
		}
		if err == nil {
			must(t, s.Close())
		}
	}

	n.place(t, newest, newestNode)
	n.open(t)
	if n.Epoch() != first+3 {
		t.Errorf("epoch %d after %d", n.Epoch(), first)
	}
	again, err := n.Reserve(t.Context(), call)
	must(t, err)
	if again.Action != authority.Replay {
		t.Fatalf("%+v", again)
	}
	n.holds(t)
}

// A file that only half says what it should is not half believed.
func TestTheFileOfTheNodeIsReadStrictly(t *testing.T) {
	p := newPool(t)
	must(t, p.Close())
	database, node := p.files(t)
	whole := string(node)
	name, _, _ := strings.Cut(whole, "\n")
	for what, c := range map[string]struct {
		text string
		ok   bool
	}{
		"whole":               {whole, true},
		"the id alone":        {name + "\n", true},
		"an epoch alone":      {name + "\nepoch 1\n", false},
		"half of the row":     {whole[:len(whole)-10], false},
		"without an end":      {strings.TrimSuffix(whole, "\n"), false},
		"more":                {whole + "more\n", false},
		"a number with signs": {strings.Replace(whole, "epoch 1", "epoch +1", 1), false},
		"spaces":              {strings.Replace(whole, "epoch ", "epoch  ", 1), false},
	} {
		p.place(t, database, []byte(c.text))
		s, err := store.Open(context.Background(), p.dir, store.Options{Now: p.clock.now})
		if (err == nil) != c.ok || err != nil && !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			must(t, s.Close())
		}
	}
	p.place(t, database, node)
	p.open(t)
}

func TestKindsOfTheTrailAreWritten(t *testing.T) {
	n := history(t)
	rows, err := n.raw(t).Query("SELECT DISTINCT kind FROM audit")
	must(t, err)
	defer rows.Close()
	got := map[audit.Kind]bool{}
	for rows.Next() {
		var k audit.Kind
		must(t, rows.Scan(&k))
		got[k] = true
	}
	must(t, rows.Err())
	for _, k := range []audit.Kind{audit.Anchor, audit.Called, audit.Denied, audit.Reconciled, audit.Approved, audit.Granted, audit.AppAdded, audit.Imported} {
		if !got[k] {
			t.Errorf("no row says %s", k)
		}
	}
}

// A transaction that adds a row to the trail and is rolled back leaves the chain
// whole, also for those that were in one batch with it.
func TestARolledBackTransactionLeavesTheChainWhole(t *testing.T) {
	n := newNotes(t)
	var wg sync.WaitGroup
	for i := range 40 {
		put := n.command(t, n.hand, n.tx(), "@items", "put", fmt.Sprintf(`{"key":"%d","value":""}`, i))
		put.HasIf = true
		wg.Go(func() {
			if _, err := n.RunBuiltin(t.Context(), put, []byte(`{"absent":true}`)); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			twice := id.New[id.Grant]() // the second row cannot be written
			_, err := n.Grant(t.Context(), n.resource, authority.GrantMethods{Owner: n.owner, Client: n.app.Client, Methods: []string{"drop", "add"},
				NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](), NewGrants: []id.Grant{twice, twice}})
			if !fault.Is(err, fault.Internal) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n.holds(t)
	rows, err := n.Grants(t.Context(), n.owner, n.app.Client)
	must(t, err)
	if len(rows) != 1 || rows[0].Row.ID != n.grants[0] {
		t.Fatalf("%+v", rows)
	}
	if n.Stats().Reruns == 0 {
		t.Fatal("nothing was rolled back")
	}
}
