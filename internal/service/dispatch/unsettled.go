package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/authority"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

// unsettled keeps what the journal owes: outcomes that could not be made durable
// when they came, because the disk was full or the store was in trouble. Until
// they are, their rows look as if the calls were still under way, so no call of an
// outside executor is decided before they are written, and who asks for one of them
// is told what its caller was told. One lock guards the lists; who holds the slot
// pays, so that no two goroutines settle one attempt.
type unsettled struct {
	slot chan struct{}
	wake chan struct{}

	mu   sync.Mutex
	owed []debt
	// Doubts about built-ins whose commit is of unknown fate. The store is fenced
	// then, so that there are no more of them than calls in one commit.
	doubts map[asked]invocation.Answer
	sends  map[asked]int // of one call that are being answered now
}

// asked names a call.
type asked struct {
	owner  id.Owner
	client id.Client
	tx     id.Tx
}

// debt is what has to be settled for one attempt, in this order, and the answer that
// was given meanwhile.
type debt struct {
	caller authority.Caller
	answer invocation.Answer
	steps  []authority.Settle
}

func newUnsettled() *unsettled {
	return &unsettled{slot: make(chan struct{}, 1), wake: make(chan struct{}, 1), doubts: map[asked]invocation.Answer{}, sends: map[asked]int{}}
}

func (u *unsettled) owe(d debt) {
	u.mu.Lock()
	u.owed = append(u.owed, d)
	u.mu.Unlock()
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// first gives the oldest debt, which stays the first until paid.
func (u *unsettled) first() (debt, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.owed) == 0 {
		return debt{}, false
	}
	return u.owed[0], true
}

// paid takes the first step of the oldest debt out, and with its last one the debt.
func (u *unsettled) paid() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if d := &u.owed[0]; len(d.steps) > 1 {
		d.steps = d.steps[1:]
		return
	}
	u.owed = u.owed[1:]
}

// begin notes a send of a tx until end. What it is told, and what is owed of it, is noted
// before its end.
func (u *unsettled) begin(c authority.Caller, tx id.Tx) (end func()) {
	key := asked{c.Owner, c.Client, tx}
	u.mu.Lock()
	u.sends[key]++
	u.mu.Unlock()
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.sends[key]--; u.sends[key] == 0 {
			delete(u.sends, key)
		}
	}
}

// sent reports whether another send of the tx is being answered.
func (u *unsettled) sent(c authority.Caller, tx id.Tx) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sends[asked{c.Owner, c.Client, tx}] > 0
}

func (u *unsettled) remember(c authority.Caller, a invocation.Answer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.doubts[asked{c.Owner, c.Client, a.Tx}] = a
}

// told gives the answer that was given about a tx of which the journal does not have
// the outcome.
func (u *unsettled) told(c authority.Caller, tx id.Tx) (invocation.Answer, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	a, was := u.doubts[asked{c.Owner, c.Client, tx}]
	for _, d := range u.owed {
		if d.caller.Owner == c.Owner && d.caller.Client == c.Client && d.answer.Tx == tx {
			a, was = d.answer, true
		}
	}
	a.Replayed = true
	return a, was
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
		for pause := settlePauseLeast; p.payDebts(ctx, bound.CallDeadline.Duration()) != nil; pause = min(2*pause, settlePauseMost) {
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

// payDebts settles everything that is owed, and waits for no longer than the given
// time; the error says that something still is.
func (p *Port) payDebts(ctx context.Context, longest time.Duration) error {
	u := p.unsettled
	if _, some := u.first(); !some {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	select {
	case u.slot <- struct{}{}:
		defer func() { <-u.slot }()
	case <-ctx.Done():
		return stillOwed(ctx.Err())
	}
	for {
		d, some := u.first()
		if !some {
			return nil
		}
		_, err := p.journal.Settle(ctx, d.caller, d.steps[0])
		if err != nil && !fault.Is(err, fault.Conflict) {
			return stillOwed(err)
		}
		u.paid()
	}
}

func stillOwed(why error) error {
	return fault.New(fault.Unavailable, "the journal cannot be written now; nothing was sent").Because(why)
}
