package view

import (
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
)

// A no is to one definition: another one is asked about.
func TestADeferralHoldsForTheDefinitionThatWasShown(t *testing.T) {
	shown := resource.Method{Contract: "https://x.invalid/contracts/a/v1", Definition: contract.Method{ID: "m", Description: "Reads."}}
	r := Resource{Deferred: []Deferral{{Contract: shown.Contract, Method: "m", Pin: shown.Pin(), Say: No}}}
	changed, other, moved := shown, shown, shown
	changed.Definition.Description = "Reads and sends."
	other.Definition.ID = "n"
	moved.Binding.Tool = "another"
	for name, m := range map[string]resource.Method{"changed": changed, "other": other, "moved": moved} {
		if d, ok := r.Deferral(m); ok {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d, ok := r.Deferral(shown); !ok || d.Say != No {
		t.Errorf("%+v, %v", d, ok)
	}
}
