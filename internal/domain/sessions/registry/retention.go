package registry

import (
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
)

// table is one session's registry.
type table struct {
	snapshot *Snapshot
	claimed  bool
	idle     time.Time // when it expires; zero while something protects it
}

// more and less add and take a snapshot. One without entries holds nothing.
func (u Usage) more(s *Snapshot) Usage {
	if s.Empty() {
		return u
	}
	return Usage{u.Snapshots + 1, u.Entries + len(s.Entries), u.Bytes + s.weight}
}

func (u Usage) less(s *Snapshot) Usage {
	if s.Empty() {
		return u
	}
	return Usage{u.Snapshots - 1, u.Entries - len(s.Entries), u.Bytes - s.weight}
}

// fits checks that there is room for one more snapshot beside what is used.
func (b *Book) fits(used Usage, s *Snapshot) error {
	u := used.more(s)
	if err := bound.RetainedSnapshots.Check(u.Snapshots); err != nil {
		return err
	}
	if err := bound.RetainedEntries.Check(u.Entries); err != nil {
		return err
	}
	return bound.RetainedBytes.Check(u.Bytes)
}

// replace makes a snapshot the table's current one.
func (b *Book) replace(t *table, next *Snapshot) {
	before := t.snapshot
	next.current = true
	b.used = b.used.more(next)
	t.snapshot = next
	before.current = false
	b.release(before)
}

// release stops counting a snapshot that nobody needs.
func (b *Book) release(s *Snapshot) {
	if !s.current && s.pins == 0 {
		b.used = b.used.less(s)
	}
}

// Pin keeps a snapshot, which must be current or pinned, for a preparation or a
// worker.
func (b *Book) Pin(s *Snapshot) { s.pins++ }

// Unpin is the reverse of Pin.
func (b *Book) Unpin(s *Snapshot) {
	s.pins--
	b.release(s)
}

// BeginCapture takes the one slot and reserves its bytes. It reports false where
// the slot is taken; the fault is limit_exceeded.
func (b *Book) BeginCapture() (bool, error) {
	if b.capture {
		return false, nil
	}
	if err := bound.RetainedBytes.Check(b.used.Bytes + bound.CaptureReserve.Int()); err != nil {
		return true, err
	}
	b.capture = true
	b.used.Bytes += bound.CaptureReserve.Int()
	return true, nil
}

// EndCapture gives the slot back, once the worker has returned.
func (b *Book) EndCapture() {
	if b.capture {
		b.capture = false
		b.used.Bytes -= bound.CaptureReserve.Int()
	}
}

// Capturing reports whether the slot is taken.
func (b *Book) Capturing() bool { return b.capture }

// Claimed says that the session has a controller; any earlier idle time is void.
func (b *Book) Claimed(session string) {
	if t := b.tables[session]; t != nil {
		t.claimed, t.idle = true, time.Time{}
	}
}

// Unclaimed says that the session has no controller any more. An empty table goes
// at once.
func (b *Book) Unclaimed(session string, now time.Time) {
	if t := b.tables[session]; t != nil {
		t.claimed = false
		b.rest(session, t, now)
	}
}

// Work protects the session's table while a turn is prepared or works, also one
// that is made meanwhile.
func (b *Book) Work(session string) {
	b.work[session]++
	if t := b.tables[session]; t != nil {
		t.idle = time.Time{}
	}
}

// Rest is the reverse of Work, once the worker has cleaned up.
func (b *Book) Rest(session string, now time.Time) {
	if b.work[session]--; b.work[session] == 0 {
		delete(b.work, session)
	}
	if t := b.tables[session]; t != nil {
		b.rest(session, t, now)
	}
}

// rest starts the idle time of a table that nothing protects.
func (b *Book) rest(session string, t *table, now time.Time) {
	switch {
	case t.claimed:
	case t.snapshot.Empty():
		b.remove(session, t)
	case b.work[session] == 0:
		t.idle = due(now)
	}
}

func (b *Book) remove(session string, t *table) {
	delete(b.tables, session)
	t.snapshot.current = false
	b.release(t.snapshot)
}

// Expire removes the tables whose time is over.
func (b *Book) Expire(now time.Time) {
	for session, t := range b.tables {
		if !t.idle.IsZero() && !now.Before(t.idle) {
			b.remove(session, t)
		}
	}
}

// Next is the next instant at which Expire has something to do.
func (b *Book) Next() (at time.Time, ok bool) {
	for _, t := range b.tables {
		if !t.idle.IsZero() && (!ok || t.idle.Before(at)) {
			at, ok = t.idle, true
		}
	}
	return at, ok
}

// Sessions is how many tables there are.
func (b *Book) Sessions() int { return len(b.tables) }
