package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/sqldb"
)

// backup copies the store as it is now, which is open.
func (p *pool) backup(t *testing.T, withKey bool) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy.steward")
	steps := 0
	got, err := store.Backup(t.Context(), p.dir, to, withKey, func(_, _ int64) { steps++ })
	must(t, err)
	info, err := os.Stat(to)
	must(t, err)
	if got.Bytes != info.Size() || len(got.SHA256) != 64 || steps == 0 || (got.KeyFile != "") != withKey {
		t.Fatalf("%+v of %d bytes", got, info.Size())
	}
	return to
}

// restore closes the store and makes it the one of a backup.
func (p *pool) restore(t *testing.T, from string) store.RestoredStore {
	t.Helper()
	must(t, p.Close())
	got, err := store.Restore(t.Context(), p.dir, store.RestoreOptions{From: from, Replace: true, Now: p.clock.now})
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	p.open(t)
	_, err = p.Recover(t.Context())
	must(t, err)
	return got
}

// past is one call of the time around a backup.
type past struct {
	call authority.Call
	row  invocation.Row
}

func (n *notes) owners(t *testing.T, args string) past {
	t.Helper()
	return past{call: n.command(t, n.hand, n.tx(), n.resource.String(), "add", args)}
}

func (n *notes) sent(t *testing.T, p past, ev invocation.Event) past {
	t.Helper()
	p.row = n.dispatch(t, p.call)
	if ev.Kind != "" {
		_, err := n.Settle(t.Context(), n.hand, outcome(p.row, ev, false))
		must(t, err)
	}
	return p
}

// R29, A32. A copy is restored after more was executed and rights were taken back:
// nothing that was called is called again, and nothing that was allowed is allowed.
func TestARestoredStoreRevivesNothing(t *testing.T) {
	n := newNotes(t)
	other := n.app2(t)
	over := n.sent(t, n.owners(t, `{"text":"over"}`), answered)
	under := n.sent(t, n.owners(t, `{"text":"under way"}`), invocation.Event{})
	unsent := n.sent(t, n.owners(t, `{"text":"not sent"}`), invocation.Event{Kind: invocation.Unreached})
	waiting := n.owners(t, `{"text":"waiting"}`)
	waiting.call.Ready = false
	ch, err := n.Reserve(t.Context(), waiting.call)
	must(t, err)
	if ch.Action != authority.Wait {
		t.Fatalf("%+v", ch)
	}
	yes := n.grant(t, n.app, n.resource, grant.Always, "drop")
	asked := n.command(t, n.app, n.tx(), n.resource.String(), "drop", `{}`)
	_, err = n.Reserve(t.Context(), asked)
	wantFault(t, err, fault.ConfirmationRequired)
	open, err := n.Confirmations(t.Context(), n.owner, false)
	must(t, err)
	_, err = n.DecideConfirmation(t.Context(), n.owner, open[0].Row.ID, true)
	must(t, err)

	must(t, n.PutCredential(t.Context(), n.owner, "notes", credited("of before")))

	from := n.backup(t, false)

	unsent = n.sent(t, unsent, answered) // taken up after the copy
	since := n.sent(t, n.owners(t, `{"text":"since"}`), answered)
	n.clock.step(time.Minute)
	n.dispatch(t, asked) // the yes was used
	_, err = n.Revoke(t.Context(), n.owner, n.grants[0])
	must(t, err)
	must(t, n.Disconnect(t.Context(), n.owner, other.Client))
	before := n.Node()
	got := n.restore(t, from)

	if got.Broken != "" || got.Tokens != 2 || got.Grants != 3 || got.Methods != 2 || got.Questions != 1 || got.Entries != 1 || got.Credentials != 1 || got.Calls != 3 || n.Node() == before || got.Node != n.Node() {
		t.Fatalf("%+v of node %s after %s", got, n.Node(), before)
	}
	n.holds(t)
	for _, c := range []authority.Caller{n.app, other} {
		if _, found, err := n.FindToken(t.Context(), c.Token); found || err != nil {
			t.Errorf("a token of before: %v %v", found, err)
		}
	}
	rows, err := n.Grants(t.Context(), n.owner, id.Client{})
	must(t, err)
	for _, g := range rows {
		if g.State == grant.Active {
			t.Errorf("grant %s of %s stands", g.Row.ID, g.App)
		}
	}
	if _, found, err := n.Credential(t.Context(), n.owner, "notes"); found || err != nil {
		t.Errorf("a credential of before: %v %v", found, err)
	}
	entries, err := n.Adapters(t.Context())
	must(t, err)
	if len(entries) != 1 || entries[0].State != view.Disabled {
		t.Errorf("%+v", entries)
	}
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Enabled))
	n.replays(t, over, under, unsent, waiting, since)
	n.rights(t, asked, yes[0])
	n.holds(t)
}

// replays sends what was sent before the restore once more, as the owner, who may
// call as soon as the methods are approved again.
func (n *notes) replays(t *testing.T, over, under, unsent, waiting, since past) {
	t.Helper()
	fresh := n.owners(t, `{"text":"fresh"}`)
	_, err := n.Reserve(t.Context(), fresh.call)
	wantFault(t, err, fault.NeedsConsent)
	n.approve(t, n.owner, n.resource, "add", "drop")
	for what, p := range map[string]past{"under way": under, "not sent": unsent, "waiting": waiting} {
		ch, err := n.Reserve(t.Context(), p.call)
		must(t, err)
		if a := ch.Row.Answer(); ch.Action != authority.Replay || a.Status != invocation.InDoubt || a.Effects != effect.Uncertain || a.Fault.Details["reason"] != "restored" {
			t.Errorf("%s: %+v", what, ch)
		}
	}
	if ch, err := n.Reserve(t.Context(), over.call); err != nil || ch.Action != authority.Replay || ch.Row.State != invocation.Succeeded {
		t.Errorf("what was over: %+v %v", ch, err)
	}
	_, err = n.Reserve(t.Context(), since.call)
	wantFault(t, err, fault.TxExpired)
	if found, err := n.Lookup(t.Context(), n.hand, since.call.Tx); err != nil || found.Fault.Code != fault.TxExpired || found.Effects != effect.Uncertain {
		t.Errorf("looked up: %+v %v", found, err)
	}
	// A client's clock may have been ahead as far as a tx may be.
	_, err = n.Reserve(t.Context(), fresh.call)
	wantFault(t, err, fault.TxExpired)
	if fault.From(err).Details["accepted_from"] == "" {
		t.Errorf("%+v", err)
	}
	fresh.call.Minted = true
	n.dispatch(t, fresh.call)
	n.clock.step(bound.TxAhead.Duration())
	n.restart(t) // it is remembered
	_, err = n.Reserve(t.Context(), since.call)
	wantFault(t, err, fault.TxExpired)
	n.dispatch(t, n.owners(t, `{"text":"later"}`).call)
}

// rights gives the apps tokens again, and nothing else.
func (n *notes) rights(t *testing.T, asked authority.Call, was id.Grant) {
	t.Helper()
	_, err := n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.Unauthenticated)
	fresh := freshHash()
	must(t, n.RotateTokens(t.Context(), n.owner, n.app.Client, []view.NewToken{{Hash: fresh, Audience: n.app.Audience}}))
	n.app.Token, asked.Caller.Token = fresh, fresh
	for _, method := range []string{"add", "drop"} {
		_, err = n.Reserve(t.Context(), n.command(t, n.app, n.tx(), n.resource.String(), method, `{}`))
		wantFault(t, err, fault.NeedsConsent)
	}
	n.grant(t, n.app, n.resource, grant.Always, "drop")
	again := n.command(t, n.app, n.tx(), n.resource.String(), "drop", `{}`)
	_, err = n.Reserve(t.Context(), again)
	wantFault(t, err, fault.ConfirmationRequired) // the old yes is no more
}

// An older database that was put back by hand is refused, also with the files of the
// store that a restore has replaced.
func TestARestoreReplacesAStoreForGood(t *testing.T) {
	n := newNotes(t)
	from := n.backup(t, false)
	must(t, n.Close())
	_, err := store.Restore(t.Context(), n.dir, store.RestoreOptions{From: from, Now: n.clock.now})
	if !fault.Is(err, fault.Conflict) || !errors.Is(err, store.ErrThere) {
		t.Fatal(err)
	}
	n.open(t)
	for _, replace := range []bool{false, true} { // the host that runs is told of first
		_, err = store.Restore(t.Context(), n.dir, store.RestoreOptions{From: from, Replace: replace})
		if !errors.Is(err, sqldb.ErrLocked) {
			t.Fatal(err)
		}
	}
	got := n.restore(t, from)
	must(t, n.Close())
	database, node := n.files(t)
	replaced, err := os.ReadFile(filepath.Join(got.Replaced, "steward.db"))
	must(t, err)
	copied, err := os.ReadFile(from)
	must(t, err)
	for what, old := range map[string][]byte{"what was replaced": replaced, "the backup": copied} {
		n.place(t, old, node)
		s, err := store.Open(context.Background(), n.dir, store.Options{})
		if !errors.Is(err, store.ErrOlder) || !strings.Contains(err.Error(), "steward restore") {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			must(t, s.Close())
		}
	}
	// A restore that stopped after the node's file was exchanged is done again.
	if _, err := store.Restore(t.Context(), n.dir, store.RestoreOptions{From: from, Replace: true}); err != nil {
		t.Error(err)
	}
	n.place(t, database, node)
	n.open(t)
	left, err := filepath.Glob(filepath.Join(n.dir, "restoring*"))
	if len(left) > 0 || err != nil {
		t.Error(left, err)
	}
}

// On another machine a backup needs the key that it was sealed with.
func TestABackupIsRestoredElsewhere(t *testing.T) {
	n := newNotes(t)
	bare, keyed := n.backup(t, false), n.backup(t, true)
	fresh := func() string { return filepath.Join(t.TempDir(), "home") }
	home := fresh()
	_, err := store.Restore(t.Context(), home, store.RestoreOptions{From: bare, Now: n.clock.now})
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, store.ErrNoKey) {
		t.Fatal(err)
	}
	_, err = store.Restore(t.Context(), home, store.RestoreOptions{From: bare, Key: bare + ".none"})
	wantFault(t, err, fault.Unavailable)
	if !errors.Is(err, store.ErrKey) {
		t.Error(err)
	}
	another := filepath.Join(t.TempDir(), "another")
	must(t, os.WriteFile(another, bytes.Repeat([]byte{7}, 32), 0o600))
	if _, err = store.Restore(t.Context(), home, store.RestoreOptions{From: bare, Key: another, Now: n.clock.now}); !errors.Is(err, store.ErrKey) {
		t.Error(err)
	}
	for what, o := range map[string]store.RestoreOptions{"named": {From: bare, Key: keyed + store.KeySuffix}, "beside": {From: keyed}} {
		home := fresh()
		o.Now = n.clock.now
		if _, err := store.Restore(t.Context(), home, o); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		s, err := store.Open(t.Context(), home, store.Options{Now: n.clock.now})
		must(t, err)
		list, err := s.Adapters(t.Context())
		must(t, errors.Join(err, s.Close()))
		if len(list) != 1 || string(list[0].Configuration) != "{}" {
			t.Errorf("%s: %+v", what, list)
		}
	}
	if _, err := store.Backup(t.Context(), fresh(), filepath.Join(t.TempDir(), "x"), false, nil); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if _, err := store.Restore(t.Context(), fresh(), store.RestoreOptions{From: keyed + store.KeySuffix}); !errors.Is(err, sqldb.ErrDamaged) {
		t.Error(err)
	}
}

// The hash of the trail's last row is that of the present node's, so that who
// notes it down can see whether rows are missing later.
func TestTheEndOfTheTrailMovesAfterARestore(t *testing.T) {
	n := newNotes(t)
	from := n.backup(t, false)
	n.restore(t, from)
	before, err := n.Verify(t.Context(), nil)
	must(t, err)
	must(t, n.Disconnect(t.Context(), n.owner, n.app.Client))
	after, err := n.Verify(t.Context(), nil)
	must(t, err)
	if before.Last == after.Last || after.Rows <= before.Rows {
		t.Errorf("%d rows to %s, then %d to %s", before.Rows, before.Last, after.Rows, after.Last)
	}
}
