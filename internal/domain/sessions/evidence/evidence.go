// Package evidence is what a controller can learn about the calls of a turn after
// a reconnect (guide, Reconnect evidence): what ran and what did not, never
// arguments, results, bodies, paths or secrets.
//
// A turn's evidence is held while its operation is: active work does not expire,
// settled evidence does 600 seconds after the turn, whatever is read meanwhile. It
// reserves what its largest answer may take. A Book has one owner and reads calls
// that the callback book changes.
package evidence

import (
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Proof is one call as a controller is told.
type Proof struct {
	CallID             string          `json:"call_id"`
	ProviderCallID     string          `json:"provider_call_id"`
	Name               string          `json:"name"`
	ExecutorID         string          `json:"executor_id"`
	ExecutorGeneration int64           `json:"executor_generation"`
	ResourceID         string          `json:"resource_id"`
	RevisionID         string          `json:"revision_id"`
	RevisionSHA256     string          `json:"revision_sha256"`
	Status             callback.Status `json:"status"`
	ExternalEffects    effect.Outcome  `json:"external_effects"`
	WaitKind           *callback.Wait  `json:"wait_kind"`
	RemainingMS        *int64          `json:"remaining_ms"`
}

// Answer is all that is told of a turn.
type Answer struct {
	TurnID   string         `json:"turn_id"`
	Manifest strictjson.Raw `json:"application_manifest"`
	Calls    []Proof        `json:"calls"`
}

type turn struct {
	id, session string
	accepted    *manifest.Accepted
	calls       []*callback.Call
	weight      int
	until       time.Time // zero while the turn is active
}

// Book holds the evidence of turns. Use New.
type Book struct {
	turns map[string]*turn
	ended []*turn // in the order of their ends
}

// New returns an empty book.
func New() *Book { return &Book{turns: map[string]*turn{}} }

// Room checks that there is room for one more turn.
func (b *Book) Room() error { return bound.EvidenceTurns.Check(len(b.turns) + 1) }

// Begin takes a turn in. The fault is limit_exceeded.
func (b *Book) Begin(id, session string, accepted *manifest.Accepted) error {
	if err := b.Room(); err != nil {
		return err
	}
	t := &turn{id: id, session: session, accepted: accepted}
	t.weight = encoded(t.answer(time.Time{}))
	if err := bound.EvidenceBytes.Check(t.weight); err != nil {
		return err
	}
	b.turns[id] = t
	return nil
}

// Add reserves a place for one more call of an active turn, before it is
// dispatched. The fault is limit_exceeded.
func (b *Book) Add(id string, c *callback.Call) error {
	t := b.turns[id]
	if t == nil || !t.until.IsZero() {
		return fault.New(fault.UnknownTurn, "the turn is not active")
	}
	if err := bound.EvidenceCalls.Check(len(t.calls) + 1); err != nil {
		return err
	}
	weight := t.weight + encoded(worst(c)) + 1
	if err := bound.EvidenceBytes.Check(weight); err != nil {
		return err
	}
	t.calls, t.weight = append(t.calls, c), weight
	return nil
}

// End starts the 600 seconds of a turn whose calls are all settled.
func (b *Book) End(id string, now time.Time) {
	if t := b.turns[id]; t != nil && t.until.IsZero() {
		t.until = now.Add(bound.OutcomeLife.Duration())
		b.ended = append(b.ended, t)
	}
}

// Forget drops a turn that nobody was told of.
func (b *Book) Forget(id string) { delete(b.turns, id) }

// Read tells what is known of a turn of the session; of an unknown, expired or
// foreign one it is unknown_turn. It changes nothing.
func (b *Book) Read(id, session string, now time.Time) (Answer, error) {
	t := b.turns[id]
	if t == nil || t.session != session {
		return Answer{}, fault.New(fault.UnknownTurn, "there is no evidence of this turn")
	}
	return t.answer(now), nil
}

func (t *turn) answer(now time.Time) Answer {
	a := Answer{TurnID: t.id, Manifest: t.accepted.Raw(), Calls: []Proof{}}
	for _, c := range t.calls {
		a.Calls = append(a.Calls, proof(c, now))
	}
	return a
}

func proof(c *callback.Call, now time.Time) Proof {
	p := Proof{c.ID, c.ProviderCall, c.Tool.Name, c.Executor, c.Generation, c.Tool.Resource, c.Tool.Revision, c.Tool.Hash,
		c.Status, c.Effects, nil, nil}
	if wait, left := c.Wait(now); wait != "" {
		ms := left.Milliseconds()
		p.WaitKind, p.RemainingMS = &wait, &ms
	}
	return p
}

// worst is the longest proof of a call.
func worst(c *callback.Call) Proof {
	p := proof(c, time.Time{})
	wait, left := callback.Availability, bound.CallbackTimeout.Max
	p.Status, p.ExternalEffects, p.WaitKind, p.RemainingMS = callback.Waiting, effect.NotDispatched, &wait, &left
	return p
}

func encoded(v any) int {
	raw, err := strictjson.Encode(v)
	if err != nil { // all of it was checked to be text
		panic(err)
	}
	return len(raw)
}

// Expire drops evidence whose time is over.
func (b *Book) Expire(now time.Time) {
	for len(b.ended) > 0 && !now.Before(b.ended[0].until) {
		delete(b.turns, b.ended[0].id)
		b.ended = b.ended[1:]
	}
}

// Next is the next instant at which Expire has something to do.
func (b *Book) Next() (time.Time, bool) {
	if len(b.ended) == 0 {
		return time.Time{}, false
	}
	return b.ended[0].until, true
}

// Len is how many turns are held.
func (b *Book) Len() int { return len(b.turns) }
