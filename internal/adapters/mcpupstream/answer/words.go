package answer

import (
	"strings"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

type said struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured strictjson.Raw `json:"structuredContent"`
}

// Words are what a model reads of a tool's result: its texts and the names of what
// else there is, or its structured part where there is nothing of these.
func Words(result []byte) string {
	var s said
	if err := strictjson.DecodeReply(result, strictjson.Limits{Bytes: bound.ResultBytes}, &s); err != nil {
		return string(result)
	}
	var parts []string
	for _, c := range s.Content {
		if c.Type == "text" {
			parts = append(parts, c.Text)
		} else {
			parts = append(parts, "["+c.Type+"]")
		}
	}
	if len(parts) == 0 && len(s.Structured) > 0 {
		return string(s.Structured)
	}
	return strings.Join(parts, "\n")
}
