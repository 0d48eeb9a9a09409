package capsule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stewardhost/steward/protocol/capsulewire"
)

// Tool is one thing to do. Name (of a-z, 0-9, _ and -, at most 64), Input and Call
// are required.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       string // JSON Schema of the arguments, an object
	Output      string // JSON Schema of Result.Structured, or empty if there is none
	Does        Does
	// Call executes the tool with arguments that fit what the owner approved of
	// Input. An error is told to the app as a failed call, so its text must be fit
	// for that. A program that ends here leaves a call of which nobody knows
	// whether it happened; the host never sends it again.
	Call func(ctx context.Context, who Caller, arguments json.RawMessage) (Result, error)
}

// Does says what a tool does, as a proposal to the owner: the zero value is a tool
// that changes something of the capsule's own.
type Does struct {
	OnlyReads bool // changes nothing
	Destroys  bool // what it changes cannot be brought back
	Reaches   bool // speaks with the world outside of this machine
}

// Result is what came of a call.
type Result struct {
	Contents   []ToolContent
	Structured any // a value that encodes as a JSON object within Output; nil for none
}

// ToolContent is one chunk of a Result. Use Say or Show.
type ToolContent = capsulewire.ToolContents

// Say is a chunk of text.
func Say(text string) ToolContent { return ToolContent{Text: &capsulewire.ToolText{Text: text}} }

// Show is a picture or a sound; the type is image/... or audio/...
func Show(mimeType string, bytes []byte) ToolContent {
	return ToolContent{Blob: &capsulewire.ToolBlob{MimeType: mimeType, Blob: append([]byte{}, bytes...)}}
}

func (t Tool) definition() capsulewire.ToolDefinition {
	changes := !t.Does.OnlyReads
	destroys := changes && t.Does.Destroys
	return capsulewire.ToolDefinition{Name: t.Name, Title: optional(t.Title), Description: optional(t.Description),
		InputSchema: t.Input, OutputSchema: optional(t.Output),
		Annotations: &capsulewire.ToolAnnotations{ReadOnly: &t.Does.OnlyReads, Destructive: &destroys, OpenWorld: &t.Does.Reaches}}
}

// checkTools finds at the start what would only be found by a call.
func checkTools(tools []Tool) error {
	known := map[string]bool{}
	for _, t := range tools {
		switch {
		case t.Name == "" || len(t.Name) > 64 || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
			return fmt.Errorf("capsule: the name of the tool %q is not of a-z, 0-9, _ and -, at most 64", t.Name)
		case known[t.Name]:
			return fmt.Errorf("capsule: there are two tools %s", t.Name)
		case t.Call == nil:
			return fmt.Errorf("capsule: the tool %s has no Call", t.Name)
		case !isObject(t.Input) || t.Output != "" && !isObject(t.Output):
			return fmt.Errorf("capsule: a schema of the tool %s is not a JSON object", t.Name)
		}
		known[t.Name] = true
	}
	return nil
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

func (s *server) tools() capsulewire.ToolsResponse {
	list := make([]capsulewire.ToolDefinition, len(s.capsule.Tools))
	for i, t := range s.capsule.Tools {
		list[i] = t.definition()
	}
	return capsulewire.ToolsResponse{Tools: list}
}

// execute runs a tool. Every call of it is answered: who asked must not be left to
// wonder whether it happened.
func (s *server) execute(ctx context.Context, name string, payload capsulewire.Raw) (capsulewire.ExecuteResponse, error) {
	q, err := capsulewire.DecodeExecute(payload)
	if err != nil {
		return capsulewire.ExecuteResponse{}, err
	}
	r, err := s.call(ctx, name, q.Arguments)
	out := capsulewire.ExecuteResponse{CallID: q.CallID, Contents: r.Contents}
	if err == nil && r.Structured != nil {
		var raw []byte
		if raw, err = json.Marshal(r.Structured); err == nil && !isObject(string(raw)) {
			err = errors.New("the structured result is not an object")
		}
		out.Structured = raw
	}
	if err == nil {
		_, err = capsulewire.Encode(out) // a result that is too long is a failure that can be told
	}
	if err != nil {
		out.IsError, out.Structured, out.Contents = true, nil, []ToolContent{Say(err.Error())}
	}
	return out, nil
}

func (s *server) call(ctx context.Context, name string, arguments []byte) (Result, error) {
	for _, t := range s.capsule.Tools {
		if t.Name == name {
			return t.Call(ctx, s.who, arguments)
		}
	}
	return Result{}, errors.New("the capsule has no tool " + name)
}
