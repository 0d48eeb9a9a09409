package mcpupstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/means/childprocess"
)

// slack is what a loaded machine may add to a time that a test measures.
const slack = 20 * time.Second

// waitFor waits until the condition holds, but not for ever.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(slack); !condition(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// refusal is a fault as its parts, for comparing.
type refusal struct {
	Code    fault.Code
	Text    string
	RetryMS any
}

func refused(err error) refusal {
	if err == nil {
		return refusal{}
	}
	f := fault.From(err)
	return refusal{f.Code, f.Text, f.Details["retry_after_ms"]}
}

func demandRefusal(t *testing.T, what string, err error, want refusal) {
	t.Helper()
	if diff := cmp.Diff(want, refused(err)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func demandStatus(t *testing.T, what string, c *Client, want Status) {
	t.Helper()
	if diff := cmp.Diff(want, c.Status(), cmpopts.IgnoreFields(Status{}, "PID", "StartedAt")); diff != "" {
		t.Errorf("status %s (-want +got):\n%s", what, diff)
	}
}

// FF32: however many ask, one process starts.
func TestCallersShareOneSlowStart(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "slow to start")
	demandStatus(t, "before", r.Client, Status{Name: "scripted", State: view.ConnectionIdle})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := r.Open(t.Context()); err != nil {
				t.Error(err)
			}
			if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Answered {
				t.Errorf("event %+v", got)
			}
		})
	}
	waitFor(t, "the start is seen", func() bool { return r.Status().State == view.ConnectionStarting })
	all.Wait()
	if n := r.starts(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
	if got := r.Status(); got.State != view.ConnectionReady || got.PID == 0 || got.StartedAt.IsZero() || got.Restarts != 0 {
		t.Errorf("status %+v", got)
	}
}

func TestOneCallerGivingUpDoesNotStopTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, scripts["slow to start"])
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		var second error
		var all sync.WaitGroup
		all.Go(func() { second = r.Open(t.Context()) })
		demandRefusal(t, "first", r.Open(ctx), refusal{fault.Unavailable, "the upstream is still starting", nil})
		all.Wait()
		if second != nil || r.starts() != 1 || !r.Ready() {
			t.Errorf("second: %v, %d starts", second, r.starts())
		}
		r.Close()
	})
}

func TestStartHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{initialize: func(u *upstream, m request) int { return goOn }})
		began := time.Now()
		err := r.Open(t.Context())
		demandRefusal(t, "open", err, refusal{fault.Unavailable, "the upstream cannot be used", int64(500)})
		if took := time.Since(began); took != bound.StartDeadline.Duration() {
			t.Errorf("took %v", took)
		}
		demandStatus(t, "after", r.Client, Status{Name: "scripted", State: view.ConnectionFailed,
			Reason: "the upstream cannot be used: initialize: no answer in time; last words"})
		r.Close()
	})
}

// FF30: the pause grows while starts fail, and the caller learns why and when.
func TestPauseGrowsWithFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, scripts["dies at start"])
		for i, pause := range []int64{500, 1000, 2000, 4000, 8000, 16000, 30000, 30000} {
			want := refusal{fault.Unavailable, "the upstream is not running: exit code 4", pause}
			demandRefusal(t, fmt.Sprint("start ", i), r.Open(t.Context()), want)
			<-time.After(time.Duration(pause)*time.Millisecond - time.Millisecond)
			want.RetryMS = int64(1)
			demandRefusal(t, fmt.Sprint("too early ", i), r.Open(t.Context()), want)
			if r.starts() != i+1 {
				t.Fatalf("%d starts after %d", r.starts(), i)
			}
			<-time.After(time.Millisecond)
		}
		r.Close()
	})
}

func TestProvenSessionEndsTheRowOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{every: func(*upstream, request) int { return 3 }})
		for i, c := range []struct {
			lives time.Duration
			pause int64
		}{{0, 500}, {provenAfter - 1, 1000}, {0, 2000}, {provenAfter, 500}, {0, 1000}} {
			if err := r.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			<-time.After(c.lives)
			if got := r.Call(t.Context(), "tool", nil, nil); !cmp.Equal(got, event(invocation.Broken, "exit code 3")) {
				t.Errorf("event %+v", got)
			}
			want := refusal{fault.Unavailable, "the upstream is not running: exit code 3", c.pause}
			demandRefusal(t, fmt.Sprint("after life ", i), r.Open(t.Context()), want)
			demandStatus(t, "while pausing", r.Client, Status{Name: "scripted", State: view.ConnectionFailed, Restarts: i,
				Reason: "the upstream is not running: exit code 3: last words"})
			if got := r.Call(t.Context(), "tool", nil, nil); !cmp.Equal(got, event(invocation.Unreached, want.Text)) {
				t.Errorf("call while pausing: %+v", got)
			}
			// A long time after the end, nothing is left of the pause.
			<-time.After(time.Duration(c.pause) * time.Millisecond)
		}
		r.Close()
	})
}

// FF30, FF24, FF21 with a real process that is killed.
func TestKilledProcessIsToldAndStartedAgain(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "silent")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	killed := make(chan invocation.Event)
	go func() { killed <- r.Call(t.Context(), "tool", nil, nil) }()
	waitFor(t, "the call arrives", func() bool { return r.count("tools/call") == 1 })
	first := r.Status().PID
	syscall.Kill(first, syscall.SIGKILL)
	if got := <-killed; !cmp.Equal(got, event(invocation.Broken, "signal killed")) {
		t.Errorf("event %+v", got)
	}
	err := r.Open(t.Context())
	if got := refused(err); got.Code != fault.Unavailable || got.Text != "the upstream is not running: signal killed" {
		t.Errorf("open at once: %+v", got)
	}
	waitFor(t, "it is started again", func() bool { return r.Open(t.Context()) == nil })
	if got := r.Status(); got.State != view.ConnectionReady || got.Restarts != 1 || got.PID == first || r.starts() != 2 {
		t.Errorf("status %+v after %d starts", got, r.starts())
	}
	if n := r.count("tools/call"); n != 1 {
		t.Errorf("the call was made %d times", n)
	}
}

// The owner sees the upstream's last words; a caller does not.
func TestLastWordsAreForTheOwner(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "exits while asked")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Call(t.Context(), "tool", nil, nil); !cmp.Equal(got, event(invocation.Broken, "exit code 3")) {
		t.Errorf("event %+v", got)
	}
	demandStatus(t, "after", r.Client, Status{Name: "scripted", State: view.ConnectionFailed,
		Reason: `the upstream is not running: exit code 3: out of\x1b[0m memory`})
	err := r.Open(t.Context())
	if got := refused(err); got.Text != "the upstream is not running: exit code 3" {
		t.Errorf("a caller is told %q", got.Text)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "memory") {
			t.Errorf("a log may tell %#v", err)
		}
	}
}

func TestCommandThatDoesNotExist(t *testing.T) {
	t.Parallel()
	c := NewStdio("gone", childprocess.Spec{Command: "no-such-command"}, Options{})
	defer c.Close()
	got := refused(c.Open(t.Context()))
	if got.Code != fault.Unavailable || got.Text != "the upstream cannot be started" {
		t.Errorf("got %+v", got)
	}
	demandStatus(t, "after", c, Status{Name: "gone", State: view.ConnectionFailed,
		Reason: `the upstream cannot be started: the command cannot be started: exec: "no-such-command": executable file not found in $PATH`})
}

// At no time are there two processes of one upstream.
func TestNextStartWaitsForTheFormerProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{initialize: func(u *upstream, m request) int {
			u.result(m, greetingJSON)
			u.in.ReadString('\n')
			u.in.ReadByte()
			<-time.After(3 * time.Second) // and then ends
			return 0
		}})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		r.Call(ctx, "tool", []byte(`{"a":"`+strings.Repeat("x", 32<<10)+`"}`), nil)
		<-time.After(firstPause)
		began := time.Now()
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 3*time.Second-time.Second-firstPause {
			t.Errorf("the next start took %v", took)
		}
		r.Close()
	})
}

func TestCloseEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, scripts["silent"])
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if got := r.Call(t.Context(), "tool", nil, nil); !cmp.Equal(got, event(invocation.Broken, "switched off")) {
				t.Errorf("event %+v", got)
			}
		})
		synctest.Wait()
		r.Close()
		all.Wait()
		demandRefusal(t, "open", r.Open(t.Context()), refusal{fault.Unavailable, "the upstream is not running", nil})
		if got := r.Call(t.Context(), "tool", nil, nil); !cmp.Equal(got, event(invocation.Unreached, "the upstream is not running")) {
			t.Errorf("event %+v", got)
		}
		demandStatus(t, "after", r.Client, Status{Name: "scripted", State: view.ConnectionIdle})
		r.Close()
	})
}

func TestCloseWhileStarting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, script{initialize: func(u *upstream, m request) int { return goOn }})
		opened := make(chan error)
		go func() { opened <- r.Open(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		r.Close()
		if err := <-opened; !fault.Is(err, fault.Unavailable) || time.Since(began) != 0 {
			t.Errorf("open ended with %v after %v", err, time.Since(began))
		}
	})
}

func TestHandshake(t *testing.T) {
	// says answers initialize, and what else is asked in the stateless era.
	modern := func(u *upstream, m request) int {
		return u.result(m, `{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"],"capabilities":{"tools":{"listChanged":true}},`+
			`"instructions":"Be kind.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"modern","version":"8"}}}`)
	}
	refusing := func(code int) func(*upstream, request) int {
		return func(u *upstream, m request) int { return u.error(m, fmt.Sprintf(`{"code":%d,"message":"no"}`, code)) }
	}
	saying := func(version string) script {
		return script{initialize: func(u *upstream, m request) int {
			return u.result(m, strings.Replace(greetingJSON, "2025-11-25", version, 1))
		}, discover: modern}
	}
	unusable := func(reason string) string { return "the upstream cannot be used: " + reason + "; last words" }
	for _, c := range []struct {
		name     string
		script   script
		protocol string
		server   string
		reason   string
	}{
		{"newest", saying("2025-11-25"), "2025-11-25", "scripted", ""},
		{"oldest", saying("2024-11-05"), "2024-11-05", "scripted", ""},
		{"between", saying("2025-06-18"), "2025-06-18", "scripted", ""},
		{"too old", saying("2024-10-07"), "", "", unusable("the upstream speaks protocol revision 2024-10-07, which this host does not")},
		{"no such method", script{initialize: refusing(-32601), discover: modern}, "2026-07-28", "modern", ""},
		{"no such era", script{initialize: refusing(-32022), discover: modern}, "2026-07-28", "modern", ""},
		{"answers with the newer era", saying("2026-07-28"), "2026-07-28", "modern", ""},
		{"another refusal", script{initialize: refusing(-32603), discover: modern}, "", "", unusable("initialize: -32603: no")},
		{"neither era", script{initialize: refusing(-32601), discover: refusing(-32601)}, "", "", unusable("server/discover: -32601: no")},
		{"a later era only", script{initialize: refusing(-32601), discover: func(u *upstream, m request) int {
			return u.result(m, `{"supportedVersions":["2027-01-01"]}`)
		}}, "", "", unusable("the upstream speaks no protocol revision that this host does")},
		{"not an object", script{initialize: func(u *upstream, m request) int { return u.result(m, `[]`) }}, "", "", unusable("initialize: the answer is not an object")},
		{"no version", script{initialize: func(u *upstream, m request) int { return u.result(m, `{}`) }}, "", "", unusable("the upstream speaks protocol revision , which this host does not")},
		{"too much", script{initialize: func(u *upstream, m request) int { return u.result(m, resultOf(bound.ResultBytes.Int()+1)) }}, "", "",
			unusable("initialize: result_bytes is limited to 131072 bytes")},
		{"a name too long", script{initialize: func(u *upstream, m request) int {
			return u.result(m, strings.Replace(greetingJSON, "scripted", strings.Repeat("n", 257), 1))
		}}, "", "", unusable("title_bytes is limited to 256 bytes")},
		{"ends", script{initialize: func(u *upstream, m request) int { return 1 }}, "", "", "the upstream is not running: exit code 1: last words"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, c.script)
				got, err := r.List(t.Context())
				want := Listing{}
				if c.reason == "" {
					version := map[string]string{"scripted": "7", "modern": "8"}[c.server]
					want = Listing{Server: c.server, Version: version, Protocol: c.protocol, Instructions: "Be kind.", Tools: []RawTool{{Name: "tool", Raw: []byte(`{"name":"tool","inputSchema":{"type":"object"}}`)}}}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("listing (-want +got):\n%s", diff)
				}
				if (err != nil) != (c.reason != "") || r.Status().Reason != c.reason {
					t.Errorf("%v, reason %q, want %q", err, r.Status().Reason, c.reason)
				}
				r.Close()
			})
		})
	}
}

// What a session says, byte for byte, in both eras: no capability is offered,
// and in the stateless era every request says who asks.
func TestWhatASessionSays(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"steward","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"steward","version":"1"}}}`
	for _, c := range []struct {
		name   string
		script script
		want   []string
	}{
		{"handshake", script{}, []string{
			initialize,
			`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tool","arguments":{"a":1}}}`,
		}},
		{"stateless", script{
			initialize: func(u *upstream, m request) int { return u.error(m, `{"code":-32601,"message":""}`) },
			discover: func(u *upstream, m request) int {
				return u.result(m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
			},
		}, []string{
			initialize,
			`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`,
			`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{` + meta + `}}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"tool","arguments":{"a":1},` + meta + `}}`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, c.script)
				if _, err := r.List(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.Call(t.Context(), "tool", []byte(`{"a":1}`), nil)
				if diff := cmp.Diff(strings.Join(c.want, "\n")+"\n", strings.Join(r.received(), "")); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
				r.Close()
			})
		})
	}
}

// In the one revision that has them, a line may be a batch.
func TestBatches(t *testing.T) {
	batch := answers(`[{"jsonrpc":"2.0","method":"notifications/message"}, {"jsonrpc":"2.0","id":ID,"result":` + okJSON + `}]` + "\n")
	for version, want := range map[string]invocation.EventKind{"2025-03-26": invocation.Answered, "2025-11-25": invocation.TimedOut} {
		synctest.Test(t, func(t *testing.T) {
			r := onPipes(t, script{call: batch, initialize: func(u *upstream, m request) int {
				return u.result(m, strings.Replace(greetingJSON, "2025-11-25", version, 1))
			}})
			if err := r.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != want {
				t.Errorf("%s: event %+v", version, got)
			}
			r.Close()
		})
	}
}

func TestChangedToolsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"
		r := onPipes(t, script{every: func(u *upstream, m request) int {
			u.say("%s", changed)
			<-time.After(time.Millisecond) // the first has been heard
			u.say("%s", strings.Repeat(changed, 2))
			return u.result(m, okJSON)
		}})
		var told atomic.Int64
		release := make(chan struct{})
		r.OnChanged(func() { told.Add(1); <-release })
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Call(t.Context(), "tool", nil, nil)
		synctest.Wait()
		if n := told.Load(); n != 1 {
			t.Errorf("told %d times while the first is not done", n)
		}
		close(release)
		synctest.Wait()
		if n := told.Load(); n != 1 {
			t.Errorf("told %d times within the pause", n)
		}
		<-time.After(bound.RelistPause.Duration())
		synctest.Wait()
		if n := told.Load(); n != 2 {
			t.Errorf("told %d times, want once more for those in between", n)
		}
		r.OnChanged(nil)
		r.Call(t.Context(), "tool", nil, nil)
		r.Close()
	})
}
