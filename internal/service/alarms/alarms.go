// Package alarms says which facts about a host its owner should not have to look
// for: a store that accepts nothing or is damaged, a full disk, a clock that was set back, a bus
// that is away, a resource that two capsules serve, a doubt that nobody has ended (proof page, "What indeterminate must look like"; faces page,
// section 4). It derives them each time it is asked and keeps nothing.
//
// A Watch is immutable and safe for concurrent use.
package alarms

import (
	"context"
	"fmt"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
)

// Kind names an alarm; the names are for machines and stay.
type Kind string

// The kinds. Stops says which of them keep a host from taking calls.
const (
	Fenced  Kind = "store_fenced"
	Full    Kind = "disk_full"
	Behind  Kind = "clock_behind"
	Doubts  Kind = "old_indeterminate"
	Unknown Kind = "store_unreadable"
	Damaged Kind = "store_damaged"
	Away    Kind = "bus_away"
	Shared  Kind = "shared_uri"
)

// Stops reports whether a host with this alarm refuses calls.
func (k Kind) Stops() bool { return k == Fenced || k == Full || k == Unknown }

// Alarm is one fact, with a line for a person and the command that helps.
type Alarm struct {
	Kind Kind
	Text string
	Fix  string
}

const (
	// BehindTooFar is how far the wall clock may be behind the store's time.
	BehindTooFar = 5 * time.Second

	// OldDoubt is how long a doubt may stand unseen (proof page, "Visible").
	OldDoubt = time.Hour
)

// Watch has the ports that tell the facts; all are required.
type Watch struct {
	Fenced func() error                                                     // why the store accepts nothing, nil while it does
	Full   func(ctx context.Context) bool                                   // the disk has no room for a commit
	Behind func() time.Duration                                             // of the wall clock
	Doubts func(ctx context.Context) (n int64, oldest time.Time, err error) // calls in doubt
	Away   func() error                                                     // why no capsule can be asked, nil while the bus is there
	Shared func() string                                                    // which resource several capsules serve and whose apps get, empty while there is none
	Damage func() []string                                                  // what the last look at the database found
	Now    func() time.Time
}

// Look gives the alarms as they are now, the gravest first.
func (w Watch) Look(ctx context.Context) (list []Alarm) {
	if err := w.Fenced(); err != nil {
		list = append(list, Alarm{Fenced, fault.From(err).Text, "stop the host, read its log, then steward up"})
	} else if w.Full(ctx) {
		list = append(list, Alarm{Full, "the disk is full: no call can be journalled, so none is made", "make room; the host goes on by itself"})
	}
	if found := w.Damage(); len(found) > 0 {
		list = append(list, Alarm{Damaged, "the database is damaged: " + found[0],
			"steward journal verify; then stop the host, keep a copy of its folder as it is, and steward restore the last backup"})
	}
	if by := w.Behind(); by > BehindTooFar {
		list = append(list, Alarm{Behind, fmt.Sprintf("the clock of this machine is %s behind what the store has seen", by.Round(time.Second)),
			"set the clock; the store's time goes on by itself meanwhile"})
	}
	if err := w.Away(); err != nil {
		list = append(list, Alarm{Away, fault.From(err).Text, "see to the servers of the bus; the host comes back to them by itself"})
	}
	if which := w.Shared(); which != "" {
		list = append(list, Alarm{Shared, which, "steward capsule list; then steward capsule remove the one that should not have it"})
	}
	n, oldest, err := w.Doubts(ctx)
	switch {
	case err != nil:
		list = append(list, Alarm{Unknown, "the journal cannot be read", "read the host's log"})
	case n > 0 && w.Now().Sub(oldest) > OldDoubt:
		list = append(list, Alarm{Doubts, fmt.Sprintf("a call is in doubt since %s", oldest.UTC().Format("2006-01-02 15:04:05Z")),
			"steward journal list --indeterminate"})
	}
	return list
}
