package jsonc

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func TestPlainKeepsPlacesAndTakesOutWhatEditorsAdd(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a":1}`:                      `{"a":1}`,
		"\ufeff{}":                     "   {}",
		`{"a":1,}`:                     `{"a":1 }`,
		"[1, // one\n]":                "[1        \n]",
		`{"a":"// no, }"/* yes */}`:    `{"a":"// no, }"         }`,
		"/* a\r\n b */{}":              "    \r\n     {}",
		`[,]`:                          `[,]`,
		`{"a":[1,],}`:                  `{"a":[1 ] }`,
		`{"a":1,,}`:                    `{"a":1,,}`,
		`{"a":/}`:                      `{"a":/}`,
		`{"a":1 /* never ends`:         `{"a":1 /* never ends`,
		`{"a\",}":1}`:                  `{"a\",}":1}`,
		"{\"a\":1 /*,*/ // x, }\n,\n}": "{\"a\":1              \n \n}",
	} {
		if got := string(Plain([]byte(raw))); got != want {
			t.Errorf("%q is read as\n%q, want\n%q", raw, got, want)
		}
	}
}

func TestSetChangesOneMemberAndNoOtherByte(t *testing.T) {
	const value = `{"command":"x","args":["a"]}`
	for name, c := range map[string]struct{ raw, want string }{
		"nothing":          {"", "{\n  \"servers\": {\n    \"own\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"a\"\n      ]\n    }\n  }\n}"},
		"an empty object":  {"{}\n", "{\n  \"servers\": {\n    \"own\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"a\"\n      ]\n    }\n  }\n}\n"},
		"one line":         {`{"servers":{"a":{}},"z":1}`, "{\"servers\":{\"a\":{}, \"own\": {\n    \"command\": \"x\",\n    \"args\": [\n      \"a\"\n    ]\n  }},\"z\":1}"},
		"a comment beside": {"{\n\t\"servers\": {\n\t\t\"a\": {} // mine\n\t}\n}", "{\n\t\"servers\": {\n\t\t\"a\": {}, // mine\n\t\t\"own\": {\n\t\t\t\"command\": \"x\",\n\t\t\t\"args\": [\n\t\t\t\t\"a\"\n\t\t\t]\n\t\t}\n\t}\n}"},
		"a comma left":     {"{\r\n  \"servers\": {\r\n    \"a\": {},\r\n  },\r\n}", "{\r\n  \"servers\": {\r\n    \"a\": {},\r\n    \"own\": {\r\n      \"command\": \"x\",\r\n      \"args\": [\r\n        \"a\"\r\n      ]\r\n    }\r\n  },\r\n}"},
		"there already":    {"{\"z\": 1e400, \"servers\": {\"own\": 5 /* old */, \"b\": [\"own\"]}}", "{\"z\": 1e400, \"servers\": {\"own\": {\n    \"command\": \"x\",\n    \"args\": [\n      \"a\"\n    ]\n  } /* old */, \"b\": [\"own\"]}}"},
	} {
		got, err := Set([]byte(c.raw), []string{"servers", "own"}, []byte(value), strictjson.Limits{})
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for _, raw := range []string{"[]", `{"servers":[]}`, `{"servers":null}`, `{"a":1,"a":2}`, `{`, `{"a":1}{}`} {
		if got, err := Set([]byte(raw), []string{"servers", "own"}, []byte(value), strictjson.Limits{}); err == nil {
			t.Errorf("%s became %s", raw, got)
		}
	}
}

// without is the document's meaning but for one member of one member.
func without(t *testing.T, raw []byte, outer, inner string) (string, string) {
	t.Helper()
	v, err := strictjson.Parse(Plain(raw), strictjson.Limits{})
	if err != nil {
		t.Fatalf("%v in %q", err, raw)
	}
	taken := ""
	for i, m := range v.Members {
		if m.Name != outer {
			continue
		}
		v.Members[i].Value.Members = slices.DeleteFunc(slices.Clone(m.Value.Members), func(in strictjson.Member) bool {
			if in.Name == inner {
				taken = string(in.Value.Append(nil))
			}
			return in.Name == inner
		})
		if len(v.Members[i].Value.Members) == 0 && m.Value.Kind == strictjson.Object {
			v.Members = slices.Delete(v.Members, i, i+1)
			break
		}
	}
	return string(v.Append(nil)), taken
}

// What is set is there, and everything else means what it meant.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"s":{"o":1}}`, "{\n  // a\n  \"s\": {\n    \"b\": 1, /* c */\n  },\n}", "\ufeff{\"a\":[{}]}", `{"s":{},"\u0073":{}}`, `{"s" : {"x":"\"}"} , "t":[1,2]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		plain := Plain(raw)
		if len(plain) != len(raw) || !bytes.Equal(Plain(plain), plain) && strictjson.Check(plain, strictjson.Limits{}) == nil {
			t.Fatalf("%q is read as %q", raw, plain)
		}
		if strictjson.Check(raw, strictjson.Limits{}) == nil && !bytes.Equal(raw, plain) {
			t.Fatalf("a strict document is changed: %q", plain)
		}
		const value = `{"a":[1,{"b":"c"}]}`
		got, err := Set(raw, []string{"s", "o"}, []byte(value), strictjson.Limits{})
		if err != nil {
			return
		}
		rest, set := without(t, got, "s", "o")
		if set != value {
			t.Fatalf("set as %q in %q", set, got)
		}
		before := "{}"
		if len(bytes.TrimSpace(plain)) > 0 {
			before, _ = without(t, raw, "s", "o")
		}
		if before != rest {
			t.Fatalf("%q became %q", raw, got)
		}
		if again, err := Set(got, []string{"s", "o"}, []byte(value), strictjson.Limits{}); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("set twice: %v, %q and %q", err, got, again)
		}
	})
}
