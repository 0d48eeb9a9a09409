// Package linear_test holds histories of concurrent verbs of the real store
// against plain sequential models (proof, R20; invariants I46, I52, I53, I65). It
// is a module of its own for the sake of the checker that it imports.
package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/stewardhost/steward/internal/adapters/store"
	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/budget"
	"github.com/stewardhost/steward/internal/domain/pool/contract"
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

// pool is a store with an upstream of one method, which several apps may call.
type pool struct {
	t     *testing.T
	dir   string
	owner id.Owner
	apps  []authority.Caller
	what  id.Resource
	found invocation.Resolved

	mu    sync.RWMutex // readers find the store, a writer exchanges it
	store *store.Store
}

func newPool(t *testing.T, apps int) *pool {
	t.Helper()
	p := &pool{t: t, dir: filepath.Join(t.TempDir(), "store"), what: id.New[id.Resource]()}
	p.open()
	t.Cleanup(func() {
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	})
	seeds, err := builtins.Seeds()
	p.must(err)
	p.owner, _, err = p.store.EnsureOwner(t.Context(), "owner", seeds)
	p.must(err)
	p.importMethod()
	for i := range apps {
		p.apps = append(p.apps, p.app(fmt.Sprint("app", i)))
	}
	return p
}

func (p *pool) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pool) open() {
	p.t.Helper()
	var err error
	p.store, err = store.Open(context.Background(), p.dir, store.Options{Ceiling: budget.Ceiling{PerMinute: 1 << 30, AtOnce: 1 << 20}})
	p.must(err)
	_, err = p.store.Recover(context.Background())
	p.must(err)
}

// importMethod imports and approves the method do.
func (p *pool) importMethod() {
	p.t.Helper()
	ctx, adapter := p.t.Context(), id.New[id.Adapter]()
	p.must(p.store.AddAdapter(ctx, view.Adapter{Owner: p.owner, ID: adapter, Name: "up", Kind: "test", Configuration: []byte("{}"), State: view.Enabled},
		resource.Row{ID: p.what, Owner: p.owner, Kind: resource.Connection, Label: "up", Adapter: adapter, Storage: resource.AtThirdParty,
			Revision: id.New[id.Revision](), State: resource.Active}))
	set, err := effect.SetOf(effect.Write)
	p.must(err)
	raw := []byte(`{"name":"do"}`)
	_, err = p.store.ApplyListing(ctx, p.owner, adapter, "up 1", "2025-11-25", []resource.Offer{{Tool: "do", Raw: raw, Review: []byte("{}"),
		Definition: contract.Method{Title: "do", Input: strictjson.Raw(`{"additionalProperties":false,"properties":{},"type":"object"}`),
			Effects: set, Errors: []fault.Code{fault.UpstreamFailed}},
		Binding: resource.Binding{Kind: resource.ByMCP, Adapter: adapter, Tool: "do", Tooldef: digest.Of(digest.Definition, raw)}}})
	p.must(err)
	shown, err := p.store.Resource(ctx, p.owner, p.what.String())
	p.must(err)
	var all []resource.Method
	for _, k := range shown.Methods {
		all = append(all, k.Method)
	}
	_, err = p.store.Approve(ctx, p.owner, p.what, authority.Approve{Shown: authority.ReviewDigest(shown.Row, all),
		Choices: []authority.Choice{{Method: "do"}}, NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()})
	p.must(err)
	p.found, _, err = p.store.Resolve(ctx, p.owner, invocation.Reference{Resource: p.what.String(), Method: "do"})
	p.must(err)
}

func (p *pool) app(name string) authority.Caller {
	p.t.Helper()
	hash, _ := secret.HashToken(secret.Access, secret.NewToken(secret.Access))
	p.must(p.store.AddApp(p.t.Context(), p.owner, view.NewApp{Client: id.New[id.Client](), Name: name,
		Tokens: []view.NewToken{{Hash: hash, Audience: authority.ForRPC}}}))
	caller, _, err := p.store.FindToken(p.t.Context(), hash)
	p.must(err)
	p.must(p.grant(p.store, caller))
	return caller
}

func (p *pool) grant(s *store.Store, c authority.Caller) error {
	_, err := s.Grant(context.Background(), p.what, authority.GrantMethods{Owner: p.owner, Client: c.Client, Methods: []string{"do"},
		NewConsent: id.New[id.Consent](), NewAssignment: id.New[id.Assignment](), NewGrants: []id.Grant{id.New[id.Grant]()}})
	return err
}

// call is the command that the port would make. Each tx has inputs of its own, so
// that no doubt of another stands in its way.
func (p *pool) call(s *store.Store, c authority.Caller, tx id.Tx, args string, ready bool) authority.Call {
	parts := digest.Join(p.found.Target.Resource.String(), p.found.Target.Contract, p.found.Target.Method).Text(tx.String() + args)
	return authority.Call{Caller: c, Tx: tx, Target: p.found.Target, Request: parts.Sum(digest.Request), Input: parts.Sum(digest.Input),
		Args: []byte("{}"), Deadline: 30 * time.Second, CheckedAgainst: p.found.Method.Definition.Digest(), Ready: ready,
		Node: s.Node(), Epoch: s.Epoch(), NewInvocation: id.New[id.Invocation](), NewConfirmation: id.New[id.Confirmation]()}
}

// use gives the store for one verb.
func (p *pool) use(do func(s *store.Store)) {
	p.mu.RLock()
	s := p.store
	p.mu.RUnlock()
	do(s)
}

// restart closes the store under those who use it, and opens it again for those
// who come meanwhile.
func (p *pool) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.store.Close(); err != nil {
		p.t.Errorf("closing: %v", err)
	}
	p.open()
}

// unknown is the output of a verb of which nobody knows whether it happened: it
// may have happened at any time since, or not at all.
const unknown = "?"

// history collects operations. Safe for concurrent use.
type history struct {
	began time.Time
	mu    sync.Mutex
	all   []porcupine.Operation
}

func newHistory() *history { return &history{began: time.Now()} }

// never is when an operation of unknown outcome returns.
const never = int64(1) << 60

func (h *history) do(client int, input any, verb func() string) {
	from := time.Since(h.began).Nanoseconds()
	out := verb()
	to := time.Since(h.began).Nanoseconds()
	if out == unknown {
		to = never
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: input, Call: from, Output: out, Return: to})
}

// checkTime is how long the checker may look for an order.
const checkTime = 30 * time.Second

// check fails unless the history has an order in which the model does the same.
func (h *history) check(t *testing.T, model porcupine.Model) {
	t.Helper()
	if got := porcupine.CheckOperationsTimeout(model, h.all, checkTime); got != porcupine.Ok {
		for _, op := range h.all {
			t.Logf("%d: %d-%d %s", op.ClientId, op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
		}
		t.Fatalf("the history of %d operations is %s", len(h.all), got)
	}
}

// word is a fault's code, or unknown for an error that is no decision.
func word(err error) string {
	var f *fault.Fault
	if errors.As(err, &f) && f.Code != fault.Unavailable && f.Code != fault.Internal {
		return string(f.Code)
	}
	return unknown
}

func pick[T any](chance *rand.Rand, list []T) T { return list[chance.IntN(len(list))] }
