package anthropic_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/model/anthropic"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

var question = conversation.Request{
	Instructions: "be brief",
	Messages: []conversation.Message{
		{Role: conversation.User, Text: "weather?"},
		{Role: conversation.Assistant, Text: "hm", Calls: []conversation.Call{{ID: "c1", Name: "weather", Arguments: `{"city":"Oslo"}`}, {ID: "c2", Name: "weather", Arguments: `{broken`}}},
		{Role: conversation.Answers, Results: []conversation.Result{{CallID: "c1", Text: `"rain"`}, {CallID: "c2", Failed: true, Text: "no"}}},
	},
	Tools: []conversation.Tool{{Name: "weather", Description: "d", Input: strictjson.Raw(`{"type":"object"}`)}},
}

// ask puts the question to an endpoint that answers with the stream, and returns
// what reached it too.
func ask(t *testing.T, stream string) (reply conversation.Reply, said string, asked string, head http.Header, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked, head = string(body), r.Header
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream)
	}))
	defer server.Close()
	m, err := anthropic.New(server.URL, "test-model", secret.Of("the-key"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	reply, err = m.Ask(t.Context(), question, func(text string) error { said += text; return nil })
	return reply, said, asked, head, err
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]conversation.Reply{
		"text.sse":  {Text: "Hello!"},
		"calls.sse": {Text: "Okay.", Calls: []conversation.Call{{ID: "toolu_1", Name: "weather", Arguments: `{"city": "Oslo"}`}, {ID: "toolu_2", Name: "clock", Arguments: "{}"}}},
	} {
		got, said, _, _, err := ask(t, recorded(t, name))
		if diff := cmp.Diff(want, got); err != nil || diff != "" || said != want.Text {
			t.Errorf("%s: %v, said %q\n%s", name, err, said, diff)
		}
	}
}

// Some endpoints give a call's arguments with its block and no parts of them.
func TestArgumentsMayComeWithTheirBlock(t *testing.T) {
	stream := strings.Replace(recorded(t, "calls.sse"), `"name":"clock","input":{}`, `"name":"clock","input":{"zone":"UTC"}`, 1)
	got, _, _, _, err := ask(t, stream)
	if err != nil || len(got.Calls) != 2 || got.Calls[0].Arguments != `{"city": "Oslo"}` || got.Calls[1].Arguments != `{"zone":"UTC"}` {
		t.Errorf("%+v, %v", got, err)
	}
}

// A text that was cut at the model's own limit is told as such.
func TestACutTextIsToldAsCut(t *testing.T) {
	for stop, want := range map[string]bool{"end_turn": false, "max_tokens": true, "model_context_window_exceeded": true} {
		got, _, _, _, err := ask(t, strings.Replace(recorded(t, "text.sse"), "end_turn", stop, 1))
		if diff := cmp.Diff(conversation.Reply{Text: "Hello!", Cut: want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", stop, err, diff)
		}
	}
}

func TestTheQuestionIsInTheForm(t *testing.T) {
	_, _, asked, head, err := ask(t, recorded(t, "text.sse"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"test-model","max_tokens":8192,"system":"be brief","messages":[{"role":"user","content":[{"type":"text","text":"weather?"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"c1","name":"weather","input":{"city":"Oslo"}},{"type":"tool_use","id":"c2","name":"weather","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"\"rain\""},{"type":"tool_result","tool_use_id":"c2","content":"no","is_error":true}]}],` +
		`"tools":[{"name":"weather","description":"d","input_schema":{"type":"object"}}],"stream":true}`
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	if head.Get("X-Api-Key") != "the-key" || head.Get("Anthropic-Version") == "" || head.Get("Authorization") != "" {
		t.Errorf("headers: %v", head)
	}
}

// A recorded stream that is cut after any of its events is a fault, and so is one
// that says that the model gave up.
func TestAnAnswerIsWholeOrAFault(t *testing.T) {
	stream := recorded(t, "calls.sse")
	events := strings.SplitAfter(stream, "\n\n")
	events = events[:len(events)-1]
	for i := range events {
		cut := strings.Join(events[:i], "")
		if got, _, _, _, err := ask(t, cut); !fault.Is(err, fault.UpstreamFailed) {
			t.Errorf("cut after %d events it reads as %+v, %v", i, got, err)
		}
		gaveUp := cut + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"upstream words\"}}\n\n"
		if _, _, _, _, err := ask(t, gaveUp); !fault.Is(err, fault.UpstreamFailed) || strings.Contains(err.Error(), "upstream words") {
			t.Errorf("after %d events: %v", i, err)
		}
	}
	for name, bent := range map[string]string{
		"arguments of no block":  strings.Replace(stream, `"content_block_delta","index":1`, `"content_block_delta","index":5`, 1),
		"cut by the token limit": strings.Replace(stream, `"stop_reason":"tool_use"`, `"stop_reason":"max_tokens"`, 1),
		"a block left open":      strings.Replace(stream, `{"type":"content_block_stop","index":2}`, `{"type":"content_block_stop","index":9}`, 1),
		"no JSON":                strings.Replace(stream, `{"type": "ping"}`, "", 1) + "data: nothing\n\n",
	} {
		if name == "no JSON" {
			bent = "data: nothing\n\n" + stream
		}
		if got, _, _, _, err := ask(t, bent); !fault.Is(err, fault.UpstreamFailed) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
