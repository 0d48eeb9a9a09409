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
	var turns [][]conversation.Message
	place := map[string]int{}
	for _, r := range records {
		if r.Kind == UserInput {
			place[r.Turn] = len(turns)
			turns = append(turns, nil)
		}
		at, ok := place[r.Turn]
		if !ok {
			continue
		}
		var err error
		if turns[at], err = extend(turns[at], r); err != nil {
			return nil, err
		}
	}
	left, first := bound.TurnHistoryBytes.Int(), len(turns)
	for first > 0 && size(turns[first-1]) <= left {
		first--
		left -= size(turns[first])
	}
	var out []conversation.Message
	for _, t := range turns[first:] {
		out = append(out, t...)
	}
	return out, nil
}

// extend adds one record of a turn to the messages before it.
func extend(m []conversation.Message, r Record) ([]conversation.Message, error) {
	switch r.Kind {
	case UserInput:
		d, err := Read[Input](r)
		return append(m, conversation.Message{Role: conversation.User, Text: d.Prompt}), err
	case AssistantChunk:
		d, err := Read[Chunk](r)
		if last := &m[len(m)-1]; last.Role == conversation.Assistant && len(last.Calls) == 0 {
			last.Text += d.Text
			return m, err
		}
		return append(m, conversation.Message{Role: conversation.Assistant, Text: d.Text}), err
	case ToolCall:
		d, err := Read[Call](r)
		if err != nil || d.Parent != "" {
			return m, err
		}
		return called(m, d), nil
	case ToolResult:
		d, err := Read[Result](r)
		answer(m, d)
		return m, err
	}
	return m, nil
}

// called puts a call into the assistant's message of its round. The results of a
// round stand behind that message, with a place for each call from the start, so
// that answers may come in any order.
func called(m []conversation.Message, d Call) []conversation.Message {
	call := conversation.Call{ID: d.ProviderCallID, Name: d.Name, Arguments: d.Arguments}
	unanswered := conversation.Result{CallID: d.ProviderCallID, Failed: true, Text: noResult}
	rounds, last := 0, len(m)-1
	for _, x := range m {
		if x.Role == conversation.Answers {
			rounds++
		}
	}
	if m[last].Role == conversation.Answers && d.Round == rounds-1 {
		m[last-1].Calls = append(m[last-1].Calls, call)
		m[last].Results = append(m[last].Results, unanswered)
		return m
	}
	if m[last].Role != conversation.Assistant {
		m = append(m, conversation.Message{Role: conversation.Assistant})
		last++
	}
	m[last].Calls = append(m[last].Calls, call)
	return append(m, conversation.Message{Role: conversation.Answers, Results: []conversation.Result{unanswered}})
}

func answer(m []conversation.Message, d Result) {
	for i := range slices.Backward(m) {
		for j := range m[i].Results {
			if m[i].Results[j].CallID == d.ProviderCallID {
				m[i].Results[j] = conversation.Result{CallID: d.ProviderCallID, Failed: d.Status != Succeeded, Text: d.Text}
				return
			}
		}
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
