package builtins_test

import (
	"testing"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/service/builtins"
)

func TestEveryDocumentIsPublishedUnderItsURL(t *testing.T) {
	seeds, err := builtins.Seeds()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{contract.ItemStoreURL, contract.ProfileURL, contract.GrantsURL, contract.JournalURL}
	for i, s := range seeds {
		if s.Document.URL != want[i] {
			t.Errorf("seed %d is %s, want %s", i, s.Document.URL, want[i])
		}
	}
	if len(seeds) != len(want) {
		t.Errorf("%d seeds, want %d", len(seeds), len(want))
	}
}
