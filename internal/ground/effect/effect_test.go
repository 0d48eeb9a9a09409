package effect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
)

var all = []effect.Class{effect.Compute, effect.Read, effect.Write, effect.Delete, effect.Communicate, effect.Spend}

// Every set of classes is itself again after each of its forms, and asks the
// owner afresh exactly when it may communicate or spend.
func TestEverySetComesBack(t *testing.T) {
	seen := map[effect.Set]bool{}
	for bits := range 1 << len(all) {
		var cs []effect.Class
		for i, c := range all {
			if bits>>i&1 == 1 {
				cs = append(cs, c)
			}
		}
		s, err := effect.SetOf(cs...)
		if err != nil || seen[s] {
			t.Fatalf("%v: %v, seen before: %v", cs, err, seen[s])
		}
		seen[s] = true
		if !slices.Equal(s.Classes(), cs) || s.Empty() != (len(cs) == 0) {
			t.Errorf("%v: lists %v, empty: %v", cs, s.Classes(), s.Empty())
		}
		for _, c := range all {
			if s.Has(c) != slices.Contains(cs, c) {
				t.Errorf("%v: has %s: %v", cs, c, s.Has(c))
			}
		}
		if want := slices.Contains(cs, effect.Communicate) || slices.Contains(cs, effect.Spend); s.NeedsConfirmation() != want {
			t.Errorf("%v: needs confirmation: %v", cs, !want)
		}
		comesBack(t, s)
	}
	if s, err := effect.SetOf(effect.Write, effect.Read, effect.Write); err != nil || s.String() != "read,write" {
		t.Errorf("order and repetition give %q, %v", s, err)
	}
}

func comesBack(t *testing.T, s effect.Set) {
	t.Helper()
	parsed, err := effect.Parse(s.String())
	if err != nil || parsed != s {
		t.Errorf("%q parses as %q, %v", s, parsed, err)
	}
	text, _ := s.MarshalText()
	var back effect.Set
	if err := back.UnmarshalText(text); err != nil || back != s {
		t.Errorf("%s comes back as %q, %v", text, back, err)
	}
}

func TestAnOwnerMayTypeLooselyButAWireMayNot(t *testing.T) {
	full, _ := effect.SetOf(all...)
	for _, c := range []struct{ text, want string }{
		{" read , write ", "read,write"}, {"write,read", "read,write"}, {"read,read", "read"}, {",read,,", "read"}, {" ", ""},
	} {
		if got, err := effect.Parse(c.text); err != nil || got.String() != c.want {
			t.Errorf("%q parses as %q, %v", c.text, got, err)
		}
		s := full
		if err := s.UnmarshalText([]byte(c.text)); !fault.Is(err, fault.InvalidRequest) || !s.Empty() {
			t.Errorf("%q is taken off a wire as %q, %v", c.text, s, err)
		}
	}
}

func TestUnknownClassesAreRefused(t *testing.T) {
	for _, text := range []string{"admin", "Read", "read write", "read,hunter2", "none", "*", "read;write", strings.Repeat("x", 1<<16)} {
		got, err := effect.Parse(text)
		if !fault.Is(err, fault.InvalidRequest) || !got.Empty() {
			t.Errorf("%.20q: %q, %v", text, got, err)
		}
		if f := fault.From(err); len(f.Text) > 200 || strings.Contains(f.Text, "hunter2") {
			t.Errorf("%.20q: the fault repeats it: %.200s", text, f.Text)
		}
		s, _ := effect.SetOf(effect.Read)
		if err := s.UnmarshalText([]byte(text)); err == nil || !s.Empty() {
			t.Errorf("%.20q: unmarshals as %q, %v", text, s, err)
		}
	}
	if s, _ := effect.SetOf(); s.Has("") || s.Has("admin") || s.NeedsConfirmation() {
		t.Error("the empty set has something")
	}
}
