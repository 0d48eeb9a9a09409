package strictjson_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

type call struct {
	V        int             `json:"v"`
	Tx       string          `json:"tx"`
	Resource string          `json:"resource"`
	Contract string          `json:"contract"`
	Method   string          `json:"method"`
	Args     strictjson.Raw  `json:"args"`
	If       *string         `json:"if,omitzero"`
	Deadline *int64          `json:"deadline_ms,omitzero"`
	Effects  effect.Set      `json:"effects,omitzero"`
	Client   id.Client       `json:"client,omitzero"`
	Tags     []string        `json:"tags,omitzero"`
	Nested   *call           `json:"nested,omitzero"`
	By       map[string]*int `json:"by,omitzero"`
}

func TestDecodeRefusesWhatTheStructDoesNotSay(t *testing.T) {
	const (
		unknown = "an unknown member"
		wrong   = "a member has a value of the wrong type"
		null    = "null where a value is needed"
	)
	for _, c := range []struct{ raw, text, pointer string }{
		{`{"V":1}`, unknown, "/V"},
		{`{"Tx":"x"}`, unknown, "/Tx"},
		{`{"tX":"x"}`, unknown, "/tX"},
		{`{"method":"a","METHOD":"b"}`, unknown, "/METHOD"},
		{`{"\u006dethod":"a","Method":"b"}`, unknown, "/Method"},
		{`{"deadline-ms":1}`, unknown, "/deadline-ms"},
		{`{"deadlinems":1}`, unknown, "/deadlinems"},
		{`{"ſ":1}`, unknown, "/ſ"},
		{`{"nested":{"args":{},"extra":1}}`, unknown, "/nested/extra"},
		{`{"v":1.0}`, wrong, "/v"},
		{`{"v":1e3}`, wrong, "/v"},
		{`{"v":"1"}`, wrong, "/v"},
		{`{"v":true}`, wrong, "/v"},
		{`{"v":9223372036854775808}`, wrong, "/v"},
		{`{"tx":1}`, wrong, "/tx"},
		{`{"tags":{}}`, wrong, "/tags"},
		{`{"tags":["a",["hunter2"]]}`, wrong, "/tags/1"},
		{`[]`, wrong, ""},
		{`"x"`, wrong, ""},
		{`null`, null, ""},
		{`{"v":null}`, null, "/v"},
		{`{"tx":null}`, null, "/tx"},
		{`{"tags":null}`, null, "/tags"},
		{`{"tags":["a",null]}`, null, "/tags/1"},
		{`{"by":null}`, null, "/by"},
		{`{"effects":null}`, null, "/effects"},
		{`{"client":null}`, null, "/client"},
		{`{"nested":{"method":null}}`, null, "/nested/method"},
		{`{"client":"own_00000000000000000000000000"}`, "not an id of the form cli_…", "/client"},
		{`{"nested":{"client":"x"}}`, "not an id of the form cli_…", "/nested/client"},
	} {
		var into call
		f := fault.From(strictjson.Decode([]byte(c.raw), request, &into))
		want := fault.New(fault.InvalidRequest, c.text)
		if f == nil || f.Code != want.Code || f.Text != want.Text || f.Details["pointer"] != c.pointer {
			t.Errorf("%s: got %v at %v", c.raw, f, f.Details)
		}
	}
}

// A reply may have gained members; nothing else of it may be otherwise.
func TestAReplyMayHaveMoreMembers(t *testing.T) {
	type reply struct {
		A     int    `json:"a"`
		Inner *reply `json:"inner,omitzero"`
	}
	for raw, wellFormed := range map[string]bool{
		`{"a":1,"b":{"c":[null]},"inner":{"a":2,"z":1}}`: true,
		`{"a":1,"A":2}`:            true, // another member
		`{"a":1,"a":2}`:            false,
		`{"a":1,"b":1,"b":2}`:      false,
		`{"a":null}`:               false,
		`{"a":"1"}`:                false,
		`{"a":1} {}`:               false,
		"{\"a\":1,\"b\":\"\xff\"}": false,
	} {
		var got reply
		err := strictjson.DecodeReply([]byte(raw), strictjson.Limits{}, &got)
		if (err == nil) != wellFormed || wellFormed && got.A != 1 {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
		if strictjson.Decode([]byte(raw), strictjson.Limits{}, &got) == nil {
			t.Errorf("%s is no request", raw)
		}
	}
}

func TestDecodeTellsAbsentNullAndPresent(t *testing.T) {
	one, seven := int64(1), 7
	text := ""
	for _, c := range []struct {
		raw  string
		want call
	}{
		{`{}`, call{}},
		{`{"args":null,"if":null,"nested":null}`, call{Args: strictjson.Raw("null")}},
		{`{"args":{"n":null},"if":""}`, call{Args: strictjson.Raw(`{"n":null}`), If: &text}},
		{`{"args":9007199254740993,"deadline_ms":1}`, call{Args: strictjson.Raw("9007199254740993"), Deadline: &one}},
		{`{"args":0.1000000000000000055,"by":{"a":null,"b":7}}`, call{Args: strictjson.Raw("0.1000000000000000055"), By: map[string]*int{"a": nil, "b": &seven}}},
	} {
		var got call
		if err := strictjson.Decode([]byte(c.raw), request, &got); err != nil {
			t.Errorf("%s: %v", c.raw, err)
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(effect.Set{}), cmp.Comparer(func(a, b id.Client) bool { return a == b })); diff != "" {
			t.Errorf("%s:\n%s", c.raw, diff)
		}
	}
}

func TestEncodeIsDeterministicAndKeepsNumbers(t *testing.T) {
	type answer struct {
		Result strictjson.Raw   `json:"result"`
		Nums   map[string]int64 `json:"nums"`
		List   []string         `json:"list"`
		Text   string           `json:"text"`
		Class  effect.Set       `json:"class,omitzero"`
		None   *string          `json:"none"`
	}
	in := answer{
		Result: strictjson.Raw(" [ 1e400 , 9007199254740993, 1.50,\n \"\\u0061\" ] "),
		Nums:   map[string]int64{"z": 1, "a": 9007199254740993, "é": 2, "m": 3},
		Text:   "<&>\u2028\x00€",
	}
	want := `{"result":[1e400,9007199254740993,1.50,"\u0061"],"nums":{"a":9007199254740993,"m":3,"z":1,"é":2},"list":[],"text":"<&>` + "\u2028" + `\u0000€","none":null}`
	for range 20 {
		got, err := strictjson.Encode(in)
		if err != nil || string(got) != want {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	for _, bad := range []any{
		answer{Text: "\xff"}, answer{Result: strictjson.Raw("[1")}, answer{Result: strictjson.Raw(`{"a":1,"a":2}`)}, func() {},
	} {
		if got, err := strictjson.Encode(bad); !fault.Is(err, fault.Internal) || got != nil {
			t.Errorf("%#v: got %s, %v", bad, got, err)
		}
	}
}
