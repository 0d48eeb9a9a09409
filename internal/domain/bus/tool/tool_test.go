package tool_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/bus/describe"
	"github.com/stewardhost/steward/internal/domain/bus/tool"
	"github.com/stewardhost/steward/internal/domain/bus/topic"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

func TestWhatCannotBeImportedSaysWhy(t *testing.T) {
	for name, c := range map[string]tool.Claimed{
		"no name": {Input: "{}"}, "upper case": {Name: "Add", Input: "{}"}, "a point": {Name: "a.b", Input: "{}"}, "a wildcard": {Name: "*", Input: "{}"},
		"a long name": {Name: strings.Repeat("a", 65), Input: "{}"}, "no schema": {Name: "a"}, "no JSON": {Name: "a", Input: "{"}, "no object": {Name: "a", Input: "true"},
		"twice": {Name: "a", Input: `{"type":"object","type":"object"}`}, "a bad output": {Name: "a", Input: "{}", Output: new(string)},
		"long": {Name: "a", Input: `{"description":"` + strings.Repeat("x", 64<<10) + `"}`},
		"deep": {Name: "a", Input: strings.Repeat(`{"not":`, 40) + "{}" + strings.Repeat("}", 40)},
	} {
		if got := tool.Admit(c); got.Trouble == nil || got.Raw != nil || got.Name != c.Name {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := tool.Admit(tool.Claimed{Name: "a-b_0", Input: "{}"}); got.Trouble != nil || string(got.Raw) != `{"name":"a-b_0","inputSchema":{}}` {
		t.Errorf("%s, %v", got.Raw, got.Trouble)
	}
}

func TestResultsHaveTheShapeOfThePool(t *testing.T) {
	for name, c := range map[string]struct {
		chunks     []tool.Chunk
		structured string
		isError    bool
		want       string
		code       fault.Code
	}{
		"nothing":   {nil, "", false, `{"content":[],"isError":false}`, ""},
		"no bytes":  {[]tool.Chunk{{MimeType: "audio/wav", Blob: []byte{}}}, "", false, `{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}],"isError":false}`, ""},
		"a failure": {[]tool.Chunk{{Text: "no"}}, "", true, `{"content":[{"type":"text","text":"no"}],"isError":true}`, ""},
		"an object": {nil, `{"n":1.0}`, false, `{"content":[],"structuredContent":{"n":1.0},"isError":false}`, ""},
		"a program": {[]tool.Chunk{{MimeType: "text/html", Blob: []byte("x")}}, "", false, "", fault.InvalidRequest},
		"too long":  {[]tool.Chunk{{Text: strings.Repeat("x", 128<<10)}}, "", false, "", fault.TooLarge},
	} {
		var structured []byte
		if c.structured != "" {
			structured = []byte(c.structured)
		}
		got, err := tool.Shape(c.chunks, structured, c.isError)
		if c.code != "" && !fault.Is(err, c.code) || c.code == "" && (err != nil || string(got) != c.want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestAnAnswerCountsForItsQuestionAlone(t *testing.T) {
	p, other := topic.PrincipalOf(id.New[id.Owner]()), topic.PrincipalOf(id.New[id.Owner]())
	s, rival := topic.SourceOf("t", "a", ""), topic.SourceOf("t", "b", "")
	q := tool.Question{Principal: p, Source: s, ID: "q"}
	for _, c := range []struct {
		answer tool.Answer
		want   describe.Reason
	}{
		{tool.Answer{Principal: p, Source: s, ID: "q"}, ""},
		{tool.Answer{Principal: other, Source: s, ID: "q"}, describe.ForeignPrincipal},
		{tool.Answer{Principal: p, Source: rival, ID: "q"}, describe.UnknownSource},
		{tool.Answer{Principal: p, Source: s, ID: "q", Foreign: true}, describe.ForeignSuffix},
		{tool.Answer{Principal: p, Source: s, ID: "p"}, describe.StaleRound},
		{tool.Answer{}, describe.ForeignPrincipal},
	} {
		if got := q.Drop(c.answer); got != c.want {
			t.Errorf("%+v: %q, want %q", c.answer, got, c.want)
		}
	}
}
