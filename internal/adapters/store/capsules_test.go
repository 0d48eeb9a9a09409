package store_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/service/builtins"
)

func installed(t *testing.T, p *pool, name string) id.Resource {
	t.Helper()
	seed, err := builtins.Capsule(name, true)
	must(t, err)
	must(t, p.EnsureCapsule(t.Context(), p.owner, seed))
	r, err := p.Resource(t.Context(), p.owner, resource.AliasCapsule+name)
	must(t, err)
	return r.Row.ID
}

// A capsule is a resource like any other: an app sees it with a live grant of
// read, and a capsule that comes again under the same name is another one.
func TestACapsuleIsReadableWithAGrantOfRead(t *testing.T) {
	p := newPool(t)
	app, other := p.app(t, p.owner, "app"), p.app(t, p.owner, "other")
	notes, mail := installed(t, p, "notes"), installed(t, p, "mail")
	readable := func(c authority.Caller) []view.Readable {
		t.Helper()
		list, err := p.Readable(t.Context(), c)
		must(t, err)
		return list
	}
	same(t, len(readable(app)), 0)
	p.grant(t, other, mail, grant.Never, "describe")
	same(t, len(readable(other)), 0)
	rows := p.grant(t, app, notes, grant.Never, "read", "describe")
	p.grant(t, app, mail, grant.Never, "read")
	same(t, readable(app), []view.Readable{{Resource: mail, Capsule: "mail"}, {Resource: notes, Capsule: "notes"}})
	same(t, len(readable(other)), 0)
	tools, err := p.Catalog(t.Context(), app)
	must(t, err)
	same(t, len(tools), 0) // reading is no tool

	_, err = p.Revoke(t.Context(), p.owner, rows[0])
	must(t, err)
	same(t, readable(app), []view.Readable{{Resource: mail, Capsule: "mail"}})

	must(t, p.RemoveCapsule(t.Context(), p.owner, resource.AliasCapsule+"mail"))
	same(t, len(readable(app)), 0)
	wantFault(t, p.RemoveCapsule(t.Context(), p.owner, resource.AliasCapsule+"mail"), fault.NotFound)
	if again := installed(t, p, "mail"); again == mail {
		t.Error("a capsule that was removed came back with its grants")
	}
	same(t, len(readable(app)), 0)
	if again := installed(t, p, "notes"); again != notes {
		t.Error("a capsule that is there became another one")
	}
	must(t, p.Disconnect(t.Context(), p.owner, app.Client))
	_, err = p.Readable(t.Context(), app)
	wantFault(t, err, fault.Unauthenticated)
}

func TestEveryReadHasARowInTheTrail(t *testing.T) {
	p := newPool(t)
	app := p.app(t, p.owner, "app")
	notes := installed(t, p, "notes")
	before := p.holds(t)
	p.WasRead(app, notes, "ok")
	p.WasRead(app, id.Resource{}, string(fault.NotFound))
	p.BusEvent(p.owner, "source", "collision", 1)
	must(t, p.flushed(t))
	if after := p.holds(t); after.Rows != before.Rows+3 {
		t.Errorf("%d rows, then %d", before.Rows, after.Rows)
	}
}

// Beyond a minute's first rows nothing is lost but the single rows: what is put
// together has its count, and which capsule it was.
func TestRowsThatArePutTogetherKeepCountAndCapsule(t *testing.T) {
	p := newPool(t)
	app := p.app(t, p.owner, "app")
	notes, mail := installed(t, p, "notes"), installed(t, p, "mail")
	for range 70 {
		p.WasRead(app, notes, "ok")
		p.WasRead(app, mail, "ok")
		p.BusEvent(p.owner, "one", "dropped: stale round", 1000)
		p.BusEvent(p.owner, "two", "dropped: stale round", 1)
	}
	p.restart(t) // closing tells what is still counted
	for subject, want := range map[string]int64{notes.String(): 70, mail.String(): 70, "one": 70_000, "two": 70} {
		var got int64
		must(t, p.raw(t).QueryRow("SELECT SUM(MAX(count, 1)) FROM audit WHERE kind IN ('read', 'alarm') AND subject = ?", subject).Scan(&got))
		same(t, got, want)
	}
	p.holds(t)
}

// A copy has what was installed. After a restore no capsule runs, none can be granted or
// read, and installing it again is what brings it back, as the same resource.
func TestCapsulesAreOffAfterARestore(t *testing.T) {
	p := newPool(t)
	app := p.app(t, p.owner, "app")
	const record = `{"name":"notes"}`
	must(t, p.Install(t.Context(), p.owner, "notes", []byte(record)))
	must(t, p.Install(t.Context(), p.owner, "mail", []byte(`{}`)))
	must(t, p.Uninstall(t.Context(), p.owner, "mail"))
	which := installed(t, p, "notes")
	p.grant(t, app, which, grant.Never, "read")
	from := p.backup(t, false)
	must(t, p.Uninstall(t.Context(), p.owner, "notes"))
	must(t, p.RemoveCapsule(t.Context(), p.owner, resource.AliasCapsule+"notes"))

	got := p.restore(t, from)
	off := []view.Installation{{Name: "notes", Record: []byte(record), Off: true}}
	same(t, got.Capsules, off)
	same(t, got.Methods, int64(0))
	list, err := p.Installed(t.Context(), p.owner)
	must(t, err)
	same(t, list, off)
	p.holds(t)
	app = p.app(t, p.owner, "app2")
	_, err = p.Grant(t.Context(), which, authority.GrantMethods{Owner: p.owner, Client: app.Client, Methods: []string{"read"}, Confirm: grant.Never,
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](), NewGrants: []id.Grant{id.New[id.Grant]()}})
	wantFault(t, err, fault.NeedsConsent)
	p.restart(t)
	list, err = p.Installed(t.Context(), p.owner)
	must(t, err)
	same(t, list, off)

	must(t, p.Install(t.Context(), p.owner, "notes", []byte(record)))
	same(t, installed(t, p, "notes"), which)
	p.grant(t, app, which, grant.Never, "read")
	readable, err := p.Readable(t.Context(), app)
	must(t, err)
	same(t, readable, []view.Readable{{Resource: which, Capsule: "notes"}})
	p.holds(t)
	p.tamper(t, "UPDATE capsules SET installed = x'7b7d'")
	if v, err := p.Verify(t.Context(), nil); err != nil || len(v.Mismatches) != 1 {
		t.Errorf("another program in its place: %v, %v", v.Mismatches, err)
	}
}

// A name that means two is refused where it would come about, and where it stands the
// refusal names each as only it is named.
func TestANameThatMeansTwoNamesThem(t *testing.T) {
	p := newPool(t)
	notes := p.upstream(t, p.owner, "notes", "add")
	capsule := installed(t, p, "notes") // as one that comes with the host may be
	_, err := p.Resource(t.Context(), p.owner, "notes")
	wantFault(t, err, fault.Conflict)
	names := strings.Split(fault.From(err).Text[strings.Index(fault.From(err).Text, ": ")+2:], ", ")
	found := map[id.Resource]bool{}
	for _, name := range names {
		r, err := p.Resource(t.Context(), p.owner, name)
		must(t, err)
		found[r.Row.ID] = true
	}
	same(t, found, map[id.Resource]bool{notes.resource: true, capsule: true})
	_, shown := fault.From(err).Details["fix"]
	same(t, shown, true)

	installed(t, p, "mail")
	a := view.Adapter{Owner: p.owner, ID: id.New[id.Adapter](), Name: "mail", Kind: "test", State: view.Enabled}
	r := resource.Row{ID: id.New[id.Resource](), Owner: p.owner, Kind: resource.Connection, Label: "mail", Adapter: a.ID}
	wantFault(t, p.AddAdapter(t.Context(), a, r), fault.Conflict)
	must(t, p.RemoveCapsule(t.Context(), p.owner, resource.AliasCapsule+"mail"))
	must(t, p.AddAdapter(t.Context(), a, r))
}
