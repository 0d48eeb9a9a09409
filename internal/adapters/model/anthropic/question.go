package anthropic

import (
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

type question struct {
	Model    string    `json:"model"`
	Tokens   int       `json:"max_tokens"`
	System   string    `json:"system,omitempty"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	Stream   bool      `json:"stream"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is every block of the form; Type says which members it has.
type block struct {
	Type    string         `json:"type"`
	Text    string         `json:"text,omitempty"`
	ID      string         `json:"id,omitempty"`
	Name    string         `json:"name,omitempty"`
	Input   strictjson.Raw `json:"input,omitzero"`
	CallID  string         `json:"tool_use_id,omitempty"`
	Content string         `json:"content,omitempty"`
	Failed  bool           `json:"is_error,omitzero"`
}

type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Input       strictjson.Raw `json:"input_schema"`
}

func questionOf(name string, r conversation.Request) question {
	q := question{Model: name, Tokens: maxTokens, System: r.Instructions, Stream: true}
	for _, m := range r.Messages {
		q.Messages = append(q.Messages, messageOf(m))
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, tool{t.Name, t.Description, t.Input})
	}
	return q
}

func messageOf(m conversation.Message) message {
	var out []block
	if m.Text != "" { // the form refuses an empty block
		out = append(out, block{Type: "text", Text: m.Text})
	}
	for _, c := range m.Calls {
		out = append(out, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: object(c.Arguments)})
	}
	for _, r := range m.Results {
		out = append(out, block{Type: "tool_result", CallID: r.CallID, Content: r.Text, Failed: r.Failed})
	}
	role := "user"
	if m.Role == conversation.Assistant {
		role = "assistant"
	}
	return message{role, out}
}

// object gives the arguments as the object that the form wants. What the model
// wrote may be none; then its result says so already.
func object(arguments string) strictjson.Raw {
	if _, err := strictjson.Members([]byte(arguments), strictjson.Limits{Bytes: bound.ArgumentBytes}); err != nil {
		return strictjson.Raw("{}")
	}
	return strictjson.Raw(arguments)
}
