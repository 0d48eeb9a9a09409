package served_test

import (
	"testing"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/served"
)

func TestWhatWasListedLastIsTheCapsules(t *testing.T) {
	var l served.List
	has := func(want map[string]bool) {
		t.Helper()
		for uri, yes := range want {
			if l.Has(uri, []string{"family:", "other:x"}) != yes {
				t.Errorf("%s: %v", uri, !yes)
			}
		}
	}
	has(map[string]bool{"n:1": false, "family:": true, "family:a": true, "other:": false, "other:xy": true})
	answer := []byte(`{"resources":[{"uri":"n:1","name":"one"},{"uri":"n:10","name":"ten"}]}`)
	l.Note(answer)
	clear(answer) // whose owner goes on with it
	has(map[string]bool{"n:1": true, "n:10": true, "n:": false, "n:100": false, "family:a": true})
	l.Note([]byte(`{"resources":[]}`))
	has(map[string]bool{"n:1": false, "n:10": false})
}
