// Package tokenbook remembers live tokens for a store, as a hint: what decides
// reads the token again. It promises that nothing is remembered across a change
// that Forget tells of, and at most tokensMax tokens. One lock guards it.
package tokenbook

import (
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/secret"
)

// Book remembers live tokens until the next change of who may do what, because
// every request asks for one and only such a change ends one before its time.
// What is remembered lets a request in; the transaction that decides about it
// reads the token again. A reading that a change has overtaken is not kept.
type Book struct {
	mu      sync.Mutex
	changes int64
	live    map[secret.Hash]Live
}

// Live is who a token stands for, and until when; zero is without end.
type Live struct {
	Caller authority.Caller
	Until  time.Time
}

const tokensMax = 4096

// Lives reports whether the token is good at a time.
func (t Live) Lives(now time.Time) bool { return t.Until.IsZero() || now.Before(t.Until) }

// Known gives what is remembered, and the count that Keep wants of a reading
// which begins now.
func (b *Book) Known(hash secret.Hash) (Live, bool, int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.live[hash]
	return l, ok, b.changes
}

// Keep remembers a reading that no change has overtaken.
func (b *Book) Keep(hash secret.Hash, l Live, changes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if changes != b.changes {
		return
	}
	if b.live == nil || len(b.live) >= tokensMax {
		b.live = map[secret.Hash]Live{}
	}
	b.live[hash] = l
}

// Forget is called when a change is durable, or may be, and before its verb
// returns.
func (b *Book) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	clear(b.live)
}
