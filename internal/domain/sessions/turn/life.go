package turn

import (
	"strings"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// State is where a turn stands.
type State string

// The states. A turn that is being prepared or recorded is not accepted yet.
const (
	Preparing  State = "preparing"
	Running    State = "running"
	Cancelling State = "cancelling"
	Over       State = "over" // its end is told or being recorded; its worker may not have returned
)

// Life is one turn from its request to the return of its worker. It has one
// owner.
//
//	preparing --accepted, durable--> running --stop--> cancelling
//	    |                               |                  |
//	    +--discarded--> (gone)          +-----> over <-----+
type Life struct {
	Session   string
	ID        string
	Operation string
	State     State
	Accepted  *manifest.Accepted // nil without application resources

	text strings.Builder
	used int // bytes of the text as it is encoded
}

// Say adds to what the assistant said, all or nothing: limit_exceeded where it
// would not fit into the turn's budget (guide, Accept the complete snapshot), and
// unknown_turn once the turn is over.
func (l *Life) Say(text string) error {
	if l.State != Running && l.State != Cancelling {
		return fault.New(fault.UnknownTurn, "the turn is over")
	}
	used := l.used + conversation.EncodedLen(text)
	if err := bound.AssistantTextBytes.Check(used + l.Accepted.FieldBytes()); err != nil {
		return err
	}
	l.used = used
	l.text.WriteString(text)
	return nil
}

// Text is all that the assistant said.
func (l *Life) Text() string { return l.text.String() }

// Terminal is how a turn ended.
type Terminal struct {
	Turn      string
	Operation string
	Outcome
	Text     string
	Accepted *manifest.Accepted
}

// End ends the turn, and tells how.
func (l *Life) End(o Outcome) Terminal {
	l.State = Over
	return Terminal{Turn: l.ID, Operation: l.Operation, Outcome: o, Text: l.Text(), Accepted: l.Accepted}
}

// Ends keeps the newest end of each session's turns for 600 seconds. Use NewEnds.
type Ends struct {
	newest map[string]end
	order  []end
}

type end struct {
	session  string
	terminal *Terminal
	until    time.Time
}

// NewEnds returns an empty book of ends.
func NewEnds() *Ends { return &Ends{newest: map[string]end{}} }

// Add notes an end.
func (e *Ends) Add(session string, t Terminal, now time.Time) {
	x := end{session, &t, now.Add(bound.OutcomeLife.Duration())}
	e.newest[session] = x
	e.order = append(e.order, x)
}

// Newest is the session's newest end, or nil.
func (e *Ends) Newest(session string) *Terminal { return e.newest[session].terminal }

// Expire drops ends whose time is over.
func (e *Ends) Expire(now time.Time) {
	for len(e.order) > 0 && !now.Before(e.order[0].until) {
		if x := e.order[0]; e.newest[x.session].terminal == x.terminal {
			delete(e.newest, x.session)
		}
		e.order = e.order[1:]
	}
}

// Next is the next instant at which Expire has something to do.
func (e *Ends) Next() (time.Time, bool) {
	if len(e.order) == 0 {
		return time.Time{}, false
	}
	return e.order[0].until, true
}
