package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/evidence"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// accepted is a manifest of some size.
func accepted(t *testing.T, description int) *manifest.Accepted {
	t.Helper()
	b := registry.New()
	for i := range 16 {
		content := `{"input_schema":{"type":"object","additionalProperties":false},"output_schema":{"type":"object","additionalProperties":false}}`
		parsed, err := registry.Parse(registry.Tool, content)
		if err != nil {
			t.Fatal(err)
		}
		p := registry.Proposal{Kind: registry.Tool, Name: fmt.Sprint("n", i), Description: strings.Repeat("x", description)}
		fresh := registry.Fresh{Resource: strings.Repeat("r", 22), Revision: strings.Repeat("v", 22), Registry: strings.Repeat("g", 22)}
		if _, _, err := b.Apply(registry.Register{Session: "s", Proposal: p}, parsed, registry.Attribution{}, fresh); err != nil {
			t.Fatal(err)
		}
	}
	a, err := manifest.Stamp(b.Current("s"), registry.Attribution{}, &manifest.Executor{ExecutorID: "e", ExecutorGeneration: 1})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// However many calls there were room for, and however they stand, the answer fits
// its reserve; what does not fit was refused before it was taken in.
func TestAnAnswerFitsItsReserve(t *testing.T) {
	now := time.Unix(0, 0)
	for _, description := range []int{0, 100, 300} {
		b, calls := evidence.New(), callback.New()
		if err := b.Begin("t", "s", accepted(t, description)); err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; n < bound.EvidenceCalls.Int()+1; n++ {
			c, err := calls.Accept(callback.Need{ID: fmt.Sprintf("%022d", n), Session: "s", Turn: "t", ProviderCall: fmt.Sprintf("%0128d", n),
				Executor: fmt.Sprintf("%022d", n), Tool: callback.Tool{Name: strings.Repeat("n", 48), Resource: strings.Repeat("r", 22), Revision: strings.Repeat("v", 22), Hash: strings.Repeat("a", 64)}}, now)
			if err == nil {
				err = b.Add("t", c)
			}
			if err != nil {
				if !fault.Is(err, fault.LimitExceeded) {
					t.Error(err)
				}
				break
			}
		}
		for at := range 2 {
			answer, err := b.Read("t", "s", now.Add(time.Duration(at)))
			raw, encodeErr := strictjson.Encode(answer)
			if err != nil || encodeErr != nil || len(answer.Calls) != n || len(raw) > bound.EvidenceBytes.Int() {
				t.Errorf("%d calls in %d bytes: %v", len(answer.Calls), len(raw), err)
			}
			calls.Cancel("t")
		}
		if n == 0 || n > bound.EvidenceCalls.Int() {
			t.Errorf("room for %d calls", n)
		}
	}
}

func TestEvidenceIsOfOneSessionAndBounded(t *testing.T) {
	b := evidence.New()
	for i := range bound.EvidenceTurns.Int() + 1 {
		err := b.Begin(fmt.Sprint("t", i), "s", nil)
		if fault.Is(err, fault.LimitExceeded) != (i == bound.EvidenceTurns.Int()) {
			t.Errorf("turn %d: %v", i, err)
		}
	}
	for turn, session := range map[string]string{"t0": "other", "none": "s"} {
		if _, err := b.Read(turn, session, time.Unix(0, 0)); !fault.Is(err, fault.UnknownTurn) {
			t.Errorf("%s of %s: %v", turn, session, err)
		}
	}
	b.End("t0", time.Unix(0, 0))
	b.Expire(time.Unix(600, 0))
	if err := b.Begin("more", "s", nil); err != nil || b.Len() != bound.EvidenceTurns.Int() {
		t.Errorf("after one has expired: %v, %d turns", err, b.Len())
	}
}
