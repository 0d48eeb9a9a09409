// Package tool holds what capsules say about tools to their rules: a definition
// takes the form in which the pool imports tools, a result the form in which the
// pool records results, and an answer counts for the one question that it
// belongs to.
//
// A question goes to one capsule and waits for that capsule alone (bus page,
// section 2). What the hints of a definition come to, whether a schema fits the
// pool and whether a result fits the approved schema is decided there, as for
// every imported tool. Everything is a value.
package tool

import (
	"strings"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Claimed is one tool as its capsule describes it. Absent is nil.
type Claimed struct {
	Name        string
	Title       *string
	Description *string
	Input       string // JSON Schema
	Output      *string
	Hints       *Hints
}

// Hints are the capsule's claims about what a tool does.
type Hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitzero"`
	Destructive *bool `json:"destructiveHint,omitzero"`
	Idempotent  *bool `json:"idempotentHint,omitzero"`
	OpenWorld   *bool `json:"openWorldHint,omitzero"`
}

// Definition is one tool in the form of an MCP listing, or why it has none.
type Definition struct {
	Name    string
	Raw     strictjson.Raw
	Trouble *fault.Fault
}

var schemaLimits = strictjson.Limits{Bytes: bound.ToolBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes}

// Admit gives a tool the form of an MCP listing, so that the importer sees it as
// every other tool. What is wrong with it is its Trouble.
func Admit(c Claimed) Definition {
	out := Definition{Name: c.Name}
	if _, err := topic.ToExecute(topic.Broker(), c.Name); err != nil {
		out.Trouble = fault.New(fault.InvalidRequest, "the name of a capsule's tool is of a-z, 0-9, _ and -, at most 64")
		return out
	}
	input, err := schema(c.Input)
	var output strictjson.Raw
	if err == nil && c.Output != nil {
		output, err = schema(*c.Output)
	}
	if err == nil {
		out.Raw, err = strictjson.Encode(struct {
			Name        string         `json:"name"`
			Title       *string        `json:"title,omitzero"`
			Description *string        `json:"description,omitzero"`
			Input       strictjson.Raw `json:"inputSchema"`
			Output      strictjson.Raw `json:"outputSchema,omitzero"`
			Hints       *Hints         `json:"annotations,omitzero"`
		}{c.Name, c.Title, c.Description, input, output, c.Hints})
	}
	if err == nil {
		err = bound.ToolBytes.Check(len(out.Raw))
	}
	if err != nil {
		out.Raw, out.Trouble = nil, fault.From(err)
	}
	return out
}

func schema(text string) (strictjson.Raw, error) {
	v, err := strictjson.Parse([]byte(text), schemaLimits)
	if err == nil && v.Kind != strictjson.Object {
		err = fault.New(fault.InvalidRequest, "a schema is an object")
	}
	if err != nil {
		return nil, err
	}
	return v.Append(nil), nil // without white space
}

// Chunk is one part of a result: text, or bytes of a kind.
type Chunk struct {
	Text     string
	MimeType string
	Blob     []byte // nil for text; not nil, and possibly empty, for a blob
}

type block struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitzero"`
	Data     *[]byte `json:"data,omitzero"`
	MimeType string  `json:"mimeType,omitzero"`
}

// Shape gives a result the form of MCP's, within bound.ResultBytes. Faults:
// too_large, or invalid_request for a blob that is neither picture nor sound.
func Shape(chunks []Chunk, structured strictjson.Raw, isError bool) (strictjson.Raw, error) {
	blocks := make([]block, 0, len(chunks))
	for _, c := range chunks {
		kind, _, _ := strings.Cut(c.MimeType, "/")
		switch {
		case c.Blob == nil:
			blocks = append(blocks, block{Type: "text", Text: &c.Text})
		case kind == "image" || kind == "audio":
			blocks = append(blocks, block{Type: kind, Data: &c.Blob, MimeType: c.MimeType})
		default:
			return nil, fault.New(fault.InvalidRequest, "a blob of a result is of type image/... or audio/...")
		}
	}
	raw, err := strictjson.Encode(struct {
		Content    []block        `json:"content"`
		Structured strictjson.Raw `json:"structuredContent,omitzero"`
		IsError    bool           `json:"isError"`
	}{blocks, structured, isError})
	if err != nil {
		return nil, err
	}
	return raw, bound.ResultBytes.Check(len(raw))
}

// Question is what one capsule was asked, under a name that nobody can guess.
type Question struct {
	Principal topic.Principal
	Source    topic.Source
	ID        string
	Life      int64 // of the capsule that a call is for; another life of it is not told of the call
}

// Answer is what came back from somebody. Err says that it could not be read.
type Answer struct {
	Principal topic.Principal // of the subject
	Source    topic.Source    // of the subject
	ID        string          // of the question that it means
	Foreign   bool            // it stands under a name that is not its own
	Tools     []Definition    // of a question for tools
	Result    strictjson.Raw  // of a call
	IsError   bool
	Lost      bool // the capsule's adapter says that there will be no answer
	Unsent    bool // and that the capsule was not told of the call
	Err       error
}

// Drop says why an answer does not count for a question, or nothing if it does.
func (q Question) Drop(a Answer) describe.Reason {
	switch {
	case a.Principal != q.Principal:
		return describe.ForeignPrincipal
	case a.Source != q.Source:
		return describe.UnknownSource
	case a.Foreign:
		return describe.ForeignSuffix
	case a.ID != q.ID:
		return describe.StaleRound
	}
	return ""
}
