package scripted_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"context"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/model/scripted"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const script = `# a comment
on weather
say "Looking…\n"
call weather {"city":"Oslo"}
call clock
then
say It is {result}, at {result 2}; tools: {tools}; told: {instructions}
on broken
say half
fail
on *
say no idea
`

func TestAScriptIsFollowed(t *testing.T) {
	s, err := scripted.Parse(script)
	if err != nil {
		t.Fatal(err)
	}
	user := func(text string) conversation.Message {
		return conversation.Message{Role: conversation.User, Text: text}
	}
	calls := []conversation.Call{{ID: "scripted-1-1", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "scripted-1-2", Name: "clock", Arguments: "{}"}}
	first := []conversation.Message{user("the weather, please")}
	second := append(first, conversation.Message{Role: conversation.Assistant, Calls: calls},
		conversation.Message{Role: conversation.Answers, Results: []conversation.Result{{Text: "rain"}, {Text: "noon"}}})
	for name, c := range map[string]struct {
		messages []conversation.Message
		want     conversation.Reply
		code     fault.Code
	}{
		"the first answer":        {first, conversation.Reply{Text: "Looking…\n", Calls: calls}, ""},
		"after the calls":         {second, conversation.Reply{Text: "It is rain, at noon; tools: weather clock; told: be kind"}, ""},
		"a new prompt begins new": {append(second, user("weather")), conversation.Reply{Text: "Looking…\n", Calls: calls}, ""},
		"any other":               {[]conversation.Message{user("hello")}, conversation.Reply{Text: "no idea"}, ""},
		"a failure":               {[]conversation.Message{user("broken")}, conversation.Reply{}, fault.UpstreamFailed},
	} {
		said := ""
		got, err := s.Ask(t.Context(), conversation.Request{Instructions: "be kind", Messages: c.messages,
			Tools: []conversation.Tool{{Name: "weather"}, {Name: "clock"}}}, func(text string) error { said += text; return nil })
		if (err != nil) != (c.code != "") || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || c.code == "" && said != c.want.Text {
			t.Errorf("%s: said %q\n%s", name, said, diff)
		}
	}
}

func TestScriptsThatCannotBeFollowedAreRefusedByLine(t *testing.T) {
	for text, line := range map[string]string{
		"":                             "no scene",
		"say x":                        "line 1",
		"on *\nthen":                   "line 2",
		"on *\n\ncall":                 "line 3",
		"on *\ncall t\nthen\nthen":     "line 4",
		"on *\nsay \"x":                "line 2",
		"on *\npause forever":          "line 2",
		"on *\npause 1h":               "line 2",
		"on":                           "line 1",
		"on *\nshout":                  "line 2",
		strings.Repeat("on *\n", 5000): "limited",
	} {
		if _, err := scripted.Parse(text); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := scripted.Parse(scripted.Default); err != nil {
		t.Error(err)
	}
}

func TestAPauseEndsWithItsTurn(t *testing.T) {
	s, err := scripted.Parse("on *\npause 10s\nsay late")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		mine := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(mine) })
		began := time.Now()
		if _, err := s.Ask(ctx, conversation.Request{}, func(string) error { return nil }); !errors.Is(err, mine) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Whatever parses can be followed without a panic, to an end.
func FuzzScript(f *testing.F) {
	f.Add(script, "weather")
	f.Add(scripted.Default, "x")
	f.Add("on a\ncall t {\nthen\nfail\n", "a")
	f.Fuzz(func(t *testing.T, text, prompt string) {
		s, err := scripted.Parse(text)
		if err != nil {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // so that no pause is waited for
		if reply, err := s.Ask(ctx, conversation.Request{Messages: []conversation.Message{{Role: conversation.User, Text: prompt}}}, func(string) error { return nil }); err == nil && (reply.Text != "" || reply.Calls != nil) {
			t.Errorf("a turn that was over was answered: %+v", reply)
		}
	})
}
