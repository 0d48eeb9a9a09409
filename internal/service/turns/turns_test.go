package turns_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/internal/service/turns"
)

// house is everything outside the loop. It notes what happens in one order.
type house struct {
	answers func(n int, r conversation.Request) (parts []string, calls []conversation.Call, err error)
	room    int                              // encoded bytes that may be said
	record  func(kind transcript.Kind) error // nil takes everything
	lent    func(context.Context, turn.Call) turn.Answer
	called  func(context.Context) turns.Called

	readable []turns.Server // more of them
	cut      bool           // every answer is cut at the model's limit

	mu     sync.Mutex
	trace  []string
	said   string
	stored []transcript.Record
	asked  []conversation.Request
	ids    int
}

func (h *house) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *house) Say(_ context.Context, text string) error {
	if conversation.EncodedLen(text) > bound.TurnDeltaBytes.Int() {
		return errors.New("a delta is too long")
	}
	if h.room -= conversation.EncodedLen(text); h.room < 0 {
		return fault.New(fault.LimitExceeded, "full")
	}
	h.said += text
	return nil
}

func (h *house) Show(_ context.Context, kind, name, summary string) {
	h.note("show %s %s %s", kind, name, summary)
}

func (h *house) Call(ctx context.Context, c turn.Call) turn.Answer {
	h.note("lent %s", c.ProviderCallID)
	a := h.lent(ctx, c)
	h.note("answered %s", c.ProviderCallID)
	return a
}

func (h *house) keep(_ context.Context, kind transcript.Kind, data any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.record != nil {
		if err := h.record(kind); err != nil {
			h.trace = append(h.trace, "lost "+string(kind))
			return err
		}
	}
	r, err := transcript.New(int64(len(h.stored)+1), 1, "T", kind, data)
	if err != nil {
		return err
	}
	h.stored = append(h.stored, r)
	switch d := data.(type) {
	case transcript.Call:
		h.trace = append(h.trace, "binding "+d.ProviderCallID)
	case transcript.Result:
		h.trace = append(h.trace, "result "+d.ProviderCallID)
	}
	return nil
}

func (h *house) ask(ctx context.Context, r conversation.Request, delta func(string) error) (conversation.Reply, error) {
	h.mu.Lock()
	n := len(h.asked)
	r.Messages = slices.Clone(r.Messages)
	h.asked = append(h.asked, r)
	h.trace = append(h.trace, "ask")
	h.mu.Unlock()
	parts, calls, err := h.answers(n, r)
	for _, p := range parts {
		if err := delta(p); err != nil {
			return conversation.Reply{}, err
		}
	}
	if err == nil {
		err = ctx.Err()
	}
	return conversation.Reply{Text: strings.Join(parts, ""), Calls: calls, Cut: h.cut}, err
}

func (h *house) run(ctx context.Context, t interface{ Helper() }) turn.Outcome {
	t.Helper()
	loop := turns.New(turns.Ports{
		Ask: h.ask,
		Files: turns.Files{
			Read: func(_ context.Context, path string, _ int) ([]byte, error) {
				h.note("read %s", path)
				if path == "bad" {
					return nil, fault.New(fault.InvalidPayload, "refused")
				}
				return []byte("the text of " + path), nil
			},
			List: func(context.Context, string) ([]string, error) { return []string{"a/", "b"}, nil },
			Search: func(context.Context, string, string, int) ([]string, bool, error) {
				return []string{"a:1: x"}, true, nil
			},
		},
		Servers: append([]turns.Server{{
			Name: "s", List: func(context.Context) (turns.Offer, error) {
				return turns.Offer{Tools: []conversation.Tool{{Name: "act"}, {Name: "no good name"}, {Name: "off"}, {Name: "act"}, {Name: strings.Repeat("x", 60)}}}, nil
			},
			Call: func(ctx context.Context, tool, _ string) turns.Called {
				h.note("served %s", tool)
				return h.called(ctx)
			},
		}, {Name: "dead", List: func(context.Context) (turns.Offer, error) { return turns.Offer{}, errors.New("gone") }}}, h.readable...),
		NewID: func() string { h.mu.Lock(); defer h.mu.Unlock(); h.ids++; return fmt.Sprint("id", h.ids) },
		Log:   slog.New(slog.DiscardHandler),
	}, turns.Options{Disabled: []string{"MCP_s_OFF", "quiet"}, Skills: []turns.Skill{{Name: "Loud", Text: "be loud"}, {Name: "Quiet", Text: "be quiet"}, {Name: "Unread"}}})
	plan := turn.Plan{SessionID: "S", TurnID: "T", Prompt: "go", Instructions: "the application's words",
		Tools: []conversation.Tool{{Name: "lent", Input: strictjson.Raw("{}")}}}
	return loop.Run(ctx, plan, h, h.keep)
}

func call(id, name, arguments string) conversation.Call {
	return conversation.Call{ID: id, Name: name, Arguments: arguments}
}

// replies plays answers in turn, and then says nothing more.
func replies(all ...[]conversation.Call) func(int, conversation.Request) ([]string, []conversation.Call, error) {
	return func(n int, _ conversation.Request) ([]string, []conversation.Call, error) {
		if n < len(all) {
			return nil, all[n], nil
		}
		return []string{"done"}, nil, nil
	}
}

func lends(text string) func(context.Context, turn.Call) turn.Answer {
	return func(context.Context, turn.Call) turn.Answer {
		return turn.Answer{CallID: "c", Status: transcript.Succeeded, Text: text, Effects: effect.Reported}
	}
}

// results gives what the model was told after the first calls.
func (h *house) results(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, r := range h.asked[len(h.asked)-1].Messages[len(h.asked[len(h.asked)-1].Messages)-1].Results {
		out[r.CallID] = fmt.Sprint(r.Failed, " ", r.Text)
	}
	return out
}

func TestToolsOfEverySourceAnswer(t *testing.T) {
	h := &house{room: 100, lent: lends(`"yes"`), called: func(context.Context) turns.Called { return turns.Called{Sent: true, Settled: true, Text: "acted"} },
		answers: replies([]conversation.Call{
			call("1", "lent", "{}"), call("2", "read_file", `{"path":"p"}`), call("3", "list_dir", `{"path":"."}`), call("4", "search_text", `{"text":"x"}`),
			call("5", "mcp_s_act", `{}`), call("6", "mcp_s_off", `{}`), call("7", "none", `{}`), call("8", "read_file", `{"path":`), call("9", "read_file", `{"pfad":"p"}`),
			call("10", "read_file", `{"path":"bad"}`), call("11", "read_resource", `{"uri":"x"}`), call("12", "read_file", `{"path":"`+strings.Repeat("x", 17<<10)+`"}`),
		})}
	if out := h.run(t.Context(), t); out != (turn.Outcome{Status: turn.Completed}) {
		t.Errorf("%+v", out)
	}
	want := map[string]string{
		"1": `false "yes"`, "2": `false {"text":"the text of p","next_offset":null}`, "3": `false {"entries":["a/","b"]}`, "4": `false {"lines":["a:1: x"],"complete":true}`, "5": "false acted",
		"6": `true {"error":{"code":"unknown_tool","message":"there is no tool of this name"}}`, "7": `true {"error":{"code":"unknown_tool","message":"there is no tool of this name"}}`,
		"8": `true {"error":{"code":"invalid_arguments","message":"the arguments must be one JSON object"}}`, "9": `true {"error":{"code":"invalid_args","message":"the arguments do not fit the tool's schema"}}`,
		"10": `true {"error":{"code":"invalid_payload","message":"refused"}}`, "11": `true {"error":{"code":"unknown_tool","message":"there is no tool of this name"}}`,
		"12": `true {"error":{"code":"invalid_arguments","message":"argument_bytes is limited to 16384 bytes"}}`,
	}
	if diff := cmp.Diff(want, h.results(t)); diff != "" {
		t.Error(diff)
	}
	var offered []string
	for _, x := range h.asked[0].Tools {
		offered = append(offered, x.Name)
	}
	if diff := cmp.Diff([]string{"read_file", "list_dir", "search_text", "delegate", "mcp_s_act", "lent"}, offered); diff != "" {
		t.Errorf("offered:\n%s", diff)
	}
	if told := h.asked[0].Instructions; !strings.HasSuffix(told, "\nbe loud\nthe application's words") {
		t.Errorf("told: %q", told)
	}
}

// A sub-agent sees neither the application's tools nor its words, and its ids
// and text are its own.
func TestASubAgentSeesNothingOfTheApplications(t *testing.T) {
	h := &house{room: 100, lent: lends("must not be called"), answers: func(n int, r conversation.Request) ([]string, []conversation.Call, error) {
		switch n {
		case 0:
			return nil, []conversation.Call{call("same", "delegate", `{"task":"look"}`)}, nil
		case 1:
			return []string{"thinking"}, []conversation.Call{call("same", "lent", "{}"), call("b", "delegate", `{"task":"x"}`), call("c", "list_dir", `{"path":"."}`)}, nil
		case 2:
			return []string{"found it"}, nil, nil
		}
		return []string{"done"}, nil, nil
	}}
	if out := h.run(t.Context(), t); out.Status != turn.Completed || h.said != "done" {
		t.Errorf("%+v, said %q", out, h.said)
	}
	for _, x := range h.asked[1].Tools {
		if x.Name == "lent" || x.Name == "delegate" {
			t.Errorf("the sub-agent is offered %s", x.Name)
		}
	}
	if strings.Contains(h.asked[1].Instructions, "application") || len(h.asked[1].Messages) != 1 || h.asked[1].Messages[0].Text != "look" {
		t.Errorf("the sub-agent is told %+v", h.asked[1])
	}
	if diff := cmp.Diff(map[string]string{"same": "false found it"}, h.results(t)); diff != "" {
		t.Error(diff)
	}
	if slices.Contains(h.trace, "lent same") {
		t.Error("the sub-agent called the application's tool")
	}
	var next transcript.Recent
	err := next.Take("T", transcript.UserInput, transcript.Input{Prompt: "go"})
	for _, r := range h.stored {
		err = errors.Join(err, next.Add(r))
	}
	if again := next.Messages(); err != nil || len(again) != 4 || again[2].Results[0].Text != "found it" {
		t.Errorf("the next turn is shown %+v, %v", again, err)
	}
}

func TestTurnsEnd(t *testing.T) {
	lent := []conversation.Call{call("1", "lent", "{}")}
	for name, c := range map[string]struct {
		house *house
		want  turn.Outcome
	}{
		"the model fails": {&house{room: 9, answers: func(int, conversation.Request) ([]string, []conversation.Call, error) {
			return []string{"a"}, nil, errors.New("secret")
		}}, turn.Outcome{Status: "failed", Code: "provider_error"}},
		"an id twice":         {&house{lent: lends("1"), answers: replies(lent, lent)}, turn.Outcome{Status: "failed", Code: "provider_error"}},
		"a text without room": {&house{room: 3, answers: replies()}, turn.Outcome{Status: "failed", Code: "limit_exceeded"}},
		"calls without end": {&house{lent: lends("1"), answers: func(n int, _ conversation.Request) ([]string, []conversation.Call, error) {
			return nil, []conversation.Call{call(fmt.Sprint(n), "lent", "{}")}, nil
		}}, turn.Outcome{Status: "failed", Code: "limit_exceeded"}},
		"a fatal answer": {&house{lent: func(context.Context, turn.Call) turn.Answer {
			return turn.Answer{Status: "failed", Fatal: turn.CodeToolFailed}
		}, answers: replies(lent)}, turn.Outcome{Status: "failed", Code: "tool_failed"}},
		"no chunk is durable":   {&house{room: 9, record: func(transcript.Kind) error { return errors.New("disk") }, answers: replies()}, turn.Outcome{Status: "failed", Code: "persistence_failed"}},
		"no binding is durable": {&house{record: func(transcript.Kind) error { return errors.New("disk") }, answers: replies([]conversation.Call{call("1", "list_dir", `{"path":"."}`)})}, turn.Outcome{Status: "failed", Code: "persistence_failed"}},
	} {
		if out := c.house.run(t.Context(), t); out != c.want {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// A text that the model could not end is said to be cut, and the turn is what it is.
func TestACutAnswerIsShown(t *testing.T) {
	for _, cut := range []bool{false, true} {
		h := &house{room: 9, cut: cut, answers: replies()}
		out := h.run(t.Context(), t)
		shown := slices.ContainsFunc(h.trace, func(s string) bool { return strings.HasPrefix(s, "show model cut ") })
		if out.Status != turn.Completed || shown != cut {
			t.Errorf("cut %v: %+v, %q", cut, out, h.trace)
		}
	}
}

// One call that ends the turn lets go of the others, and its reason is told.
func TestAFatalCallEndsTheOthers(t *testing.T) {
	h := &house{answers: replies([]conversation.Call{call("a", "lent", "{}"), call("b", "lent", "{}")}), lent: func(ctx context.Context, c turn.Call) turn.Answer {
		if c.ProviderCallID == "b" {
			return turn.Answer{Status: "failed", Fatal: turn.CodeToolFailed}
		}
		<-ctx.Done()
		return turn.Answer{Status: "cancelled", Fatal: turn.CodeCancelled}
	}}
	if out := h.run(t.Context(), t); out != (turn.Outcome{Status: "failed", Code: "tool_failed"}) {
		t.Errorf("%+v", out)
	}
}

func TestWhatBecameOfAServersCallIsSaidAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		called  turns.Called
		effects effect.Outcome
		status  string
	}{
		"answered":        {turns.Called{Sent: true, Settled: true, Text: "t"}, effect.Reported, transcript.Succeeded},
		"said no":         {turns.Called{Sent: true, Settled: true, Failed: true, Text: "t"}, effect.Reported, transcript.Failed},
		"too large":       {turns.Called{Sent: true, Settled: true, Text: strings.Repeat("x", 17<<10)}, effect.Reported, transcript.Failed},
		"sent, no answer": {turns.Called{Sent: true}, effect.Uncertain, transcript.Failed},
		"not sent":        {turns.Called{}, effect.NotDispatched, transcript.Failed},
	} {
		h := &house{room: 9, called: func(context.Context) turns.Called { return c.called }, answers: replies([]conversation.Call{call("1", "mcp_s_act", "{}")})}
		if out := h.run(t.Context(), t); out.Status != turn.Completed {
			t.Errorf("%s: %+v", name, out)
		}
		d, err := transcript.Read[transcript.Result](h.stored[1])
		if err != nil || d.Effects != string(c.effects) || d.Status != c.status {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// A stopped turn ends at once, whoever it waits for, and a call that was on its
// way stays in doubt in the record.
func TestAStoppedTurnEndsAtOnce(t *testing.T) {
	waits := func(ctx context.Context) { <-ctx.Done() }
	for name, h := range map[string]*house{
		"asking": {answers: func(int, conversation.Request) ([]string, []conversation.Call, error) {
			<-time.After(time.Second)
			return nil, nil, nil
		}},
		"lent": {answers: replies([]conversation.Call{call("1", "lent", "{}")}), lent: func(ctx context.Context, _ turn.Call) turn.Answer {
			waits(ctx)
			return turn.Answer{Status: "cancelled", Fatal: turn.CodeCancelled}
		}},
		"served": {answers: replies([]conversation.Call{call("1", "mcp_s_act", "{}")}), called: func(ctx context.Context) turns.Called { waits(ctx); return turns.Called{Sent: true} }},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second/2, cancel)
			began := time.Now()
			if out := h.run(ctx, t); out != (turn.Outcome{Status: "cancelled", Code: "cancelled"}) || time.Since(began) > time.Second {
				t.Errorf("%s: %+v after %v", name, out, time.Since(began))
			}
			if name == "served" {
				if d, err := transcript.Read[transcript.Result](h.stored[1]); err != nil || d.Status != transcript.Cancelled || d.Effects != string(effect.Uncertain) {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
	}
}

func TestASlowToolFailsAndTheTurnGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{room: 9, answers: replies([]conversation.Call{call("1", "mcp_s_act", "{}")}), called: func(ctx context.Context) turns.Called { <-ctx.Done(); return turns.Called{Sent: true, Text: "late"} }}
		if out := h.run(t.Context(), t); out.Status != turn.Completed {
			t.Errorf("%+v", out)
		}
		if d, err := transcript.Read[transcript.Result](h.stored[1]); err != nil || d.Code != "tool_timeout" || d.Effects != string(effect.Uncertain) {
			t.Errorf("%+v, %v", d, err)
		}
	})
}

// Whatever the model asks and whenever the disk fails: no call goes out before
// its binding is durable and none twice, no question is asked before all results
// are, nothing goes out after the disk has failed, and what was said is recorded.
func TestRecordsComeBeforeEffects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.IntRange(0, 5).Draw(t, "rounds")
		lost := rapid.IntRange(1, 30).Draw(t, "lost")
		tools := []string{"read_file", "list_dir", "mcp_s_act", "none"}
		plan := make([][]conversation.Call, rounds)
		says := make([]string, rounds+1)
		for i := range says {
			says[i] = rapid.StringN(0, 40, -1).Draw(t, "says")
		}
		for i := range plan {
			for j := range rapid.IntRange(1, 4).Draw(t, "calls") {
				name := rapid.SampledFrom(tools).Draw(t, "tool")
				plan[i] = append(plan[i], call(fmt.Sprintf("%d.%d", i, j), name, fmt.Sprintf(`{"path":"%d.%d"}`, i, j)))
			}
		}
		kept := 0
		h := &house{room: 20_000, called: func(context.Context) turns.Called { return turns.Called{Sent: true, Settled: true} },
			record: func(transcript.Kind) error {
				if kept++; kept >= lost {
					return errors.New("disk")
				}
				return nil
			},
			answers: func(n int, _ conversation.Request) ([]string, []conversation.Call, error) {
				if n < rounds {
					return []string{says[n]}, plan[n], nil
				}
				return []string{says[rounds]}, nil, nil
			}}
		out := h.run(t.Context(), t)
		h.judge(t, out)
	})
}

// judge holds the trace to the rules.
func (h *house) judge(t *rapid.T, out turn.Outcome) {
	t.Helper()
	bound, open, failed, recorded := map[string]bool{}, map[string]bool{}, false, ""
	for _, step := range h.trace {
		what, id, _ := strings.Cut(step, " ")
		switch what {
		case "lost":
			failed = true
		case "binding":
			if bound[id] {
				t.Fatalf("%s twice:\n%s", step, strings.Join(h.trace, "\n"))
			}
			bound[id], open[id] = true, true
		case "result":
			delete(open, id)
		case "read":
			if !bound[id] || !open[id] {
				t.Fatalf("%s before its binding:\n%s", step, strings.Join(h.trace, "\n"))
			}
		case "ask":
			if len(open) > 0 || failed {
				t.Fatalf("the model was asked too early:\n%s", strings.Join(h.trace, "\n"))
			}
		}
	}
	for _, r := range h.stored {
		if d, err := transcript.Read[transcript.Chunk](r); r.Kind == transcript.AssistantChunk && err == nil {
			recorded += d.Text
		}
	}
	switch {
	case failed && out != (turn.Outcome{Status: turn.Failed, Code: turn.CodePersistenceFailed}):
		t.Fatalf("the disk failed and the turn ended with %+v", out)
	case !failed && (out.Status != turn.Completed || recorded != h.said):
		t.Fatalf("%+v; said %q, recorded %q", out, h.said, recorded)
	}
}

// What a sub-agent did is what its call did: the worst of it, whatever became of
// the sub-agent, and the model that asked is told.
func TestADelegatesEffectsAreThoseOfItsHelper(t *testing.T) {
	uncertain, reported := turns.Called{Sent: true}, turns.Called{Sent: true, Settled: true, Text: "t"}
	for name, c := range map[string]struct {
		called []turns.Called
		fails  bool
		want   effect.Outcome
	}{
		"it only looked":              {nil, false, effect.None},
		"it failed before it did":     {nil, true, effect.None},
		"it acted":                    {[]turns.Called{reported}, false, effect.Reported},
		"it acted and failed":         {[]turns.Called{reported}, true, effect.Reported},
		"uncertain, then it acted":    {[]turns.Called{uncertain, reported}, false, effect.Uncertain},
		"uncertain, and it failed":    {[]turns.Called{uncertain}, true, effect.Uncertain},
		"nothing of it ever went out": {[]turns.Called{{}}, true, effect.None},
	} {
		h := &house{room: 9, called: func(context.Context) turns.Called {
			next := c.called[0]
			c.called = c.called[1:]
			return next
		}}
		acts := len(c.called)
		h.answers = func(n int, _ conversation.Request) ([]string, []conversation.Call, error) {
			switch {
			case n == 0:
				return nil, []conversation.Call{call("d", "delegate", `{"task":"x"}`)}, nil
			case n <= acts:
				return nil, []conversation.Call{call(fmt.Sprint(n), "mcp_s_act", `{}`), call(fmt.Sprint("l", n), "list_dir", `{"path":"."}`)}, nil
			case n == acts+1 && c.fails:
				return nil, nil, errors.New("no more")
			}
			return []string{"done"}, nil, nil
		}
		if out := h.run(t.Context(), t); out.Status != turn.Completed {
			t.Errorf("%s: %+v", name, out)
		}
		last, err := transcript.Read[transcript.Result](h.stored[len(h.stored)-2])
		if err != nil || last.Effects != string(c.want) || (last.Status == transcript.Failed) != c.fails {
			t.Errorf("%s: recorded as %+v, %v", name, last, err)
		}
		if told := strings.Contains(last.Text, "do not repeat it"); told != (c.fails && c.want != effect.None) {
			t.Errorf("%s: told %q", name, last.Text)
		}
	}
}

// What the model is told of a call that does not go out is in the record first, and
// of what it asked no more than a call may have.
func TestRefusedCallsAreRecorded(t *testing.T) {
	long := strings.Repeat("é", 300<<10)
	h := &house{room: 9, answers: replies([]conversation.Call{call("1", "none", "{}"), call("2", "list_dir", "{"), call("3", "list_dir", long), call("4", long, long)})}
	if out := h.run(t.Context(), t); out.Status != turn.Completed {
		t.Errorf("%+v", out)
	}
	calls := 0
	for _, r := range h.stored {
		switch r.Kind {
		case transcript.ToolCall:
			d, err := transcript.Read[transcript.Call](r)
			if calls++; err != nil || bound.ArgumentBytes.Check(len(d.Arguments)) != nil || bound.ToolNameBytes.Check(len(d.Name)) != nil {
				t.Errorf("recorded %d bytes of arguments and %d of a name, %v", len(d.Arguments), len(d.Name), err)
			}
		case transcript.ToolResult:
			d, err := transcript.Read[transcript.Result](r)
			told := h.results(t)[d.ProviderCallID]
			if err != nil || d.Status != transcript.Failed || d.Effects != string(effect.NotDispatched) || told != "true "+d.Text {
				t.Errorf("recorded %+v, told %q, %v", d, told, err)
			}
			calls += 10
		}
	}
	if calls != 44 {
		t.Errorf("%d calls and results are recorded", calls)
	}
}
