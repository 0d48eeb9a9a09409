package paper_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func TestNothingUnseenIsShown(t *testing.T) {
	const hidden = "a\u202eb\u200bc\U000e0041\x1b[2J\x00é\u00a0\n\td"
	for name, c := range map[string]struct{ got, want string }{
		"line":              {paper.Line(hidden), `a\u{202e}b\u{200b}c\u{e0041}\u{1b}[2J\u{0}é` + "\u00a0" + `\n\td`},
		"block":             {paper.Block(hidden, "> "), `> a\u{202e}b\u{200b}c\u{e0041}\u{1b}[2J\u{0}é` + "\u00a0\n>     d"},
		"json":              {paper.JSON([]byte(`{"a":["x\u0000`+"\u202e\U000e0041"+`",1e400]}`), "  "), "  {\n    \"a\": [\n      \"x\\u0000\\u202e\\udb40\\udc41\",\n      1e400\n    ]\n  }"},
		"escaped":           {paper.Escaped("{\"a\":\"x\u202e\U000e0041\u009b\"}"), `{"a":"x\u202e\udb40\udc41\u009b"}`},
		"nothing to escape": {paper.Escaped(`{"a":1}`), `{"a":1}`},
		"scalar":            {paper.JSON([]byte(`"x"`), ""), `"x"`},
		"no json":           {paper.JSON([]byte("{\x1b"), "  "), `  {\u{1b}`},
		"empty block":       {paper.Block("", "> "), "> "},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", name, c.got, c.want)
		}
	}
}

// A long line cannot put words of its own at the left edge.
func TestLongLinesAreBrokenWithinTheWidth(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"short":       {"one two", "| one two"},
		"at spaces":   {"one two three four", "| one two\n|   three\n|   four"},
		"own lines":   {"one\n\ntwo three four", "| one\n| \n| two three\n|   four"},
		"a long word": {"abcdefghijklmnop", "| abcdefghij\n|   klmnop"},
		"only spaces": {"a" + strings.Repeat(" ", 14) + "b", "| a         \n|       b"},
		"wide":        {"\u6f22\u5b57\u6f22\u5b57\u6f22\u5b57", "| \u6f22\u5b57\u6f22\u5b57\u6f22\n|   \u5b57"},
		"unseen":      {"a\u202eb c", "| a\\u{202e}b\n|   c"},
		"an escape":   {"one two\x1b[2J", "| one\n|   two\\u{1b\n|   }[2J"},
		"empty":       {"", "| "},
	} {
		got := paper.Wrapped(c.text, "| ", 12)
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// Whatever stands in a document, a terminal gets nothing that cannot be seen, and
// a reader of JSON gets the same document.
func FuzzJSONIsTheSameDocument(f *testing.F) {
	for _, seed := range []string{
		`{"a":"\u202e\ud83d\ude00","b":[1,2.50,true,null,{}]}`, `"` + "\u202e\U000e0041" + `"`, `[]`, `9007199254740993`,
		"{\"tab\":\"\\t\",\"\u200b\":\"\\\\u0041\"}", `{`, "\x1b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := paper.JSON([]byte(text), "")
		if !resource.Readable(strings.ReplaceAll(shown, "\n", "")) {
			t.Fatalf("%q is shown as %q", text, shown)
		}
		before, err := strictjson.Parse([]byte(text), strictjson.Limits{})
		if err != nil {
			return
		}
		after, err := strictjson.Parse([]byte(shown), strictjson.Limits{})
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			t.Fatalf("%q is shown as %q: %v\n%s", text, shown, err, diff)
		}
	})
}

// A word that is told can be typed.
func TestWordsSurviveAShell(t *testing.T) {
	for _, word := range []string{"", "notes", "my app", "it's", `a"b\c`, "$HOME `id` *", "-x", "ü", "a;b&c|d", "#x", "~", "@items", "x=y"} {
		out, err := exec.Command("sh", "-c", "printf %s "+paper.Word(word)).Output()
		if err != nil || string(out) != word && word != "-x" {
			t.Errorf("%q is typed as %s and read as %q, %v", word, paper.Word(word), out, err)
		}
	}
	if got := paper.Word("notes"); got != "notes" {
		t.Errorf("a plain word is quoted: %s", got)
	}
}

func TestTablesAlign(t *testing.T) {
	var b strings.Builder
	table := paper.NewTable("name", "what")
	table.Row("a\tb", "")
	table.Row("longer", "x\ny")
	table.Write(&b, "  ")
	list := paper.NewTable()
	list.Row("name", "")
	list.Write(&b, "")
	want := "  name    what\n  a\\tb    -\n  longer  x\\ny\nname  \n"
	if b.String() != want || table.Len() != 2 {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestTimesAndCounts(t *testing.T) {
	at := time.Date(2026, 7, 1, 14, 0, 0, 5_000_000, time.FixedZone("", 7200))
	got := []string{paper.Stamp(at), paper.Fine(at), paper.Stamp(time.Time{}), paper.Fine(time.Time{}),
		paper.Count(0, "tool"), paper.Count(1, "tool"), paper.Count(2, "query")}
	want := []string{"2026-07-01 12:00:00Z", "2026-07-01 12:00:00.005Z", "-", "-", "0 tools", "1 tool", "2 queries"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !utf8.ValidString(paper.Line("\xff")) {
		t.Error("bytes that are no text come through")
	}
}

// A list fits a usual terminal, and loses nothing.
func TestAListFits(t *testing.T) {
	id := "grn_" + strings.Repeat("0", 26)
	build := func(rows int, wide string) *paper.Table {
		table := paper.NewTable("app", "method", "confirm", "expires", "wide", "grant")
		for i := range rows {
			table.Row(fmt.Sprint("app ", i), "read_note", "by_effect", "", wide+fmt.Sprint(i%2), id)
		}
		return table
	}
	for name, c := range map[string]struct {
		table *paper.Table
		want  []string
	}{
		"narrow":    {build(2, "x"), []string{"app", "by_effect", "x0", id}},
		"told once": {build(2, strings.Repeat("x", 70)), []string{"In every row: method read_note; confirm by_effect\n", strings.Repeat("x", 70) + "0", id}},
		"one row":   {build(1, strings.Repeat("x", 60)), []string{"read_note", "by_effect", strings.Repeat("x", 60) + "0", "\n  grant " + id + "\n"}},
	} {
		var out strings.Builder
		c.table.Fit(&out)
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out.String())
			}
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > paper.ListWidth+1 {
				t.Errorf("%s: %d characters: %s", name, len(line), line)
			}
		}
	}
}
