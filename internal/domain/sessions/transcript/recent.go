package transcript

import (
	"fmt"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
)

// Recent is what of a stream counts later, taken in record by record from its
// start: what a model is shown of earlier turns, and the turns that are open. It
// holds no more than the newest turns, up to bound.TurnHistoryBytes and the one that
// goes beyond, and those that are open. The zero value is an empty stream's. Its
// owner uses it from one goroutine at a time; what it gives out never changes.
type Recent struct {
	turns []*draft // oldest first
	bytes int      // of their messages
}

// Add takes in the next record of the stream. An error means that the data is not
// its kind's.
func (r *Recent) Add(x Record) error {
	data, err := dataOf(x)
	if err != nil {
		return err
	}
	return r.Take(x.Turn, x.Kind, data)
}

func dataOf(x Record) (any, error) {
	switch x.Kind {
	case SessionTitle:
		return Read[Title](x)
	case UserInput:
		return Read[Input](x)
	case AssistantChunk:
		return Read[Chunk](x)
	case ToolCall:
		return Read[Call](x)
	case ToolResult:
		return Read[Result](x)
	}
	return Read[Status](x)
}

// Take is Add for who has the data as the kind's struct.
func (r *Recent) Take(turn string, kind Kind, data any) error {
	switch d := data.(type) {
	case Title:
		return nil
	case Input:
		r.turns = append(r.turns, newDraft(turn))
		r.grow(r.at(turn), func(t *draft) { t.add(conversation.Message{Role: conversation.User, Text: d.Prompt}) })
	case Chunk:
		r.grow(r.at(turn), func(t *draft) { t.spoke(d) })
	case Call:
		r.grow(r.at(turn), func(t *draft) { t.called(d) })
	case Result:
		r.grow(r.at(turn), func(t *draft) { t.answered(d) })
	case Status:
		if t := r.at(turn); t != nil {
			t.calls, t.effects, t.open = nil, nil, false
		}
	default:
		return fmt.Errorf("a %s has no data of type %T", kind, data)
	}
	r.forget()
	return nil
}

// at is the newest turn of a name; nil where it was never begun, or is forgotten.
func (r *Recent) at(turn string) *draft {
	for i := len(r.turns) - 1; i >= 0; i-- {
		if r.turns[i].name == turn {
			return r.turns[i]
		}
	}
	return nil
}

func (r *Recent) grow(t *draft, change func(*draft)) {
	if t == nil {
		return
	}
	before := t.bytes
	change(t)
	r.bytes += t.bytes - before
}

// forget lets go of the oldest turns, which no model is ever shown again.
func (r *Recent) forget() {
	for len(r.turns) > 1 && !r.turns[0].open && bound.TurnHistoryBytes.Check(r.bytes) != nil {
		r.bytes -= r.turns[0].bytes
		r.turns[0] = nil
		r.turns = r.turns[1:]
	}
}

// Messages is what a model is shown: the newest turns that fit
// bound.TurnHistoryBytes together, each whole. Every call has a result. Manifests,
// contracts, bindings and the calls of sub-agents are left out.
func (r *Recent) Messages() []conversation.Message {
	left, first := bound.TurnHistoryBytes.Int(), len(r.turns)
	for first > 0 && r.turns[first-1].bytes <= left {
		first--
		left -= r.turns[first].bytes
	}
	var out []conversation.Message
	for _, t := range r.turns[first:] {
		out = append(out, t.messages...)
	}
	return out
}

// Open names the turns that have no status, in their order: those that a dead
// daemon left behind.
func (r *Recent) Open() []string {
	var open []string
	for _, t := range r.turns {
		if t.open {
			open = append(open, t.name)
		}
	}
	return open
}

// Unanswered gives the results with which the calls of an open turn are closed that
// a dead daemon left without one, in the order of the calls. What left the house may
// have happened; a tool that only looks has no effect; a sub-agent did the worst of
// what its calls did.
func (r *Recent) Unanswered(turn string) []Result {
	t := r.at(turn)
	if t == nil {
		return nil
	}
	var out []Result
	for _, c := range t.calls {
		if _, answered := t.effects[c.id]; answered {
			continue
		}
		x := Result{CallID: c.id, ProviderCallID: c.provider, Status: Failed, Effects: string(t.did(c)), Code: Interrupted, Text: noResult}
		if x.Effects == string(effect.None) {
			x.Text = notAnswered
		}
		out = append(out, x)
	}
	return out
}
