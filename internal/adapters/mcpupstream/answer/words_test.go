package answer_test

import (
	"testing"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
)

func TestWordsAreWhatAModelReads(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}],"structuredContent":{"a":1}}`: "a\n[image]\nb",
		`{"content":[],"structuredContent":{"a": 1.0}}`: `{"a": 1.0}`,
		`{"structuredContent":[1]}`:                     `[1]`,
		`{"content":[]}`:                                "",
		`{"content":7}`:                                 `{"content":7}`,
	} {
		if got := answer.Words([]byte(result)); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}
