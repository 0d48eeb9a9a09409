// Package vendors_test has the vendors' own clients judge ours: what they read of our
// question is what we wrote, they ask in the same way, and of the same stream they
// understand the same answer. It is a module of its own, since the clients weigh more
// than what they would save the daemon (docs/dependencies.md).
package vendors_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const (
	key  = "the-key"
	name = "test-model"
)

// endpoint answers each question with one stream and keeps what was asked.
type endpoint struct {
	*httptest.Server
	asked []asked
}

type asked struct {
	path string
	head http.Header
	body map[string]any
	raw  []byte
}

func serve(t *testing.T, stream string) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{path: r.Method + " " + r.URL.Path, head: r.Header}
		var err error
		if a.raw, err = io.ReadAll(r.Body); err == nil {
			err = json.Unmarshal(a.raw, &a.body)
		}
		if err != nil {
			t.Error(err)
		}
		e.asked = append(e.asked, a)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	t.Cleanup(e.Close)
	return e
}

// model is one of ours.
type model interface {
	Ask(ctx context.Context, r conversation.Request, delta func(string) error) (conversation.Reply, error)
	Close()
}

// vendor is one vendor: our client, and theirs, which is given our question as the
// one to ask.
type vendor struct {
	folder string
	ours   func(base string) (model, error)
	theirs func(ctx context.Context, base string, question []byte) (conversation.Reply, error)
	heads  []string
	more   map[string]string // further streams that its form allows
}

func vendors() []vendor { return []vendor{openaiVendor, anthropicVendor} }

// questions are conversations of every form that a turn has.
func questions() map[string]conversation.Request {
	tool := conversation.Tool{Name: "weather", Description: "Tells \"the\" weather.", Input: strictjson.Raw(`{"additionalProperties":false,"properties":{"city":{"maxLength":40,"type":"string"}},"required":["city"],"type":"object"}`)}
	user := conversation.Message{Role: conversation.User, Text: "weather?\n<é>"}
	call := conversation.Call{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`}
	other := conversation.Call{ID: "call_2", Name: "weather", Arguments: `{}`}
	return map[string]conversation.Request{
		"a prompt":            {Messages: []conversation.Message{user}},
		"instructions, tools": {Instructions: "be brief", Messages: []conversation.Message{user}, Tools: []conversation.Tool{tool, {Name: "clock", Description: "", Input: strictjson.Raw(`{"type":"object"}`)}}},
		"a dialogue":          {Messages: []conversation.Message{user, {Role: conversation.Assistant, Text: "rain"}, {Role: conversation.User, Text: "and tomorrow?"}}},
		"calls and results": {Instructions: "be brief", Tools: []conversation.Tool{tool}, Messages: []conversation.Message{
			user, {Role: conversation.Assistant, Text: "let me look", Calls: []conversation.Call{call, other}},
			{Role: conversation.Answers, Results: []conversation.Result{{CallID: call.ID, Text: `{"sky":"rain"}`}, {CallID: other.ID, Failed: true, Text: "no city"}}},
			{Role: conversation.Assistant, Text: "rain"}, {Role: conversation.User, Text: "thanks"},
		}},
		"calls without a text": {Tools: []conversation.Tool{tool}, Messages: []conversation.Message{
			user, {Role: conversation.Assistant, Calls: []conversation.Call{call}}, {Role: conversation.Answers, Results: []conversation.Result{{CallID: call.ID, Text: "rain"}}},
		}},
	}
}

// The vendor's client reads our question into its own types, and asks the same in the
// same way: nothing of ours is lost, misplaced or unknown to it.
func TestQuestionsAreTheVendorsOwn(t *testing.T) {
	for _, v := range vendors() {
		for what, q := range questions() {
			t.Run(v.folder+"/"+what, func(t *testing.T) {
				e := serve(t, recorded(t, v, "text.sse"))
				ours, err := v.ours(e.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer ours.Close()
				if _, err := ours.Ask(t.Context(), q, func(string) error { return nil }); err != nil {
					t.Fatal(err)
				}
				if _, err := v.theirs(t.Context(), e.URL, e.asked[0].raw); err != nil {
					t.Fatal(err)
				}
				a, b := e.asked[0], e.asked[1]
				if a.path != b.path || !same(a.body, b.body) {
					t.Errorf("we ask\n%s %s\nthey ask\n%s %s", a.path, a.raw, b.path, b.raw)
				}
				for _, name := range v.heads {
					if a.head.Get(name) != b.head.Get(name) || a.head.Get(name) == "" {
						t.Errorf("%s: %q, theirs %q", name, a.head.Get(name), b.head.Get(name))
					}
				}
			})
		}
	}
}

func same(a, b any) bool {
	x, _ := json.Marshal(wide(a))
	y, _ := json.Marshal(wide(b))
	return string(x) == string(y)
}

// wide has one block of text where a text alone is short for it.
func wide(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = wide(v[i])
		}
	case map[string]any:
		for name, x := range v {
			if text, short := x.(string); short && (name == "system" || name == "content") {
				x = []any{map[string]any{"type": "text", "text": text}}
			}
			v[name] = wide(x)
		}
	}
	return v
}

func recorded(t *testing.T, v vendor, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "internal", "adapters", "model", v.folder, "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Of each recorded stream, cut into parts anywhere as far as its form allows, both
// clients understand the same answer.
func TestAnswersAreUnderstoodAlike(t *testing.T) {
	for _, v := range vendors() {
		for _, name := range []string{"text.sse", "calls.sse"} {
			stream := recorded(t, v, name)
			for form, body := range map[string]string{
				"as it is":                 stream,
				"with carriage returns":    strings.ReplaceAll(stream, "\n", "\r\n"),
				"with comments":            strings.ReplaceAll(stream, "\n\n", "\n\n: wait\n\n"),
				"without a space after":    strings.ReplaceAll(stream, "data: ", "data:"),
				"cut at the model's limit": strings.NewReplacer(`"finish_reason":"stop"`, `"finish_reason":"length"`, `"stop_reason":"end_turn"`, `"stop_reason":"max_tokens"`).Replace(stream),
			} {
				t.Run(v.folder+"/"+name+"/"+form, func(t *testing.T) { understoodAlike(t, v, body) })
			}
		}
	}
}

func understoodAlike(t *testing.T, v vendor, body string) {
	t.Helper()
	e := serve(t, body)
	ours, err := v.ours(e.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	var said strings.Builder
	got, err := ours.Ask(t.Context(), questions()["a prompt"], func(text string) error { said.WriteString(text); return nil })
	if err != nil {
		t.Fatal(err)
	}
	want, err := v.theirs(t.Context(), e.URL, e.asked[0].raw)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(got)
	y, _ := json.Marshal(want)
	if string(x) != string(y) || said.String() != want.Text {
		t.Errorf("we understand %s, said %q\nthey understand %s", x, said.String(), y)
	}
}

// Further streams of each vendor: what newer models say, in parts that ours has no
// use for, is passed over by both.
func TestFurtherStreamsAreUnderstoodAlike(t *testing.T) {
	for _, v := range vendors() {
		for name, body := range v.more {
			t.Run(v.folder+"/"+name, func(t *testing.T) { understoodAlike(t, v, body) })
		}
	}
}

func secretKey() secret.Secret { return secret.Of(key) }
