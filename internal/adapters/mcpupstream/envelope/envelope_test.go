package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// seeds are lines that servers of several stacks have written.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) < 20 {
		t.Fatalf("only %d seeds", len(lines))
	}
	return lines
}

// seen is a message as texts, for comparing.
type seen struct{ Version, ID, Method, Params, Result, Error string }

func read(line string) seen {
	m := Read([]byte(line))
	return seen{string(m.Version), string(m.ID), string(m.Method), string(m.Params), string(m.Result), string(m.Error)}
}

func TestReadFindsTheParts(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       seen
	}{
		{"id first", `{"jsonrpc":"2.0","id":5,"result":{"a":1}}`, seen{Version: `"2.0"`, ID: "5", Result: `{"a":1}`}},
		{"id last, spaces", "  {\t\"result\" : [ 1 , {} ] ,\r\"id\" :5 }\r", seen{ID: "5", Result: "[ 1 , {} ]"}},
		{"scalars", `{"id":-1e5,"result":null,"error":"x\"}","params":true}`, seen{ID: "-1e5", Result: "null", Error: `"x\"}"`, Params: "true"}},
		{"names inside values do not count", `{"result":{"id":7,"method":"x"},"params":["id",1]}`, seen{Result: `{"id":7,"method":"x"}`, Params: `["id",1]`}},
		{"an escaped name counts", `{"\u0069d":5,"resul\u0074":{}}`, seen{ID: "5", Result: "{}"}},
		{"the first of two counts", `{"id":1,"id":2,"result":3,"result":4}`, seen{ID: "1", Result: "3"}},
		{"brackets in texts", `{"id":1,"result":{"t":"}]\\\"{"},"error":{}}`, seen{ID: "1", Result: `{"t":"}]\\\"{"}`, Error: "{}"}},
		{"cut off", `{"jsonrpc":"2.0","id":5,"result":{"a":`, seen{Version: `"2.0"`, ID: "5"}},
		{"an unknown long name", `{"` + strings.Repeat("n", 300) + `":1,"id":2}`, seen{ID: "2"}},
		{"a broken name", `{"\u00zz":1,"id":2}`, seen{ID: "2"}},
		{"broken after a part", `{"id":5 "result":{}}`, seen{ID: "5"}},
		{"no value", `{"id":,"result":{}}`, seen{}},
		{"an array", `[{"id":5}]`, seen{}},
		{"a log line", `Listening on {"id":5}`, seen{}},
		{"nothing", ``, seen{}},
	} {
		if diff := cmp.Diff(c.want, read(c.line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestCheckHoldsTheWholeLineToTheRules(t *testing.T) {
	small := strictjson.Limits{Bytes: bound.TitleBytes, Depth: bound.SchemaDepth, Nodes: bound.SchemaEnum}
	ok := "accepted"
	for _, c := range []struct{ name, line, want string }{
		{"a result", `{"jsonrpc":"2.0","id":5,"result":{"a":1e400}}`, ok},
		{"an error", `{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m"}}`, ok},
		{"a notification", `{"jsonrpc":"2.0","method":"m"}`, ok},
		{"more members", `{"jsonrpc":"2.0","id":5,"x":[1],"result":{}}`, ok},
		{"payload at its bound", `{"jsonrpc":"2.0","id":5,"result":"` + strings.Repeat("a", 254) + `"}`, ok},
		{"payload over its bound", `{"jsonrpc":"2.0","id":5,"result":"` + strings.Repeat("a", 255) + `"}`, "title_bytes is limited to 256 bytes"},
		{"payload at its depth", `{"jsonrpc":"2.0","id":5,"result":` + strings.Repeat("[", 8) + strings.Repeat("]", 8) + `}`, ok},
		{"payload too deep", `{"jsonrpc":"2.0","id":5,"result":` + strings.Repeat("[", 9) + strings.Repeat("]", 9) + `}`, "schema_depth is limited to 8 levels"},
		{"a name twice in the payload", `{"jsonrpc":"2.0","id":5,"result":{"a":1,"\u0061":2}}`, "a member name stands twice in one object"},
		{"a name twice around it", `{"jsonrpc":"2.0","id":5,"\u0069d":6,"result":{}}`, "a member name stands twice in one object"},
		{"result twice", `{"jsonrpc":"2.0","id":5,"result":{},"result":{}}`, "a member name stands twice in one object"},
		{"bad text", "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":\"\xff\"}", "not strict JSON"},
		{"something after it", `{"jsonrpc":"2.0","id":5,"result":{}} x`, "not strict JSON"},
		{"cut off", `{"jsonrpc":"2.0","id":5,"result":{`, "the JSON document ends too early"},
		{"no version", `{"id":5,"result":{}}`, "not a JSON-RPC 2.0 message"},
		{"another version", `{"jsonrpc":"1.0","id":5,"result":{}}`, "not a JSON-RPC 2.0 message"},
		{"both", `{"jsonrpc":"2.0","id":5,"result":{},"error":{}}`, "an answer has either a result or an error"},
		{"neither", `{"jsonrpc":"2.0","id":5}`, "an answer has either a result or an error"},
	} {
		got := ok
		if err := Read([]byte(c.line)).Check(small); err != nil {
			got = fault.From(err).Text
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNumberReadsOurOwnIDsOnly(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "9223372036854775807": 9223372036854775807} {
		if got, ok := Number([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "01", "1.0", "1e0", `"1"`, "null", "9223372036854775808", " 1"} {
		if got, ok := Number([]byte(text)); ok {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func TestWhatIsWrittenIsOneLine(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{Request(7, "tools/call", []byte("{\"n\":\r\n9007199254740993}")), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"n":  9007199254740993}}`},
		{Notification("notifications/initialized", []byte("{}")), `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`},
		{Cancelled(7), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"the caller gave up"}}`},
		{ReplyResult([]byte(`"x"`), []byte("{}")), `{"jsonrpc":"2.0","id":"x","result":{}}`},
		{ReplyError([]byte("0"), []byte(`{"code":-32601}`)), `{"jsonrpc":"2.0","id":0,"error":{"code":-32601}}`},
	} {
		if string(c.got) != c.want+"\n" {
			t.Errorf("got  %q\nwant %q", c.got, c.want+"\n")
		}
		if err := Read(bytes.TrimSuffix(c.got, []byte("\n"))).Check(strictjson.Limits{}); err != nil {
			t.Errorf("%q: %v", c.got, err)
		}
	}
}

func TestItemsSplitsAsWritten(t *testing.T) {
	for _, c := range []struct {
		array string
		want  []string
	}{
		{`[]`, nil},
		{` [ ] `, nil},
		{`[1]`, []string{"1"}},
		{"[ {\"a\":[1,2]} ,\t\"],\\\"[\" , [] , null ]", []string{`{"a":[1,2]}`, `"],\"["`, `[]`, `null`}},
		{`{"a":1}`, nil},
		{``, nil},
	} {
		var got []string
		Items([]byte(c.array), func(item []byte) bool {
			got = append(got, string(item))
			return true
		})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.array, diff)
		}
	}
	visited := 0
	Items([]byte(`[1,2,3]`), func([]byte) bool { visited++; return visited < 2 })
	if visited != 2 {
		t.Errorf("visited %d items after the visitor had enough", visited)
	}
}

// What Lines gives must not depend on how the bytes arrive.
func TestLinesCutsAtLineEnds(t *testing.T) {
	long := strings.Repeat("x", 3*smallBuffer)
	input := "one\n\n" + long + "\ntwo\r\n" + long + "y\nthree\nrest"
	want := []string{"one", "", long, "two\r", "(long)", "three"}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the end": iotest.DataErrReader,
	} {
		lines, got := NewLines(wrap(strings.NewReader(input))), []string(nil)
		for {
			line, err := lines.Next(func() int { return len(long) })
			if errors.Is(err, ErrLong) {
				size := 0
				if err := lines.Discard(func(piece []byte) bool { size += len(piece); return true }); err != nil || size != len(long)+1 {
					t.Errorf("%s: skipped %d bytes, %v", name, size, err)
				}
				got = append(got, "(long)")
				continue
			}
			if err != nil {
				if err != io.EOF {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			got = append(got, string(line))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLinesKeepsNoMoreThanItMay(t *testing.T) {
	lines := NewLines(io.LimitReader(endless{}, 64<<20))
	if _, err := lines.Next(func() int { return 1 << 20 }); !errors.Is(err, ErrLong) {
		t.Fatalf("got %v", err)
	}
	err := lines.Discard(func([]byte) bool { return true })
	if err != io.EOF || len(lines.buf) > 4<<20 {
		t.Errorf("ended with %v and a buffer of %d bytes", err, len(lines.buf))
	}
}

func TestLinesGivesLargeBuffersBack(t *testing.T) {
	lines := NewLines(strings.NewReader(strings.Repeat("x", 1<<20) + "\nshort\n"))
	for range 2 {
		if _, err := lines.Next(func() int { return 2 << 20 }); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lines.Next(func() int { return 0 }); err != io.EOF || len(lines.buf) != smallBuffer {
		t.Errorf("%v, a buffer of %d bytes stays", err, len(lines.buf))
	}
}

func TestReaderWithoutProgressIsGivenUp(t *testing.T) {
	lines := NewLines(stuck{})
	if _, err := lines.Next(func() int { return 9 }); err != io.ErrNoProgress {
		t.Errorf("next: %v", err)
	}
	if err := lines.Discard(func([]byte) bool { return true }); err != io.ErrNoProgress {
		t.Errorf("discard: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestSieveTellsWhichRequestIsAnswered(t *testing.T) {
	long := `"` + strings.Repeat("x", 1000) + `"`
	for _, c := range []struct {
		name, line string
		id         int64
		early      bool // known before the line has ended
	}{
		{"id first", `{"jsonrpc":"2.0","id":5,"result":{"a":` + long + `}}`, 5, true},
		{"id last", `{"result":` + long + `,"jsonrpc":"2.0","id":5}`, 5, false},
		{"an error", `{"id":5,"error":` + long + `}`, 5, true},
		{"a request", `{"id":5,"method":"m","params":` + long + `}`, 0, false},
		{"a request, params first", `{"id":5,"params":` + long + `,"method":"m"}`, 0, false},
		{"neither", `{"id":5,"data":` + long + `}`, 0, false},
		{"another kind of id", `{"id":"5","result":` + long + `}`, 0, false},
		{"a very long number", `{"id":` + strings.Repeat("5", 100) + `,"result":` + long + `}`, 0, false},
		{"no JSON", strings.Repeat("5", 1000), 0, false},
	} {
		sieve, early := NewSieve(), false
		for i := range len(c.line) {
			sieve.Feed([]byte(c.line[i : i+1]))
			if _, ok := sieve.Answers(); ok && i < len(c.line)-10 {
				early = true
			}
		}
		if id, ok := sieve.Answers(); id != c.id || ok != (c.id != 0) || early != c.early || sieve.Size() != len(c.line) {
			t.Errorf("%s: id %d, %v, early %v, %d bytes", c.name, id, ok, early, sieve.Size())
		}
	}
}

// FuzzRead: what Read finds in a line that passes Check is what a decoder finds;
// pieces give what the whole gives; a sieve agrees on the id.
func FuzzRead(f *testing.F) {
	for _, line := range seeds(f) {
		f.Add(line, uint8(3))
	}
	f.Fuzz(func(t *testing.T, line []byte, step uint8) {
		m := Read(line)
		pieces, sieve := NewScan(parts), NewSieve()
		for from := 0; from < len(line); from += int(step) + 1 {
			piece := line[from:min(len(line), from+int(step)+1)]
			pieces.Feed(piece)
			sieve.Feed(piece)
		}
		whole := NewScan(parts)
		whole.Feed(line)
		if whole.spans != pieces.spans {
			t.Fatalf("whole %v, in pieces %v", whole.spans, pieces.spans)
		}
		if m.Check(strictjson.Limits{}) != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("accepted, but %v", err)
		}
		got := map[string]json.RawMessage{}
		for i, part := range [][]byte{m.Version, m.ID, m.Method, m.Params, m.Result, m.Error} {
			if part != nil {
				got[parts[i]] = part
			}
		}
		for name := range want {
			if !strings.Contains(strings.Join(parts, " "), name) {
				delete(want, name)
			}
		}
		for name, value := range got {
			if !bytes.Equal(want[name], value) {
				t.Fatalf("%s is %s, found %s", name, want[name], value)
			}
			delete(want, name)
		}
		for _, name := range parts {
			if want[name] != nil {
				t.Fatalf("%s was not found", name)
			}
		}
		id, ours := Number(m.ID)
		if told, ok := sieve.Answers(); ok && (told != id || !m.IsReply()) || !ok && ours && m.IsReply() {
			t.Fatalf("the sieve says %d, %v; the line answers %d", told, ok, id)
		}
	})
}

// FuzzItems: joined again, the items are the array.
func FuzzItems(f *testing.F) {
	for _, line := range seeds(f) {
		if at := bytes.IndexByte(line, '['); at >= 0 {
			f.Add(line[at:])
		}
	}
	f.Fuzz(func(t *testing.T, array []byte) {
		var items [][]byte
		Items(array, func(item []byte) bool {
			items = append(items, item)
			return true
		})
		var want []json.RawMessage
		if strictjson.Check(array, strictjson.Limits{}) != nil || json.Unmarshal(array, &want) != nil {
			return
		}
		if len(items) != len(want) {
			t.Fatalf("%d items of %d", len(items), len(want))
		}
		for i := range want {
			if !bytes.Equal(items[i], want[i]) {
				t.Fatalf("item %d is %s, found %s", i, want[i], items[i])
			}
		}
	})
}

// A line that is kept stays what it is while the reader goes on, and costs no copy; one
// in a small buffer is not kept.
func TestAKeptLineStays(t *testing.T) {
	long := strings.Repeat("a", 600<<10)
	lines := NewLines(strings.NewReader("short\n" + long + "\nnext\n" + strings.Repeat("b", 600<<10) + "\nlast\n"))
	limit := func() int { return 1 << 20 }
	var got []string
	var first []byte
	for range 5 {
		line, err := lines.Next(limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 && lines.Keep() || len(line) > 1000 && !lines.Keep() {
			t.Errorf("a line of %d bytes is kept, or not", len(line))
		}
		if first == nil && len(line) > 1000 {
			first = line
		}
		got = append(got, string(line[:min(len(line), 5)]))
	}
	if want := []string{"short", "aaaaa", "next", "bbbbb", "last"}; !slices.Equal(got, want) || string(first) != long {
		t.Errorf("got %q, the kept line begins with %.5s", got, first)
	}
}
