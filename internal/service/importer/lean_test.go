package importer_test

import (
	"log/slog"
	"runtime/debug"
	"testing"

	"github.com/stewardhost/steward/internal/service/importer"
)

// The collector is as it was when the last of several is done, in whatever order.
func TestFrugalityEndsWithItsLastUser(t *testing.T) {
	before := debug.SetGCPercent(321)
	defer debug.SetGCPercent(before)
	now := func() int {
		percent := debug.SetGCPercent(321)
		debug.SetGCPercent(percent)
		return percent
	}
	im := importer.New(nil, nil, slog.New(slog.DiscardHandler))
	for range 2 {
		first, second := im.Frugally(), im.Frugally()
		lean := now()
		first()
		if lean >= 100 || now() != lean {
			t.Errorf("%d, then %d", lean, now())
		}
		second()
		if now() != 321 {
			t.Errorf("it is left at %d", now())
		}
	}
}
