package transcript_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// story makes a stream of (turn, kind, data) steps.
type story struct {
	t       *testing.T
	records []transcript.Record
}

func (s *story) add(turn string, kind transcript.Kind, data any) *story {
	s.t.Helper()
	r, err := transcript.New(int64(len(s.records)+1), 7, turn, kind, data)
	if err != nil {
		s.t.Fatal(err)
	}
	s.records = append(s.records, r)
	return s
}

func (s *story) input(turn, prompt string) *story {
	return s.add(turn, transcript.UserInput, transcript.Input{OperationID: "op", Prompt: prompt, Manifest: strictjson.Raw("null")})
}

func (s *story) says(turn, text string) *story {
	return s.add(turn, transcript.AssistantChunk, transcript.Chunk{Text: text})
}

func (s *story) calls(turn, id string, round int, parent string) *story {
	return s.add(turn, transcript.ToolCall, transcript.Call{Round: round, CallID: "our-" + id, ProviderCallID: id, Name: "t", Arguments: "{}",
		Source: transcript.Application, Parent: parent, Contract: strictjson.Raw(`{"secret":"contract"}`), Binding: strictjson.Raw(`{"secret":"binding"}`)})
}

func (s *story) answers(turn, id, status string) *story {
	return s.add(turn, transcript.ToolResult, transcript.Result{CallID: "our-" + id, ProviderCallID: id, Status: status, Effects: "reported", Text: "r-" + id})
}

func (s *story) ends(turn, status string) *story {
	return s.add(turn, transcript.TurnStatus, transcript.Status{Status: status})
}

// recent takes the story in.
func (s *story) recent() *transcript.Recent {
	s.t.Helper()
	r := &transcript.Recent{}
	for _, x := range s.records {
		if err := r.Add(x); err != nil {
			s.t.Fatal(err)
		}
	}
	return r
}

func TestHistoryIsWhatAModelCanGoOnFrom(t *testing.T) {
	user := func(text string) conversation.Message {
		return conversation.Message{Role: conversation.User, Text: text}
	}
	call := func(id string) conversation.Call { return conversation.Call{ID: id, Name: "t", Arguments: "{}"} }
	ok := func(id string) conversation.Result { return conversation.Result{CallID: id, Text: "r-" + id} }
	bad := func(id string) conversation.Result {
		return conversation.Result{CallID: id, Failed: true, Text: "r-" + id}
	}
	none := func(id string) conversation.Result {
		return conversation.Result{CallID: id, Failed: true, Text: `{"error":"the turn ended before this call was answered; it may have happened"}`}
	}
	says := func(text string, calls ...conversation.Call) conversation.Message {
		return conversation.Message{Role: conversation.Assistant, Text: text, Calls: calls}
	}
	answers := func(r ...conversation.Result) conversation.Message {
		return conversation.Message{Role: conversation.Answers, Results: r}
	}
	big := strings.Repeat("x", bound.TurnHistoryBytes.Int()-3*64-2) // 64 for each message
	for name, c := range map[string]struct {
		story func(*story)
		want  []conversation.Message
	}{
		"chunks are one text": {
			func(s *story) { s.input("A", "hi").says("A", "he").says("A", "llo").ends("A", "completed") },
			[]conversation.Message{user("hi"), says("hello")},
		},
		"parallel calls of one round, answered in another order": {
			func(s *story) {
				s.input("A", "hi").says("A", "x").calls("A", "1", 0, "").answers("A", "1", "succeeded").calls("A", "2", 0, "").
					calls("A", "3", 0, "").answers("A", "3", "failed").answers("A", "2", "succeeded").says("A", "y").ends("A", "completed")
			},
			[]conversation.Message{user("hi"), says("x", call("1"), call("2"), call("3")), answers(ok("1"), ok("2"), bad("3")), says("y")},
		},
		"two rounds without a text between": {
			func(s *story) {
				s.input("A", "hi").calls("A", "1", 0, "").answers("A", "1", "succeeded").calls("A", "2", 1, "").answers("A", "2", "succeeded").ends("A", "completed")
			},
			[]conversation.Message{user("hi"), says("", call("1")), answers(ok("1")), says("", call("2")), answers(ok("2"))},
		},
		"a call that was left behind has a result": {
			func(s *story) { s.input("A", "hi").calls("A", "1", 0, "").ends("A", "failed").input("B", "again") },
			[]conversation.Message{user("hi"), says("", call("1")), answers(none("1")), user("again")},
		},
		"what a sub-agent did is not shown": {
			func(s *story) {
				s.input("A", "hi").calls("A", "1", 0, "").calls("A", "s", 0, "our-1").answers("A", "s", "succeeded").answers("A", "1", "succeeded").ends("A", "completed")
			},
			[]conversation.Message{user("hi"), says("", call("1")), answers(ok("1"))},
		},
		"the newest turns that fit, whole": {
			func(s *story) {
				s.input("A", "gone").ends("A", "completed").input("B", big).says("B", "b").ends("B", "completed").input("C", "c").ends("C", "completed")
			},
			[]conversation.Message{user(big), says("b"), user("c")},
		},
	} {
		s := &story{t: t}
		s.add("", transcript.SessionTitle, transcript.Title{SessionID: "S"})
		c.story(s)
		if diff := cmp.Diff(c.want, s.recent().Messages()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// Whatever was said before, a model is shown the newest turns that fit, and no more
// is kept than those and the one that did not.
func TestNoMoreIsKeptThanIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r transcript.Recent
		var sizes []int
		for i := range rapid.IntRange(1, 60).Draw(t, "turns") {
			turn, size := fmt.Sprint(i), rapid.SampledFrom([]int{1, 500, 20_000, bound.TurnHistoryBytes.Int()}).Draw(t, "bytes")
			sizes = append(sizes, size+64)
			if r.Take(turn, transcript.UserInput, transcript.Input{Prompt: strings.Repeat("x", size)}) != nil || r.Take(turn, transcript.TurnStatus, transcript.Status{}) != nil {
				t.Fatal("a record is refused")
			}
		}
		shown, left := 0, bound.TurnHistoryBytes.Int()
		for shown < len(sizes) && sizes[len(sizes)-1-shown] <= left {
			left -= sizes[len(sizes)-1-shown]
			shown++
		}
		if got := r.Messages(); len(got) != shown || r.Held() > shown+1 || len(r.Open()) > 0 {
			t.Fatalf("%d shown, %d kept, want %d", len(got), r.Held(), shown)
		}
	})
}

func TestTurnsWithoutAStatusAreOpen(t *testing.T) {
	s := &story{t: t}
	s.input("A", "a").ends("A", "completed").input("B", "b").says("B", "x")
	if diff := cmp.Diff([]string{"B"}, s.recent().Open()); diff != "" {
		t.Error(diff)
	}
	if got := s.ends("B", "failed").recent().Open(); len(got) != 0 {
		t.Errorf("open: %v", got)
	}
}

// A replay tells nothing of what executors were asked and answered.
func TestReplayedEventsAreBoundedAndKeepWhatIsOthers(t *testing.T) {
	s := &story{t: t}
	long := strings.Repeat("\"é\x01", 3000)
	s.input("A", long).calls("A", "1", 0, "").answers("A", "1", "succeeded").ends("A", "failed")
	var text strings.Builder
	last := transcript.Place{}
	for _, r := range s.records {
		events, err := transcript.Events(r, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			at, err := transcript.ParsePlace(e.ID)
			if err != nil || !last.Before(at) || at.String() != e.ID {
				t.Errorf("%q does not follow %v: %v", e.ID, last, err)
			}
			last = at
			if len(e.Data) > bound.TurnDeltaBytes.Int()+256 {
				t.Errorf("%s: %d bytes", e.ID, len(e.Data))
			}
			for _, no := range []string{"secret", `"r-1`, "{}", "manifest"} {
				if bytes.Contains(e.Data, []byte(no)) {
					t.Errorf("%s tells %q: %s", e.ID, no, e.Data)
				}
			}
			if r.Kind == transcript.UserInput {
				var d struct {
					Text string `json:"text"`
				}
				if err := strictjson.DecodeReply(e.Data, strictjson.Limits{}, &d); err != nil {
					t.Fatal(err)
				}
				text.WriteString(d.Text)
			}
		}
	}
	if text.String() != long {
		t.Error("the parts are not the text")
	}
}

func TestPlacesHaveOneSpelling(t *testing.T) {
	for _, bad := range []string{"0", "-1", "01", "1.", "1.0", "1.01", ".1", "1.1.1", "x", "9223372036854775808", "+1"} {
		if p, err := transcript.ParsePlace(bad); err == nil {
			t.Errorf("%q is %v", bad, p)
		}
	}
}

func TestAFrameThatWasCutOrDamagedIsRefused(t *testing.T) {
	s := &story{t: t}
	s.input("A", "hi").says("A", "hello")
	line, err := transcript.Encode(s.records...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range line {
		if got, err := transcript.Decode(line[:i]); err == nil {
			t.Errorf("cut at %d it reads as %v", i, got)
		}
		for _, bit := range []byte{1, 0x20, 0x80} {
			bent := bytes.Clone(line)
			bent[i] ^= bit
			if got, err := transcript.Decode(bent); err == nil {
				t.Errorf("byte %d bent by %x reads as %v", i, bit, got)
			}
		}
	}
}

func TestFramesComeBack(t *testing.T) {
	kinds := []transcript.Kind{transcript.SessionTitle, transcript.UserInput, transcript.AssistantChunk, transcript.ToolCall, transcript.ToolResult, transcript.TurnStatus}
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, 1<<40).Draw(t, "first")
		var records []transcript.Record
		for i := range rapid.IntRange(1, 4).Draw(t, "n") {
			r, err := transcript.New(first+int64(i), rapid.Int64().Draw(t, "at"), rapid.String().Draw(t, "turn"),
				rapid.SampledFrom(kinds).Draw(t, "kind"), transcript.Chunk{Text: rapid.String().Draw(t, "text")})
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		line, err := transcript.Encode(records...)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(line, '\n') != len(line)-1 {
			t.Fatalf("a frame is one line: %q", line)
		}
		got, err := transcript.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What is accepted is written again as it was, whoever wrote it.
func FuzzFrame(f *testing.F) {
	for i, text := range []string{"", "hello", "\"\\\n\u2028é", strings.Repeat("x", 300)} {
		r, err := transcript.New(int64(i+1), 1, fmt.Sprint("T", i), transcript.AssistantChunk, transcript.Chunk{Text: text})
		if err != nil {
			f.Fatal(err)
		}
		line, err := transcript.Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
		f.Add(line[9:])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		records, err := transcript.Decode(body)
		if err != nil {
			if records != nil {
				t.Fatal("refused, and yet read")
			}
			return
		}
		line, err := transcript.Encode(records...)
		if err != nil {
			t.Fatal(err)
		}
		again, err := transcript.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(records, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
