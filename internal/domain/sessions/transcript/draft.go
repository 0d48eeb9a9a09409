package transcript

import (
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/effect"
)

const (
	// noResult is what a model is told of a call that was never answered.
	noResult = `{"error":"the turn ended before this call was answered; it may have happened"}`
	// notAnswered is the same of a call without effects.
	notAnswered = `{"error":"the turn ended before this call was answered; it had no effect"}`
)

// draft is a turn that is put together.
type draft struct {
	name     string
	messages []conversation.Message
	bytes    int               // of the messages
	round    int               // of the newest call; -1 before the first
	places   map[string][2]int // of results, by call id: message, result

	open    bool // it has no status, and what follows
	calls   []made
	effects map[string]effect.Outcome // of the calls with a result
}

// made is a call of an open turn.
type made struct{ id, provider, source, parent string }

func newDraft(name string) *draft {
	return &draft{name: name, round: -1, places: map[string][2]int{}, open: true, effects: map[string]effect.Outcome{}}
}

// messageBytes is what a message, a call or a result counts beside its text, so that
// many short turns are as bounded as few long ones.
const messageBytes = 64

func (t *draft) add(m conversation.Message) {
	t.messages = append(t.messages, m)
	t.bytes += messageBytes + len(m.Text)
}

func (t *draft) last() *conversation.Message { return &t.messages[len(t.messages)-1] }

func (t *draft) spoke(d Chunk) {
	if last := t.last(); last.Role == conversation.Assistant {
		last.Text += d.Text
		t.bytes += len(d.Text)
		return
	}
	t.add(conversation.Message{Role: conversation.Assistant, Text: d.Text})
}

// called puts a call into the assistant's message of its round. The results of a
// round stand behind that message, with a place for each call from the start, so
// that answers may come in any order. A sub-agent's call has no place.
func (t *draft) called(d Call) {
	if t.open {
		t.calls = append(t.calls, made{d.CallID, d.ProviderCallID, d.Source, d.Parent})
	}
	if d.Parent != "" {
		return
	}
	call := conversation.Call{ID: d.ProviderCallID, Name: d.Name, Arguments: d.Arguments}
	unanswered := conversation.Result{CallID: d.ProviderCallID, Failed: true, Text: noResult}
	t.bytes += 2*messageBytes + len(d.Name) + len(d.Arguments) + len(noResult)
	if d.Round == t.round && t.last().Role == conversation.Answers {
		asked, answers := &t.messages[len(t.messages)-2], t.last()
		asked.Calls = append(asked.Calls, call)
		answers.Results = append(answers.Results, unanswered)
		t.places[d.CallID] = [2]int{len(t.messages) - 1, len(answers.Results) - 1}
		return
	}
	t.round = d.Round
	if t.last().Role != conversation.Assistant {
		t.add(conversation.Message{Role: conversation.Assistant})
	}
	t.last().Calls = append(t.last().Calls, call)
	t.add(conversation.Message{Role: conversation.Answers, Results: []conversation.Result{unanswered}})
	t.places[d.CallID] = [2]int{len(t.messages) - 1, 0}
}

// answered puts a result into its place, if it has one.
func (t *draft) answered(d Result) {
	if t.open {
		t.effects[d.CallID] = effect.Outcome(d.Effects)
	}
	if at, ok := t.places[d.CallID]; ok {
		place := &t.messages[at[0]].Results[at[1]]
		t.bytes += len(d.Text) - len(place.Text)
		*place = conversation.Result{CallID: d.ProviderCallID, Failed: d.Status != Succeeded, Text: d.Text}
	}
}

// did is what an unanswered call did as far as the record tells.
func (t *draft) did(c made) effect.Outcome {
	if c.source != Builtin {
		return effect.Uncertain
	}
	worst := effect.None
	for _, below := range t.calls {
		if below.parent != c.id {
			continue
		}
		o, answered := t.effects[below.id]
		if !answered && below.source != Builtin {
			o = effect.Uncertain
		}
		if o == effect.Uncertain || o == effect.Reported && worst == effect.None {
			worst = o
		}
	}
	return worst
}
