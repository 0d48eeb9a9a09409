package answer

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/envelope"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func addLines(f *testing.F) {
	f.Helper()
	text, err := os.ReadFile("../envelope/testdata/lines.txt")
	if err != nil {
		f.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) < 20 {
		f.Fatalf("only %d seeds", len(lines))
	}
	for _, line := range lines {
		f.Add(line)
	}
}

// FuzzRead: a result is passed on only as a strict JSON object within its
// bounds, with content, standing in the line as it is; everything else says why.
func FuzzRead(f *testing.F) {
	addLines(f)
	f.Add([]byte(`{"jsonrpc":"2.0","id":0,"result":{"content":[],"Content":{}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m := envelope.Read(line)
		if !m.IsReply() {
			return
		}
		got := Read(Call, m).Event
		if got.Kind != invocation.Answered && got.Kind != invocation.ToolError {
			if got.Result != nil || got.Detail == "" && got.Kind != invocation.Rejected {
				t.Fatalf("%s with result %q and detail %q", got.Kind, got.Result, got.Detail)
			}
			return
		}
		var (
			whole = membersOf(t, got.Result)
			kind  *string
			bad   bool
			parts []map[string]json.RawMessage
		)
		for name, into := range map[string]any{"resultType": &kind, "isError": &bad, "content": &parts} {
			if raw := whole[name]; raw != nil && json.Unmarshal(raw, into) != nil {
				t.Fatalf("%s is %s", name, raw)
			}
		}
		typed := parts != nil || whole["structuredContent"] != nil
		for _, part := range parts {
			typed = typed && bytes.HasPrefix(part["type"], []byte(`"`))
		}
		if !typed || !bytes.Contains(line, got.Result) || len(got.Result) > bound.ResultBytes.Int() ||
			strictjson.Check(line, strictjson.Limits{}) != nil && strictjson.Check(got.Result, limits[Call]) != nil {
			t.Fatalf("passed on %s of %s", got.Result, line)
		}
	})
}

// FuzzPage: what is listed are the tools of the page, as they stand in it.
func FuzzPage(f *testing.F) {
	addLines(f)
	f.Add([]byte(`{"tools":[{},1,{"name":""}],"Tools":{},"NextCursor":1}`))
	f.Add([]byte(`{"tools":[{"name":"a"},{"name":"\u0062","x":[{}]}],"nextCursor":"n"}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		tools, cursor, err := Page(result)
		if err != nil {
			if tools != nil || cursor != nil {
				t.Fatalf("%v with %d tools and cursor %q", err, len(tools), cursor)
			}
			return
		}
		whole := membersOf(t, result)
		var want []json.RawMessage
		if err := json.Unmarshal(whole["tools"], &want); err != nil || len(want) != len(tools) {
			t.Fatalf("%d tools of %d, %v", len(tools), len(want), err)
		}
		for i, tool := range tools {
			taken := tool.Name != "" && bytes.Equal(tool.Raw, want[i])
			if refused := tool.Trouble != nil && tool.Raw == nil; taken == refused {
				t.Fatalf("tool %d is %q %s, %v, of %s", i, tool.Name, tool.Raw, tool.Trouble, want[i])
			}
		}
		if more := written(whole["nextCursor"]) != ""; more != (cursor != nil) {
			t.Fatalf("cursor %q of %s", cursor, result)
		}
	})
}

// FuzzContents: what was read is every part of the answer as it stands in it, each a
// text or a blob of its length, and never more than the bounds allow.
func FuzzContents(f *testing.F) {
	for _, seed := range []string{`{"contents":[{"uri":"a","text":"x"},{"uri":"b","mimeType":"m","blob":"AP8="}]}`, `{"contents":[]}`, `{"contents":[{"uri":"a","blob":"?"}]}`,
		`{"contents":[{"uri":"a","text":"x","blob":""}]}`, `{"contents":[{"uri":"\ud83d","text":"x"}]}`, `{"contents":{}}`, `{"resultType":"task","contents":[]}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, result []byte) {
		parts, err := Contents(Answer{Event: invocation.Event{Kind: invocation.Answered, Result: result}})
		if err != nil {
			if parts != nil {
				t.Fatalf("%v with %d parts", err, len(parts))
			}
			return
		}
		var want []map[string]json.RawMessage
		if json.Unmarshal(membersOf(t, result)["contents"], &want) != nil || len(want) != len(parts) {
			t.Fatalf("%d parts of %s", len(parts), result)
		}
		size := 0
		for i, w := range want {
			c := Content{URI: written(w["uri"]), MimeType: written(w["mimeType"]), Text: written(w["text"])}
			if len(w["text"]) == 0 || w["text"][0] != '"' {
				if json.Unmarshal(w["blob"], &c.Blob) != nil {
					t.Fatalf("%s is part %d", w["blob"], i)
				}
			}
			if !reflect.DeepEqual(parts[i], c) {
				t.Fatalf("part %d is %+v, want %+v", i, parts[i], c)
			}
			size += c.Bytes()
		}
		if bound.ReadChunks.Check(len(parts)) != nil || bound.ReadContentBytes.Check(size) != nil {
			t.Fatalf("%d parts of %d bytes", len(parts), size)
		}
	})
}

// membersOf reads an object with its names as they are written, which a struct would not.
func membersOf(t *testing.T, raw []byte) (all map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return all
}

// written is the text of a JSON string, or nothing.
func written(raw json.RawMessage) (text string) {
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Whatever the params are: what is passed on is part of them, and a number is one.
func FuzzProgress(f *testing.F) {
	for _, seed := range []string{`{"progressToken":1,"progress":0.5,"total":1,"message":"m"}`, `{"progress":-1e3,"progressToken":12}`,
		`{"progressToken":"1","progress":1}`, `{"progressToken":1,"progress":"1"}`, `{"progressToken":1,"progress":NaN}`, `{"progressToken":01,"progress":1}`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		request, p, ok := Progress(params)
		if !ok {
			if request != 0 || p.Done != nil || p.Total != nil || p.Message != nil {
				t.Fatalf("%q: refused with %d %v", params, request, p)
			}
			return
		}
		for _, part := range [][]byte{p.Done, p.Total, p.Message} {
			if !strings.Contains(string(params), string(part)) || len(part) > 1<<10 {
				t.Fatalf("%q gives %q", params, part)
			}
		}
		if request < 1 || strings.Trim(string(p.Done), "+-.eE0123456789") != "" || len(p.Done) == 0 {
			t.Fatalf("%q gives %d %q", params, request, p.Done)
		}
	})
}
