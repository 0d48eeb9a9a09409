package port_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/service/dispatch"
)

// look is what a caller, or who watches the host, can see of one refusal.
type look struct {
	Code                  fault.Code
	Text                  string
	Reads, ReadStatements int64
}

// An app without any grant costs the same work whether the method that it names
// is there or not: the same statements, and no reading of the method's schema
// (invariant I51; threats, A12). The hand's calls make the port remember the
// method first.
func TestAMethodThatMayNotBeSeenCostsWhatAnUnknownOneDoes(t *testing.T) {
	s := newScene(t, answered)
	if got := s.call(t, id.NewTx(time.Now())); got.Fault != nil {
		t.Fatal(got.Fault)
	}
	client, token := id.New[id.Client](), secret.Hash{1}
	must(t, s.journal.AddApp(t.Context(), s.hand.Owner, view.NewApp{Client: client, Name: "app",
		Tokens: []view.NewToken{{Hash: token, Audience: authority.ForRPC}}}))
	stranger := authority.Caller{Owner: s.hand.Owner, Client: client, Token: token, Audience: authority.ForRPC}
	refs := map[string]dispatch.Reference{"there": s.ref, "no such method": s.ref, "no such resource": s.ref}
	for name, change := range map[string]func(*dispatch.Reference){
		"no such method":   func(r *dispatch.Reference) { r.Method = "nil" },
		"no such resource": func(r *dispatch.Reference) { r.Resource = id.New[id.Resource]().String() },
	} {
		r := refs[name]
		change(&r)
		refs[name] = r
	}
	var fields []string
	for i := range 1500 {
		fields = append(fields, fmt.Sprintf(`"member_%d":"%s"`, i, strings.Repeat("x", 12)))
	}
	args := []byte("{" + strings.Join(fields, ",") + "}")
	// What other work of the machine does it does not do three times over.
	for tries := 3; ; tries-- {
		differs := costs(t, s, stranger, refs, args)
		if differs == "" {
			return
		}
		t.Log(differs)
		if tries == 1 {
			t.Fatal("each time one takes longer than another")
		}
	}
}

// costs asks for each reference in turn, demands the same work of all, and says which
// takes longer than one that names no method.
func costs(t *testing.T, s *scene, stranger authority.Caller, refs map[string]dispatch.Reference, args []byte) (differs string) {
	t.Helper()
	looks, times, rounds := map[string]look{}, map[string][]time.Duration{}, 400
	if testing.Short() {
		rounds = 100
	}
	for range rounds {
		for name, ref := range refs {
			before, began := s.journal.Stats(), time.Now()
			got := s.port.Call(t.Context(), stranger, dispatch.Request{Tx: id.NewTx(time.Now()), Ref: ref, Args: args})
			times[name] = append(times[name], time.Since(began))
			after := s.journal.Stats()
			if got.Fault == nil {
				t.Fatalf("%s: %+v", name, got)
			}
			looks[name] = look{got.Fault.Code, got.Fault.Text, after.Reads - before.Reads, after.ReadStatements - before.ReadStatements}
		}
	}
	// Other work of the machine only adds to a time, so the quick ones tell the cost.
	takes := func(name string) time.Duration {
		slices.Sort(times[name])
		return times[name][len(times[name])/10]
	}
	for name := range refs {
		// The bar is a tenth; the rest is for a machine with other things to do.
		if there, not := takes(name), takes("no such method"); max(there, not) > min(there, not)*5/4 {
			differs += fmt.Sprintf("%s takes %v, no such method %v; ", name, there, not)
		}
		t.Logf("%s: %v", name, takes(name))
		if diff := cmp.Diff(looks["no such method"], looks[name]); diff != "" {
			t.Errorf("no such method and %s differ:\n%s", name, diff)
		}
	}
	return differs
}
