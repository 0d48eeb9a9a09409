// Package executor says who may execute the calls of an application (guide,
// Executor authority and Rotate).
//
//	(none) --create--> provisional --confirm on the same connection--> confirmed
//	                   provisional --resume from anywhere-----------> confirmed, generation + 1
//	                   confirmed ----resume-------------------------> confirmed, generation + 1
//	                   any ----------release, expiry----------------> (none)
//
// An executor is attached to one connection and a connection has one executor;
// resume fences the connection before. Proofs are known by their hashes only: one
// current, and for 60 seconds after a rotation one candidate. Whoever keeps both
// gets back in, whichever reply was lost. A provisional executor that is not
// confirmed within 60 seconds is gone; a confirmed one that is disconnected, with
// no turn that needs it, after 15 minutes.
//
// Every way to have no authority gives the same stale_connection. A Book has one
// owner. At the exact instant, expiry wins.
package executor

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Seat is where an executor stands, for everybody who may know.
type Seat struct {
	ID         string
	Generation int64
	Connection string // empty: not attached
	Confirmed  bool
}

type entry struct {
	Seat
	proof     secret.Hash
	until     time.Time   // of a provisional one
	candidate secret.Hash // counts while pending is not over
	pending   time.Time   // zero: no candidate
	pins      int
	idle      time.Time // of a confirmed one that is not attached and not pinned
}

// Book holds every executor. Use New.
type Book struct {
	byID   map[string]*entry
	byConn map[string]*entry
}

// New returns an empty book.
func New() *Book { return &Book{byID: map[string]*entry{}, byConn: map[string]*entry{}} }

func stale() error { return fault.New(fault.StaleConnection, "the executor's authority is not here") }

// Create makes a provisional executor, attached to the connection. The faults are
// conflict, where the connection has an executor, and limit_exceeded.
func (b *Book) Create(id, connection string, proof secret.Hash, now time.Time) (Seat, error) {
	if b.byConn[connection] != nil {
		return Seat{}, fault.New(fault.Conflict, "the connection has an executor")
	}
	if err := bound.Executors.Check(len(b.byID) + 1); err != nil {
		return Seat{}, err
	}
	e := &entry{Seat: Seat{ID: id, Generation: 1, Connection: connection}, proof: proof, until: now.Add(bound.ExecutorConfirm.Duration())}
	b.byID[id], b.byConn[connection] = e, e
	return e.Seat, nil
}

// Confirm makes a provisional executor a confirmed one, on its connection, under
// its first generation.
func (b *Book) Confirm(id, connection string, proof secret.Hash) (Seat, error) {
	e := b.byID[id]
	if e == nil || e.Confirmed || e.Connection != connection || !secret.Equal(e.proof, proof) {
		return Seat{}, stale()
	}
	e.Confirmed, e.until = true, time.Time{}
	return e.Seat, nil
}

// Resume attaches an executor to the connection under the next generation and
// fences the one before. The candidate proof is promoted by it; the current one
// cancels the candidate. Beside stale_connection the faults are conflict, where
// the connection has another executor, and limit_exceeded.
func (b *Book) Resume(id, connection string, proof secret.Hash) (Seat, error) {
	e := b.byID[id]
	if e == nil {
		return Seat{}, stale()
	}
	promoted := !e.pending.IsZero() && secret.Equal(e.candidate, proof)
	if !promoted && !secret.Equal(e.proof, proof) {
		return Seat{}, stale()
	}
	if other := b.byConn[connection]; other != nil && other != e {
		return Seat{}, fault.New(fault.Conflict, "the connection has another executor")
	}
	if e.Generation >= strictjson.MaxSafe {
		return Seat{}, fault.New(fault.LimitExceeded, "the executor has no generation left")
	}
	if promoted {
		e.proof = e.candidate
	}
	e.candidate, e.pending = secret.Hash{}, time.Time{}
	delete(b.byConn, e.Connection)
	e.Generation++
	e.Connection, e.Confirmed = connection, true
	e.until, e.idle = time.Time{}, time.Time{}
	b.byConn[connection] = e
	return e.Seat, nil
}

// held finds the confirmed executor that the connection holds under a generation.
func (b *Book) held(id string, generation int64, connection string) (*entry, error) {
	e := b.byID[id]
	if e == nil || !e.Confirmed || e.Connection != connection || e.Generation != generation {
		return nil, stale()
	}
	return e, nil
}

// Authority is stale_connection unless the connection holds the confirmed executor
// under this generation.
func (b *Book) Authority(id string, generation int64, connection string) error {
	_, err := b.held(id, generation, connection)
	return err
}

// Rotate sets a fresh candidate in the place of any before it.
func (b *Book) Rotate(id string, generation int64, connection string, candidate secret.Hash, now time.Time) (Seat, error) {
	e, err := b.held(id, generation, connection)
	if err != nil {
		return Seat{}, err
	}
	e.candidate, e.pending = candidate, now.Add(bound.RotationPending.Duration())
	return e.Seat, nil
}

// Rotated makes the candidate the one proof; the generation stays.
func (b *Book) Rotated(id string, generation int64, connection string, proof secret.Hash) (Seat, error) {
	e, err := b.held(id, generation, connection)
	if err != nil || e.pending.IsZero() || !secret.Equal(e.candidate, proof) {
		return Seat{}, stale()
	}
	e.proof, e.candidate, e.pending = e.candidate, secret.Hash{}, time.Time{}
	return e.Seat, nil
}

// Release ends an executor and its proofs. It may be provisional.
func (b *Book) Release(id string, generation int64, connection string) (Seat, error) {
	e := b.byID[id]
	if e == nil || e.Connection != connection || e.Generation != generation {
		return Seat{}, stale()
	}
	b.drop(e)
	return e.Seat, nil
}

func (b *Book) drop(e *entry) {
	delete(b.byID, e.ID)
	if b.byConn[e.Connection] == e {
		delete(b.byConn, e.Connection)
	}
}

// Disconnect detaches the connection's executor. A candidate's time goes on.
func (b *Book) Disconnect(connection string, now time.Time) {
	e := b.byConn[connection]
	if e == nil {
		return
	}
	delete(b.byConn, connection)
	e.Connection = ""
	b.rest(e, now)
}

// rest starts the idle time of an executor that nobody needs.
func (b *Book) rest(e *entry, now time.Time) {
	if e.Confirmed && e.Connection == "" && e.pins == 0 {
		e.idle = now.Add(bound.ExecutorIdle.Duration())
	}
}

// Pin keeps an executor while a turn needs it; Unpin ends that. One that was
// released is not kept.
func (b *Book) Pin(id string) {
	if e := b.byID[id]; e != nil {
		e.pins++
		e.idle = time.Time{}
	}
}

// Unpin is the reverse of Pin.
func (b *Book) Unpin(id string, now time.Time) {
	if e := b.byID[id]; e != nil {
		e.pins--
		b.rest(e, now)
	}
}

// At tells where an executor stands; of one that is gone, the zero Seat.
func (b *Book) At(id string) Seat {
	if e := b.byID[id]; e != nil {
		return e.Seat
	}
	return Seat{}
}

// Len is how many executors there are.
func (b *Book) Len() int { return len(b.byID) }

// Expire drops executors and candidates whose time is over.
func (b *Book) Expire(now time.Time) {
	for _, e := range b.byID {
		if over(e.pending, now) {
			e.candidate, e.pending = secret.Hash{}, time.Time{}
		}
		if over(e.until, now) || over(e.idle, now) {
			b.drop(e)
		}
	}
}

func over(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Next is the next instant at which Expire has something to do.
func (b *Book) Next() (at time.Time, ok bool) {
	for _, e := range b.byID {
		for _, t := range []time.Time{e.pending, e.until, e.idle} {
			if !t.IsZero() && (!ok || t.Before(at)) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}
