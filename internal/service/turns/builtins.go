package turns

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Files are the workspace. Each refuses what looks like a credential and whatever
// lies under the state root.
type Files struct {
	// Read gives a text file of at most so many bytes.
	Read func(ctx context.Context, path string, most int) ([]byte, error)
	// List gives the names in a folder; those of folders end in a slash.
	List func(ctx context.Context, folder string) ([]string, error)
	// Search gives lines that hold a text, at most so many bytes of them, and whether
	// these are all.
	Search func(ctx context.Context, folder, text string, most int) ([]string, bool, error)
}

// builtinNames are reserved whether or not there is such a tool.
var builtinNames = []string{"read_file", "list_dir", "search_text", "read_resource", "delegate"}

const (
	pageBytes   = 12 << 10 // of a file or resource in one result; escaped and wrapped it may need more
	searchBytes = 8 << 10
)

func builtins(p Ports) []tool {
	return []tool{
		reader("read_file", "Read a text file of the workspace, of at most 64 KiB. A long one comes in parts: give next_offset back as offset.",
			`{"type":"object","properties":{"path":{"type":"string","maxLength":1024},"offset":{"type":"integer","minimum":0,"maximum":65536}},"required":["path"],"additionalProperties":false}`,
			"path", p.Files.readFile),
		reader("list_dir", "List the names in a folder of the workspace; those of folders end in a slash. The workspace itself is \".\".",
			`{"type":"object","properties":{"path":{"type":"string","maxLength":1024}},"required":["path"],"additionalProperties":false}`,
			"path", p.Files.listDir),
		reader("search_text", "Find the lines of text files below a folder of the workspace that hold a text, in the same case. Where complete is false more may hold it, such as a file over 64 KiB.",
			`{"type":"object","properties":{"text":{"type":"string","minLength":1,"maxLength":256},"path":{"type":"string","maxLength":1024}},"required":["text"],"additionalProperties":false}`,
			"text", p.Files.searchText),
		delegate(),
	}
}

// reader makes a tool that only looks.
func reader(name, text, input, told string, read func(ctx context.Context, arguments string) (string, error)) tool {
	return tool{
		Tool:   conversation.Tool{Name: name, Description: text, Input: strictjson.Raw(input)},
		source: transcript.Builtin, summary: func(arguments string) string { return member(arguments, told) },
		run: func(ctx context.Context, _ *agent, _, arguments string) (transcript.Result, string) {
			text, err := read(ctx, arguments)
			if err != nil {
				return fell(ctx, err), ""
			}
			return succeeded(text), ""
		},
	}
}

func decode(arguments string, into any) error {
	if err := strictjson.Decode([]byte(arguments), strictjson.Limits{Bytes: bound.ArgumentBytes}, into); err != nil {
		return fault.New(fault.InvalidArgs, "the arguments do not fit the tool's schema").Because(err)
	}
	return nil
}

func encoded(v any) (string, error) {
	raw, err := strictjson.Encode(v)
	return string(raw), err
}

func (f Files) readFile(ctx context.Context, arguments string) (string, error) {
	var in struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	raw, err := f.Read(ctx, in.Path, bound.CaptureBytes.Int())
	if err != nil {
		return "", err
	}
	text, next, err := part(string(raw), in.Offset)
	if err != nil {
		return "", err
	}
	return encoded(struct {
		Text string `json:"text"`
		Next *int   `json:"next_offset"`
	}{text, next})
}

// part cuts from an offset what one result takes, and says where the next part
// begins, if there is one.
func part(whole string, offset int) (text string, next *int, err error) {
	if offset < 0 || offset > len(whole) {
		return "", nil, fault.New(fault.InvalidArgs, "the offset lies beyond the end")
	}
	rest := whole[offset:]
	for rest != "" && !utf8.RuneStart(rest[0]) { // an offset within a character
		rest = rest[1:]
	}
	text, more := transcript.Cut(rest, pageBytes)
	if more != "" {
		at := len(whole) - len(more)
		next = &at
	}
	return text, next, nil
}

func (f Files) listDir(ctx context.Context, arguments string) (string, error) {
	var in struct {
		Path string `json:"path"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	names, err := f.List(ctx, in.Path)
	if err != nil {
		return "", err
	}
	return encoded(struct {
		Entries []string `json:"entries"`
	}{names})
}

func (f Files) searchText(ctx context.Context, arguments string) (string, error) {
	var in struct {
		Text string `json:"text"`
		Path string `json:"path"`
	}
	if err := decode(arguments, &in); err != nil {
		return "", err
	}
	if in.Text == "" {
		return "", fault.New(fault.InvalidArgs, "there is nothing to search for")
	}
	lines, whole, err := f.Search(ctx, in.Path, in.Text, searchBytes)
	if err != nil {
		return "", err
	}
	return encoded(struct {
		Lines []string `json:"lines"`
		Whole bool     `json:"complete"`
	}{lines, whole})
}

// settled turns what became of a server's call into a result. A call that may
// have gone out and was not answered is uncertain, and stays so.
func settled(ctx context.Context, c Called) transcript.Result {
	switch {
	case c.Settled && bound.ResultValueBytes.Check(len(c.Text)) != nil:
		return unsuccessful("result_too_large", "the tool ran, but its result is too large to show", effect.Reported)
	case c.Settled && c.Failed:
		return transcript.Result{Status: transcript.Failed, Effects: string(effect.Reported), Code: turn.CodeToolFailed, Text: c.Text}
	case c.Settled:
		return transcript.Result{Status: transcript.Succeeded, Effects: string(effect.Reported), Text: c.Text}
	}
	effects, code := effect.NotDispatched, "tool_unavailable"
	if c.Sent {
		effects = effect.Uncertain
	}
	if errors.Is(context.Cause(ctx), errSlow) {
		code = "tool_timeout"
	} else if ctx.Err() != nil {
		return transcript.Result{Status: transcript.Cancelled, Effects: string(effects), Code: turn.CodeCancelled, Text: failure(turn.CodeCancelled, "the turn was stopped")}
	}
	text := c.Text
	if c.Sent {
		text += "; it may have happened, so do not repeat it"
	}
	return unsuccessful(code, text, effects)
}

// delegate gives a task to a sub-agent. It sees no application tool and cannot
// delegate; its text goes to the agent that asked and to nobody else. What the
// sub-agent did is what the call did.
func delegate() tool {
	return tool{
		Tool: conversation.Tool{
			Name: "delegate", Description: "Give a task to a helper that has the other tools of yours but none of the application, and sees nothing of this conversation. It answers with a text.",
			Input: strictjson.Raw(`{"type":"object","properties":{"task":{"type":"string","minLength":1,"maxLength":8192}},"required":["task"],"additionalProperties":false}`),
		},
		source: transcript.Builtin, delegates: true,
		summary: func(string) string { return "" },
		run: func(ctx context.Context, a *agent, id, arguments string) (transcript.Result, string) {
			var in struct {
				Task string `json:"task"`
			}
			if err := decode(arguments, &in); err != nil {
				return fell(ctx, err), ""
			}
			return a.sub(ctx, id, in.Task)
		},
	}
}

func (a *agent) sub(ctx context.Context, id, task string) (transcript.Result, string) {
	s := &agent{work: a.work, parent: id, seen: conversation.Seen{}, instructions: ground, done: effect.None, say: func(context.Context, string) error { return nil }}
	for _, t := range a.tools {
		if !t.delegates {
			s.tools = append(s.tools, t)
		}
	}
	s.offered = offered(s.tools, nil)
	s.messages = []conversation.Message{{Role: conversation.User, Text: task}}
	text, out := s.run(ctx)
	var r transcript.Result
	told := "the helper did not finish"
	if s.done != effect.None {
		told += "; what it did may have happened, so do not repeat it"
	}
	switch {
	case out == completed:
		r = succeeded(text)
	case out == cancelled:
		r = fell(ctx, context.Cause(ctx))
	case out.Code == turn.CodePersistenceFailed:
		return r, out.Code
	default:
		r = unsuccessful(out.Code, told, effect.None)
	}
	r.Effects = string(s.done)
	return r, ""
}
