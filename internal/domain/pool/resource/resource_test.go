package resource_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func group(n int) string { return fmt.Sprintf("https://x.invalid/contracts/g%d/v1", n) }

func offer(tool, definition string) resource.Offer {
	return resource.Offer{
		Tool:       tool,
		Definition: contract.Method{Description: definition, Input: strictjson.Raw(`{"type":"object"}`)},
		Binding:    resource.Binding{Kind: resource.ByMCP, Tool: tool, Tooldef: digest.Of(digest.Definition, []byte(definition))},
	}
}

// live merges a first listing and lets the owner approve all of it.
func live(listing ...resource.Offer) []resource.Kept {
	kept, _ := resource.Merge(nil, listing, group)
	for i := range kept {
		if kept[i].Method.State == resource.Proposed {
			kept[i].Method.State = resource.Live
		}
	}
	return kept
}

func states(kept []resource.Kept) map[string]resource.MethodState {
	out := map[string]resource.MethodState{}
	for _, k := range kept {
		out[k.Method.Definition.ID] = k.Method.State
	}
	return out
}

func TestMergeTurnsOffWhatDriftedAndNothingElse(t *testing.T) {
	start := live(offer("a", "1"), offer("b", "1"), offer("c", "1"))
	after, changed := resource.Merge(start, []resource.Offer{offer("c", "1"), offer("a", "2"), offer("d", "1")}, group)
	want := map[string]resource.MethodState{"a": resource.NeedsConsent, "b": resource.Gone, "c": resource.Live, "d": resource.Proposed}
	if diff := cmp.Diff(want, states(after)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "d"}, changed); diff != "" {
		t.Error(diff)
	}
	// Taking the change back does not take the doubt back.
	reverted, _ := resource.Merge(after, []resource.Offer{offer("a", "1"), offer("b", "1"), offer("c", "1"), offer("d", "1")}, group)
	want["b"] = resource.NeedsConsent
	if diff := cmp.Diff(want, states(reverted)); diff != "" {
		t.Error(diff)
	}
	again, changed := resource.Merge(reverted, []resource.Offer{offer("a", "1"), offer("b", "1"), offer("c", "1"), offer("d", "1")}, group)
	if len(changed) != 0 || !cmp.Equal(states(again), states(reverted)) {
		t.Errorf("an equal listing changed %v", changed)
	}
}

func TestMergeGivesSafeDistinctIDsThatStay(t *testing.T) {
	names := []string{"admin.tools/list", "admin_tools_list", "admin tools list", "9lives", "", "日本", strings.Repeat("x", 80), strings.Repeat("x", 81)}
	var listing []resource.Offer
	for _, n := range names {
		listing = append(listing, offer(n, "1"))
	}
	kept, _ := resource.Merge(nil, listing, group)
	form := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	byTool := map[string]string{}
	seen := map[string]bool{}
	for _, k := range kept {
		got := k.Method.Definition.ID
		if !form.MatchString(got) || seen[got] {
			t.Errorf("%q became %q", k.Method.Binding.Tool, got)
		}
		seen[got], byTool[k.Method.Binding.Tool] = true, got
	}
	// The order of a later listing must not move an id to another tool.
	for i, j := 0, len(listing)-1; i < j; i, j = i+1, j-1 {
		listing[i], listing[j] = listing[j], listing[i]
	}
	again, _ := resource.Merge(kept, listing, group)
	for _, k := range again {
		if byTool[k.Method.Binding.Tool] != k.Method.Definition.ID {
			t.Errorf("%q moved to %q", k.Method.Binding.Tool, k.Method.Definition.ID)
		}
	}
}

func TestMergeDividesLargeCatalogues(t *testing.T) {
	var listing []resource.Offer
	for i := range 70 {
		listing = append(listing, offer(fmt.Sprintf("tool_%02d", i), "1"))
	}
	kept, _ := resource.Merge(nil, listing, group)
	count := map[string]int{}
	for _, k := range kept {
		count[k.Method.Contract]++
	}
	if diff := cmp.Diff(map[string]int{group(1): 32, group(2): 32, group(3): 6}, count); diff != "" {
		t.Error(diff)
	}
}

func TestHiddenCharactersAreSeen(t *testing.T) {
	cases := map[string]string{
		"plain é 日本 😀":             "plain é 日本 😀",
		"line\nand\ttab":           "line\nand\ttab",
		"a\u200bb":                 `a\u{200b}b`,
		"\u202egnp.exe":            `\u{202e}gnp.exe`,
		"tag\U000E0041\U000E007F.": `tag\u{e0041}\u{e007f}.`,
		"nul\x00esc\x1b[31m":       `nul\u{0}esc\u{1b}[31m`,
		"soft\u00adhyphen":         `soft\u{ad}hyphen`,
		"bad\xff":                  `bad\u{fffd}`,
		"\u3164\u115f\uffa0":       `\u{3164}\u{115f}\u{ffa0}`,
		"a\ufe0fb\U000e0101":       `a\u{fe0f}b\u{e0101}`,
		"\u034f\u17b4\u180b\u2800": `\u{34f}\u{17b4}\u{180b}\u{2800}`,
	}
	for in, want := range cases {
		if got := resource.Visible(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
		if resource.Readable(in) != (in == want && !strings.ContainsAny(in, "\n\t")) {
			t.Errorf("Readable(%q) = %v", in, resource.Readable(in))
		}
	}
}

func TestPresentationAndDescriptorAreDisjoint(t *testing.T) {
	row := resource.Row{Kind: resource.Connection, Label: "Notes", Storage: resource.AtThirdParty}
	kept := live(offer("a", "1"))
	methods := []resource.Method{kept[0].Method}
	renamed := row
	renamed.Label = "My notes"
	if row.Descriptor(methods) != renamed.Descriptor(methods) || row.Presentation() == renamed.Presentation() {
		t.Error("a label is part of what is executed, or not of what is shown")
	}
	changed := []resource.Method{live(offer("a", "2"))[0].Method}
	if row.Descriptor(methods) == row.Descriptor(changed) {
		t.Error("a changed tool leaves the descriptor as it was")
	}
}
