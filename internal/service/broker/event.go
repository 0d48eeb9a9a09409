package broker

import (
	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
)

// Event is something that an operator may want to look into.
type Event struct {
	Principal topic.Principal
	Kind      Kind
	Source    topic.Source    // who caused it, or who won
	Others    []topic.Source  // who lost
	Why       describe.Reason // of Dropped
	Detail    string          // for the log: a capsule may have chosen a part of it
	Count     int             // so many of a kind at once
}

// Kind says what an Event is.
type Kind string

// The kinds.
const (
	Dropped   Kind = "dropped"
	Collision Kind = "collision" // several list one URI
	Conflict  Kind = "conflict"  // several answer one read
	Missing   Kind = "missing"   // from a list; told once until it answers or is started again
)

func dropped(p topic.Principal, s topic.Source, why describe.Reason, detail string, count int) Event {
	return Event{Principal: p, Kind: Dropped, Source: s, Why: why, Detail: detail, Count: count}
}

// Row is what the trail keeps of an Event about one source. Its text is the host's
// own.
type Row struct {
	Source topic.Source
	Text   string
	Count  int
}

// Rows are those of an event: one for each capsule that has a part in it.
func (e Event) Rows() []Row {
	switch e.Kind {
	case Dropped:
		return []Row{{e.Source, string(Dropped) + ": " + string(e.Why), e.Count}}
	case Missing:
		return []Row{{e.Source, string(Missing), e.Count}}
	}
	rows := []Row{{e.Source, string(e.Kind) + ": won", e.Count}}
	for _, s := range e.Others {
		rows = append(rows, Row{s, string(e.Kind) + ": lost", e.Count})
	}
	return rows
}
