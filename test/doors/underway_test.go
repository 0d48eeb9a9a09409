package doors_test

import (
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/protocol/rpcwire"
)

// A call that is out may have an effect, in whatever view of it.
func TestACallThatIsOutIsNotOneWithoutEffect(t *testing.T) {
	h := newHouse(t)
	review := h.notes()
	_, tokens := h.app("reader", "read_note")
	h.up.set(func(u *upstream) { u.arrive, u.leave = make(chan struct{}), make(chan struct{}) })
	tx, done := id.NewTx(time.Now()), make(chan struct{})
	go func() {
		defer close(done)
		h.rpc(rpcwire.Call.Path, tokens["rpc"], calling(review, tx, `{"id":1}`))
	}()
	<-h.up.arrive
	shown := do(h, adminwire.JournalShow, adminwire.JournalRef{Invocation: tx.String()})
	listed := do(h, adminwire.JournalList, adminwire.ListJournal{}).Invocations
	_, raw := h.rpc(rpcwire.Lookup.Path, tokens["rpc"], looking(tx))
	h.up.leave <- struct{}{}
	<-done
	for view, effects := range map[string]string{"show": shown.Effects, "list": listed[0].Effects, "lookup": string(decoded(t, raw).Effects)} {
		if effects != "uncertain" {
			t.Errorf("%s says %q", view, effects)
		}
	}
}
