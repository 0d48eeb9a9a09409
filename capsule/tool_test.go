package capsule_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stewardhost/steward/capsule"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

func echo(_ context.Context, who capsule.Caller, arguments json.RawMessage) (capsule.Result, error) {
	var in struct{ Do string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return capsule.Result{}, err
	}
	switch in.Do {
	case "fail":
		return capsule.Result{Contents: []capsule.ToolContent{capsule.Say("half")}, Structured: 1}, errors.New("no")
	case "a list":
		return capsule.Result{Structured: []int{1}}, nil
	case "too much":
		return capsule.Result{Contents: []capsule.ToolContent{capsule.Say(strings.Repeat("x", 2<<20))}}, nil
	}
	return capsule.Result{Contents: []capsule.ToolContent{capsule.Say(who.Principal()), capsule.Show("image/png", nil)}, Structured: in}, nil
}

// Every call is answered, whatever becomes of it.
func TestToolsAnswerEachCall(t *testing.T) {
	in, host := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- capsule.ServeOn(t.Context(), capsule.Capsule{Tools: []capsule.Tool{
			{Name: "echo", Input: `{"type":"object"}`, Output: `{}`, Does: capsule.Does{OnlyReads: true, Destroys: true}, Call: echo}, {Name: "b", Input: "{}", Call: echo},
		}}, in, out)
	}()
	lines := bufio.NewScanner(answers)
	lines.Buffer(nil, 4<<20)
	ask := func(f capsulewire.HostFrame) string {
		t.Helper()
		line, err := capsulewire.EncodeFrame(f)
		if err == nil {
			_, err = host.Write(line)
		}
		if err != nil || !lines.Scan() {
			t.Fatal(err)
		}
		return lines.Text()
	}
	if got := ask(capsulewire.HostFrame{Type: capsulewire.Hello, Version: 1, Principal: "p", Capsule: "c"}); got != `{"type":"ready"}` {
		t.Fatal(got)
	}
	request := func(topic, payload string) string {
		return ask(capsulewire.HostFrame{Type: capsulewire.Request, ID: "1", Topic: topic, DeadlineMS: 60_000, Payload: []byte(payload)})
	}
	const reply = `{"type":"reply","id":"1","payload":`
	for _, c := range []struct{ topic, payload, want string }{
		{"tool.v1.request.describe", `{}`, `{"tools":[{"name":"echo","input-schema":"{\"type\":\"object\"}","output-schema":"{}","annotations":{"read-only":true,"destructive":false,"open-world":false}},` +
			`{"name":"b","input-schema":"{}","annotations":{"read-only":false,"destructive":false,"open-world":false}}]}}`},
		{"tool.v1.execute.echo", `{"call-id":"c","arguments":{}}`, `{"call-id":"c","contents":[{"text":{"text":"p"}},{"blob":{"mime-type":"image/png","blob":""}}],"structured":{"Do":""},"is-error":false}}`},
		{"tool.v1.execute.echo", `{"call-id":"c","arguments":{"do":"fail"}}`, `{"call-id":"c","contents":[{"text":{"text":"no"}}],"is-error":true}}`},
		{"tool.v1.execute.echo", `{"call-id":"c","arguments":{"do":"a list"}}`, `{"call-id":"c","contents":[{"text":{"text":"the structured result is not an object"}}],"is-error":true}}`},
		{"tool.v1.execute.none", `{"call-id":"c","arguments":{}}`, `{"call-id":"c","contents":[{"text":{"text":"the capsule has no tool none"}}],"is-error":true}}`},
		{"resource.v1.request.describe", `{}`, `{}}`},
	} {
		if got := request(c.topic, c.payload); got != reply+c.want {
			t.Errorf("%s %s:\n%s, want\n%s", c.topic, c.payload, got, reply+c.want)
		}
	}
	if got := request("tool.v1.execute.echo", `{"call-id":"c","arguments":{"do":"too much"}}`); !strings.Contains(got, `"is-error":true`) {
		t.Errorf("a result that is too long: %.200s", got)
	}
	host.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestALineOfTheGreatestLengthIsRead(t *testing.T) {
	line, err := capsulewire.EncodeFrame(capsulewire.HostFrame{Type: capsulewire.Hello, Version: 1, Principal: "p", Capsule: "c"})
	if err != nil {
		t.Fatal(err)
	}
	hello := strings.TrimSuffix(string(line), "\n")
	for more, want := range map[int]string{0: `{"type":"ready"}` + "\n", 1: ""} {
		var out strings.Builder
		padded := hello + strings.Repeat(" ", capsulewire.LineBytes()-1-len(hello)+more) + "\n"
		err := capsule.ServeOn(t.Context(), capsule.Capsule{Tools: []capsule.Tool{{Name: "echo", Input: "{}", Call: echo}}}, strings.NewReader(padded), &out)
		if out.String() != want || (err == nil) != (more == 0) {
			t.Errorf("%d bytes: %q, %v", len(padded), out.String(), err)
		}
	}
}

func TestToolsThatCannotWorkAreFoundAtTheStart(t *testing.T) {
	good := capsule.Tool{Name: "a", Input: "{}", Call: echo}
	for name, spoil := range map[string]func(*capsule.Tool){
		"no name": func(t *capsule.Tool) { t.Name = "" }, "a bad name": func(t *capsule.Tool) { t.Name = "A" }, "a long name": func(t *capsule.Tool) { t.Name = strings.Repeat("a", 65) },
		"no call": func(t *capsule.Tool) { t.Call = nil }, "no input": func(t *capsule.Tool) { t.Input = "" }, "a bad output": func(t *capsule.Tool) { t.Output = "[]" },
		"twice": func(t *capsule.Tool) { t.Name = "b" }, "null": func(t *capsule.Tool) { t.Input = "null" },
	} {
		bad, other := good, good
		other.Name = "b"
		spoil(&bad)
		if err := capsule.ServeOn(t.Context(), capsule.Capsule{Tools: []capsule.Tool{other, bad}}, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%s: it is served", name)
		}
	}
	if err := capsule.ServeOn(t.Context(), capsule.Capsule{}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("a capsule that does nothing is served")
	}
}
