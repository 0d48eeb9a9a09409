package tokenbook

import (
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/secret"
)

func TestATokenIsRememberedUntilAChange(t *testing.T) {
	var m Book
	hash := secret.Hash{1}
	want := Live{authority.Caller{Token: hash}, time.Unix(1, 0)}
	_, found, before := m.Known(hash)
	if found {
		t.Fatal("a token is known before it was read")
	}
	m.Keep(hash, want, before)
	if got, found, _ := m.Known(hash); !found || got != want {
		t.Errorf("got %v %v", got, found)
	}
	m.Forget()
	if _, found, _ := m.Known(hash); found {
		t.Error("a token outlives a change")
	}
	m.Keep(hash, want, before)
	if _, found, _ := m.Known(hash); found {
		t.Error("a reading that a change has overtaken is kept")
	}
}

func TestTheMemoryOfTokensIsBounded(t *testing.T) {
	var m Book
	for i := range 3 * tokensMax {
		m.Keep(secret.Hash{byte(i), byte(i >> 8), byte(i >> 16)}, Live{}, 0)
	}
	if len(m.live) > tokensMax {
		t.Errorf("%d tokens are remembered", len(m.live))
	}
}
