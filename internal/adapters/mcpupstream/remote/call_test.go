package remote

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/adapters/mcpupstream/question"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// A call is taken back while its first byte goes out: what was received of it is its
// event, whatever it is, and the session ends when it is told to.
func TestWhatIsReceivedInTheLastMomentCounts(t *testing.T) {
	event := func(kind invocation.EventKind, detail string) invocation.Event {
		return invocation.Event{Kind: kind, Detail: detail}
	}
	for _, c := range []struct {
		name            string
		o               outcome
		expired, cancel invocation.Event
	}{
		{"an answer", outcome{Answer: answer.Answer{Event: event(invocation.Answered, "")}, status: http.StatusOK}, event(invocation.Answered, ""), event(invocation.Answered, "")},
		{"a broken connection", lost(invocation.Broken, "cut"), event(invocation.Broken, "cut"), event(invocation.Broken, "cut")},
		{"a cut", lost(invocation.Cancelled, "no answer after the cancellation"), event(invocation.TimedOut, "no answer before the deadline"), event(invocation.Cancelled, "no answer after the cancellation")},
		{"a refusal", outcome{Answer: answer.Of(invocation.Rejected, "no"), status: http.StatusOK}, event(invocation.Cancelled, "no"), event(invocation.Cancelled, "no")},
		{"nothing sent", unsent(fault.New(fault.Unavailable, "no way")), event(invocation.Unreached, "no way"), event(invocation.Unreached, "no way")},
	} {
		for _, expired := range []bool{false, true} {
			t.Run(c.name+map[bool]string{false: ", cancelled", true: ", expired"}[expired], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := New(t.Context(), Spec{}, func() {})
					s.meta = question.Meta{} // no notice: there is no server
					over := make(chan struct{})
					go func() { s.Run(); close(over) }()
					ctx, end := context.WithDeadline(t.Context(), time.Now())
					if !expired {
						ctx, end = context.WithCancel(t.Context())
					}
					end()
					w := &waiting{began: make(chan struct{}), answer: make(chan outcome, 1)}
					w.cancel = func() {
						select {
						case w.answer <- c.o:
						default: // given once
						}
					}
					want := map[bool]invocation.Event{false: c.cancel, true: c.expired}[expired]
					got := s.giveUp(ctx, 1, w, func(invocation.Event) {})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
					s.End("closed")
					synctest.Wait()
					select {
					case <-over:
					default:
						t.Error("the session does not end")
						w.cancel()
					}
				})
			})
		}
	}
}
