package frame_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func TestOneReadingOfAMessage(t *testing.T) {
	for _, tc := range []struct {
		name, body string
		method     string
		id         string // as written; empty for none
		refused    bool
	}{
		{name: "a request", body: `{"jsonrpc":"2.0","id":1,"method":"a"}`, method: "a", id: "1"},
		{name: "a large id", body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`, method: "a", id: "9007199254740993"},
		{name: "an escaped id", body: ` {"jsonrpc":"2.0","id":"\u0061","method":"\u0061"} `, method: "a", id: `"\u0061"`},
		{name: "a notification", body: `{"jsonrpc":"2.0","method":"a"}`, method: "a"},
		{name: "a response", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, id: "1"},
		{name: "members of later revisions", body: `{"jsonrpc":"2.0","id":1,"method":"a","trace":{"x":[1]}}`, method: "a", id: "1"},
		{name: "a batch", body: ` [{"jsonrpc":"2.0","id":1,"method":"a"}]`, refused: true},
		{name: "a member twice", body: `{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, refused: true},
		{name: "a member twice, once escaped", body: `{"jsonrpc":"2.0","id":1,"method":"a","meth\u006fd":"b"}`, refused: true},
		{name: "a member in another case", body: `{"jsonrpc":"2.0","ID":1,"Method":"a"}`, refused: true},
		{name: "a member beside its twin in another case", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`, refused: true},
		{name: "a twin by a letter that folds", body: `{"jsonrpc":"2.0","id":1,"method":"a","param\u017f":{}}`, refused: true},
		{name: "a null id", body: `{"jsonrpc":"2.0","id":null,"method":"a"}`, refused: true},
		{name: "a fraction as id", body: `{"jsonrpc":"2.0","id":1.0,"method":"a"}`, refused: true},
		{name: "another version", body: `{"jsonrpc":"1.0","id":1,"method":"a"}`, refused: true},
		{name: "a method that is no text", body: `{"jsonrpc":"2.0","id":1,"method":1}`, refused: true},
		{name: "an empty method", body: `{"jsonrpc":"2.0","id":1,"method":""}`, refused: true},
		{name: "something after it", body: `{"jsonrpc":"2.0","id":1,"method":"a"}{}`, refused: true},
		{name: "no object", body: `"a"`, refused: true},
		{name: "nothing", body: ``, refused: true},
		{name: "too deep", body: `{"jsonrpc":"2.0","id":1,"method":"a","params":` + deep(40) + `}`, refused: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, err := frame.Parse([]byte(tc.body))
			if tc.refused {
				if err == nil || fault.From(err).Code == fault.Internal {
					t.Errorf("read as %+v, %v", m, err)
				}
				return
			}
			if err != nil || m.Method != tc.method || string(m.ID) != tc.id {
				t.Errorf("method %q, id %s, %v", m.Method, m.ID, err)
			}
		})
	}
}

func deep(n int) string {
	return string(bytes.Repeat([]byte("["), n)) + string(bytes.Repeat([]byte("]"), n))
}

func TestKnownNamesHaveOneCase(t *testing.T) {
	for params, refused := range map[string]bool{
		`{"name":"a","arguments":{},"other":1,"_meta":{"x/y":1}}`: false,
		`{"name":"a","Name":"b"}`:                                 true,
		`{"name":"a","arguments":{},"Arguments":{}}`:              true,
		`{"name":"a","arguments":{"Name":1,"name":2}}`:            false, // the tool's own
		`{"_META":{}}`: true,
		`{"_meta":{"io.github.stewardhost/TX":"x"}}`:                  true,
		`{"_meta":{"IO.github.stewardhost/ack":"x"}}`:                 true,
		`{"_meta":{"io.modelcontextprotocol/ClientCapabilities":{}}}`: true,
	} {
		m, err := frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = m.Split(); (err != nil) != refused || err != nil && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s: %v", params, err)
		}
	}
}

func TestIDsAreEqualByTheirMeaning(t *testing.T) {
	id := func(raw string) frame.ID {
		t.Helper()
		got, ok := frame.ParseID([]byte(raw))
		if !ok {
			t.Fatalf("%s is no id", raw)
		}
		return got
	}
	if id(`"a"`) != id(`"\u0061"`) || id(`1`) == id(`"1"`) || id(`"1"`) == id(`"01"`) {
		t.Error("ids are confused")
	}
	for _, raw := range []string{"null", "true", "{}", "[1]", "1.5", "1e3", ""} {
		if _, ok := frame.ParseID([]byte(raw)); ok {
			t.Errorf("%q is an id", raw)
		}
	}
}

func TestErrorsAreWholeMessages(t *testing.T) {
	p := &frame.Problem{Code: frame.BadParams, Message: "a \"b\" <\u2028>", Data: []byte(`{"x":1}`)}
	for _, tc := range []struct{ id, want string }{
		{`"é"`, `{"jsonrpc":"2.0","id":"é","error":{"code":-32602,"message":"a \"b\" <` + "\u2028" + `>","data":{"x":1}}}`},
		{``, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"a \"b\" <` + "\u2028" + `>","data":{"x":1}}}`},
	} {
		var raw []byte
		if tc.id != "" {
			raw = []byte(tc.id)
		}
		if diff := cmp.Diff(tc.want, string(p.Encode(raw))); diff != "" {
			t.Error(diff)
		}
	}
}

// FuzzParse holds the reading to what encoding/json would read: a message that
// is accepted means the same there, so a second parser behind this one cannot be
// told another story.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":9007199254740993},"_meta":{"x/y":"z"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`,
		`{"jsonrpc":"2.0","id":"\u0061","result":{}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`,
		`{"jsonrpc":"2.0","id":-0,"method":"\ud83d\ude00"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := frame.Parse(body)
		if err != nil {
			return
		}
		var lax struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		// Wrong case is a name of its own here and the same name there.
		var names map[string]json.RawMessage
		if err := json.Unmarshal(body, &names); err != nil {
			t.Fatalf("encoding/json refuses what was accepted: %v", err)
		}
		lax.ID, lax.Params = names["id"], names["params"]
		_ = json.Unmarshal(names["method"], &lax.Method)
		if m.Method != lax.Method || string(m.ID) != string(lax.ID) || string(m.Params) != string(lax.Params) {
			t.Errorf("two readings of %q: %+v and %+v", body, m, lax)
		}
		p, err := m.Split()
		if err != nil || m.Params == nil {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(m.Params, &members); err != nil || len(members) != len(p.Members) {
			t.Errorf("two readings of %q: %v", m.Params, err)
		}
	})
}
