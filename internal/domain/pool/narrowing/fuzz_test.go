package narrowing_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
)

// Whatever bytes an upstream lists, a proposal compiles and is its own proposal; a
// refusal has a reason and nothing else.
func FuzzPropose(f *testing.F) {
	for _, it := range corpus(f) {
		f.Add([]byte(it.input))
		if it.output != "" {
			f.Add([]byte(it.output))
		}
	}
	f.Add([]byte(of(`"a":{"$ref":"#/$defs/b"},"c":{"oneOf":[{"const":1},{"exclusiveMinimum":2,"type":"integer"}]}`)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if out, ok := narrowing.ProposeOutput(raw); ok {
			compileOutput(t, out)
			if again, _ := narrowing.ProposeOutput(out); !bytes.Equal(again, out) {
				t.Fatalf("%s is not its own proposal, but %s", out, again)
			}
		} else if out != nil {
			t.Fatalf("a schema came with a refusal of %q", raw)
		}
		r := narrowing.Propose(raw, narrowing.Profile{})
		if r.Outcome == narrowing.Refused {
			if r.Reason == nil || r.Schema != nil || r.Decisions != nil || r.Lost != nil {
				t.Fatalf("%q: %+v", raw, r)
			}
			return
		}
		compile(t, r.Schema)
		want := narrowing.Result{Outcome: narrowing.AsIs, Schema: r.Schema}
		if diff := cmp.Diff(want, narrowing.Propose(r.Schema, narrowing.Profile{}), whole); diff != "" {
			t.Fatalf("%s is not its own proposal\n%s", r.Schema, diff)
		}
	})
}
