package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/model/openai"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const key = "sk-canary-0123456789"

// endpoint answers every question with one stream and keeps the last question.
type endpoint struct {
	*httptest.Server
	asked []byte
	head  http.Header
}

func serve(t *testing.T, status int, kind, body string) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked, _ = io.ReadAll(r.Body)
		e.head = r.Header
		if kind == "cut" {
			kind = "text/event-stream"
			w.Header().Set("Content-Length", "100000")
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) model(t *testing.T) *openai.Model {
	t.Helper()
	m, err := openai.New(e.URL+"/v1", "test-model", secret.Of(key))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

var question = conversation.Request{
	Instructions: "be brief",
	Messages: []conversation.Message{
		{Role: conversation.User, Text: "weather?"},
		{Role: conversation.Assistant, Calls: []conversation.Call{{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}}},
		{Role: conversation.Answers, Results: []conversation.Result{{CallID: "c1", Text: `"rain"`}}},
	},
	Tools: []conversation.Tool{{Name: "weather", Description: "d", Input: strictjson.Raw(`{"type":"object"}`)}},
}

func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]conversation.Reply{
		"text.sse":       {Text: "Hello, \"you\" é."},
		"calls.sse":      {Text: "Let me look.", Calls: []conversation.Call{{ID: "call_a", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "call_b", Name: "clock", Arguments: "{}"}}},
		"unnumbered.sse": {Calls: []conversation.Call{{ID: "x1", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "x2", Name: "clock", Arguments: "{}"}}},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		e := serve(t, 200, "text/event-stream; charset=utf-8", string(body))
		var said strings.Builder
		got, err := e.model(t).Ask(t.Context(), question, func(text string) error { said.WriteString(text); return nil })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" || said.String() != want.Text {
			t.Errorf("%s: said %q\n%s", name, said.String(), diff)
		}
	}
}

// A text that was cut at the model's own limit is told as such.
func TestACutTextIsToldAsCut(t *testing.T) {
	for finish, want := range map[string]bool{"stop": false, "length": true} {
		e := serve(t, 200, "text/event-stream", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"`+finish+`"}]}`+"\n\n")
		got, err := e.model(t).Ask(t.Context(), question, func(string) error { return nil })
		if diff := cmp.Diff(conversation.Reply{Text: "a", Cut: want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", finish, err, diff)
		}
	}
}

func TestTheQuestionIsInTheForm(t *testing.T) {
	e := serve(t, 200, "text/event-stream", `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\n")
	if _, err := e.model(t).Ask(t.Context(), question, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"test-model","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"weather?"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},` +
		`{"role":"tool","content":"\"rain\"","tool_call_id":"c1"}],` +
		`"tools":[{"type":"function","function":{"name":"weather","description":"d","parameters":{"type":"object"}}}],"stream":true}`
	if diff := cmp.Diff(want, string(e.asked)); diff != "" {
		t.Error(diff)
	}
	if got := e.head.Get("Authorization"); got != "Bearer "+key {
		t.Errorf("the key went as %q", got)
	}
}

// Whatever an endpoint does, the fault's public text is ours, and its cause does
// not hold the key.
func TestBrokenAnswersAreFaultsInOurWords(t *testing.T) {
	const canary = "upstream words"
	done := `data: {"choices":[{"delta":{"content":"x"},"finish_reason":null}]}` + "\n\n"
	call := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{"}}]}}]}` + "\n\n"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		code       fault.Code
	}{
		"refused":                    {401, "application/json", canary + " " + key, fault.UpstreamFailed},
		"busy":                       {429, "application/json", canary, fault.UpstreamFailed},
		"redirected":                 {307, "text/html", canary, fault.UpstreamFailed},
		"no stream":                  {200, "application/json", canary, fault.UpstreamFailed},
		"ends without a reason":      {200, "text/event-stream", done, fault.UpstreamFailed},
		"broken off":                 {200, "cut", done, fault.UpstreamFailed},
		"done without a reason":      {200, "text/event-stream", done + "data: [DONE]\n\n", fault.UpstreamFailed},
		"no JSON":                    {200, "text/event-stream", done + "data: {" + canary + "\n\n", fault.UpstreamFailed},
		"a member twice":             {200, "text/event-stream", `data: {"choices":[],"choices":[]}` + "\n\n", fault.UpstreamFailed},
		"an error event":             {200, "text/event-stream", `data: {"error":{"message":"` + canary + `"}}` + "\n\n", fault.UpstreamFailed},
		"cut within a call":          {200, "text/event-stream", call + `data: {"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\n", fault.UpstreamFailed},
		"an index beyond the calls":  {200, "text/event-stream", strings.Replace(call, `"index":0`, `"index":7`, 1), fault.UpstreamFailed},
		"an index below zero":        {200, "text/event-stream", strings.Replace(call, `"index":0`, `"index":-1`, 1), fault.UpstreamFailed},
		"an event that is too large": {200, "text/event-stream", "data: " + strings.Repeat("x", 300<<10), fault.TooLarge},
	} {
		_, err := serve(t, c.status, c.kind, c.body).model(t).Ask(t.Context(), question, func(string) error { return nil })
		if !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f := fault.From(err); strings.Contains(f.Error(), canary) || strings.Contains(fmt.Sprint(errors.Unwrap(f)), key) {
			t.Errorf("%s tells too much: %v, %v", name, f, errors.Unwrap(f))
		}
	}
}

func TestTheCallersReasonComesBack(t *testing.T) {
	body := `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	mine := errors.New("no room")
	if _, err := serve(t, 200, "text/event-stream", body).model(t).Ask(t.Context(), question, func(string) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

func TestAKeyGoesOverTLSOrToThisMachine(t *testing.T) {
	for base, ok := range map[string]bool{
		"https://models.example/v1": true, "http://127.0.0.1:1/v1": true, "http://[::1]:1/v1": true, "http://localhost:1": true,
		"http://models.example/v1": false, "http://127.0.0.1.example/v1": false, "https://u:p@models.example": false,
		"https://models.example/v1?x=1": false, "ftp://models.example": false, "models.example": false, "": false,
	} {
		if _, err := openai.New(base, "m", secret.Of(key)); (err == nil) != ok {
			t.Errorf("%q: %v", base, err)
		}
	}
}
