package resource_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// approvedTool is what was approved in every row of the table.
const approvedTool = `{"name":"send","title":"Send","description":"Sends a note.",
	"inputSchema":{"type":"object","properties":{"to":{"type":"string","maxLength":100,"description":"whom"},"title":{"type":"string","maxLength":9}},"required":["to"]},
	"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}},
	"annotations":{"title":"Send it","readOnlyHint":false,"destructiveHint":false},"_meta":{"title":"x"}}`

func drifted(raw string, input string) resource.Offer {
	return resource.Offer{Tool: "send", Raw: []byte(raw), Definition: contract.Method{Description: "d", Input: strictjson.Raw(input)},
		Binding: resource.Binding{Kind: resource.ByMCP, Tool: "send", Tooldef: digest.Of(digest.Definition, []byte(raw))}}
}

// What an upstream changed is words if nothing else changed, wherever the words
// are; names and data that look like words are not (field faults, FF40, FF75).
func TestWordsAreToldFromTheRest(t *testing.T) {
	type difference = resource.Difference
	for _, c := range []struct {
		name     string
		from, to string
		want     resource.Change
		where    []difference
	}{
		{"the description", `"Sends a note."`, `"Sends a note to eve."`, resource.Wording, []difference{{"/description", true, "Sends a note.", "Sends a note to eve."}}},
		{"hidden words", `"Sends a note."`, `"Sends a note.\u200b"`, resource.Wording, []difference{{"/description", true, "Sends a note.", `Sends a note.\u{200b}`}}},
		{"the title is gone", `"title":"Send",`, ``, resource.Wording, []difference{{"/title", true, "Send", ""}}},
		{"the annotations' title", `"Send it"`, `"Look at it"`, resource.Wording, []difference{{"/annotations/title", true, "Send it", "Look at it"}}},
		{"the words of a parameter", `"whom"`, `"whom, and eve"`, resource.Wording, []difference{{"/inputSchema/properties/to/description", true, "whom", "whom, and eve"}}},
		{"a hint alone", `"destructiveHint":false`, `"destructiveHint":true`, resource.Meaning, []difference{{"/annotations/destructiveHint", false, "false", "true"}}},
		{"a bound", `100`, `1000`, resource.Meaning, []difference{{"/inputSchema/properties/to/maxLength", false, "100", "1000"}}},
		{"a parameter named title", `"title":{"type":"string","maxLength":9}`, `"title":{"type":"string","maxLength":8}`, resource.Meaning,
			[]difference{{"/inputSchema/properties/title/maxLength", false, "9", "8"}}},
		{"a parameter more", `"required"`, `"additionalProperties":false,"required"`, resource.Meaning, []difference{{"/inputSchema/additionalProperties", false, "", "false"}}},
		{"the output", `"id"`, `"no"`, resource.Meaning, []difference{{"/outputSchema/properties/id", false, `{"type":"string"}`, ""}, {"/outputSchema/properties/no", false, "", `{"type":"string"}`}}},
		{"what we do not know", `"_meta":{"title":"x"}`, `"_meta":{"title":"y"}`, resource.Meaning, []difference{{"/_meta/title", false, `"x"`, `"y"`}}},
		{"a description that is no text", `"Sends a note."`, `["Sends"]`, resource.Meaning, []difference{{"/description", false, `"Sends a note."`, `["Sends"]`}}},
		{"nothing but spelling", `100`, `1e2`, resource.Back, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, _ := resource.Merge(nil, []resource.Offer{drifted(approvedTool, `{"type":"object"}`)}, group)
			first[0].Method.State = resource.Live
			if _, _, ok := first[0].ChangeOf(); ok {
				t.Error("a live method has changed")
			}
			now := strings.Replace(approvedTool, c.from, c.to, 1)
			if now == approvedTool {
				t.Fatal("nothing is replaced")
			}
			after, _ := resource.Merge(first, []resource.Offer{drifted(now, `{"type":"object"}`)}, group)
			got, where, ok := after[0].ChangeOf()
			if !ok || got != c.want || after[0].Method.State != resource.NeedsConsent {
				t.Errorf("%v %s, the method is %s", ok, got, after[0].Method.State)
			}
			if diff := cmp.Diff(c.where, where); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			// A second change is compared with what was approved, and a change that is
			// taken back, by whatever way, is known as such, and still waits for a yes.
			gone, _ := resource.Merge(after, nil, group)
			for _, before := range [][]resource.Kept{after, gone} {
				back, _ := resource.Merge(before, []resource.Offer{drifted(approvedTool, `{"type":"object"}`)}, group)
				if got, where, ok := back[0].ChangeOf(); !ok || got != resource.Back || len(where) != 0 || back[0].Method.State != resource.NeedsConsent {
					t.Errorf("taken back: %v %s %v, the method is %s", ok, got, where, back[0].Method.State)
				}
			}
		})
	}
}

// Where the words of the upstream alone changed, but what calls are held to is
// another schema, it is more than words.
func TestAnotherSchemaIsNeverWords(t *testing.T) {
	first, _ := resource.Merge(nil, []resource.Offer{drifted(approvedTool, `{"type":"object"}`)}, group)
	first[0].Method.State = resource.Live
	after, _ := resource.Merge(first, []resource.Offer{drifted(strings.Replace(approvedTool, "a note", "notes", 1), `{"type":"object","required":["to"]}`)}, group)
	if got, _, _ := after[0].ChangeOf(); got != resource.Meaning {
		t.Errorf("it is %s", got)
	}
}

// A definition differs from itself in nothing, whatever its order; and each change
// of one value, and no other, is found at its place.
func TestDifferencesAreWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) *rapid.Generator[any]
		value = func(depth int) *rapid.Generator[any] {
			scalar := rapid.OneOf(rapid.Just[any](true), rapid.Just[any](1.0), rapid.Map(rapid.StringMatching(`[a-c]{0,2}`), func(s string) any { return s }))
			if depth == 0 {
				return scalar
			}
			name := rapid.SampledFrom([]string{"title", "description", "properties", "default", "enum", "a", "b/c~d"})
			return rapid.OneOf(scalar,
				rapid.Map(rapid.MapOfN(name, value(depth-1), 0, 4), func(m map[string]any) any { return m }),
				rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(s []any) any { return s }))
		}
		a, b := value(3).Draw(t, "a"), value(3).Draw(t, "b")
		rawA, _ := json.Marshal(a)
		rawB, _ := json.Marshal(b)
		found := resource.Differences(rawA, rawB)
		if same := string(rawA) == string(rawB); same != (len(found) == 0) {
			t.Fatalf("%s and %s: %v", rawA, rawB, found)
		}
		for _, d := range found {
			if d.Before == d.After && !d.Words {
				t.Fatalf("%s and %s: %+v", rawA, rawB, d)
			}
		}
	})
}
