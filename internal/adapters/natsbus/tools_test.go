package natsbus

import (
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// openTools is a bus whose listener hears of tools alone.
func openTools(t *testing.T) (b *Bus, answers chan tool.Answer, alarms chan string) {
	t.Helper()
	answers, alarms = make(chan tool.Answer, 100), make(chan string, 100)
	b, err := Open("tenant", Listener{Tool: func(a tool.Answer) { answers <- a }, Alarm: func(_ topic.Source, text string) { alarms <- text }}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, answers, alarms
}

func withTools(t *testing.T) topic.Claim {
	t.Helper()
	c, err := topic.ParseClaim([]string{"tool.v1.response.describe.*", "tool.v1.response.execute.*"}, []string{"tool.v1.request.describe", "tool.v1.execute.*"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func admitTools(t *testing.T, b *Bus, p topic.Principal, name string) (*Seat, chan Request) {
	t.Helper()
	requests := make(chan Request, 100)
	s, err := b.Admit(Runtime{Principal: p, Source: topic.SourceOf("tenant", name, ""), Claim: withTools(t)}, func(r Request) { requests <- r }, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, requests
}

// A tool of a name that two capsules have is executed by the one that was meant,
// and the other never hears of it.
func TestACallReachesOneCapsuleAlone(t *testing.T) {
	b, answers, _ := openTools(t)
	alice := owner()
	a, asked := admitTools(t, b, alice, "a")
	_, others := admitTools(t, b, alice, "b")
	_, bobs := admitTools(t, b, owner(), "a")
	q := tool.Question{Principal: alice, Source: a.runtime.Source, ID: "q1"}
	deadline := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	if err := b.AskTools(q, deadline); err != nil {
		t.Fatal(err)
	}
	r := next(t, asked)
	if r.Topic.String() != "tool.v1.request.describe" || r.Round != "q1" || !r.Deadline.Equal(deadline) || string(r.Payload) != "{}" {
		t.Errorf("asked %+v", r)
	}
	list := `{"tools":[{"name":"add","description":"d","input-schema":"{ \"type\": \"object\" }","annotations":{"read-only":true}},{"name":"Bad","input-schema":"{}"},{"name":"x"}]}`
	if err := a.Answer(r, []byte(list)); err != nil {
		t.Fatal(err)
	}
	got := next(t, answers)
	if why := q.Drop(got); why != "" || got.Err != nil || len(got.Tools) != 3 {
		t.Fatalf("heard %+v, %q", got, why)
	}
	const want = `{"name":"add","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	if string(got.Tools[0].Raw) != want || got.Tools[0].Trouble != nil || got.Tools[1].Trouble == nil || got.Tools[2].Trouble == nil {
		t.Errorf("the tools are %s, %+v", got.Tools[0].Raw, got.Tools)
	}

	q.ID, q.Life = "q2", 7
	if sent, err := b.Execute(q, "add", []byte(`{"n":9007199254740993}`), deadline); err != nil || !sent {
		t.Fatal(sent, err)
	}
	r = next(t, asked)
	if r.Topic.String() != "tool.v1.execute.add" || r.Life != 7 || string(r.Payload) != `{"call-id":"q2","arguments":{"n":9007199254740993}}` {
		t.Errorf("asked %v %s", r.Topic, r.Payload)
	}
	if err := a.Answer(r, []byte(`{"call-id":"q2","contents":[{"text":{"text":"x"}},{"blob":{"mime-type":"image/png","blob":"AA=="}}],"structured":{"n":1},"is-error":false}`)); err != nil {
		t.Fatal(err)
	}
	got = next(t, answers)
	const result = `{"content":[{"type":"text","text":"x"},{"type":"image","data":"AA==","mimeType":"image/png"}],"structuredContent":{"n":1},"isError":false}`
	if why := q.Drop(got); why != "" || got.Err != nil || string(got.Result) != result {
		t.Errorf("heard %+v %s, %q", got, got.Result, why)
	}
	for _, sent := range []bool{false, true} {
		if err := a.Lose(r, sent); err != nil {
			t.Fatal(err)
		}
		if got = next(t, answers); q.Drop(got) != "" || !got.Lost || got.Unsent == sent || got.Result != nil || got.Err != nil {
			t.Errorf("lost, sent %v: %+v", sent, got)
		}
	}
	if len(others)+len(bobs) != 0 {
		t.Error("a call reached another capsule")
	}
}

// What cannot go out, or would not come through the capsule's own bounds, is not
// sent, and that is known.
func TestWhatCannotBeSentIsNot(t *testing.T) {
	b, _, _ := openTools(t)
	alice := owner()
	a, asked := admitTools(t, b, alice, "a")
	q := tool.Question{Principal: alice, Source: a.runtime.Source, ID: "q"}
	for name, c := range map[string]struct {
		q          tool.Question
		tool, args string
		want       fault.Code
	}{
		"nobody":     {tool.Question{Source: q.Source, ID: "q"}, "add", `{}`, fault.CapabilityDenied},
		"a bad name": {q, "a.b", `{}`, fault.InvalidRequest},
		"a wildcard": {q, "*", `{}`, fault.InvalidRequest},
		"too deep":   {q, "add", strings.Repeat(`{"a":`, 15) + "1" + strings.Repeat("}", 15), fault.InvalidRequest},
		"too long":   {q, "add", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, fault.TooLarge},
	} {
		if sent, err := b.Execute(c.q, c.tool, []byte(c.args), time.Now().Add(time.Minute)); sent || !fault.Is(err, c.want) {
			t.Errorf("%s: sent %v, %v", name, sent, err)
		}
	}
	if len(asked) != 0 {
		t.Errorf("the capsule heard %+v", <-asked)
	}
	if err := b.AskCancel(q.Principal, "c"); err != nil {
		t.Fatal(err)
	}
	b.active[q.Principal].conn.Close()
	if sent, err := b.Execute(q, "add", []byte(`{}`), time.Now().Add(time.Minute)); sent || err == nil {
		t.Errorf("over a closed connection: sent %v, %v", sent, err)
	}
}

// I80, I84, A73, A75: a capsule hears no call of another one and speaks for itself
// alone; what it can say, the rules drop.
func TestToolAnswersAreNotForged(t *testing.T) {
	b, answers, alarms := openTools(t)
	p := owner()
	victim, _ := admitTools(t, b, p, "victim")
	source := topic.SourceOf("tenant", "forger", "")
	name, password := b.users.add(topic.RuntimeRights(p, source, withTools(t)))
	conn, err := b.connect(name, password, source)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	whole, v := "b."+p.String()+".", victim.runtime.Source.String()
	for _, subject := range []string{
		whole + "_broker.tool.v1.execute." + v + ".*", whole + "_broker.tool.v1.execute.*.*", whole + "_broker.tool.v1.execute.>", whole + "_broker.tool.v1.request.describe.*",
		whole + "*.tool.v1.response.execute.*", whole + "*.tool.v1.>",
	} {
		if _, err := conn.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if text := next(t, alarms); !strings.Contains(text, "Permissions Violation for Subscription") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	q := tool.Question{Principal: p, Source: victim.runtime.Source, ID: "q"}
	if _, err := b.Execute(q, "add", []byte("{}"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{
		whole + v + ".tool.v1.response.execute.q", whole + source.String() + ".tool.v1.response.describe." + v,
		whole + "_broker.tool.v1.execute." + v + ".add", "b." + owner().String() + "." + source.String() + ".tool.v1.response.execute.q",
	} {
		if err := conn.Publish(subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if text := next(t, alarms); !strings.Contains(text, "Permissions Violation for Publish") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	frame, err := envelope{ID: "m", Round: "q", Payload: []byte(`{"call-id":"q","is-error":false}`)}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Publish(whole+source.String()+".tool.v1.response.execute.q", frame); err != nil {
		t.Fatal(err)
	}
	if got := next(t, answers); q.Drop(got) != describe.UnknownSource {
		t.Errorf("an answer of another capsule counts: %+v", got)
	}
}
