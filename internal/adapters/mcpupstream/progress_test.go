package mcpupstream

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
)

// Whoever asked is told how far its own call is, as it was said, while it waits,
// and nothing of any other.
func TestProgressFindsItsCall(t *testing.T) {
	const calls = 16
	for _, era := range []string{"handshake", "stateless"} {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var open []request
				tell := func(u *upstream, token, rest string) {
					u.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}`+"\n", token, rest)
				}
				s := script{every: func(u *upstream, m request) int {
					if open = append(open, m); len(open) < calls {
						return goOn
					}
					for i := range open {
						m := open[len(open)-1-i]
						if m.Params.Name == "quiet" {
							tell(u, string(m.ID), `"progress":1`) // unasked
							u.result(m, okJSON)
							continue
						}
						tell(u, string(m.ID), `"progress":1e0,"total":9007199254740993,"message":"of `+m.Params.Name+`"`)
						tell(u, `"`+string(m.ID)+`"`, `"progress":2`) // not the token that was given
						tell(u, string(m.ID), `"progress":"3"`)
						tell(u, string(m.ID), `"progress":4,"total":"x","message":"`+strings.Repeat("x", 2000)+`"`)
						u.result(m, okJSON)
						tell(u, string(m.ID), `"progress":5`)
					}
					return goOn
				}}
				if era == "stateless" {
					s.initialize = func(u *upstream, m request) int { return u.error(m, `{"code":-32601,"message":"no"}`) }
					s.discover = func(u *upstream, m request) int {
						return u.result(m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
					}
				}
				r := onPipes(t, s)
				if err := r.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				var mu sync.Mutex
				got, want := map[string][]string{}, map[string][]string{}
				var all sync.WaitGroup
				for i := range calls {
					name := fmt.Sprint("tool-", i)
					if i == 0 {
						all.Go(func() { r.Call(t.Context(), "quiet", nil, nil) })
						continue
					}
					want[name] = []string{`1e0 9007199254740993 "of ` + name + `"`, "4  "}
					all.Go(func() {
						ev := r.CallReporting(t.Context(), name, nil, nil, func(p invocation.Progress) {
							mu.Lock()
							defer mu.Unlock()
							got[name] = append(got[name], fmt.Sprintf("%s %s %s", p.Done, p.Total, p.Message))
						})
						if ev.Kind != invocation.Answered {
							t.Errorf("event %+v", ev)
						}
					})
				}
				all.Wait()
				synctest.Wait()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
				for _, m := range open {
					asked, quiet := strings.HasPrefix(string(m.Params.Meta), `{"progressToken":`+string(m.ID)), m.Params.Name == "quiet"
					if asked == quiet || strings.Contains(string(m.Params.Meta), "clientCapabilities") != (era == "stateless") {
						t.Errorf("%s went out with _meta %s", m.Params.Name, m.Params.Meta)
					}
				}
				r.Close()
			})
		})
	}
}

// Who has given up is told nothing more.
func TestProgressEndsWithTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{call: func(u *upstream, m request) int {
			go func() {
				for i := range 10 {
					<-time.After(300 * time.Millisecond)
					u.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", m.ID, i)
				}
				u.result(m, okJSON)
			}()
			return goOn
		}})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := deadline(time.Second)(t)
		defer stop()
		told := 0
		var late lateBox
		got := r.CallReporting(ctx, "tool", nil, late.put, func(invocation.Progress) { told++ })
		<-time.After(time.Minute)
		if got.Kind != invocation.TimedOut || told != 3 || len(late.events()) != 1 {
			t.Errorf("event %+v, told %d times, late %v", got, told, late.events())
		}
		r.Close()
	})
}
