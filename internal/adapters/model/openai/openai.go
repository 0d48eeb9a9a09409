// Package openai asks a model over the Chat Completions form of a stream, which
// hosted vendors and local servers (llama.cpp, Ollama, vLLM) share.
//
// It promises that a reply is whole: a stream that ends without a reason to stop
// is a fault, and so is one that stops in the middle of a call. It asks for one
// choice and reads no other. Bounds and faults are those of eventstream. A Model
// is safe for concurrent use.
package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/model/eventstream"
	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/secret"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// DefaultBase is where the vendor of the form answers.
const DefaultBase = "https://api.openai.com/v1"

// Model is one model at one endpoint.
type Model struct {
	client *eventstream.Client
	name   string
}

// New returns a model. The key may be none, as for local servers.
func New(base, name string, key secret.Secret) (*Model, error) {
	client, err := eventstream.New(base, "/chat/completions", http.Header{}, "Authorization", "Bearer ", key)
	if err != nil {
		return nil, err
	}
	return &Model{client, name}, nil
}

// Close lets go of idle connections.
func (m *Model) Close() { m.client.Close() }

// Ask puts one question. The text of the answer goes to delta in parts as it
// comes; an error of delta ends the answer and is returned as it is.
func (m *Model) Ask(ctx context.Context, r conversation.Request, delta func(string) error) (conversation.Reply, error) {
	body, err := strictjson.Encode(questionOf(m.name, r))
	if err != nil {
		return conversation.Reply{}, err
	}
	stream, err := m.client.Ask(ctx, body)
	if err != nil {
		return conversation.Reply{}, err
	}
	defer stream.Close()
	return read(stream, delta)
}

type part struct {
	Choices []struct {
		Delta struct {
			Content *string     `json:"content"`
			Calls   *[]callPart `json:"tool_calls"`
		} `json:"delta"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Error strictjson.Raw `json:"error"`
}

type callPart struct {
	Index    *int    `json:"index"`
	ID       *string `json:"id"`
	Function struct {
		Name      *string `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

var (
	errUnread = fault.New(fault.UpstreamFailed, "the model's answer cannot be read")
	errCut    = fault.New(fault.UpstreamFailed, "the model's answer ended before it was whole")
	errSaid   = fault.New(fault.UpstreamFailed, "the model gave up in the middle of its answer")
)

func read(stream *eventstream.Stream, delta func(string) error) (conversation.Reply, error) {
	a := answer{delta: delta}
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return a.whole()
		}
		if err != nil {
			return conversation.Reply{}, err
		}
		if string(e.Data) == "[DONE]" {
			return a.whole()
		}
		var p part
		if err := strictjson.DecodeReply(e.Data, strictjson.Limits{Bytes: bound.ModelEventBytes}, &p); err != nil {
			return conversation.Reply{}, errUnread.Because(err)
		}
		if err := a.add(p); err != nil {
			return conversation.Reply{}, err
		}
	}
}

// answer puts the parts together.
type answer struct {
	delta  func(string) error
	text   strings.Builder
	calls  []*heardCall
	finish string
}

type heardCall struct {
	id, name  string
	arguments strings.Builder
}

func (a *answer) add(p part) error {
	if len(p.Error) > 0 && string(p.Error) != "null" {
		return errSaid.Because(errors.New(secret.Mask(string(p.Error))))
	}
	if len(p.Choices) == 0 {
		return nil
	}
	choice := p.Choices[0]
	if text := choice.Delta.Content; text != nil && *text != "" {
		a.text.WriteString(*text)
		if err := a.delta(*text); err != nil {
			return err
		}
	}
	if choice.Delta.Calls != nil {
		for _, c := range *choice.Delta.Calls {
			if err := a.call(c); err != nil {
				return err
			}
		}
	}
	if choice.Finish != nil {
		a.finish = *choice.Finish
	}
	return nil
}

// call adds a part to the call of its index. Servers that number nothing send
// whole calls, each with an id.
func (a *answer) call(c callPart) error {
	at := len(a.calls) - 1
	switch {
	case c.Index != nil:
		at = *c.Index
	case c.ID != nil && *c.ID != "":
		at = len(a.calls)
	}
	if at < 0 || at > len(a.calls) || at > bound.TurnRoundCalls.Int() {
		return errUnread
	}
	if at == len(a.calls) {
		a.calls = append(a.calls, &heardCall{})
	}
	h := a.calls[at]
	if c.ID != nil && *c.ID != "" {
		h.id = *c.ID
	}
	if c.Function.Name != nil {
		h.name += *c.Function.Name
	}
	if c.Function.Arguments != nil {
		h.arguments.WriteString(*c.Function.Arguments)
	}
	return nil
}

func (a *answer) whole() (conversation.Reply, error) {
	if a.finish == "" || (a.finish == "length" && len(a.calls) > 0) {
		return conversation.Reply{}, errCut
	}
	reply := conversation.Reply{Text: a.text.String(), Cut: a.finish == "length"}
	for _, c := range a.calls {
		arguments := c.arguments.String()
		if arguments == "" {
			arguments = "{}" // a tool without arguments may have none
		}
		reply.Calls = append(reply.Calls, conversation.Call{ID: c.id, Name: c.name, Arguments: arguments})
	}
	return reply, nil
}
