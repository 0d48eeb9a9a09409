package callback_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/domain/sessions/transcript"
	"github.com/stewardhost/steward/internal/ground/bound"
)

// What a model asks for fits a record however long it is: the call is refused, and
// the turn goes on.
func TestTheRecordOfARefusedCallFitsAFrame(t *testing.T) {
	for _, n := range []int{bound.ArgumentBytes.Int(), bound.ArgumentBytes.Int() + 1, 8 << 20} {
		need := callback.Need{ID: "c", ProviderCall: "p", Arguments: strings.Repeat("\u0001", n)}
		d, err := need.Record(0, "add")
		if err != nil {
			t.Fatal(err)
		}
		r, err := transcript.New(2, 0, "T", transcript.ToolCall, d)
		if err == nil {
			_, err = transcript.Encode(r)
		}
		if err != nil || len(d.Arguments) != bound.ArgumentBytes.Int() {
			t.Errorf("%d bytes: %d are kept, %v", n, len(d.Arguments), err)
		}
	}
}
