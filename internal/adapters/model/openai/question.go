package openai

import (
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

type question struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	Stream   bool      `json:"stream"`
}

type message struct {
	Role    string    `json:"role"`
	Content string    `json:"content"`
	Calls   []oneCall `json:"tool_calls,omitempty"`
	CallID  string    `json:"tool_call_id,omitempty"`
}

type oneCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string     `json:"type"`
	Function definition `json:"function"`
}

type definition struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  strictjson.Raw `json:"parameters"`
}

func questionOf(name string, r conversation.Request) question {
	q := question{Model: name, Stream: true}
	if r.Instructions != "" {
		q.Messages = append(q.Messages, message{Role: "system", Content: r.Instructions})
	}
	for _, m := range r.Messages {
		q.Messages = append(q.Messages, messagesOf(m)...)
	}
	for _, t := range r.Tools {
		q.Tools = append(q.Tools, tool{"function", definition{t.Name, t.Description, t.Input}})
	}
	return q
}

func messagesOf(m conversation.Message) []message {
	switch m.Role {
	case conversation.Answers:
		var out []message
		for _, r := range m.Results {
			out = append(out, message{Role: "tool", CallID: r.CallID, Content: r.Text})
		}
		return out
	case conversation.Assistant:
		out := message{Role: "assistant", Content: m.Text}
		for _, c := range m.Calls {
			out.Calls = append(out.Calls, oneCall{c.ID, "function", function{c.Name, c.Arguments}})
		}
		return []message{out}
	}
	return []message{{Role: "user", Content: m.Text}}
}
