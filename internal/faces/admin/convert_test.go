package admin

import (
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/effect"
)

// The owner reads the same word about a call's effects as its caller: a call
// that is out may have had them, whatever its row holds so far.
func TestTheOwnerIsToldTheEffectsOfAnAnswer(t *testing.T) {
	for _, state := range invocation.States() {
		row := invocation.Row{State: state, Outcome: invocation.Outcome{Effects: effect.None}}
		got, want := invocationOf(view.Invocation{Row: row}).Effects, string(row.Answer().Effects)
		if got != want {
			t.Errorf("%s: effects %q, the caller is told %q", state, got, want)
		}
	}
}
