package strictjson_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func TestMembersKeepEachValueAsItWasWritten(t *testing.T) {
	got, err := strictjson.Members([]byte(` {"a" : [1,  9007199254740993],"b\u0020":"\u0041","c":{} }`), strictjson.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]strictjson.Raw{
		"a": strictjson.Raw(`[1,  9007199254740993]`), "b ": strictjson.Raw(`"\u0041"`), "c": strictjson.Raw(`{}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{`[]`, `1`, ``, `{"a":1,"\u0061":2}`, `{"a":}`, `{"a":1} 2`, `{"a":1`} {
		if got, err := strictjson.Members([]byte(bad), strictjson.Limits{}); err == nil || got != nil {
			t.Errorf("%s is accepted as %v", bad, got)
		}
	}
}

func TestPartsAreWhereTheyStand(t *testing.T) {
	for raw, want := range map[string][]string{
		` {"a" : [1, 2],"b\u0020":"\u0041" }`: {"a=[1, 2]", `b ="\u0041"`},
		`[ {"a":[]} ,1 ,  "x,y",[[]] ]`:       {`={"a":[]}`, "=1", `="x,y"`, "=[[]]"},
		`{}`:                                  {}, `[ ]`: {}, `"a"`: nil, ` 1 `: nil, `null`: nil,
	} {
		parts, err := strictjson.Parts([]byte(raw), strictjson.Limits{})
		var got []string
		if parts != nil {
			got = []string{}
		}
		for _, p := range parts {
			got = append(got, p.Name+"="+raw[p.From:p.To])
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", raw, err, diff)
		}
	}
	for _, bad := range []string{``, `[1`, `[1,]`, `{"a":1,"a":2}`, `[1] 2`, `[{"a":1,"a":2}]`, `1 2`} {
		if got, err := strictjson.Parts([]byte(bad), strictjson.Limits{}); err == nil || got != nil {
			t.Errorf("%s is accepted as %v", bad, got)
		}
	}
}
