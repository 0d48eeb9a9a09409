package authority

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const reaffirmedURL = "https://x.invalid/contracts/imported/n/v1"

// driftedMethod was approved as reading and now is what raw says, proposed as
// writing.
func driftedMethod(t *testing.T, name, raw string) resource.Kept {
	t.Helper()
	offer := func(raw string, class effect.Class) resource.Offer {
		effects, err := effect.SetOf(class)
		if err != nil {
			t.Fatal(err)
		}
		return resource.Offer{Tool: name, Raw: []byte(raw), Definition: contract.Method{Description: raw, Effects: effects,
			Input: strictjson.Raw(`{"additionalProperties":false,"properties":{},"type":"object"}`)},
			Binding: resource.Binding{Kind: resource.ByMCP, Tool: name, Tooldef: digest.Of(digest.Definition, []byte(raw))}}
	}
	url := func(int) string { return reaffirmedURL }
	kept, _ := resource.Merge(nil, []resource.Offer{offer(`{"description":"before"}`, effect.Read)}, url)
	kept[0].Method.State = resource.Live
	kept, _ = resource.Merge(kept, []resource.Offer{offer(raw, effect.Write)}, url)
	return kept[0]
}

// A reaffirmation is for words alone. It keeps the effects, and takes along exactly
// the rows that rested on what was approved.
func TestReaffirming(t *testing.T) {
	now := time.Unix(1000, 0)
	words := driftedMethod(t, "words", `{"description":"after"}`)
	back := words
	back.Method.Definition.ID, back.Raw = "back", back.Approved.Raw
	more := driftedMethod(t, "more", `{"description":"after","annotations":{"destructiveHint":true}}`)
	live := words
	live.Method.Definition.ID, live.Method.State = "live", resource.Live
	fresh := words
	fresh.Method.Definition.ID, fresh.Method.State, fresh.Approved = "fresh", resource.Proposed, resource.Approved{}
	kept := []resource.Kept{words, back, more, live, fresh}
	var methods []resource.Method
	for _, k := range kept {
		methods = append(methods, k.Method)
	}
	r := resource.Row{ID: id.New[id.Resource](), Kind: resource.Connection, Label: "notes", State: resource.Active}
	row := func(method string, pin grant.Pin, state grant.State, expires time.Time) grant.Row {
		return grant.Row{ID: id.New[id.Grant](), Key: grant.Key{Resource: r.ID, Contract: reaffirmedURL, Method: method}, Pin: pin, State: state, ExpiresAt: expires}
	}
	old := words.Approved.Pin
	rows := []grant.Row{
		row("words", old, grant.Active, time.Time{}), row("words", old, grant.Active, now.Add(time.Hour)), row("words", old, grant.Active, now),
		row("words", old, grant.Revoked, time.Time{}), row("words", grant.Pin{Method: old.Method}, grant.Active, time.Time{}), row("more", old, grant.Active, time.Time{}),
	}
	command := func(shown digest.Digest, choices ...Choice) Approve {
		return Approve{Shown: shown, Choices: choices, NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()}
	}
	shown := ReviewDigest(r, methods)
	writes, err := effect.SetOf(effect.Write)
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name    string
		command Approve
		code    fault.Code
	}{
		{"more than words", command(shown, Choice{Method: "more"}), fault.NeedsConsent},
		{"more than words beside words", command(shown, Choice{Method: "words"}, Choice{Method: "more"}), fault.NeedsConsent},
		{"what has not changed", command(shown, Choice{Method: "live"}), fault.Conflict},
		{"what was never approved", command(shown, Choice{Method: "fresh"}), fault.Conflict},
		{"what is not there", command(shown, Choice{Method: "none"}), fault.NotFound},
		{"other effects", command(shown, Choice{Method: "words", Effects: writes}), fault.InvalidRequest},
		{"nothing", command(shown), fault.InvalidRequest},
		{"another sight", command(ReviewDigest(r, methods[:2]), Choice{Method: "words"}), fault.Conflict},
	} {
		got, bad := DecideReaffirm(r, kept, rows, c.command, now)
		if bad == nil || bad.Code != c.code || len(got.Methods)+len(got.Grants) != 0 {
			t.Errorf("%s: %v, %+v", c.name, bad, got)
		}
		if fix := "steward review --approve " + r.ID.String() + " --methods fresh"; c.name == "what was never approved" && bad.Details["fix"] != fix {
			t.Errorf("%s: %q, want %q", c.name, bad.Details["fix"], fix)
		}
	}

	c := command(shown, Choice{Method: "words"}, Choice{Method: "back"})
	got, bad := DecideReaffirm(r, kept, rows, c, now)
	if bad != nil {
		t.Fatal(bad)
	}
	approved := map[string]resource.Method{}
	for _, m := range got.Methods {
		approved[m.Definition.ID] = m
	}
	for _, name := range []string{"words", "back"} {
		if m := approved[name]; m.State != resource.Live || m.Reason != "" || m.Definition.Effects != words.Approved.Definition.Effects {
			t.Errorf("%s is %+v", name, m)
		}
	}
	if _, there := approved["more"]; there {
		t.Error("another method was approved")
	}
	want := []grant.Row{rows[0], rows[1]}
	for i := range want {
		want[i].Pin, want[i].Contract, want[i].Consent = approved["words"].Pin(), approved["words"].Document, c.NewConsent
	}
	if diff := cmp.Diff(want, got.Grants, cmp.Comparer(func(a, b grant.Row) bool { return a == b })); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
	if want[0].StateAt(approved["words"].Pin(), now) != grant.Active || rows[0].StateAt(approved["words"].Pin(), now) != grant.NeedsConsent {
		t.Error("a row holds for another definition than its own")
	}
	if c.Choices[0].Effects != (effect.Set{}) {
		t.Error("the command was changed")
	}
}

// A method's own limit is set with an approval, is no part of what a grant pins, stays
// when the method drifts, and shortens a call alone (field faults, FF47).
func TestAMethodHasALimitOfItsOwn(t *testing.T) {
	now := time.Unix(1000, 0)
	k := driftedMethod(t, "words", `{"description":"after"}`)
	r := resource.Row{ID: id.New[id.Resource](), Kind: resource.Connection, Label: "notes", State: resource.Active}
	approve := func(m resource.Method, limit time.Duration) (resource.Method, *fault.Fault) {
		got, bad := DecideApprove(r, []resource.Method{m}, Approve{Shown: ReviewDigest(r, []resource.Method{m}), Choices: []Choice{{Method: "words", Deadline: limit}},
			NewConsent: id.New[id.Consent](), NewRevision: id.New[id.Revision]()}, now)
		if bad != nil {
			return m, bad
		}
		return got.Methods[0], nil
	}
	limited, bad := approve(k.Method, 2*time.Second)
	if bad != nil {
		t.Fatal(bad)
	}
	again, bad := approve(limited, 0)
	if bad != nil || again.Binding.DeadlineMS != 2000 || again.Pin() != k.Method.Pin() {
		t.Errorf("%v, %+v", bad, again.Binding)
	}
	for given, want := range map[time.Duration]time.Duration{time.Second: time.Second, 30 * time.Second: 2 * time.Second} {
		if got := again.Binding.Patience(given); got != want {
			t.Errorf("given %v it waits %v", given, got)
		}
	}
	if got := k.Method.Binding.Patience(time.Minute); got != time.Minute {
		t.Errorf("without a limit it waits %v", got)
	}
	for _, limit := range []time.Duration{-1, time.Microsecond, 31 * time.Second} {
		if _, bad := approve(k.Method, limit); bad == nil || bad.Code != fault.InvalidRequest {
			t.Errorf("%v: %v", limit, bad)
		}
	}
	own := k.Method
	own.Binding.Kind = resource.ByHost
	if _, bad := approve(own, time.Second); bad == nil {
		t.Error("a built-in has a limit")
	}
	offer := resource.Offer{Tool: "words", Raw: []byte(`{}`), Definition: again.Definition,
		Binding: resource.Binding{Kind: resource.ByMCP, Tool: "words", Tooldef: digest.Of(digest.Definition, []byte("another"))}}
	after, _ := resource.Merge([]resource.Kept{{Method: again, Raw: k.Raw}}, []resource.Offer{offer}, func(int) string { return reaffirmedURL })
	if m := after[0].Method; m.State != resource.NeedsConsent || m.Binding.DeadlineMS != 2000 {
		t.Errorf("after a drift: %s %+v", m.State, m.Binding)
	}
}
