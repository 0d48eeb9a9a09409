// Package anthropic asks a model over the Messages form of a stream.
//
// It promises that a reply is whole: a stream that ends without its last event is
// a fault, and so is one that stops in the middle of a call. Bounds and faults are
// those of eventstream. A Model is safe for concurrent use.
package anthropic

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

// DefaultBase is where the vendor answers.
const DefaultBase = "https://api.anthropic.com"

const (
	apiVersion = "2026-10-21"
	maxTokens  = 8192 // of one answer; the form demands a number
)

// Model is one model at one endpoint.
type Model struct {
	client *eventstream.Client
	name   string
}

// New returns a model.
func New(base, name string, key secret.Secret) (*Model, error) {
	client, err := eventstream.New(base, "/v1/messages", http.Header{"Anthropic-Version": {apiVersion}}, "X-Api-Key", "", key)
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
	a := answer{delta: delta}
	for !a.over {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return conversation.Reply{}, errCut
		}
		if err != nil {
			return conversation.Reply{}, err
		}
		if err := a.add(e.Data); err != nil {
			return conversation.Reply{}, err
		}
	}
	return a.whole()
}

// event is every event of the form; which members it has, its type says.
type event struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Block struct {
		Type  string         `json:"type"`
		ID    string         `json:"id"`
		Name  string         `json:"name"`
		Text  string         `json:"text"`
		Input strictjson.Raw `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type string  `json:"type"`
		Text string  `json:"text"`
		JSON string  `json:"partial_json"`
		Stop *string `json:"stop_reason"`
	} `json:"delta"`
	Error strictjson.Raw `json:"error"`
}

var (
	errUnread = fault.New(fault.UpstreamFailed, "the model's answer cannot be read")
	errCut    = fault.New(fault.UpstreamFailed, "the model's answer ended before it was whole")
	errSaid   = fault.New(fault.UpstreamFailed, "the model gave up in the middle of its answer")
)

// answer puts the blocks together.
type answer struct {
	delta func(string) error
	text  strings.Builder
	calls []*heardCall
	stop  string
	over  bool
}

type heardCall struct {
	block     int
	id, name  string
	whole     string // arguments that came with the block; parts take their place
	arguments strings.Builder
	closed    bool
}

func (a *answer) add(data []byte) error {
	var e event
	if err := strictjson.DecodeReply(data, strictjson.Limits{Bytes: bound.ModelEventBytes}, &e); err != nil {
		return errUnread.Because(err)
	}
	switch e.Type {
	case "content_block_start":
		return a.begin(e)
	case "content_block_delta":
		return a.grow(e)
	case "content_block_stop":
		if c := a.at(e.Index); c != nil {
			c.closed = true
		}
	case "message_delta":
		if e.Delta.Stop != nil {
			a.stop = *e.Delta.Stop
		}
	case "message_stop":
		a.over = true
	case "error":
		return errSaid.Because(errors.New(secret.Mask(string(e.Error))))
	}
	return nil
}

func (a *answer) begin(e event) error {
	switch e.Block.Type {
	case "tool_use":
		if len(a.calls) > bound.TurnRoundCalls.Int() {
			return errUnread
		}
		a.calls = append(a.calls, &heardCall{block: e.Index, id: e.Block.ID, name: e.Block.Name, whole: string(e.Block.Input)})
	case "text":
		return a.say(e.Block.Text)
	}
	return nil
}

func (a *answer) grow(e event) error {
	switch e.Delta.Type {
	case "text_delta":
		return a.say(e.Delta.Text)
	case "input_json_delta":
		c := a.at(e.Index)
		if c == nil || c.closed {
			return errUnread
		}
		c.arguments.WriteString(e.Delta.JSON)
	}
	return nil
}

func (a *answer) say(text string) error {
	if text == "" {
		return nil
	}
	a.text.WriteString(text)
	return a.delta(text)
}

func (a *answer) at(block int) *heardCall {
	for _, c := range a.calls {
		if c.block == block {
			return c
		}
	}
	return nil
}

func (a *answer) whole() (conversation.Reply, error) {
	cut := a.stop == "max_tokens" || a.stop == "model_context_window_exceeded"
	if a.stop == "" || cut && len(a.calls) > 0 {
		return conversation.Reply{}, errCut
	}
	reply := conversation.Reply{Text: a.text.String(), Cut: cut}
	for _, c := range a.calls {
		if !c.closed {
			return conversation.Reply{}, errCut
		}
		arguments := c.arguments.String()
		if arguments == "" {
			arguments = c.whole
		}
		if arguments == "" {
			arguments = "{}"
		}
		reply.Calls = append(reply.Calls, conversation.Call{ID: c.id, Name: c.name, Arguments: arguments})
	}
	return reply, nil
}
