package grant_test

import (
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/grant"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
)

var (
	now    = time.UnixMilli(1_785_000_000_000).UTC()
	agreed = grant.Pin{Method: digest.Of(digest.Method, []byte("m")), Binding: digest.Of(digest.Binding, []byte("b"))}
	never  time.Time
)

func TestStateAt(t *testing.T) {
	otherMethod, otherBinding := agreed, agreed
	otherMethod.Method = digest.Of(digest.Method, []byte("m2"))
	otherBinding.Binding = digest.Of(digest.Binding, []byte("b2"))
	for _, c := range []struct {
		name    string
		stored  grant.State
		expires time.Time
		current grant.Pin
		want    grant.State
	}{
		{"no expiry", grant.Active, never, agreed, grant.Active},
		{"a nanosecond before the expiry", grant.Active, now.Add(1), agreed, grant.Active},
		{"at the expiry", grant.Active, now, agreed, grant.Expired},
		{"a nanosecond after it", grant.Active, now.Add(-1), agreed, grant.Expired},
		{"another method", grant.Active, never, otherMethod, grant.NeedsConsent},
		{"another binding", grant.Active, now.Add(1), otherBinding, grant.NeedsConsent},
		{"no method any more", grant.Active, never, grant.Pin{}, grant.NeedsConsent},
		{"expired, and another method", grant.Active, now, otherMethod, grant.Expired},
		{"suspended", grant.Suspended, never, agreed, grant.Suspended},
		{"suspended, and another method", grant.Suspended, never, otherMethod, grant.Suspended},
		{"suspended and expired", grant.Suspended, now, agreed, grant.Expired},
		{"needs consent, though the method is the agreed one", grant.NeedsConsent, never, agreed, grant.NeedsConsent},
		{"revoked", grant.Revoked, never, agreed, grant.Revoked},
		{"revoked and expired", grant.Revoked, now, otherMethod, grant.Revoked},
		{"expired for good", grant.Expired, now.Add(1), agreed, grant.Expired},
		{"a state that nobody knows", "?", never, agreed, "?"},
		{"no state", "", never, agreed, ""},
	} {
		r := grant.Row{State: c.stored, ExpiresAt: c.expires, Pin: agreed}
		if got := r.StateAt(c.current, now); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAsks(t *testing.T) {
	for _, c := range []struct {
		confirm grant.Confirm
		effects string
		want    bool
	}{
		{grant.ByEffect, "compute, read, write, delete", false},
		{grant.ByEffect, "read, communicate", true},
		{grant.ByEffect, "spend", true},
		{grant.Always, "read", true},
		{grant.Never, "spend, communicate", false},
	} {
		effects, err := effect.Parse(c.effects)
		if err != nil {
			t.Fatal(err)
		}
		if got := (grant.Row{Confirm: c.confirm, Effects: effects}).Asks(); got != c.want {
			t.Errorf("%s for %s asks: %v", c.confirm, c.effects, got)
		}
	}
}

func TestParseConfirm(t *testing.T) {
	for text, want := range map[string]grant.Confirm{"": grant.ByEffect, "by_effect": grant.ByEffect, "always": grant.Always, "never": grant.Never} {
		if got, err := grant.ParseConfirm(text); err != nil || got != want {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	for _, bad := range []string{"Always", " never", "sometimes", "by-effect"} {
		if got, err := grant.ParseConfirm(bad); !fault.Is(err, fault.InvalidRequest) || got != "" {
			t.Errorf("%q is read as %q, %v", bad, got, err)
		}
	}
}
