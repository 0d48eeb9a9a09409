package natsbus

import (
	"fmt"
	"time"

	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

// AskTools asks one capsule which tools it has. The answer comes to the listener.
func (b *Bus) AskTools(q tool.Question, deadline time.Time) error {
	t, err := topic.ToTools(q.Source)
	if err != nil {
		return err
	}
	_, err = b.put(q.Principal, t, envelope{Round: q.ID}, deadline, capsulewire.ToolsRequest{})
	return err
}

// argumentLimits leave room for what stands around arguments on their way.
var argumentLimits = strictjson.Limits{Bytes: bound.CapsuleBytes, Nodes: bound.RequestNodes, Depth: bound.CapsuleArguments}

// Execute tells one capsule to execute a tool, and publishes one message for it at
// most. sent reports whether it may have gone out; the answer, if there will be
// one, comes to the listener.
func (b *Bus) Execute(q tool.Question, name string, arguments []byte, deadline time.Time) (sent bool, err error) {
	t, err := topic.ToExecute(q.Source, name)
	if err == nil {
		err = strictjson.Check(arguments, argumentLimits)
	}
	if err != nil {
		return false, err
	}
	return b.put(q.Principal, t, envelope{Round: q.ID, Life: q.Life}, deadline, capsulewire.ExecuteRequest{CallID: q.ID, Arguments: arguments})
}

// aboutTools turns an answer into the value that the rules are about.
func aboutTools(s topic.Subject, e envelope, err error) tool.Answer {
	a := tool.Answer{Principal: s.Principal, Source: s.Source, ID: e.Round, Err: err}
	suffix, listing := s.Topic.After(topic.ToolsResponse)
	call, called := s.Topic.After(topic.Executed)
	switch {
	case called:
		a.ID = call
	case !listing:
		a.Foreign = true
	}
	switch {
	case err != nil || a.Foreign:
	case e.Lost != "":
		a.Foreign, a.Lost, a.Unsent = called && e.Round != call, true, e.Lost == lostUnsent
	case listing:
		a.Foreign = suffix != s.Source.String()
		a.Tools, a.Err = toolsOf(e.Payload)
	default:
		a.Foreign = e.Round != call
		a.Result, a.IsError, a.Err = resultOf(call, e.Payload)
	}
	return a
}

func toolsOf(payload []byte) (out []tool.Definition, err error) {
	list, err := capsulewire.DecodeTools(payload)
	for i, one := range list {
		if one.Err != nil { // no tool can have such a name
			out = append(out, tool.Definition{Name: fmt.Sprintf("malformed %d", i+1), Trouble: fault.From(one.Err)})
			continue
		}
		c := tool.Claimed{Name: one.Name, Title: one.Title, Description: one.Description, Input: one.InputSchema, Output: one.OutputSchema}
		if h := one.Annotations; h != nil {
			c.Hints = &tool.Hints{ReadOnly: h.ReadOnly, Destructive: h.Destructive, Idempotent: h.Idempotent, OpenWorld: h.OpenWorld}
		}
		out = append(out, tool.Admit(c))
	}
	return out, err
}

func resultOf(call string, payload []byte) (strictjson.Raw, bool, error) {
	r, err := capsulewire.DecodeExecuted(payload)
	if err != nil {
		return nil, false, err
	}
	if r.CallID != call {
		return nil, false, fault.New(fault.InvalidRequest, "the answer names another call")
	}
	var chunks []tool.Chunk
	for _, c := range r.Contents {
		if c.Text != nil {
			chunks = append(chunks, tool.Chunk{Text: c.Text.Text})
		} else {
			chunks = append(chunks, tool.Chunk{MimeType: c.Blob.MimeType, Blob: append([]byte{}, c.Blob.Blob...)})
		}
	}
	raw, err := tool.Shape(chunks, r.Structured, r.IsError)
	return raw, r.IsError, err
}
