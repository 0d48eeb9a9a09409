package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stewardhost/steward/internal/domain/pool/audit"
	"github.com/stewardhost/steward/internal/ground/id"
)

// notices holds rows of the trail that nobody waits for. One lock guards what is
// gathered; one goroutine writes, and whatever comes meanwhile goes with its next
// write. Of equal rows of one client a minute's first ones stand alone and the
// rest is one row with a count (pool page, section 6).
type notices struct {
	ledger *Ledger
	wake   chan struct{}
	done   chan struct{}
	flight sync.Mutex // held while rows are written, so that a flush waits for the one before

	mu     sync.Mutex
	closed bool
	rows   []audit.Entry
	sums   map[sumKey]*sum
	lost   int64
}

type sumKey struct {
	owner  id.Owner
	client id.Client
	kind   audit.Kind
	what   string // of a read and of an alarm: the subject, which is the host's own
	reason string
	minute int64 // since 1970
}

// sum counts the equal rows of one minute.
type sum struct{ seen, over int64 }

// keyOf says which rows are equal to one. What a caller guessed is no part of it, so
// that guesses are put together.
func keyOf(e audit.Entry, now time.Time) sumKey {
	key := sumKey{owner: e.Owner, client: e.Client, kind: e.Kind, reason: e.Detail, minute: now.Unix() / 60}
	if e.Kind == audit.Read || e.Kind == audit.Alarm {
		key.what = e.Subject
	}
	return key
}

const (
	singleRows  = 60 // a minute, of one client and reason
	noticesMax  = 4096
	sumsMax     = 4096
	noticePause = 15 * time.Second // between two looks for minutes that have ended, and two marks
	closeWait   = 10 * time.Second
)

func newNotices(l *Ledger) *notices {
	n := &notices{ledger: l, wake: make(chan struct{}, 1), done: make(chan struct{}), sums: map[sumKey]*sum{}}
	go n.serve()
	return n
}

// Later adds a row to the trail without waiting for it. Rows are equal if
// owner, client, kind and detail are, and the subject of a read and of an alarm; of a listing only the first in a minute
// stands alone. After Close it does nothing.
func (l *Ledger) Later(e audit.Entry) {
	n := l.notices
	key := keyOf(e, l.Now())
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if e.Kind == audit.Denied {
		l.denials.Add(1)
	}
	s := n.sums[key]
	if s == nil {
		if len(n.sums) >= sumsMax {
			n.lost++
			return
		}
		s = &sum{}
		n.sums[key] = s
	}
	s.seen++
	single := int64(singleRows)
	if e.Kind == audit.Listed {
		single = 1
	}
	if s.seen > single || len(n.rows) >= noticesMax {
		s.over += max(e.Count, 1)
		return
	}
	n.rows = append(n.rows, e)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Flush writes what Later has gathered so far, but for the counts of the
// running minute.
func (l *Ledger) Flush(ctx context.Context) error { return l.notices.flush(ctx, false) }

func (n *notices) serve() {
	defer close(n.done)
	pause := time.NewTicker(noticePause)
	defer pause.Stop()
	for {
		select {
		case _, open := <-n.wake:
			if !open {
				return
			}
		case <-pause.C:
			_ = n.ledger.mark() // or the next time
		}
		// A failure keeps the rows for the next time.
		_ = n.flush(context.Background(), false)
	}
}

// flush writes all rows and the counts of the minutes that are over, or of all.
func (n *notices) flush(ctx context.Context, all bool) error {
	n.flight.Lock()
	defer n.flight.Unlock()
	rows, lost := n.gather(all)
	if len(rows) == 0 && lost == 0 {
		return nil
	}
	err := n.ledger.Write(ctx, func(tx *Tx) error {
		for _, e := range rows {
			if _, err := tx.Audit(e); err != nil {
				return err
			}
		}
		if lost == 0 {
			return nil
		}
		_, err := tx.Audit(audit.Entry{Kind: audit.Denied, Detail: "attempts of too many kinds at once, counted only", Count: lost})
		return err
	})
	if err != nil {
		n.giveBack(rows, lost)
	}
	return err
}

func (n *notices) gather(all bool) (rows []audit.Entry, lost int64) {
	running := n.ledger.Now().Unix() / 60
	n.mu.Lock()
	defer n.mu.Unlock()
	rows, n.rows = n.rows, nil
	lost, n.lost = n.lost, 0
	for key, s := range n.sums {
		if key.minute >= running && !all {
			continue
		}
		delete(n.sums, key)
		if s.over > 0 {
			minute := time.Unix(key.minute*60, 0).UTC().Format("2006-01-02T15:04Z")
			rows = append(rows, audit.Entry{Owner: key.owner, Client: key.client, Kind: key.kind, Subject: key.what, Detail: key.reason + " " + minute, Count: s.over})
		}
	}
	return rows, lost
}

// giveBack keeps what could not be written; what has no room is counted.
func (n *notices) giveBack(rows []audit.Entry, lost int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost += lost
	for _, e := range rows {
		if len(n.rows) < noticesMax {
			n.rows = append(n.rows, e)
			continue
		}
		n.lost += max(e.Count, 1)
	}
}

var errUnwritten = errors.New("rows of the audit trail could not be written before the store closed")

func (n *notices) close() error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return nil
	}
	n.closed = true
	close(n.wake)
	n.mu.Unlock()
	<-n.done
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := n.flush(ctx, true); err != nil {
		return errors.Join(errUnwritten, err)
	}
	return nil
}
