package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/builtins"
)

func TestAppsComeAndGo(t *testing.T) {
	n := newNotes(t)
	list, err := n.Apps(t.Context(), n.owner)
	must(t, err)
	if len(list) != 2 || list[1].Name != "editor" && list[0].Name != "editor" {
		t.Fatalf("%+v", list)
	}
	app, err := n.App(t.Context(), n.owner, "editor")
	must(t, err)
	same(t, app, view.App{Client: n.app.Client, Name: "editor", Kind: authority.Application, Connected: true, CreatedAt: began, Grants: 1, Tokens: 1})
	wantFault(t, n.AddApp(t.Context(), n.owner, view.NewApp{Client: id.New[id.Client](), Name: "editor"}), fault.Conflict)
	wantFault(t, n.AddApp(t.Context(), n.owner, view.NewApp{Client: id.New[id.Client](), Name: "a\u200bb"}), fault.InvalidRequest)
	wantFault(t, n.Disconnect(t.Context(), n.owner, n.hand.Client), fault.InvalidRequest)
	wantFault(t, n.Disconnect(t.Context(), n.owner, id.New[id.Client]()), fault.NotFound)

	n.grant(t, n.app, n.resource, grant.Always, "drop")
	_, err = n.Reserve(t.Context(), n.command(t, n.app, n.tx(), n.resource.String(), "drop", `{}`))
	wantFault(t, err, fault.ConfirmationRequired)
	must(t, n.Disconnect(t.Context(), n.owner, n.app.Client))
	must(t, n.Disconnect(t.Context(), n.owner, n.app.Client))
	open, err := n.Confirmations(t.Context(), n.owner, false)
	must(t, err)
	rows, err := n.Grants(t.Context(), n.owner, n.app.Client)
	must(t, err)
	for _, g := range rows {
		if g.State != grant.Revoked {
			t.Errorf("%+v", g)
		}
	}
	if len(open) != 0 || len(rows) != 2 {
		t.Fatalf("%v %v", open, rows)
	}
	again := n.pool.app(t, n.owner, "editor") // the name is free
	app, err = n.App(t.Context(), n.owner, "editor")
	must(t, err)
	if app.Client != again.Client || app.Grants != 0 {
		t.Fatalf("%+v", app)
	}
	n.holds(t)
}

func TestATokenOpensOneDoorUntilItExpires(t *testing.T) {
	p := newPool(t)
	hash, _ := secret.HashToken(secret.Access, secret.NewToken(secret.Access))
	client := id.New[id.Client]()
	must(t, p.AddApp(t.Context(), p.owner, view.NewApp{Client: client, Name: "x", Tokens: []view.NewToken{
		{Hash: hash, Audience: authority.ForMCP, ExpiresAt: began.Add(time.Hour)}}}))
	c, found, err := p.FindToken(t.Context(), hash)
	must(t, err)
	same(t, c, authority.Caller{Owner: p.owner, Client: client, Audience: authority.ForMCP, Token: hash})
	if !found {
		t.Fatal("not found")
	}
	p.clock.step(time.Hour)
	if _, found, err := p.FindToken(t.Context(), hash); found || err != nil {
		t.Fatal("an expired token is found", err)
	}
	if _, found, err := p.FindToken(t.Context(), secret.Hash{}); found || err != nil {
		t.Fatal("no token is found", err)
	}
}

func TestADriftedMethodIsOffUntilItIsApprovedAndGrantedAnew(t *testing.T) {
	n := newNotes(t)
	r, err := n.Resource(t.Context(), n.owner, "notes")
	must(t, err)
	states := func() map[string]resource.MethodState {
		t.Helper()
		r, err := n.Resource(t.Context(), n.owner, "notes")
		must(t, err)
		out := map[string]resource.MethodState{}
		for _, k := range r.Methods {
			out[k.Method.Definition.ID] = k.Method.State
		}
		return out
	}
	out := n.list(t, n.owner, n.server, offer(n.adapter, "add", "1", effect.Write), offer(n.adapter, "new", "1", effect.Read),
		resource.Offer{Tool: "bad", Refusal: "no input\x00schema", Raw: []byte(`{}`), Definition: contract.Method{Input: anyInput}})
	slices.Sort(out.Changed)
	same(t, out.Changed, []string{"bad", "drop", "new"})
	same(t, states(), map[string]resource.MethodState{"add": resource.Live, "drop": resource.Gone, "new": resource.Proposed, "bad": resource.Refused})
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "2", effect.Write), offer(n.adapter, "drop", "1", effect.Write))
	same(t, states(), map[string]resource.MethodState{"add": resource.NeedsConsent, "drop": resource.NeedsConsent, "new": resource.Gone, "bad": resource.Gone})

	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.NeedsConsent)
	rows, err := n.Grants(t.Context(), n.owner, n.app.Client)
	must(t, err)
	if len(rows) != 1 || rows[0].State != grant.NeedsConsent || rows[0].App != "editor" || rows[0].Resource != "notes" || rows[0].Title != "add" ||
		rows[0].Tool != projection.Name(n.owner, n.resource, rows[0].Row.Key.Contract, "add") {
		t.Fatalf("%+v", rows)
	}
	// What was shown before the drift approves nothing.
	var before []resource.Method
	for _, k := range r.Methods {
		before = append(before, k.Method)
	}
	_, err = n.Approve(t.Context(), n.owner, n.resource, authority.Approve{Shown: authority.ReviewDigest(r.Row, before),
		Choices: []authority.Choice{{Method: "add"}}, NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()})
	wantFault(t, err, fault.Conflict)
	n.approve(t, n.owner, n.resource, "add")
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.NeedsConsent) // the grant pins the old definition
	n.grant(t, n.app, n.resource, grant.ByEffect, "add")
	n.dispatch(t, n.call(t, n.tx(), `{}`))
	after, err := n.Resource(t.Context(), n.owner, "notes")
	must(t, err)
	if after.Row.Revision == r.Row.Revision || after.Methods[0].Method.Contract != r.Methods[0].Method.Contract {
		t.Fatal("an approval makes a revision, and a contract keeps its URL")
	}
	n.holds(t)
}

// What the owner said is kept as evidence, under the owner.
func TestConsentIsRecorded(t *testing.T) {
	n := newNotes(t)
	rows, err := n.raw(t).Query("SELECT kind, client, shown, digest FROM consents WHERE owner = $1 ORDER BY kind", n.owner.String())
	must(t, err)
	defer rows.Close()
	var got [][2]string
	for rows.Next() {
		var r [2]string
		var shown []byte
		var sum string
		must(t, rows.Scan(&r[0], &r[1], &shown, &sum))
		if digest.Of(digest.Consent, shown).String() != sum || !strings.Contains(string(shown), `"method":"add"`) {
			t.Errorf("%s: %s does not pin %s", r[0], sum, shown)
		}
		got = append(got, r)
	}
	must(t, rows.Err())
	same(t, got, [][2]string{{"activation", ""}, {"granting", n.app.Client.String()}})
}

// A row whose assignment has ended allows nothing.
func TestARowRestsOnItsAssignment(t *testing.T) {
	n := newNotes(t)
	n.dispatch(t, n.call(t, n.tx(), `{}`))
	n.tamper(t, "UPDATE assignments SET ended_at = 1")
	n.tamper(t, "UPDATE owners SET changes = changes + 1")
	_, err := n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.NeedsConsent)
	rows, err := n.Grants(t.Context(), n.owner, n.app.Client)
	must(t, err)
	if rows[0].State != grant.NeedsConsent {
		t.Fatalf("%+v", rows)
	}
}

func TestMethodsReadBackAsTheyWereWritten(t *testing.T) {
	n := newNotes(t)
	r, err := n.Resource(t.Context(), n.owner, "notes")
	must(t, err)
	want := offer(n.adapter, "add", "1", effect.Write)
	got := r.Methods[0]
	want.Definition.ID = "add"
	same(t, got.Method.Definition, want.Definition)
	same(t, got.Method.Binding, want.Binding)
	same(t, []string{string(got.Raw), string(got.Review)}, []string{string(want.Raw), string(want.Review)})
	if got.Method.Pin() != (resource.Method{Definition: want.Definition, Binding: want.Binding}).Pin() {
		t.Fatal("a method has another pin after it was stored")
	}
}

func TestRevokingEndsAtOnceAndTwiceIsNoFault(t *testing.T) {
	n := newNotes(t)
	first := n.grants[0]
	for i, now := range []bool{true, false} {
		ended, err := n.Revoke(t.Context(), n.owner, first)
		must(t, err)
		if ended != now {
			t.Fatalf("revoked for the %d. time, it ended now: %t", i+1, ended)
		}
		rows, err := n.Grants(t.Context(), n.owner, n.app.Client)
		must(t, err)
		at := slices.IndexFunc(rows, func(g view.Grant) bool { return g.Row.ID == first })
		if got := rows[at].Row; got.State != grant.Revoked || n.clock.now().Sub(got.RevokedAt) != time.Duration(i)*time.Hour {
			t.Fatalf("%+v", got)
		}
		n.clock.step(time.Hour)
	}
	_, err := n.Revoke(t.Context(), n.owner, id.New[id.Grant]())
	wantFault(t, err, fault.NotFound)
	n.grant(t, n.app, n.resource, grant.ByEffect, "add", "drop")
	ended, err := n.RevokeAll(t.Context(), n.owner, n.app.Client, n.resource)
	must(t, err)
	if ended != 2 {
		t.Fatalf("%d rows ended", ended)
	}
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.NotFound)
	// One row that lives makes the resource visible, and so the lack of another.
	n.grant(t, n.app, n.resource, grant.ByEffect, "drop")
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.GrantRequired)
	n.holds(t)
}

func TestAGrantExpiresAtItsInstant(t *testing.T) {
	n := newNotes(t)
	c := authority.GrantMethods{Owner: n.owner, Client: n.app.Client, Methods: []string{"add"}, Confirm: grant.Never, ExpiresAt: began.Add(time.Minute),
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](), NewGrants: []id.Grant{id.New[id.Grant]()}}
	_, err := n.Grant(t.Context(), n.resource, c)
	must(t, err)
	list, err := n.Catalog(t.Context(), n.app)
	must(t, err)
	if len(list) != 1 {
		t.Fatal(list)
	}
	n.clock.step(time.Minute)
	_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{}`))
	wantFault(t, err, fault.NotFound)
	if list, err = n.Catalog(t.Context(), n.app); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
}

func TestTheCatalogIsWhatMayBeCalledNow(t *testing.T) {
	n := newNotes(t)
	names := func(c authority.Caller) (out []string) {
		t.Helper()
		list, err := n.Catalog(t.Context(), c)
		must(t, err)
		if !slices.IsSortedFunc(list, func(a, b view.Callable) int { return slices.Compare([]byte(a.Tool), []byte(b.Tool)) }) {
			t.Fatal("not sorted by tool")
		}
		for _, m := range list {
			out = append(out, m.Resource+"/"+m.Target.Method)
		}
		slices.Sort(out)
		return out
	}
	same(t, names(n.app), []string{"notes/add"})
	n.grant(t, n.app, n.resource, grant.ByEffect, "drop")
	same(t, names(n.app), []string{"notes/add", "notes/drop"})
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "1", effect.Write), offer(n.adapter, "drop", "2", effect.Write))
	same(t, names(n.app), []string{"notes/add"})
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Disabled))
	if got := names(n.app); got != nil {
		t.Fatal(got)
	}
	must(t, n.ReplaceAdapter(t.Context(), n.owner, n.adapter, []byte(`{"another":"secret"}`)))
	same(t, names(n.app), []string{"notes/add"})
	wantFault(t, n.ReplaceAdapter(t.Context(), n.owner, n.adapter, []byte("{}")), fault.Conflict) // it is in use
	if all, err := n.Adapters(t.Context()); err != nil || string(all[0].Configuration) != `{"another":"secret"}` || all[0].State != view.Enabled {
		t.Errorf("%v %+v", err, all)
	}
	same(t, names(n.hand), []string{"Items/delete", "Items/get", "Items/list", "Items/put", "Own grants/list", "Own journal/get",
		"Own journal/list", "Profile/get", "notes/add"})
	_, err := n.Revoke(t.Context(), n.owner, n.grants[0])
	must(t, err)
	if got := names(n.app); got != nil {
		t.Fatal(got)
	}
}

func TestWhoeverAskedIsToldOfChanges(t *testing.T) {
	n := newNotes(t)
	var mu sync.Mutex
	var told []string
	n.OnChange(func(owner id.Owner, client id.Client) {
		mu.Lock()
		defer mu.Unlock()
		who := "all"
		if client == n.app.Client {
			who = "editor"
		}
		if owner != n.owner {
			who = "a stranger"
		}
		told = append(told, who)
	})
	step := func(want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(told, want) {
			t.Fatalf("told %v, want %v", told, want)
		}
		told = nil
	}
	n.grant(t, n.app, n.resource, grant.ByEffect, "drop")
	step("editor")
	_, err := n.Revoke(t.Context(), n.owner, n.grants[0])
	must(t, err)
	step("editor")
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "1", effect.Write), offer(n.adapter, "drop", "1", effect.Write))
	step()
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "2", effect.Write), offer(n.adapter, "drop", "1", effect.Write))
	step("all")
	n.approve(t, n.owner, n.resource, "add")
	step("all")
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Disabled))
	step("all")
	must(t, n.Disconnect(t.Context(), n.owner, n.app.Client))
	step("editor")
}

func TestBuiltinsFollowTheHost(t *testing.T) {
	p := newPool(t)
	seeds, err := builtins.Seeds()
	must(t, err)
	app := p.app(t, p.owner, "editor")
	items, err := p.Resource(t.Context(), p.owner, "@items")
	must(t, err)
	p.grant(t, app, items.Row.ID, grant.ByEffect, "get", "list")

	owner, hand, err := p.EnsureOwner(t.Context(), "owner", seeds)
	must(t, err)
	if owner != p.owner || hand != p.hand.Client {
		t.Fatal("the owner is another one after a restart")
	}
	var changed []contract.Method
	for _, m := range seeds[0].Document.Methods {
		switch m.ID {
		case "get":
			m.Description += " Changed."
		case "put":
			continue
		}
		changed = append(changed, m)
	}
	seeds[0].Document, err = contract.New(seeds[0].Document.URL, seeds[0].Document.Title, changed)
	must(t, err)
	_, _, err = p.EnsureOwner(t.Context(), "owner", seeds)
	must(t, err)
	_, err = p.run(t, app, "@items", "get", `{"key":"a"}`, "")
	wantFault(t, err, fault.NeedsConsent)
	p.ok(t, app, "@items", "list", `{}`, "")
	_, err = p.run(t, p.hand, "@items", "put", `{"key":"a","value":""}`, `{"absent":true}`)
	wantFault(t, err, fault.NeedsConsent)
	p.holds(t)
}

func TestAnotherOwnersThingsAreNotFound(t *testing.T) {
	n := newNotes(t)
	row := n.dispatch(t, n.call(t, n.tx(), `{}`))
	n.settle(t, row, answered)
	n.grant(t, n.app, n.resource, grant.Always, "drop")
	_, err := n.Reserve(t.Context(), n.command(t, n.app, n.tx(), n.resource.String(), "drop", `{}`))
	wantFault(t, err, fault.ConfirmationRequired)
	open, err := n.Confirmations(t.Context(), n.owner, false)
	must(t, err)
	stranger, strangersHand := n.newOwner(t, "somebody else")

	grantIt := authority.GrantMethods{Owner: stranger, Client: n.app.Client, Methods: []string{"add"}, NewGrants: []id.Grant{id.New[id.Grant]()},
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment]()}
	tries := map[string]func() error{
		"App":          func() error { _, err := n.App(t.Context(), stranger, n.app.Client.String()); return err },
		"Disconnect":   func() error { return n.Disconnect(t.Context(), stranger, n.app.Client) },
		"RotateTokens": func() error { return n.RotateTokens(t.Context(), stranger, n.app.Client, nil) },
		"Resource":     func() error { _, err := n.Resource(t.Context(), stranger, n.resource.String()); return err },
		"Approve": func() error {
			_, err := n.Approve(t.Context(), stranger, n.resource, authority.Approve{Choices: []authority.Choice{{Method: "add"}}})
			return err
		},
		"Grant":           func() error { _, err := n.Grant(t.Context(), n.resource, grantIt); return err },
		"Revoke":          func() error { _, err := n.Revoke(t.Context(), stranger, n.grants[0]); return err },
		"SetAdapterState": func() error { return n.SetAdapterState(t.Context(), stranger, n.adapter, view.Disabled) },
		"ReplaceAdapter":  func() error { return n.ReplaceAdapter(t.Context(), stranger, n.adapter, nil) },
		"ApplyListing": func() error {
			_, err := n.ApplyListing(t.Context(), stranger, n.adapter, "", "", nil)
			return err
		},
		"DecideConfirmation": func() error { _, err := n.DecideConfirmation(t.Context(), stranger, open[0].Row.ID, true); return err },
		"Invocation":         func() error { _, err := n.Invocation(t.Context(), stranger, row.ID.String()); return err },
		"Invocation by tx":   func() error { _, err := n.Invocation(t.Context(), stranger, row.Tx.String()); return err },
		"Reconcile":          func() error { _, err := n.Reconcile(t.Context(), stranger, row.ID, authority.Happened); return err },
		"Lookup": func() error {
			c := n.app
			c.Owner = stranger
			_, err := n.Lookup(t.Context(), c, row.Tx)
			return err
		},
	}
	for name, try := range tries {
		err := try()
		want := fault.NotFound
		if name == "Lookup" {
			want = fault.Unauthenticated // the client is no client of that owner
		}
		if !fault.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, count := range map[string]func() (int, error){
		"Apps":          func() (int, error) { l, err := n.Apps(t.Context(), stranger); return len(l) - 1, err },
		"Resources":     func() (int, error) { l, err := n.Resources(t.Context(), stranger); return len(l) - 4, err },
		"Grants":        func() (int, error) { l, err := n.Grants(t.Context(), stranger, id.Client{}); return len(l), err },
		"Confirmations": func() (int, error) { l, err := n.Confirmations(t.Context(), stranger, true); return len(l), err },
		"RevokeAll":     func() (int, error) { return n.RevokeAll(t.Context(), stranger, n.app.Client, n.resource) },
		"Invocations": func() (int, error) {
			l, _, err := n.Invocations(t.Context(), stranger, view.JournalFilter{})
			return len(l), err
		},
		"Catalog": func() (int, error) { l, err := n.Catalog(t.Context(), strangersHand); return len(l) - 8, err },
	} {
		if got, err := count(); got != 0 || err != nil {
			t.Errorf("%s: %d %v", name, got, err)
		}
	}
	rows, err := n.Grants(t.Context(), n.owner, n.app.Client)
	must(t, err)
	if rows[0].State != grant.Active || len(rows) != 2 {
		t.Fatalf("%+v", rows)
	}
}

func TestTheJournalIsReadInPages(t *testing.T) {
	n := newNotes(t)
	other := n.app2(t)
	var want []id.Invocation
	for i := range 7 {
		c := n.call(t, n.tx(), fmt.Sprintf(`{"text":"%d"}`, i))
		if i%2 == 0 {
			c = n.command(t, other, n.tx(), n.resource.String(), "add", fmt.Sprintf(`{"text":"%d"}`, i))
		}
		ch, err := n.Reserve(t.Context(), c)
		must(t, err)
		want = append([]id.Invocation{ch.Row.ID}, want...)
	}
	var got []id.Invocation
	for before := ""; ; {
		page, next, err := n.Invocations(t.Context(), n.owner, view.JournalFilter{Before: before, Limit: 3})
		must(t, err)
		for _, v := range page {
			got = append(got, v.Row.ID)
			if v.Resource != "notes" || v.App != "editor" && v.App != "browser" {
				t.Fatalf("%+v", v)
			}
		}
		if before = next; next == "" {
			break
		}
	}
	same(t, got, want)
	mine, _, err := n.Invocations(t.Context(), n.owner, view.JournalFilter{Client: other.Client, State: "dispatching"})
	must(t, err)
	if len(mine) != 4 {
		t.Fatalf("%d rows", len(mine))
	}
	for _, f := range []view.JournalFilter{{Before: "x"}, {Before: "0"}, {State: "lost"}, {Limit: 101}} {
		if _, _, err := n.Invocations(t.Context(), n.owner, f); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestEntriesAreNamedOnceAndListed(t *testing.T) {
	n := newNotes(t)
	a := view.Adapter{Owner: n.owner, ID: id.New[id.Adapter](), Name: "notes", Kind: "test", State: view.Enabled}
	r := resource.Row{ID: id.New[id.Resource](), Owner: n.owner, Kind: resource.Connection, Label: "notes", Adapter: a.ID}
	wantFault(t, n.AddAdapter(t.Context(), a, r), fault.Conflict)
	r.Adapter = n.adapter
	wantFault(t, n.AddAdapter(t.Context(), a, r), fault.InvalidRequest)
	list, err := n.Adapters(t.Context())
	must(t, err)
	same(t, list, []view.Adapter{{Owner: n.owner, ID: n.adapter, Name: "notes", Kind: "test", Configuration: []byte("{}"), Server: "server 1.0",
		Protocol: "2025-11-25", State: view.Enabled, ListedAt: began, Resource: n.resource}})
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Removed))
	if list, err = n.Adapters(t.Context()); err != nil || len(list) != 0 {
		t.Fatal(list, err)
	}
	r.Adapter = a.ID
	must(t, n.AddAdapter(t.Context(), a, r))
}

// A list of rows says of each what a call under it would meet, and of a server that
// is gone nothing allows or waits for anything (field faults, FF83).
func TestAListShowsWhatACallWouldMeet(t *testing.T) {
	n := newNotes(t)
	other := n.pool.app(t, n.owner, "asker")
	n.grant(t, other, n.resource, grant.Always, "add")
	shows := func(step string, want grant.State) {
		t.Helper()
		rows, err := n.Grants(t.Context(), n.owner, id.Client{})
		must(t, err)
		live := 0
		for _, g := range rows {
			if g.State != want {
				t.Errorf("%s: %s %s is %s, want %s", step, g.App, g.Row.Key.Method, g.State, want)
			}
			if want == grant.Active {
				live = 1
			}
		}
		apps, err := n.Apps(t.Context(), n.owner)
		must(t, err)
		for _, a := range apps {
			if (a.Client == n.app.Client || a.Client == other.Client) && a.Grants != live {
				t.Errorf("%s: %s has %d grants", step, a.Name, a.Grants)
			}
		}
		_, err = n.Reserve(t.Context(), n.call(t, n.tx(), `{"text":"`+step+`"}`))
		if (err == nil) != (want == grant.Active) {
			t.Errorf("%s: a call gives %v", step, err)
		}
	}
	_, err := n.Reserve(t.Context(), n.command(t, other, n.tx(), n.resource.String(), "add", `{}`))
	wantFault(t, err, fault.ConfirmationRequired)
	shows("granted", grant.Active)
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Disabled))
	shows("switched off", grant.Suspended)
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Enabled))
	shows("switched on", grant.Active)
	n.list(t, n.owner, n.server, offer(n.adapter, "drop", "1", effect.Write))
	shows("no longer offered", grant.NeedsConsent)
	n.list(t, n.owner, n.server, offer(n.adapter, "add", "1", effect.Write), offer(n.adapter, "drop", "1", effect.Write))
	n.approve(t, n.owner, n.resource, "add")
	shows("offered and approved again", grant.Active)
	must(t, n.SetAdapterState(t.Context(), n.owner, n.adapter, view.Removed))
	shows("removed", grant.Revoked)
	open, err := n.Confirmations(t.Context(), n.owner, false)
	must(t, err)
	if len(open) != 0 {
		t.Errorf("the owner is still asked %+v", open)
	}
	n.holds(t)
}
