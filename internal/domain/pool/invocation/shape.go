package invocation

import (
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Result is a tool's result as it is recorded and passed on: the content blocks
// and the structured content byte for byte, and whether the structured content
// was held against the approved output schema (pool page, section 5).
type Result struct {
	Content    strictjson.Raw `json:"content"`
	Structured strictjson.Raw `json:"structuredContent,omitzero"`
	IsError    bool           `json:"isError"`
	Validated  bool           `json:"validated"`
}

var resultLimits = strictjson.Limits{Bytes: bound.ResultBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes}

// Shape turns the raw result of an answered call into the recorded form. With an
// output schema the structured content must be there and fit; without one, only
// the content is kept. What does not fit makes the call a doubt, since the
// effect may have happened.
func Shape(e Event, output *schema.Schema) Event {
	if e.Kind != Answered && e.Kind != ToolError {
		return e
	}
	members, err := strictjson.Members(e.Result, resultLimits)
	if err != nil {
		return Event{Kind: InvalidAnswer, Detail: "the result is not an object within the bounds"}
	}
	r := Result{Content: strictjson.Raw("[]"), IsError: e.Kind == ToolError}
	if content, ok := members["content"]; ok {
		r.Content = content
	}
	if r.Content[0] != '[' {
		return Event{Kind: InvalidAnswer, Detail: "the result's content is not a list"}
	}
	if structured, ok := members["structuredContent"]; output != nil && !r.IsError {
		if !ok || !fits(structured, output) {
			return Event{Kind: InvalidAnswer, Detail: "the structured content does not fit the approved output schema"}
		}
		r.Structured, r.Validated = structured, true
	}
	if e.Result, err = strictjson.Encode(r); err != nil {
		return Event{Kind: InvalidAnswer, Detail: "the result cannot be recorded"}
	}
	return e
}

func fits(raw []byte, output *schema.Schema) bool {
	v, err := strictjson.Parse(raw, resultLimits)
	return err == nil && output.Check(v) == nil
}
