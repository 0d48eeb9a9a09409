package authority_test

import (
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// What has its last word keeps it, and all else of a copy is in doubt (threats, A32).
func TestARestoredRowIsOverOrInDoubt(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, state := range invocation.States() {
		before := invocation.Row{State: state, Attempt: 2, DispatchedAt: at.Add(-time.Hour)}
		after := authority.Restored(before, at)
		if state.Settled() {
			if after.State != state || !after.SettledAt.IsZero() {
				t.Errorf("%s became %s", state, after.State)
			}
			continue
		}
		want := invocation.Outcome{Code: fault.Indeterminate, Reason: "restored", Effects: effect.Uncertain}
		o := after.Outcome
		if after.State != invocation.Indeterminate || !after.SettledAt.Equal(at) || o.Code != want.Code || o.Reason != want.Reason || o.Effects != want.Effects || o.Result != nil {
			t.Errorf("%s became %+v", state, after)
		}
	}
}
