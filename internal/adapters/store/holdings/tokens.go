package holdings

import (
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// tokens remembers live tokens until the next change of who may do what, because
// every request asks for one and only such a change ends one before its time.
// What is remembered lets a request in; the transaction that decides about it
// reads the token again. A reading that a change has overtaken is not kept.
type tokens struct {
	mu      sync.Mutex
	changes int64
	live    map[secret.Hash]liveToken
}

// liveToken is who a token stands for, and until when; zero is without end.
type liveToken struct {
	caller authority.Caller
	until  time.Time
}

const tokensMax = 4096

func (t liveToken) lives(now time.Time) bool { return t.until.IsZero() || now.Before(t.until) }

// known gives what is remembered, and the count that keep wants of a reading
// which begins now.
func (t *tokens) known(hash secret.Hash) (liveToken, bool, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.live[hash]
	return l, ok, t.changes
}

func (t *tokens) keep(hash secret.Hash, l liveToken, changes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if changes != t.changes {
		return
	}
	if t.live == nil || len(t.live) >= tokensMax {
		t.live = map[secret.Hash]liveToken{}
	}
	t.live[hash] = l
}

// forget is called when a change is durable, or may be, and before its verb
// returns.
func (t *tokens) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	clear(t.live)
}
