package capsulewire

import (
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// ToolsRequest asks a capsule which tools it has. It is empty, as DescribeRequest.
type ToolsRequest struct{}

// ToolsResponse is the capsule's answer.
type ToolsResponse struct {
	Tools []ToolDefinition `json:"tools,omitzero"` // at most bound.CapsuleTools
}

// ToolDefinition is one tool. The schemas are JSON Schema documents, as text.
type ToolDefinition struct {
	Name         string           `json:"name"` // [a-z0-9_-]{1,64}
	Title        *string          `json:"title,omitzero"`
	Description  *string          `json:"description,omitzero"`
	InputSchema  string           `json:"input-schema"`
	OutputSchema *string          `json:"output-schema,omitzero"`
	Annotations  *ToolAnnotations `json:"annotations,omitzero"`
}

// ToolAnnotations are the capsule's claims about a tool. They propose effect
// classes to the owner and are never authority.
type ToolAnnotations struct {
	ReadOnly    *bool `json:"read-only,omitzero"`
	Destructive *bool `json:"destructive,omitzero"`
	Idempotent  *bool `json:"idempotent,omitzero"`
	OpenWorld   *bool `json:"open-world,omitzero"`
}

// ExecuteRequest tells one capsule to execute a tool, which the topic names. It is
// sent at most once.
type ExecuteRequest struct {
	CallID    string `json:"call-id"`
	Arguments Raw    `json:"arguments"` // a JSON object within the approved input schema
}

// ExecuteResponse is what came of it. With IsError the tool failed, and says how in
// its contents; Structured is then left out.
type ExecuteResponse struct {
	CallID     string         `json:"call-id"`
	Contents   []ToolContents `json:"contents,omitzero"`   // at most bound.ReadChunks
	Structured Raw            `json:"structured,omitzero"` // a JSON object within the approved output schema
	IsError    bool           `json:"is-error"`
}

// ToolContents is one chunk of a result: exactly one of the two arms is there.
type ToolContents struct {
	Text *ToolText `json:"text,omitzero"`
	Blob *ToolBlob `json:"blob,omitzero"`
}

// ToolText is a chunk of text.
type ToolText struct {
	Text string `json:"text"`
}

// ToolBlob is a picture or a sound.
type ToolBlob struct {
	MimeType string `json:"mime-type"` // image/... or audio/...
	Blob     []byte `json:"blob"`      // on the wire base64, RFC 4648 section 4, padded
}

// Tool is one tool of a reply, or why it could not be read.
type Tool struct {
	ToolDefinition
	Err error
}

// DecodeTools reads the answer to a question for tools, one by one, so that one
// that is malformed spoils no other.
func DecodeTools(raw []byte) ([]Tool, error) {
	var list struct {
		Tools []Raw `json:"tools"`
	}
	if err := strictjson.Decode(raw, payload, &list); err != nil {
		return nil, err
	}
	if err := bound.CapsuleTools.Check(len(list.Tools)); err != nil {
		return nil, err
	}
	out := make([]Tool, len(list.Tools))
	for i, one := range list.Tools {
		if err := required(one, "name", "input-schema"); err != nil {
			out[i].Err = err
		} else if err := strictjson.Decode(one, payload, &out[i].ToolDefinition); err != nil {
			out[i] = Tool{Err: err}
		}
	}
	return out, nil
}

// DecodeExecute reads a call, on the capsule's side.
func DecodeExecute(raw []byte) (ExecuteRequest, error) {
	var r ExecuteRequest
	if err := strictjson.Decode(raw, payload, &r); err != nil {
		return ExecuteRequest{}, err
	}
	if r.Arguments.Kind() != '{' {
		return ExecuteRequest{}, fault.New(fault.InvalidRequest, "arguments are an object")
	}
	return r, required(raw, "call-id", "arguments")
}

// DecodeExecuted reads the answer to a call.
func DecodeExecuted(raw []byte) (ExecuteResponse, error) {
	var r struct {
		CallID     string `json:"call-id"`
		Contents   []Raw  `json:"contents"`
		Structured Raw    `json:"structured"`
		IsError    bool   `json:"is-error"`
	}
	if err := strictjson.Decode(raw, payload, &r); err != nil {
		return ExecuteResponse{}, err
	}
	if err := required(raw, "call-id", "is-error"); err != nil {
		return ExecuteResponse{}, err
	}
	if r.Structured != nil && r.Structured.Kind() != '{' {
		return ExecuteResponse{}, fault.New(fault.InvalidRequest, "structured content is an object")
	}
	if err := bound.ReadChunks.Check(len(r.Contents)); err != nil {
		return ExecuteResponse{}, err
	}
	out := ExecuteResponse{CallID: r.CallID, Structured: r.Structured, IsError: r.IsError}
	for _, one := range r.Contents {
		c, err := decodeToolContents(one)
		if err != nil {
			return ExecuteResponse{}, err
		}
		out.Contents = append(out.Contents, c)
	}
	return out, nil
}

func decodeToolContents(raw Raw) (ToolContents, error) {
	arms, err := strictjson.Members(raw, payload)
	if err != nil {
		return ToolContents{}, err
	}
	var c ToolContents
	if err := strictjson.Decode(raw, payload, &c); err != nil {
		return ToolContents{}, err
	}
	switch {
	case len(arms) != 1:
		err = fault.New(fault.InvalidRequest, "contents have one arm, text or blob")
	case c.Text != nil:
		err = required(arms["text"], "text")
	case c.Blob != nil:
		err = required(arms["blob"], "mime-type", "blob")
	default:
		err = fault.New(fault.InvalidRequest, "an arm of contents is an object")
	}
	if err != nil {
		return ToolContents{}, err
	}
	return c, nil
}
