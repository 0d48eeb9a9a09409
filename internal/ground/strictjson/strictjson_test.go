package strictjson_test

import (
	"bytes"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

var (
	ceilings = strictjson.Limits{}
	request  = strictjson.Limits{Bytes: bound.RequestBytes, Depth: bound.RequestDepth, Nodes: bound.RequestNodes}
	result   = strictjson.Limits{Bytes: bound.ResultBytes, Depth: bound.ResultDepth, Nodes: bound.ResultNodes}
)

type refusal struct {
	class string
	raw   []byte
}

// refused reads the corpus of documents that no door may accept: a class, a
// tab and the bytes as a quoted string in each line.
func refused(t testing.TB) []refusal {
	t.Helper()
	var out []refusal
	for _, line := range lines(t, "refused.txt") {
		class, quoted, _ := strings.Cut(line, "\t")
		raw, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, refusal{class, []byte(raw)})
	}
	return out
}

// lines reads a file of testdata; an empty one is a failure.
func lines(t testing.TB, name string) []string {
	t.Helper()
	file, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	out := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	if out[0] == "" {
		t.Fatalf("%s is empty", name)
	}
	return out
}

// Every reader refuses every document of the corpus with the same fault, and
// gives nothing.
func TestSmuggledDocumentsAreRefused(t *testing.T) {
	texts := map[string]string{
		"duplicate":         "a member name stands twice in one object",
		"escaped-duplicate": "a member name stands twice in one object",
		"depth":             "json_depth is limited to 32 levels",
		"truncated":         "the JSON document ends too early",
	}
	corpus := refused(t)
	if len(corpus) < 200 {
		t.Errorf("the corpus has shrunk to %d documents", len(corpus))
	}
	for _, c := range corpus {
		v, err := strictjson.Parse(c.raw, ceilings)
		f := fault.From(err)
		if !fault.Is(err, fault.InvalidRequest) || !reflect.DeepEqual(v, strictjson.Value{}) {
			t.Errorf("%s %q: parsed as %+v, %v", c.class, c.raw, v, err)
			continue
		}
		if want := texts[c.class]; want != "" && f.Text != want && len(c.raw) > 1 {
			t.Errorf("%s %q: refused because %q", c.class, c.raw, f.Text)
		}
		canonical, canonicalErr := strictjson.Canonical(c.raw, ceilings)
		if canonical != nil {
			t.Errorf("%s %q: has the canonical form %q", c.class, c.raw, canonical)
		}
		var into map[string]strictjson.Raw
		for name, err := range map[string]error{
			"Check":     strictjson.Check(c.raw, ceilings),
			"Canonical": canonicalErr,
			"Decode":    strictjson.Decode(c.raw, ceilings, &into),
		} {
			if diff := cmp.Diff(f, fault.From(err), cmp.AllowUnexported(fault.Fault{})); diff != "" {
				t.Errorf("%s %q: %s differs from Parse:\n%s", c.class, c.raw, name, diff)
			}
		}
	}
}

func TestAFaultNamesThePlaceAndRepeatsNoValue(t *testing.T) {
	long := strings.Repeat("n", 300)
	for _, c := range []struct{ raw, pointer string }{
		{`{"a":[1,{"b":"hunter2" "hunter2"}]}`, "/a/1"},
		{`{"a":{"x":"hunter2","x":"hunter2"}}`, "/a/x"},
		{`["hunter2",hunter2]`, "/1"},
		{`{"a~/b":{"c":"hunter2` + "\xff" + `"}}`, "/a~0~1b/c"},
		{`{"p":{"` + long + `":{"q":hunter2}}}`, "/p"},
		{`{"` + long + `":hunter2}`, ""},
		{`"hunter2" "hunter2"`, ""},
		{`"hunter2`, ""},
	} {
		f := fault.From(strictjson.Check([]byte(c.raw), ceilings))
		if got := f.Details["pointer"]; got != c.pointer {
			t.Errorf("%s: the pointer is %q, want %q", c.raw, got, c.pointer)
		}
		if offset, ok := f.Details["offset"].(int64); !ok || offset < 0 || offset > int64(len(c.raw)) {
			t.Errorf("%s: the offset is %v", c.raw, f.Details["offset"])
		}
		if strings.Contains(f.Error(), "hunter2") || f.Unwrap() != nil {
			t.Errorf("%s: the fault repeats the input: %v", c.raw, f)
		}
	}
}

// Each set of limits accepts a document of exactly its size, and the row that
// is exceeded by one gives its own fault.
func TestLimitsHoldAtTheEdge(t *testing.T) {
	ceilingRows := strictjson.Limits{Bytes: bound.JSONBytes, Depth: bound.JSONDepth, Nodes: bound.JSONNodes}
	for _, c := range []struct{ given, rows strictjson.Limits }{
		{ceilings, ceilingRows}, {request, request}, {result, result},
		{strictjson.Limits{Depth: bound.RequestDepth}, strictjson.Limits{Bytes: bound.JSONBytes, Depth: bound.RequestDepth, Nodes: bound.JSONNodes}},
	} {
		edge(t, c.given, c.rows.Bytes, func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` })
		edge(t, c.given, c.rows.Depth, func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) })
		edge(t, c.given, c.rows.Depth, func(n int) string {
			return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
		})
		edge(t, c.given, c.rows.Nodes, func(n int) string { return "[" + strings.Repeat("1,", n-2) + "1]" })
	}
	few := strictjson.Limits{Nodes: bound.SchemaNodes}
	edge(t, few, bound.SchemaNodes, func(n int) string {
		return `[` + strings.Repeat(`{"name":"x"},`, (n-2)/2) + strings.Repeat("null,", (n-2)%2) + `{}]`
	})
}

func edge(t *testing.T, lim strictjson.Limits, row bound.Row, document func(n int) string) {
	t.Helper()
	if err := strictjson.Check([]byte(document(row.Int())), lim); err != nil {
		t.Errorf("%s: %d is refused: %v", row.Key, row.Max, err)
	}
	_, err := strictjson.Parse([]byte(document(row.Int()+1)), lim)
	if f := fault.From(err); f == nil || f.Code != row.Code || f.Details["bound"] != row.Key {
		t.Errorf("%s: %d gives %v", row.Key, row.Max+1, err)
	}
}

// A document that is cut anywhere is refused everywhere.
func TestTruncatedDocumentsAreRefused(t *testing.T) {
	for _, line := range lines(t, "tools.jsonl")[:5] {
		for i := range line {
			if err := strictjson.Check([]byte(line[:i]), ceilings); !fault.Is(err, fault.InvalidRequest) {
				t.Fatalf("cut at %d: %v", i, err)
			}
		}
	}
}

func TestParseKeepsWhatWasWritten(t *testing.T) {
	raw := " { \"b\" : [ 1.50 , -0 , 9007199254740993 , 1e400 ] ,\n\t\"a\\u0000\" : \"\\u20ac\\/\" , \"\" : null , \"t\" : true , \"f\" : false , \"e\" : [ ] , \"o\" : { } } "
	got, err := strictjson.Parse([]byte(raw), ceilings)
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) strictjson.Value { return strictjson.Value{Kind: strictjson.Number, Text: text} }
	want := strictjson.Value{Kind: strictjson.Object, Members: []strictjson.Member{
		{Name: "b", Value: strictjson.Value{Kind: strictjson.Array, Items: []strictjson.Value{
			number("1.50"), number("-0"), number("9007199254740993"), number("1e400"),
		}}},
		{Name: "a\x00", Value: strictjson.Value{Kind: strictjson.String, Text: "€/"}},
		{Name: ""},
		{Name: "t", Value: strictjson.Value{Kind: strictjson.Bool, Bool: true}},
		{Name: "f", Value: strictjson.Value{Kind: strictjson.Bool}},
		{Name: "e", Value: strictjson.Value{Kind: strictjson.Array}},
		{Name: "o", Value: strictjson.Value{Kind: strictjson.Object}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	written := `{"b":[1.50,-0,9007199254740993,1e400],"a\u0000":"€/","":null,"t":true,"f":false,"e":[],"o":{}}`
	if back := string(got.Append([]byte("x"))); back != "x"+written {
		t.Errorf("written back as %s", back)
	}
	if v, ok := got.Get("e"); !ok || v.Kind != strictjson.Array {
		t.Errorf("e is %+v, %v", v, ok)
	}
	if v, ok := got.Get("E"); ok {
		t.Errorf("E is %+v", v)
	}
}

// A Value and a Raw stay as they are when the input's bytes change.
func TestResultsDoNotAliasTheInput(t *testing.T) {
	source := `{"name":"text","list":[12345,{"k":"v"}]}`
	raw := []byte(source)
	v, _ := strictjson.Parse(raw, ceilings)
	var m map[string]strictjson.Raw
	if err := strictjson.Decode(raw, ceilings, &m); err != nil {
		t.Fatal(err)
	}
	canonical, _ := strictjson.Canonical(raw, ceilings)
	if string(raw) != source {
		t.Errorf("the input has become %s", raw)
	}
	for i := range raw {
		raw[i] = 'z'
	}
	if got := string(v.Append(nil)); got != source {
		t.Errorf("the value has become %s", got)
	}
	if got := string(m["list"]); got != `[12345,{"k":"v"}]` {
		t.Errorf("the raw member has become %s", got)
	}
	if got := string(canonical); got != `{"list":[12345,{"k":"v"}],"name":"text"}` {
		t.Errorf("the canonical form has become %s", got)
	}
}

// What a document costs is bounded by its size, whatever it holds.
func TestCostIsBoundedBySize(t *testing.T) {
	digits := strings.Repeat("9", 60<<10)
	for name, raw := range map[string]string{
		"long integer":     digits,
		"long fraction":    "0." + digits,
		"balanced":         "1" + strings.Repeat("0", 30<<10) + "e-" + strconv.Itoa(30<<10),
		"tiny":             "1e-999999999",
		"huge":             "1e999999999",
		"huge exponent":    "1e" + digits,
		"long zero":        "0." + strings.Repeat("0", 60<<10) + "e" + digits[:9],
		"depth":            strings.Repeat("[", 60<<10),
		"objects":          strings.Repeat(`{"a":`, 10<<10),
		"escapes":          `"` + strings.Repeat(`\u0000`, 10<<10) + `"`,
		"one long name":    `{"` + strings.Repeat("n", 60<<10) + `":[x]}`,
		"names":            "{" + strings.Repeat(`"":1,`, 10<<10) + "}",
		"arrays of arrays": "[" + strings.Repeat("[],", 8000) + "[]]",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		strictjson.Parse([]byte(raw), request)
		strictjson.Canonical([]byte(raw), request)
		runtime.ReadMemStats(&after)
		if cost, most := after.TotalAlloc-before.TotalAlloc, uint64(160*len(raw)+(64<<10)); cost > most {
			t.Errorf("%s: %d bytes of input cost %d", name, len(raw), cost)
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	raw := []byte(callBody)
	if n := testing.AllocsPerRun(200, func() { strictjson.Check(raw, request) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

const callBody = `{"v":1,"tx":"tx_01hzy3v5c2m0000000000000000","resource":"res_00000000000000000000000000",` +
	`"contract":"https://notes.example/contracts/notes/v1","method":"put","args":{"title":"hello","n":12.5},"deadline_ms":30000}`

func BenchmarkReaders(b *testing.B) {
	body, tool := []byte(callBody), []byte(lines(b, "tools.jsonl")[14])
	for name, raw := range map[string][]byte{"call": body, "tool": tool, "list": bytes.Join([][]byte{[]byte("["), bytes.Repeat([]byte("12,"), 4000), []byte("1]")}, nil)} {
		b.Run("Check/"+name, func(b *testing.B) { bench(b, raw, func() error { return strictjson.Check(raw, result) }) })
		b.Run("Parse/"+name, func(b *testing.B) {
			bench(b, raw, func() error { _, err := strictjson.Parse(raw, result); return err })
		})
		b.Run("Canonical/"+name, func(b *testing.B) {
			bench(b, raw, func() error { _, err := strictjson.Canonical(raw, result); return err })
		})
	}
	b.Run("Decode/call", func(b *testing.B) {
		bench(b, body, func() error { var c call; return strictjson.Decode(body, request, &c) })
	})
}

func bench(b *testing.B, raw []byte, read func() error) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if err := read(); err != nil {
			b.Fatal(err)
		}
	}
}
