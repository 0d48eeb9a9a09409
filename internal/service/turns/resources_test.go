package turns_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/turns"
)

// library is a server with resources.
func (h *house) library(name string) turns.Server {
	return turns.Server{
		Name: name,
		List: func(context.Context) (turns.Offer, error) { return turns.Offer{Readable: true}, nil },
		Resources: func(context.Context) ([]turns.Resource, error) {
			all := []turns.Resource{{URI: "a:1", Name: strings.Repeat("n", 300), MimeType: "text/plain"}, {URI: "a:2", Name: "two"}}
			for i := range 300 {
				all = append(all, turns.Resource{URI: fmt.Sprintf("more:%060d", i)})
			}
			return all, nil
		},
		Read: func(_ context.Context, uri string) ([]turns.Content, error) {
			h.note("%s reads %s", name, uri)
			switch uri {
			case "two":
				return []turns.Content{{URI: "two", Text: "a"}, {URI: "two#2", MimeType: "image/png", Blob: true, Bytes: 7}, {URI: "two", Text: "b"}}, nil
			case "long":
				return []turns.Content{{URI: "long", Text: strings.Repeat("\"", 8<<10)}}, nil
			case "much":
				var all []turns.Content
				for range 64 {
					all = append(all, turns.Content{URI: strings.Repeat("x", 300), Blob: true})
				}
				return all, nil
			}
			return nil, fault.New(fault.NotFound, "the server has no such resource")
		},
	}
}

// offer gives the definition of a tool that was offered.
func (h *house) offer(name string) (conversation.Tool, bool) {
	for _, x := range h.asked[0].Tools {
		if x.Name == name {
			return x, true
		}
	}
	return conversation.Tool{}, false
}

func TestReadingResources(t *testing.T) {
	h := &house{room: 100, answers: replies([]conversation.Call{
		call("1", "read_resource", `{"uri":"two"}`), call("2", "read_resource", `{"uri":"none"}`), call("3", "read_resource", `{"uri":"two","server":"other"}`),
		call("4", "read_resource", `{"uri":"two","server":"lib"}`), call("5", "read_resource", `{"uri":"two","offset":99}`), call("6", "read_resource", `{"uri":"much"}`),
		call("7", "read_resource", `{"url":"two"}`), call("8", "read_resource", `{"uri":"long","offset":8190}`), call("9", "read_resource", `{"offset":301}`), call("10", "read_resource", `{"offset":303}`),
	})}
	h.readable = []turns.Server{h.library("lib")}
	if out := h.run(t.Context(), t); out != (turn.Outcome{Status: turn.Completed}) {
		t.Errorf("%+v", out)
	}
	failed := func(code, message string) string {
		return `true {"error":{"code":"` + code + `","message":"` + message + `"}}`
	}
	want := map[string]string{
		"1": `false {"text":"a\nb","next_offset":null,"blobs":[{"uri":"two#2","mime_type":"image/png","bytes":7}]}`,
		"2": failed("not_found", "the server has no such resource"), "3": failed("invalid_args", "no server of this name has resources"),
		"4": `false {"text":"a\nb","next_offset":null,"blobs":[{"uri":"two#2","mime_type":"image/png","bytes":7}]}`,
		"5": failed("invalid_args", "the offset lies beyond the end"), "6": failed("result_too_large", "result_value_bytes is limited to 16384 bytes"),
		"7": failed("invalid_args", "the arguments do not fit the tool's schema"), "8": `false {"text":"\"\"","next_offset":null}`,
		"9":  fmt.Sprintf(`false {"resources":[{"uri":"more:%060d","name":""}],"next_offset":null}`, 299),
		"10": failed("invalid_args", "the offset lies beyond the end"),
	}
	if diff := cmp.Diff(want, h.results(t)); diff != "" {
		t.Error(diff)
	}
	tool, ok := h.offer("read_resource")
	if !ok || strings.Contains(string(tool.Input), "server") || !strings.Contains(tool.Description, "the server lib.") {
		t.Errorf("offered %v: %+v, %s", ok, tool, tool.Input)
	}
}

// Whatever is long comes in parts that join to the whole.
func TestLongResourcesComeInParts(t *testing.T) {
	h := &house{room: 100, answers: replies([]conversation.Call{call("1", "read_resource", `{"uri":"long"}`), call("2", "read_resource", `{"uri":"long","offset":6144}`), call("3", "read_resource", `{}`)})}
	h.readable = []turns.Server{h.library("lib")}
	h.run(t.Context(), t)
	got := h.results(t)
	if quotes := strings.Count(got["1"], `\"`); quotes != 6144 || !strings.HasSuffix(got["1"], `"next_offset":6144}`) {
		t.Errorf("the first part has %d characters: …%s", quotes, got["1"][len(got["1"])-30:])
	}
	if quotes := strings.Count(got["2"], `\"`); quotes != 2048 || !strings.HasSuffix(got["2"], `"next_offset":null}`) {
		t.Errorf("the second part has %d characters", quotes)
	}
	list := got["3"]
	listed := strings.Count(list, `"uri":`)
	if !strings.HasPrefix(list, `false {"resources":[{"uri":"a:1","name":"`+strings.Repeat("n", 256)+`","mime_type":"text/plain"},{"uri":"a:2","name":"two"}`) ||
		!strings.HasSuffix(list, fmt.Sprintf(`"next_offset":%d}`, listed)) || len(list) > 13<<10 || listed < 100 {
		t.Errorf("%d of the list: %s", listed, list)
	}
}

// Of several servers the agent says which, and no other hears of the URI. Where none
// has resources, or the tool is switched off, there is none.
func TestWhichServerIsRead(t *testing.T) {
	h := &house{room: 100, answers: replies([]conversation.Call{call("1", "read_resource", `{"uri":"two"}`), call("2", "read_resource", `{"uri":"two","server":"b"}`)})}
	h.readable = []turns.Server{h.library("a"), h.library("b")}
	h.run(t.Context(), t)
	if got := h.results(t); !strings.Contains(got["1"], "say which server") || !strings.HasPrefix(got["2"], "false ") {
		t.Error(got)
	}
	if trace := strings.Join(h.trace, "\n"); strings.Contains(trace, "a reads") || !strings.Contains(trace, "b reads two") {
		t.Error(trace)
	}
	tool, _ := h.offer("read_resource")
	if !strings.Contains(string(tool.Input), `"required":["server"]`) || !strings.Contains(tool.Description, "one of the servers a, b.") {
		t.Errorf("%s, %s", tool.Description, tool.Input)
	}
	h = &house{room: 100, answers: replies(nil)}
	h.run(t.Context(), t)
	if _, ok := h.offer("read_resource"); ok {
		t.Error("the tool is offered without a server that has resources")
	}
}
