package conversation_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/conversation"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// The length is that of the encoder which writes the wire, for any text and for
// any way of cutting it.
func TestEncodedLenIsTheEncodersOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.String()).Draw(t, "parts")
		sum := 0
		for _, p := range parts {
			sum += conversation.EncodedLen(p)
		}
		raw, err := strictjson.Encode(strings.Join(parts, ""))
		if err != nil {
			t.Fatal(err)
		}
		if sum != len(raw)-2 {
			t.Fatalf("%q counts %d, the encoder writes %d", parts, sum, len(raw)-2)
		}
	})
}

func TestCallsHaveIdsOfTheirOwn(t *testing.T) {
	call := func(id, name string) conversation.Call { return conversation.Call{ID: id, Name: name} }
	many := make([]conversation.Call, bound.TurnRoundCalls.Int()+1)
	for i := range many {
		many[i] = call(strings.Repeat("i", i+1), "t")
	}
	for name, c := range map[string]struct {
		calls []conversation.Call
		ok    bool
	}{
		"two of their own":      {[]conversation.Call{call("b", "t"), call("c", "t")}, true},
		"the longest id":        {[]conversation.Call{call(strings.Repeat("x", 128), "t")}, true},
		"one byte too long":     {[]conversation.Call{call(strings.Repeat("x", 129), "t")}, false},
		"no id":                 {[]conversation.Call{call("", "t")}, false},
		"no name":               {[]conversation.Call{call("b", "")}, false},
		"twice in one reply":    {[]conversation.Call{call("b", "t"), call("b", "u")}, false},
		"used in an earlier":    {[]conversation.Call{call("a", "t")}, false},
		"more than a round may": {many, false},
		"an id that is no text": {[]conversation.Call{call("\xff", "t")}, false},
	} {
		seen := conversation.Seen{"a": true}
		if err := seen.Check(conversation.Reply{Calls: c.calls}); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
