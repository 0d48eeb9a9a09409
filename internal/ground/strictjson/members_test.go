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
