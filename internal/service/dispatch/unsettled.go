package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// unsettled keeps what the journal owes: outcomes that could not be made durable
// when they came, because the disk was full or the store was in trouble. Until
// they are, their rows look as if the calls were still under way, so no call is
// decided before they are written. One lock guards the list.
type unsettled struct {
	mu   sync.Mutex
	owed []debt
	wake chan struct{}
}

// debt is what has to be settled for one attempt, in this order.
type debt struct {
	caller authority.Caller
	steps  []authority.Settle
}

func newUnsettled() *unsettled { return &unsettled{wake: make(chan struct{}, 1)} }

func (u *unsettled) owe(d debt) {
	u.mu.Lock()
	u.owed = append(u.owed, d)
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// Run settles what is owed as soon as the store takes it, until ctx ends. What is
// owed then is classified by the next process.
func (p *Port) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.unsettled.wake:
		}
		for pause := settlePauseLeast; p.payDebts(ctx) != nil; pause = min(2*pause, settlePauseMost) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

const (
	settlePauseLeast = 250 * time.Millisecond
	settlePauseMost  = 5 * time.Second
)

// payDebts settles everything that is owed; the error says that something still
// is. The lock is held all along, so that no two goroutines settle one attempt
// and no call is decided in between.
func (p *Port) payDebts(ctx context.Context) error {
	u := p.unsettled
	u.mu.Lock()
	defer u.mu.Unlock()
	for len(u.owed) > 0 {
		d := &u.owed[0]
		for len(d.steps) > 0 {
			_, err := p.journal.Settle(ctx, d.caller, d.steps[0])
			if err != nil && !fault.Is(err, fault.Conflict) {
				return fault.New(fault.Unavailable, "the journal cannot be written now; nothing was sent").Because(err)
			}
			d.steps = d.steps[1:]
		}
		u.owed = u.owed[1:]
	}
	return nil
}
