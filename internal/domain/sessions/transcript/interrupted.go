package transcript

import "github.com/stewardhost/steward/internal/ground/effect"

// notAnswered is what a model is told of a call without effects that was never
// answered.
const notAnswered = `{"error":"the turn ended before this call was answered; it had no effect"}`

// Unanswered gives the results with which the calls of a turn are closed that a dead
// daemon left without one, in the order of the calls. What left the house may have
// happened; a tool that only looks has no effect; a sub-agent did the worst of what
// its calls did.
func Unanswered(records []Record, turn string) ([]Result, error) {
	var calls []Call
	effects := map[string]effect.Outcome{} // of the calls with a result
	for _, r := range records {
		if r.Turn != turn {
			continue
		}
		switch r.Kind {
		case ToolCall:
			d, err := Read[Call](r)
			if err != nil {
				return nil, err
			}
			calls = append(calls, d)
		case ToolResult:
			d, err := Read[Result](r)
			if err != nil {
				return nil, err
			}
			effects[d.CallID] = effect.Outcome(d.Effects)
		}
	}
	var out []Result
	for _, c := range calls {
		if _, answered := effects[c.CallID]; answered {
			continue
		}
		r := Result{CallID: c.CallID, ProviderCallID: c.ProviderCallID, Status: Failed, Effects: string(did(c, calls, effects)), Code: Interrupted, Text: noResult}
		if r.Effects == string(effect.None) {
			r.Text = notAnswered
		}
		out = append(out, r)
	}
	return out, nil
}

// did is what an unanswered call did as far as the record tells.
func did(c Call, calls []Call, effects map[string]effect.Outcome) effect.Outcome {
	if c.Source != Builtin {
		return effect.Uncertain
	}
	worst := effect.None
	for _, below := range calls {
		if below.Parent != c.CallID {
			continue
		}
		o, answered := effects[below.CallID]
		if !answered {
			o = did(below, nil, nil)
		}
		if o == effect.Uncertain || o == effect.Reported && worst == effect.None {
			worst = o
		}
	}
	return worst
}
