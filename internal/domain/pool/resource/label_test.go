package resource_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/id"
)

func TestALabelCanBeReadToldApartAndTyped(t *testing.T) {
	for _, good := range []string{
		"notes", "My notes (2)", "caf\u00e9", "\u65e5\u672c\u8a9e", "\ud55c\uad6d", "\u304c", "\u0919\u094d\u0917", "a-b@c", "items", "\U0001f600", "res_1",
		"\u1eb9\u0301", // has no form of one character
		strings.Repeat("n", 128),
	} {
		if err := resource.CheckLabel(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for name, bad := range map[string]string{
		"empty": "", "a space": " ", "a space at the start": " lead", "a space at the end": "trail ", "two lines": "a\nb", "a tab": "a\tb",
		"no-break space": "a\u00a0b", "ideographic space": "a\u3000b", "dashes only": "...",
		"an alias": "@items", "a flag": "--help", "a dash": "-x",
		"an app's id": id.New[id.Client]().String(), "a resource's id": id.New[id.Resource]().String(),
		"a server's id": id.New[id.Adapter]().String(), "a made-up id": "res_00000000000000000000000000",
		"Items": resource.LabelItems, "Profile": resource.LabelProfile, "Grants": resource.LabelGrants, "Journal": resource.LabelJournal,
		"e and an accent": "cafe\u0301", "Greek apart": "\u03b1\u0301", "Cyrillic apart": "\u0438\u0306", "Japanese apart": "\u304b\u3099",
		"Korean apart": "\u1112\u1161\u11ab", "the Kelvin sign": "\u212a",
		"unseen": "a\u200bb", "a filler": "\u3164",
	} {
		if err := resource.CheckLabel(bad); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%s, %q: %v", name, bad, err)
		}
	}
	if err := resource.CheckLabel(strings.Repeat("n", 129)); err == nil {
		t.Error("a name of 129 bytes is taken")
	}
}
