package capsulewire_test

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/capsulewire"
)

const full = `{"uri":"n:a","name":"a","title":"A","description":"d","mime-type":"text/plain","size":4294967295,` +
	`"annotations":{"audience":["user","assistant"],"priority":0.5,"last-modified":"2026-11-30"},` +
	`"icons":[{"src":"https://a/b","mime-type":"image/png","sizes":["any"],"theme":"dark"}],"meta":"{\"a\":1}"}`

func TestOneBadResourceSpoilsNoOther(t *testing.T) {
	bad := map[string]string{
		"unknown member": `{"uri":"n:a","name":"a","x":1}`, "wrong case": `{"URI":"n:a","name":"a"}`, "no uri": `{"name":"a"}`, "no name": `{"uri":"n:a"}`,
		"null": `{"uri":"n:a","name":"a","title":null}`, "size over u32": `{"uri":"n:a","name":"a","size":4294967296}`, "negative size": `{"uri":"n:a","name":"a","size":-1}`,
		"wrong type": `{"uri":1,"name":"a"}`, "no object": `[]`, "text": `"n:a"`, "endless priority": `{"uri":"n:a","name":"a","annotations":{"priority":1e999}}`,
	}
	for name, one := range bad {
		got, err := capsulewire.DecodeDescribe([]byte(`{"resources":[` + one + `,` + full + `]}`))
		if err != nil || len(got) != 2 || got[0].Err == nil || got[0].URI != "" || got[1].Err != nil || got[1].URI != "n:a" || *got[1].Size != 4294967295 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestDescribeRefusesWhatIsNoReply(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want fault.Code
	}{
		"empty": {``, fault.InvalidRequest}, "array": {`[]`, fault.InvalidRequest}, "twice": {`{"resources":[],"resources":[]}`, fault.InvalidRequest},
		"unknown": {`{"resources":[],"next":1}`, fault.InvalidRequest}, "nan": {`{"resources":[{"uri":"n:a","name":"a","annotations":{"priority":NaN}}]}`, fault.InvalidRequest},
		"twice inside": {`{"resources":[{"uri":"n:a","uri":"n:b","name":"a"}]}`, fault.InvalidRequest}, "null": {`{"resources":null}`, fault.InvalidRequest},
		"257":         {`{"resources":[` + strings.Repeat(`{},`, 256) + `{}]}`, fault.TooLarge},
		"over a MiB":  {`{"resources":[` + full + strings.Repeat(" ", 1<<20) + `]}`, fault.TooLarge},
		"deep":        {`{"resources":[` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `]}`, fault.InvalidRequest},
		"after it":    {`{"resources":[]}{}`, fault.InvalidRequest},
		"not UTF-8":   {"{\"resources\":[\"\xff\"]}", fault.InvalidRequest},
		"a surrogate": {`{"resources":["\ud800"]}`, fault.InvalidRequest},
	} {
		if got, err := capsulewire.DecodeDescribe([]byte(c.raw)); !fault.Is(err, c.want) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := capsulewire.DecodeDescribe([]byte(`{}`)); err != nil || len(got) != 0 {
		t.Errorf("a capsule that serves nothing: %v, %v", got, err)
	}
}

const aTool = `{"name":"add","title":"Add","description":"d","input-schema":"{}","output-schema":"{}",` +
	`"annotations":{"read-only":true,"destructive":false,"idempotent":true,"open-world":false}}`

func TestOneBadToolSpoilsNoOther(t *testing.T) {
	for name, one := range map[string]string{
		"unknown member": `{"name":"a","input-schema":"{}","x":1}`, "no name": `{"input-schema":"{}"}`, "no schema": `{"name":"a"}`, "null": `{"name":"a","input-schema":"{}","title":null}`,
		"a schema in its place": `{"name":"a","input-schema":{}}`, "no object": `1`, "twice": `{"name":"a","input-schema":"{}","annotations":{"read-only":1}}`,
	} {
		got, err := capsulewire.DecodeTools([]byte(`{"tools":[` + one + `,` + aTool + `]}`))
		if err != nil || len(got) != 2 || got[0].Err == nil || got[0].Name != "" || got[1].Err != nil || got[1].Name != "add" || !*got[1].Annotations.ReadOnly {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := capsulewire.DecodeTools([]byte(`{"tools":[` + strings.Repeat(`{},`, 64) + `{}]}`)); !fault.Is(err, fault.TooLarge) || got != nil {
		t.Errorf("65 tools: %v, %v", got, err)
	}
}

func TestAnswersToCalls(t *testing.T) {
	text := `{"text":{"text":"x"}}`
	for name, c := range map[string]struct {
		raw  string
		want fault.Code
	}{
		"all": {`{"call-id":"c","contents":[` + text + `,{"blob":{"mime-type":"image/png","blob":""}}],"structured":{},"is-error":false}`, ""}, "the least": {`{"call-id":"c","is-error":true}`, ""},
		"no id": {`{"is-error":true}`, fault.InvalidRequest}, "no word": {`{"call-id":"c"}`, fault.InvalidRequest}, "both arms": {`{"call-id":"c","is-error":false,"contents":[{"text":{"text":"x"},"blob":{"mime-type":"a/b","blob":""}}]}`, fault.InvalidRequest},
		"no arm": {`{"call-id":"c","is-error":false,"contents":[{}]}`, fault.InvalidRequest}, "an array": {`{"call-id":"c","is-error":false,"structured":[]}`, fault.InvalidRequest},
		"null": {`{"call-id":"c","is-error":false,"structured":null}`, fault.InvalidRequest}, "no type": {`{"call-id":"c","is-error":false,"contents":[{"blob":{"blob":""}}]}`, fault.InvalidRequest},
		"unknown": {`{"call-id":"c","is-error":false,"x":1}`, fault.InvalidRequest}, "65 chunks": {`{"call-id":"c","is-error":false,"contents":[` + strings.Repeat(text+`,`, 64) + text + `]}`, fault.TooLarge},
	} {
		if _, err := capsulewire.DecodeExecuted([]byte(c.raw)); code(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for raw, want := range map[string]fault.Code{
		`{"call-id":"c","arguments":{}}`: "", `{"call-id":"c","arguments":[]}`: fault.InvalidRequest, `{"call-id":"c"}`: fault.InvalidRequest, `{"arguments":{}}`: fault.InvalidRequest,
	} {
		if _, err := capsulewire.DecodeExecute([]byte(raw)); code(err) != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// The frames that authors read are frames.
func TestTheFramesOfTheAuthorsPageAreTaken(t *testing.T) {
	page, err := os.ReadFile("../../docs/capsules.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range regexp.MustCompile(`(?m)^(host|capsule) +(\{.*\})`).FindAllStringSubmatch(string(page), -1) {
		seen++
		if m[1] == "host" {
			_, err = capsulewire.DecodeHostFrame([]byte(m[2]))
		} else {
			_, err = capsulewire.DecodeCapsuleFrame([]byte(m[2]))
		}
		if err != nil {
			t.Errorf("%s: %v", m[2], err)
		}
	}
	if seen != 11 {
		t.Errorf("%d frames", seen)
	}
}

func TestReadAnswers(t *testing.T) {
	chunk := `{"text":{"uri":"n:a","text":"x"}}`
	blob := func(n int) string { return `{"blob":{"uri":"n:a","blob":"` + strings.Repeat("AAAA", n/3) + `"}}` }
	for name, c := range map[string]struct {
		raw  string
		want fault.Code
	}{
		"text": {`{"uri":"n:a","contents":[` + chunk + `]}`, ""}, "error": {`{"uri":"n:a","error":"no"}`, ""}, "error and an empty list": {`{"uri":"n:a","contents":[],"error":"no"}`, ""},
		"misleading type": {`{"uri":"n:a","contents":[{"text":{"uri":"n:a","text":"x","mime-type":"image/png"}},{"blob":{"uri":"n:a","blob":"eA==","mime-type":"text/plain"}}]}`, ""},
		"64 chunks":       {`{"uri":"n:a","contents":[` + strings.Repeat(chunk+",", 63) + chunk + `]}`, ""},
		"65 chunks":       {`{"uri":"n:a","contents":[` + strings.Repeat(chunk+",", 64) + chunk + `]}`, fault.TooLarge},
		"at the cap":      {`{"uri":"n:a","contents":[` + blob(524286) + `,{"text":{"uri":"n:a","text":"xx"}}]}`, ""},
		"one byte over":   {`{"uri":"n:a","contents":[` + blob(524286) + `,{"text":{"uri":"n:a","text":"xxx"}}]}`, fault.TooLarge},
		"both":            {`{"uri":"n:a","contents":[` + chunk + `],"error":"no"}`, fault.InvalidRequest},
		"no uri":          {`{"contents":[]}`, fault.InvalidRequest}, "two arms": {`{"uri":"n:a","contents":[{"text":{"uri":"n:a","text":"x"},"blob":{"uri":"n:a","blob":""}}]}`, fault.InvalidRequest},
		"no arm": {`{"uri":"n:a","contents":[{}]}`, fault.InvalidRequest}, "null arm": {`{"uri":"n:a","contents":[{"text":null}]}`, fault.InvalidRequest},
		"other arm": {`{"uri":"n:a","contents":[{"link":{}}]}`, fault.InvalidRequest}, "no text": {`{"uri":"n:a","contents":[{"text":{"uri":"n:a"}}]}`, fault.InvalidRequest},
		"bad base64": {`{"uri":"n:a","contents":[{"blob":{"uri":"n:a","blob":"@"}}]}`, fault.InvalidRequest}, "unpadded": {`{"uri":"n:a","contents":[{"blob":{"uri":"n:a","blob":"eA"}}]}`, fault.InvalidRequest},
	} {
		got, err := capsulewire.DecodeRead([]byte(c.raw))
		if code := code(err); code != c.want || err != nil && (got.URI != "" || got.Contents != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFramesHaveOneFormEach(t *testing.T) {
	for line, ok := range map[string]bool{
		`{"type":"ready"}`: true, `{"type":"reply","id":"1","payload":{}}`: true, `{"type":"silent","id":"1"}`: true,
		`{"type":"ready","id":"1"}`: false, `{"type":"reply","id":"1"}`: false, `{"type":"reply","payload":{}}`: false, `{"type":"silent"}`: false,
		`{"type":"publish","id":"1","payload":{}}`: false, `{"type":"reply","id":"1","payload":{},"principal":"x"}`: false, ``: false, `null`: false,
	} {
		if _, err := capsulewire.DecodeCapsuleFrame([]byte(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, ok := range map[string]bool{
		`{"type":"hello","version":1,"principal":"p","capsule":"c"}`: true, `{"type":"hello","version":2,"principal":"p"}`: false, `{"type":"hello","version":1}`: false,
		`{"type":"request","id":"1","topic":"t","deadline-ms":5,"payload":{}}`: true, `{"type":"request","id":"1","payload":{}}`: false, `{"type":"cancel","id":"1"}`: true, `{"type":"cancel"}`: false,
	} {
		if _, err := capsulewire.DecodeHostFrame([]byte(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := capsulewire.EncodeFrame(capsulewire.CapsuleFrame{Type: capsulewire.Reply, ID: "1", Payload: []byte(fmt.Sprintf("%q", strings.Repeat("x", 1<<21)))}); !fault.Is(err, fault.TooLarge) {
		t.Errorf("a frame of 2 MiB: %v", err)
	}
}

// Accepted bytes come back after encoding, and refused ones give nothing.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"tools":[` + aTool + `]}`, `{"call-id":"c","arguments":{"a":[1]}}`,
		`{"call-id":"c","contents":[{"text":{"text":"x"}},{"blob":{"mime-type":"image/png","blob":"eA=="}}],"structured":{"n":1e2},"is-error":true}`,
		`{"resources":[` + full + `]}`, `{"uri":"n:a","contents":[{"text":{"uri":"n:a","text":"x"}},{"blob":{"uri":"b","blob":"eA=="}}]}`,
		`{"uri":"n:a","error":"no","meta":"{}"}`, `{"type":"reply","id":"1","payload":{"a":[1]}}`, `{}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if list, err := capsulewire.DecodeDescribe(raw); err == nil {
			var whole capsulewire.DescribeResponse
			for _, d := range list {
				if d.Err == nil {
					whole.Resources = append(whole.Resources, d.ResourceDefinition)
				}
			}
			again, err := capsulewire.Encode(whole)
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			back, err := capsulewire.DecodeDescribe(again)
			for i, d := range back {
				if diff := cmp.Diff(whole.Resources[i], d.ResourceDefinition); diff != "" || d.Err != nil {
					t.Fatal(diff, d.Err)
				}
			}
			if err != nil || len(back) != len(whole.Resources) {
				t.Fatalf("%s: %v", again, err)
			}
		}
		if r, err := capsulewire.DecodeRead(raw); err == nil {
			again, err := capsulewire.Encode(r)
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			back, err := capsulewire.DecodeRead(again)
			if diff := cmp.Diff(r, back); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
		}
		if r, err := capsulewire.DecodeExecuted(raw); err == nil {
			again, err := capsulewire.Encode(r)
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			back, err := capsulewire.DecodeExecuted(again)
			if diff := cmp.Diff(r, back); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
		}
		if list, err := capsulewire.DecodeTools(raw); err == nil {
			for _, d := range list {
				again, err := capsulewire.Encode(capsulewire.ToolsResponse{Tools: []capsulewire.ToolDefinition{d.ToolDefinition}})
				if err != nil || d.Err != nil {
					continue
				}
				back, err := capsulewire.DecodeTools(again)
				if err != nil || len(back) != 1 || cmp.Diff(d.ToolDefinition, back[0].ToolDefinition) != "" {
					t.Fatalf("%s: %v", again, err)
				}
			}
		}
		if fr, err := capsulewire.DecodeCapsuleFrame(raw); err == nil {
			line, err := capsulewire.EncodeFrame(fr)
			if err != nil || strings.Count(string(line), "\n") != 1 {
				t.Fatalf("%s: %v", line, err)
			}
		}
	})
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

// The WIT file and the structs are one contract.
func TestRecordsAreThoseOfTheWITFile(t *testing.T) {
	var file []byte
	for _, name := range []string{"resource", "tool"} {
		part, err := os.ReadFile("../../contracts/astrid-bus/" + name + ".wit")
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, part...)
	}
	want := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?s)(?:record|variant) ([a-z-]+) \{(.*?)\}`).FindAllStringSubmatch(string(file), -1) {
		want[m[1]] = nil
		for _, field := range regexp.MustCompile(`(?m)^\s+([a-z-]+)(?:: |\()(option<)?`).FindAllStringSubmatch(m[2], -1) {
			want[m[1]] = append(want[m[1]], strings.TrimSpace(field[1]+" "+strings.TrimSuffix(field[2], "<")))
		}
	}
	got := map[string][]string{}
	for name, record := range map[string]any{
		"annotations": capsulewire.Annotations{}, "icon": capsulewire.Icon{}, "resource-definition": capsulewire.ResourceDefinition{},
		"resource-text": capsulewire.ResourceText{}, "resource-blob": capsulewire.ResourceBlob{}, "resource-contents": capsulewire.ResourceContents{},
		"describe-request": capsulewire.DescribeRequest{}, "describe-response": capsulewire.DescribeResponse{},
		"read-request": capsulewire.ReadRequest{}, "read-response": capsulewire.ReadResponse{},
		"tool-annotations": capsulewire.ToolAnnotations{}, "tool-definition": capsulewire.ToolDefinition{}, "tool-text": capsulewire.ToolText{},
		"tool-blob": capsulewire.ToolBlob{}, "tool-contents": capsulewire.ToolContents{}, "tools-request": capsulewire.ToolsRequest{},
		"tools-response": capsulewire.ToolsResponse{}, "execute-request": capsulewire.ExecuteRequest{}, "execute-response": capsulewire.ExecuteResponse{},
	} {
		got[name] = nil
		for _, f := range reflect.VisibleFields(reflect.TypeOf(record)) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Pointer && !strings.HasSuffix(name, "-contents") {
				tag += " option"
			}
			got[name] = append(got[name], tag)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
