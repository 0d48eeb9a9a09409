package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/builtins"
)

// wide is a ceiling that tests of other things do not meet.
var wide = budget.Ceiling{PerMinute: 1 << 30, AtOnce: 1 << 20}

// began is where every test's clock starts.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// tester is what helpers need of a test or of one sequence of a model.
type tester interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// clock is a wall clock that a test moves.
type clock struct{ ms atomic.Int64 }

func newClock(at time.Time) *clock {
	c := &clock{}
	c.set(at)
	return c
}

func (c *clock) now() time.Time       { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) set(at time.Time)     { c.ms.Store(at.UnixMilli()) }
func (c *clock) step(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// pool is a store with one owner, as tests begin with it.
type pool struct {
	*store.Store
	dir     string
	clock   *clock
	shown   time.Time            // by the clock, as far as a model keeps it
	passed  func() time.Duration // a clock that nobody sets; none in most tests
	ceiling budget.Ceiling       // of each resource
	owner   id.Owner
	hand    authority.Caller
}

func newPool(t testing.TB) *pool {
	t.Helper()
	p := &pool{dir: t.TempDir() + "/store", clock: newClock(began), ceiling: wide}
	p.open(t)
	_, err := p.Recover(t.Context())
	must(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	p.owner, p.hand = p.newOwner(t, "owner")
	return p
}

func (p *pool) open(t tester) {
	t.Helper()
	s, err := store.Open(context.Background(), p.dir, store.Options{Now: p.clock.now, Passed: p.passed, Ceiling: p.ceiling})
	if err != nil {
		t.Fatal(err)
	}
	p.Store = s
}

// restart closes the store as a stopped host does, and opens it again.
func (p *pool) restart(t tester) view.Recovery {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.open(t)
	found, err := p.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (p *pool) newOwner(t tester, name string) (id.Owner, authority.Caller) {
	t.Helper()
	seeds, err := builtins.Seeds()
	if err != nil {
		t.Fatal(err)
	}
	owner, hand, err := p.EnsureOwner(t.Context(), name, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return owner, authority.Caller{Owner: owner, Client: hand, Audience: authority.ForRPC}
}

// app adds a client and returns it as a caller.
func (p *pool) app(t tester, owner id.Owner, name string) authority.Caller {
	t.Helper()
	hash, _ := secret.HashToken(secret.Access, secret.NewToken(secret.Access))
	app := view.NewApp{Client: id.New[id.Client](), Name: name, Tokens: []view.NewToken{{Hash: hash, Audience: authority.ForRPC}}}
	must(t, p.AddApp(t.Context(), owner, app))
	caller, found, err := p.FindToken(t.Context(), hash)
	must(t, err)
	if !found {
		t.Fatal("a fresh token is not found")
	}
	return caller
}

// server is an imported upstream with its resource.
type server struct {
	adapter  id.Adapter
	resource id.Resource
}

var anyInput = strictjson.Raw(`{"additionalProperties":false,"properties":{"text":{"maxLength":100,"type":"string"}},"type":"object"}`)

// offer is a tool that reads nothing and does what the classes say.
func offer(adapter id.Adapter, tool, revision string, classes ...effect.Class) resource.Offer {
	set, err := effect.SetOf(classes...)
	if err != nil {
		panic(err)
	}
	raw := fmt.Sprintf(`{"name":%q,"revision":%q}`, tool, revision)
	return resource.Offer{Tool: tool, Raw: []byte(raw), Review: []byte("{}"),
		Definition: contract.Method{Title: tool, Description: revision, Input: anyInput, Effects: set, Errors: []fault.Code{fault.UpstreamFailed}},
		Binding:    resource.Binding{Kind: resource.ByMCP, Adapter: adapter, Tool: tool, Tooldef: digest.Of(digest.Definition, []byte(raw))}}
}

// upstream imports an entry with tools that write.
func (p *pool) upstream(t tester, owner id.Owner, name string, tools ...string) server {
	t.Helper()
	s := server{id.New[id.Adapter](), id.New[id.Resource]()}
	must(t, p.AddAdapter(t.Context(), view.Adapter{Owner: owner, ID: s.adapter, Name: name, Kind: "test", Configuration: []byte("{}"), State: view.Enabled},
		resource.Row{ID: s.resource, Owner: owner, Kind: resource.Connection, Label: name, Adapter: s.adapter, Storage: resource.AtThirdParty,
			Revision: id.New[id.Revision](), State: resource.Active}))
	var offers []resource.Offer
	for _, tool := range tools {
		offers = append(offers, offer(s.adapter, tool, "1", effect.Write))
	}
	p.list(t, owner, s, offers...)
	return s
}

func (p *pool) list(t tester, owner id.Owner, s server, offers ...resource.Offer) view.Listing {
	t.Helper()
	out, err := p.ApplyListing(t.Context(), owner, s.adapter, "server 1.0", "2025-11-25", offers)
	must(t, err)
	return out
}

// approve says yes to methods as they stand.
func (p *pool) approve(t tester, owner id.Owner, which id.Resource, methods ...string) {
	t.Helper()
	r, err := p.Resource(t.Context(), owner, which.String())
	must(t, err)
	var all []resource.Method
	for _, k := range r.Methods {
		all = append(all, k.Method)
	}
	var choices []authority.Choice
	for _, m := range methods {
		choices = append(choices, authority.Choice{Method: m})
	}
	_, err = p.Approve(t.Context(), owner, which, authority.Approve{Shown: authority.ReviewDigest(r.Row, all), Choices: choices,
		NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()})
	must(t, err)
}

// grant gives rows and returns their ids.
func (p *pool) grant(t tester, c authority.Caller, which id.Resource, confirm grant.Confirm, methods ...string) []id.Grant {
	t.Helper()
	g := authority.GrantMethods{Owner: c.Owner, Client: c.Client, Methods: methods, Confirm: confirm,
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment]()}
	for range methods {
		g.NewGrants = append(g.NewGrants, id.New[id.Grant]())
	}
	_, err := p.Grant(t.Context(), which, g)
	must(t, err)
	return g.NewGrants
}

// command makes the command that the port would make of a request.
func (p *pool) command(t tester, c authority.Caller, tx id.Tx, resourceRef, method, args string) authority.Call {
	t.Helper()
	got, _, err := p.Resolve(t.Context(), c.Owner, invocation.Reference{Resource: resourceRef, Method: method})
	must(t, err)
	return p.commandOf(c, tx, got, args)
}

func (p *pool) commandOf(c authority.Caller, tx id.Tx, got invocation.Resolved, args string) authority.Call {
	parts := digest.Join(got.Target.Resource.String(), got.Target.Contract, got.Target.Method).Text(args)
	return authority.Call{Caller: c, Tx: tx, Target: got.Target, Request: parts.Sum(digest.Request), Input: parts.Sum(digest.Input),
		Args: []byte(args), Deadline: 30 * time.Second, CheckedAgainst: got.Method.Definition.Digest(), Ready: true,
		Node: p.Node(), Epoch: p.Epoch(), NewInvocation: id.New[id.Invocation](), NewConfirmation: id.New[id.Confirmation]()}
}

// tx mints a tx at the test's time.
func (p *pool) tx() id.Tx { return id.NewTx(p.clock.now()) }

// outcome is what the port settles with after an event.
func outcome(r invocation.Row, ev invocation.Event, late bool) authority.Settle {
	v := invocation.Classify(ev)
	return authority.Settle{Attempt: authority.AttemptOf(r), Verdict: v, Late: late, Outcome: invocation.Outcome{
		Code: v.Code, Text: string(v.Code), Reason: v.Reason, Effects: v.Effects, Result: ev.Result, Detail: ev.Detail}}
}

var answered = invocation.Event{Kind: invocation.Answered, Result: []byte(`{"content":[],"isError":false,"validated":false}`)}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantFault fails unless the error is a fault of the code.
func wantFault(t tester, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("got %v (%v), want %s", err, errors.Unwrap(err), code)
	}
}

// holds fails unless the whole trail verifies.
func (p *pool) holds(t tester) view.Verification {
	t.Helper()
	v, err := p.Verify(t.Context(), nil)
	must(t, err)
	if v.Break != nil || len(v.Mismatches) > 0 {
		t.Fatalf("the trail does not hold: %+v %v", v.Break, v.Mismatches)
	}
	return v
}

// flushed waits until every row of the trail that nobody waits for is written.
// Verify writes them first.
func (p *pool) flushed(t tester) error {
	t.Helper()
	_, err := p.Verify(t.Context(), nil)
	return err
}
