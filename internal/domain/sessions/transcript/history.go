package transcript

import (
	"slices"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// noResult is what a model is told of a call that was never answered.
const noResult = `{"error":"the turn ended before this call was answered; it may have happened"}`

// Open names the turns of a whole stream that have no status, in their order:
// those that a dead daemon left behind.
func Open(records []Record) []string {
	var open []string
	for _, r := range records {
		switch r.Kind {
		case UserInput:
			open = append(open, r.Turn)
		case TurnStatus:
			open = slices.DeleteFunc(open, func(t string) bool { return t == r.Turn })
		}
	}
	return open
}

// History is what a model is shown of the turns that ended: the newest of them
// that fit bound.TurnHistoryBytes together, each whole. Every call has a result.
// Manifests, contracts, bindings and the calls of sub-agents are left out.
func History(records []Record) ([]conversation.Message, error) {
	var turns []draft
	place := map[string]int{}
	for _, r := range records {
		if r.Kind == UserInput {
			place[r.Turn] = len(turns)
			turns = append(turns, draft{round: -1, places: map[string][2]int{}})
		}
		at, ok := place[r.Turn]
		if !ok {
			continue
		}
		if err := turns[at].extend(r); err != nil {
			return nil, err
		}
	}
	left, first := bound.TurnHistoryBytes.Int(), len(turns)
	for first > 0 && size(turns[first-1].messages) <= left {
		first--
		left -= size(turns[first].messages)
	}
	var out []conversation.Message
	for _, t := range turns[first:] {
		out = append(out, t.messages...)
	}
	return out, nil
}

// draft is a turn that is put together.
type draft struct {
	messages []conversation.Message
	round    int               // of the newest call; -1 before the first
	places   map[string][2]int // of results, by call id: message, result
}

// extend adds one record of the turn.
func (t *draft) extend(r Record) error {
	switch r.Kind {
	case UserInput:
		d, err := Read[Input](r)
		t.add(conversation.Message{Role: conversation.User, Text: d.Prompt})
		return err
	case AssistantChunk:
		d, err := Read[Chunk](r)
		if last := t.last(); last.Role == conversation.Assistant {
			last.Text += d.Text
			return err
		}
		t.add(conversation.Message{Role: conversation.Assistant, Text: d.Text})
		return err
	case ToolCall:
		d, err := Read[Call](r)
		if err == nil && d.Parent == "" {
			t.called(d)
		}
		return err
	case ToolResult:
		d, err := Read[Result](r)
		t.answered(d)
		return err
	}
	return nil
}

func (t *draft) add(m conversation.Message)  { t.messages = append(t.messages, m) }
func (t *draft) last() *conversation.Message { return &t.messages[len(t.messages)-1] }

// called puts a call into the assistant's message of its round. The results of a
// round stand behind that message, with a place for each call from the start, so
// that answers may come in any order.
func (t *draft) called(d Call) {
	call := conversation.Call{ID: d.ProviderCallID, Name: d.Name, Arguments: d.Arguments}
	unanswered := conversation.Result{CallID: d.ProviderCallID, Failed: true, Text: noResult}
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

// answered puts a result into its place. That of a sub-agent's call has none.
func (t *draft) answered(d Result) {
	if at, ok := t.places[d.CallID]; ok {
		t.messages[at[0]].Results[at[1]] = conversation.Result{CallID: d.ProviderCallID, Failed: d.Status != Succeeded, Text: d.Text}
	}
}

func size(m []conversation.Message) int {
	n := 0
	for _, x := range m {
		n += len(x.Text)
		for _, c := range x.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
		for _, r := range x.Results {
			n += len(r.Text)
		}
	}
	return n
}
