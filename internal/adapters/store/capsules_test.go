package store_test

import (
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
	seed, err := builtins.Capsule(name)
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
