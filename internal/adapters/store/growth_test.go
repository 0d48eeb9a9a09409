package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/test/figure"
)

// fill adds settled rows of other calls to the journal, behind the store's back:
// copies of a real one under numbers of their own.
func (n *notes) fill(t testing.TB, from, to int) {
	t.Helper()
	const copied = "WITH RECURSIVE k(i) AS (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i + 1 FROM k WHERE i + 1 < $2) " +
		"INSERT INTO invocations (number, owner, client, tx, invocation, resource, contract, method, request, input, grant_id, revision, classes, " +
		"state, node, epoch, attempt, reserved_at, dispatched_at, deadline_at, settled_at, code, message, reason, effects, result, removed, version, " +
		"detail, reconciled_by, reconciled_at, told, admitted) SELECT s.number + k.i, owner, client, printf('tx_%026d', (k.i * 7919) % 100000007), " +
		"printf('inv_%026d', (k.i * 104729) % 1000000007), resource, contract, method, request, printf('sha256:%064x', k.i + 1), grant_id, revision, classes, state, " +
		"node, epoch, attempt, reserved_at, dispatched_at, deadline_at, settled_at, code, message, reason, effects, result, removed, version, detail, " +
		"reconciled_by, reconciled_at, told, admitted FROM k, (SELECT * FROM invocations WHERE state = 'succeeded' ORDER BY number LIMIT 1) s"
	const step = 20_000
	for ; from < to; from += step {
		n.tamper(t, copied, from, min(from+step, to))
	}
}

// callTime is how long a call takes in the middle of many, with the look at its
// grant, at its tx and at the doubts, and how long its lookup takes.
func (n *notes) callTime(t testing.TB, calls int) (call, lookup time.Duration) {
	t.Helper()
	var made, looked []time.Duration
	for range calls {
		c := n.call(t, n.tx(), fmt.Sprintf(`{"text":%q}`, n.tx()))
		begun := time.Now()
		ch, err := n.Reserve(t.Context(), c)
		must(t, err)
		_, err = n.Settle(t.Context(), n.app, outcome(ch.Row, answered, false))
		must(t, err)
		made = append(made, time.Since(begun))
		begun = time.Now()
		_, err = n.Lookup(t.Context(), n.app, c.Tx)
		must(t, err)
		looked = append(looked, time.Since(begun))
	}
	slices.Sort(made)
	slices.Sort(looked)
	return made[len(made)/2], looked[len(looked)/2]
}

// In a journal of a million rows a call and a lookup cost no more than half again of
// what they cost in one of a thousand, and a host that died with a thousand calls open
// among a hundred thousand rows has settled them in less than two seconds (quality
// page, section 1). The plans of all statements are TestNoStatementScans.
func TestCostDoesNotGrowWithTheJournal(t *testing.T) {
	small, large := 1000, figure.Of(t, 2_000, 1_000_000, 1_000_000)
	few, many := newNotes(t), newNotes(t)
	for n, rows := range map[*notes]int{few: small, many: large} {
		n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"first"}`)), answered)
		n.fill(t, 1, rows)
		n.clock.step(2 * time.Minute) // what was filled in is of no minute that counts
		n.callTime(t, 10)
	}
	best := func() (call, lookup float64) {
		fewCall, fewLook := few.callTime(t, figure.Of(t, 50, 300, 300))
		manyCall, manyLook := many.callTime(t, figure.Of(t, 50, 300, 300))
		t.Logf("%d rows: call %s, lookup %s; %d rows: call %s, lookup %s", small, fewCall, fewLook, large, manyCall, manyLook)
		return manyCall.Seconds() / fewCall.Seconds(), manyLook.Seconds() / fewLook.Seconds()
	}
	call, lookup := best()
	for range figure.Of(t, 0, 4, 4) { // the machine is others' too
		c, l := best()
		call, lookup = min(call, c), min(lookup, l)
	}
	if large == 1_000_000 && (call > 1.5 || lookup > 1.5) {
		t.Error("more than half again")
	}
	figure.Tell(t, "growth", "with %d rows a call costs %.2f and a lookup %.2f times what it does with %d", large, call, lookup, small)
}

// See TestCostDoesNotGrowWithTheJournal.
func TestAFullJournalIsReadyAfterAKill(t *testing.T) {
	rows, open := figure.Of(t, 2_000, 100_000, 100_000), 1000
	n := newNotes(t)
	n.settle(t, n.dispatch(t, n.call(t, n.tx(), `{"text":"first"}`)), answered)
	n.fill(t, 1, rows)
	n.tamper(t, "UPDATE invocations SET state = 'dispatching', told = 0, settled_at = 0, result = NULL, effects = 'none' WHERE number > (SELECT MAX(number) FROM invocations) - $1", open)
	must(t, n.Close())
	begun := time.Now()
	n.pool.open(t)
	found, err := n.Recover(t.Context())
	took := time.Since(begun)
	must(t, err)
	same(t, found, view.Recovery{Indeterminate: open})
	if rows == 100_000 && took > 2*time.Second {
		t.Error("more than two seconds")
	}
	figure.Tell(t, "R24", "%d rows of which %d were open: settled %s after the start", rows, open, took.Round(time.Millisecond))
}
