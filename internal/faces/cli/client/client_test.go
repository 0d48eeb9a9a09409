package client_test

import (
	"path/filepath"
	"testing"

	"github.com/stewardhost/steward/internal/faces/cli/client"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// A name that cannot be sent is the caller's own, and no failure of a host that was
// never asked.
func TestWhatCannotBeSentIsTheCallersOwn(t *testing.T) {
	c := client.Dial(filepath.Join(t.TempDir(), "nobody"))
	defer c.Close()
	if _, err := client.Call(t.Context(), c, adminwire.CapsulesRemove, adminwire.CapsuleRef{Name: "a\xff"}); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("%v", err)
	}
}
