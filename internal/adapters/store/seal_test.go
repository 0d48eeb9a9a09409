package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/means/vault"
)

// A result lies sealed in every file of the store, is told as it was by the next
// process, and does not open in another row (threats, A76; invariant I55).
func TestResultsAreSealedToTheirRows(t *testing.T) {
	n := newNotes(t)
	const canary = "canary-77aa"
	first, second := n.call(t, n.tx(), `{"text":"1"}`), n.call(t, n.tx(), `{"text":"2"}`)
	want := n.settle(t, n.dispatch(t, first), invocation.Event{Kind: invocation.Answered, Result: []byte(`{"content":["` + canary + `"]}`)})
	n.settle(t, n.dispatch(t, second), answered)
	n.restart(t)
	ch, err := n.Reserve(t.Context(), first)
	must(t, err)
	if string(ch.Row.Answer().Result) != string(want.Result) || !bytes.Contains(want.Result, []byte(canary)) {
		t.Fatalf("the next process answers %s", ch.Row.Answer().Result)
	}
	if shown := n.stored(t, ch.Row.ID); string(shown.Outcome.Result) != string(want.Result) {
		t.Fatalf("the owner is shown %s", shown.Outcome.Result)
	}
	n.holds(t)
	must(t, filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(canary)) {
			t.Errorf("%s holds the result", path)
		}
		return err
	}))
	n.tamper(t, "UPDATE invocations SET result = (SELECT o.result FROM invocations o WHERE o.tx = $1) WHERE tx = $2", first.Tx.String(), second.Tx.String())
	if _, err := n.Reserve(t.Context(), second); !fault.Is(err, fault.Unavailable) {
		t.Errorf("another row's result: %v", err)
	}
	v, err := n.Verify(t.Context(), nil)
	must(t, err)
	if len(v.Mismatches) != 1 {
		t.Errorf("mismatches %v", v.Mismatches)
	}
}

// A copy of the folder without the key tells nothing of what an entry is
// configured with, and a key of another folder opens nothing (threats, A76).
func TestTheDatabaseAloneTellsNoSecret(t *testing.T) {
	p := newPool(t)
	const canary = "canary-3f1c"
	a := view.Adapter{Owner: p.owner, ID: id.New[id.Adapter](), Name: "secretive", Kind: "test", Configuration: []byte(`{"env":{"KEY":"` + canary + `"}}`), State: view.Enabled}
	must(t, p.AddAdapter(t.Context(), a, resource.Row{ID: id.New[id.Resource](), Owner: p.owner, Kind: resource.Connection, Label: a.Name,
		Adapter: a.ID, Storage: resource.AtThirdParty, Revision: id.New[id.Revision](), State: resource.Active}))
	p.restart(t)
	list, err := p.Adapters(t.Context())
	must(t, err)
	if len(list) != 1 || !bytes.Contains(list[0].Configuration, []byte(canary)) {
		t.Fatalf("the next process reads %+v", list)
	}
	must(t, filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(canary)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	}))
	must(t, p.Close())
	must(t, os.Remove(filepath.Join(p.dir, "keys", "root")))
	if s, err := store.Open(t.Context(), p.dir, store.Options{}); !errors.Is(err, vault.ErrMissing) || s != nil {
		t.Errorf("without its key: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(p.dir, "keys", "root"), bytes.Repeat([]byte{7}, 32), 0o600))
	p.open(t)
	if list, err := p.Adapters(t.Context()); !fault.Is(err, fault.Unavailable) || list != nil {
		t.Errorf("with another key: %+v, %v", list, err)
	}
}
