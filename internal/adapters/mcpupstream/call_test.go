package mcpupstream

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/local"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

func event(kind invocation.EventKind, detail string) invocation.Event {
	return invocation.Event{Kind: kind, Detail: detail}
}

func withBytes(kind invocation.EventKind, result string) invocation.Event {
	return invocation.Event{Kind: kind, Result: []byte(result)}
}

// events is the table of the pool page, section 7: what an upstream does with a
// call, and what the call becomes.
var events = []struct {
	script string
	want   invocation.Event
	ends   bool // the session is of no more use
}{
	{"good", withBytes(invocation.Answered, okJSON), false},
	{"nulls for absent", withBytes(invocation.Answered, `{"content":[],"isError":null,"structuredContent":null,"task":null}`), false},
	{"structured only", withBytes(invocation.Answered, `{"structuredContent":{"a":1}}`), false},
	{"complete", withBytes(invocation.Answered, `{"resultType":"complete","content":[]}`), false},
	{"chatty", withBytes(invocation.Answered, okJSON), false},
	{"asks", withBytes(invocation.Answered, okJSON), false},
	{"answers twice", withBytes(invocation.Answered, okJSON), false},
	{"largest", withBytes(invocation.Answered, resultOf(bound.ResultBytes.Int())), false},
	{"tool error", withBytes(invocation.ToolError, `{"content":[{"type":"text","text":"no such file"}],"isError":true}`), false},
	{"rejects", event(invocation.Rejected, "-32602: bad arguments"), false},
	{"rejects at length", event(invocation.Rejected, "-32000: "+strings.Repeat("é", 128)+"…"), false},
	{"input required", event(invocation.Unanswerable, `result type "input_required"`), false},
	{"unknown result type", event(invocation.Unanswerable, `result type "partial"`), false},
	{"escaped result type", event(invocation.Unanswerable, `result type "task"`), false},
	{"task", event(invocation.Unanswerable, "a task instead of a result"), false},
	{"one over", event(invocation.TooLarge, "result_bytes is limited to 131072 bytes"), false},
	{"one MiB", event(invocation.TooLarge, "result_bytes is limited to 131072 bytes"), false},
	{"ten MiB, id last", event(invocation.TooLarge, "result_bytes is limited to 131072 bytes"), false},
	{"ten MiB, no id", event(invocation.TooLarge, "result_bytes is limited to 131072 bytes"), false},
	{"deep", event(invocation.TooLarge, "result_depth is limited to 32 levels"), false},
	{"many", event(invocation.TooLarge, "result_nodes is limited to 16384"), false},
	{"gigabyte", event(invocation.TooLarge, "result_bytes is limited to 131072 bytes"), true},
	{"cut off", event(invocation.InvalidAnswer, "the JSON document ends too early"), false},
	{"not JSON inside", event(invocation.InvalidAnswer, "not strict JSON"), false},
	{"a name twice", event(invocation.InvalidAnswer, "a member name stands twice in one object"), false},
	{"result twice", event(invocation.InvalidAnswer, "a member name stands twice in one object"), false},
	{"both", event(invocation.InvalidAnswer, "an answer has either a result or an error"), false},
	{"neither", event(invocation.InvalidAnswer, "an answer has either a result or an error"), false},
	{"wrong version", event(invocation.InvalidAnswer, "not a JSON-RPC 2.0 message"), false},
	{"error without code", event(invocation.InvalidAnswer, "an error without a whole number for its code"), false},
	{"error as a text", event(invocation.InvalidAnswer, "an error without a whole number for its code"), false},
	{"result is a list", event(invocation.InvalidAnswer, "the result is not an object"), false},
	{"no content", event(invocation.InvalidAnswer, "the result has no content"), false},
	{"content is a text", event(invocation.InvalidAnswer, "the content is not a list of typed parts"), false},
	{"content without type", event(invocation.InvalidAnswer, "the content is not a list of typed parts"), false},
	{"isError is a text", event(invocation.InvalidAnswer, "isError is neither true nor false"), false},
	{"exits", event(invocation.Broken, "exit code 3"), true},
	{"silent", event(invocation.TimedOut, "no answer before the deadline"), false},
	{"deaf", event(invocation.TimedOut, "no answer before the deadline"), false},
	{"deaf at all", event(invocation.TimedOut, "no answer before the deadline"), false},
}

func TestEvents(t *testing.T) {
	for _, row := range events {
		t.Run("process/"+row.script, func(t *testing.T) {
			t.Parallel()
			checkEvent(t, onProcess(t, row.script), row.want, row.ends, 500*time.Millisecond)
		})
		if row.script == "deaf at all" {
			continue // a pipe in memory holds nothing, so not one byte goes out
		}
		t.Run("pipes/"+row.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, scripts[row.script])
				checkEvent(t, r, row.want, row.ends, bound.CallDeadline.Duration())
				r.Close()
			})
		})
	}
}

// checkEvent makes one call and demands its event, that it went out exactly
// once, and that the session is as usable as it should be.
func checkEvent(t *testing.T, r rig, want invocation.Event, ends bool, patience time.Duration) {
	t.Helper()
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want.Kind != invocation.TimedOut {
		patience = bound.CallDeadline.Duration()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := r.Call(ctx, "tool", []byte(`{"text":"first"}`), nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("event (-want +got):\n%.2000s", diff)
	}
	if n := r.count("tools/call"); n > 1 || n == 0 && want.Kind != invocation.TimedOut {
		t.Errorf("the upstream saw %d calls", n)
	}
	if want.Kind != invocation.TimedOut {
		if ends { // what ends it may come a moment after what the call is told
			waitFor(t, "the session ends", func() bool { return !r.Ready() })
		} else if !r.Ready() {
			t.Errorf("not ready after the call")
		}
		if !ends {
			if again := r.Call(t.Context(), "tool", nil, nil); again.Kind != invocation.Answered {
				t.Errorf("the next call: %+v", again)
			}
		}
	}
	r.Close()
	if n := r.count("tools/call"); want.Kind != invocation.TimedOut && !ends && n != 2 || n > 2 {
		t.Errorf("the upstream saw %d calls in all", n)
	}
}

// FF15, FF16, FF7: bytes of arguments, results and names stay what they are.
func TestArgumentsGoOutAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, scripts["numbers"])
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		const numbers = `{"i":9007199254740993, "e":1e400,"d":0.1000000000000000055,"t":"\u00e9\/"}`
		got := r.Call(t.Context(), "admin.tools/list \"\u2028", []byte(numbers), nil)
		if want := withBytes(invocation.Answered, `{"content":[],"structuredContent":`+numbers+`}`); !cmp.Equal(want, got) {
			t.Errorf("event (-want +got):\n%s", cmp.Diff(want, got))
		}
		r.Call(t.Context(), "plain", nil, nil)
		r.Call(t.Context(), "plain", []byte("\n {\"a\"\r\n:1} "), nil)
		lines := r.received()
		want := []string{
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"admin.tools/list \"` + "\u2028" + `","arguments":` + numbers + "}}\n",
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"plain","arguments":{}}}` + "\n",
			`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"plain","arguments":{"a"  :1}}}` + "\n",
		}
		if diff := cmp.Diff(want, lines[len(lines)-3:]); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		r.Close()
	})
}

func TestCallThatMustNotGoOutIsUnreached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, scripts["good"])
		if got, want := r.Call(t.Context(), "tool", nil, nil), event(invocation.Unreached, "the upstream is not running"); !cmp.Equal(want, got) {
			t.Errorf("without a session: %+v", got)
		}
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for _, c := range []struct {
			name   string
			ctx    context.Context
			args   string
			detail string
		}{
			{"cancelled before", over, `{}`, "the upstream takes no input"},
			{"null", t.Context(), `null`, "the arguments are not an object"},
			{"a list", t.Context(), ` []`, "the arguments are not an object"},
			{"a second message inside", t.Context(), "{}},\n{\"jsonrpc\":\"2.0\"", "not strict JSON"},
			{"too large", t.Context(), `{"a":"` + strings.Repeat("x", bound.RequestBytes.Int()) + `"}`, "request_bytes is limited to 65536 bytes"},
		} {
			got := r.Call(c.ctx, "tool", []byte(c.args), nil)
			if want := event(invocation.Unreached, c.detail); !cmp.Equal(want, got) {
				t.Errorf("%s: %+v, want %+v", c.name, got, want)
			}
		}
		if n := r.count("tools/call"); n != 0 {
			t.Errorf("the upstream saw %d calls", n)
		}
		r.Close()
	})
}

// FF68 on the upstream side: many calls in flight, answered in another order.
func TestAnswersFindTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 64
		r := onPipes(t, script{call: func(u *upstream, first request) int {
			waiting := []request{first}
			for len(waiting) < calls {
				line, _ := u.in.ReadString('\n')
				var m request
				json.Unmarshal([]byte(line), &m)
				if m.Method == "tools/call" {
					waiting = append(waiting, m)
				}
			}
			for i := range waiting {
				m := waiting[len(waiting)-1-i]
				u.result(m, `{"content":[],"structuredContent":`+string(m.Params.Arguments)+`}`)
			}
			return goOn
		}})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() {
				args := fmt.Sprintf(`{"nonce":%d}`, i)
				got := r.Call(t.Context(), "tool", []byte(args), nil)
				if want := `{"content":[],"structuredContent":` + args + `}`; string(got.Result) != want {
					t.Errorf("call %d got %+v", i, got)
				}
			})
		}
		all.Wait()
		r.Close()
	})
}

// answersAfter answers the first call after each pause.
func answersAfter(pauses ...time.Duration) script {
	return script{call: func(u *upstream, m request) int {
		go func() {
			for _, pause := range pauses {
				<-time.After(pause)
				u.result(m, okJSON)
			}
		}()
		return goOn
	}}
}

// after answers the first call after a pause, and reads on meanwhile.
func after(pause time.Duration, answer func(*upstream, request) int) script {
	return script{call: func(u *upstream, m request) int {
		time.AfterFunc(pause, func() { answer(u, m) })
		return goOn
	}}
}

// lateBox collects what the late func gets.
type lateBox struct {
	mu  sync.Mutex
	got []invocation.Event
}

func (b *lateBox) put(e invocation.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, e)
}

func (b *lateBox) events() []invocation.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got
}

// FF44, FF48: who gives up tells the upstream once; a clean answer that still
// comes is delivered once; other calls are not held up.
func TestGivingUp(t *testing.T) {
	const second = time.Second
	ok := withBytes(invocation.Answered, okJSON)
	timedOut := event(invocation.TimedOut, "no answer before the deadline")
	cancelled := event(invocation.Cancelled, "no answer after the cancellation")
	rejection := script{call: func(u *upstream, m request) int {
		line, _ := u.in.ReadString('\n') // the cancellation
		u.log(line)
		return u.error(m, `{"code":0,"message":"cancelled"}`)
	}}
	for _, c := range []struct {
		name    string
		script  script
		give    func(t *testing.T) (context.Context, context.CancelFunc)
		want    invocation.Event
		took    time.Duration
		notices int
		late    []invocation.Event
	}{
		{"answered in time", answersAfter(second / 2), deadline(second), ok, second / 2, 0, nil},
		{"deadline, late answer twice", answersAfter(2*second, second), deadline(second), timedOut, second, 1, []invocation.Event{ok}},
		{"deadline, tool error", after(2*second, func(u *upstream, m request) int { return u.result(m, `{"content":[],"isError":true}`) }), deadline(second), timedOut, second, 1, []invocation.Event{withBytes(invocation.ToolError, `{"content":[],"isError":true}`)}},
		{"deadline, rejected late", after(2*second, func(u *upstream, m request) int { return u.error(m, `{"code":1,"message":"no"}`) }), deadline(second), timedOut, second, 1, nil},
		{"deadline, late and unusable", after(2*second, func(u *upstream, m request) int { return u.result(m, `{}`) }), deadline(second), timedOut, second, 1, nil},
		{"deadline, just before the memory ends", answersAfter(second + bound.RepeatGuard.Duration()), deadline(second), timedOut, second, 1, []invocation.Event{ok}},
		{"deadline, after the memory ends", answersAfter(2*second + bound.RepeatGuard.Duration()), deadline(second), timedOut, second, 1, nil},
		{"no deadline given", script{call: func(*upstream, request) int { return goOn }}, forever, timedOut, bound.CallDeadline.Duration(), 1, nil},
		{"cancelled, answer in the grace", answersAfter(second + 400*time.Millisecond), cancel(second), ok, second + 400*time.Millisecond, 1, nil},
		{"cancelled, late answer", answersAfter(2 * second), cancel(second), cancelled, second + 500*time.Millisecond, 1, []invocation.Event{ok}},
		{"cancelled, answered by an error", rejection, cancel(second), event(invocation.Cancelled, "0: cancelled"), second, 1, nil},
		{"cancelled, then the upstream ends", script{call: func(*upstream, request) int { <-time.After(second + second/4); return 5 }},
			cancel(second), event(invocation.Broken, "exit code 5"), second + second/4, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, c.script)
				if err := r.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, stop := c.give(t)
				defer stop()
				var late lateBox
				began := time.Now()
				got := r.Call(ctx, "tool", nil, late.put)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("event (-want +got):\n%s", diff)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				<-time.After(second)
				if c.notices == 1 && strings.HasPrefix(c.name, "deadline, late answer") {
					if again := r.Call(t.Context(), "tool", nil, nil); again.Kind != invocation.Answered {
						t.Errorf("a call beside it: %+v", again)
					}
				}
				<-time.After(2 * bound.RepeatGuard.Duration())
				if n := r.count("notifications/cancelled"); n != c.notices {
					t.Errorf("%d cancellations reached the upstream, want %d", n, c.notices)
				}
				if diff := cmp.Diff(c.late, late.events()); diff != "" {
					t.Errorf("late (-want +got):\n%s", diff)
				}
				if n := r.count("tools/call"); n > 2 {
					t.Errorf("the upstream saw %d calls", n)
				}
				r.Close()
			})
		})
	}
}

func forever(t *testing.T) (context.Context, context.CancelFunc) { return t.Context(), func() {} }

func deadline(d time.Duration) func(*testing.T) (context.Context, context.CancelFunc) {
	return func(t *testing.T) (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), d) }
}

func cancel(after time.Duration) func(*testing.T) (context.Context, context.CancelFunc) {
	return func(t *testing.T) (context.Context, context.CancelFunc) {
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(after, stop)
		return ctx, stop
	}
}

// FF44: the upstream hears of it at once.
func TestCancellationGoesOutAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard time.Time
		r := onPipes(t, script{
			call: func(u *upstream, m request) int { return goOn },
			other: func(u *upstream, m request) int {
				if m.Method == "notifications/cancelled" {
					heard = time.Now()
				}
				return goOn
			},
		})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, stop)
		r.Call(ctx, "tool", nil, nil)
		r.Close()
		if after := heard.Sub(began); after != time.Second {
			t.Errorf("heard after %v", after)
		}
	})
}

func TestOnlySoManyLateCallsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const more = 8
		var ids []string
		r := onPipes(t, script{every: func(u *upstream, m request) int {
			if m.Params.Name != "now" {
				ids = append(ids, string(m.ID))
				return goOn
			}
			for _, id := range ids {
				u.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, okJSON)
			}
			return u.result(m, okJSON)
		}})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var late lateBox
		var all sync.WaitGroup
		for range local.LateCalls + more {
			all.Go(func() {
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				r.Call(ctx, "tool", nil, late.put)
			})
		}
		all.Wait()
		r.Call(t.Context(), "now", nil, nil)
		synctest.Wait()
		if got, strays := len(late.events()), r.Status().Strays; got != local.LateCalls || strays != more {
			t.Errorf("%d late answers, %d strays", got, strays)
		}
		r.Close()
	})
}

func TestSessionIsOverWhenALineIsCutOff(t *testing.T) {
	for _, c := range []struct {
		name string
		give func(*testing.T) (context.Context, context.CancelFunc)
		want invocation.EventKind
	}{
		{"deadline", deadline(time.Second), invocation.TimedOut},
		{"cancelled", cancel(time.Second), invocation.Cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := onPipes(t, script{initialize: func(u *upstream, m request) int {
					u.result(m, greetingJSON)
					u.in.ReadString('\n') // initialized
					u.in.ReadByte()       // and the first of the call
					return deaf(u, m)
				}})
				if err := r.Open(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, stop := c.give(t)
				defer stop()
				var waiting sync.WaitGroup
				waiting.Go(func() {
					synctest.Wait()
					got := r.Call(t.Context(), "tool", nil, nil)
					if want := event(invocation.Unreached, "a line to the upstream was cut off"); !cmp.Equal(want, got) {
						t.Errorf("a call behind it: %+v", got)
					}
				})
				args := []byte(`{"a":"` + strings.Repeat("x", 32<<10) + `"}`)
				got := r.Call(ctx, "tool", args, nil)
				if want := event(c.want, "a line to the upstream was cut off"); !cmp.Equal(want, got) {
					t.Errorf("event %+v, want %+v", got, want)
				}
				waiting.Wait()
				if r.Ready() {
					t.Error("the session is still used")
				}
				err := r.Open(t.Context())
				if f := fault.From(err); f.Code != fault.Unavailable || f.Text != "the upstream is not running: a line to the upstream was cut off" {
					t.Errorf("open at once: %v", err)
				}
				r.Close()
			})
		})
	}
}

// FF45 with the real buffer of a pipe: the largest arguments do not fit.
func TestUpstreamThatStopsReadingHoldsNobody(t *testing.T) {
	t.Parallel()
	r, other := onProcess(t, "deaf at all"), onProcess(t, "good")
	for _, c := range []rig{r, other} {
		if err := c.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	began := time.Now()
	args := []byte(`{"a":"` + strings.Repeat("x", bound.RequestBytes.Int()-8) + `"}`)
	got := r.Call(ctx, "tool", args, nil)
	if want := event(invocation.TimedOut, "a line to the upstream was cut off"); !cmp.Equal(want, got) {
		t.Errorf("event %+v", got)
	}
	if took := time.Since(began); took > slack {
		t.Errorf("took %v", took)
	}
	if got := other.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Answered {
		t.Errorf("another upstream: %+v", got)
	}
}

// FF64: the length of a line costs no memory.
func TestEndlessLineCostsNoMemory(t *testing.T) {
	r := onProcess(t, "gigabyte")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.TooLarge {
		t.Errorf("event %+v", got)
	}
	waitFor(t, "the session ends", func() bool { return !r.Ready() })
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated in all", used)
	}
	r.Close()
	for _, line := range r.received() {
		if line == "all of it was taken\n" {
			t.Error("the whole line was read")
		}
	}
}

func TestEndlessLineIsTold(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "gigabyte")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Call(t.Context(), "tool", nil, nil)
	waitFor(t, "the session ends", func() bool { return !r.Ready() })
	if got := r.Status(); got.State != view.ConnectionFailed || !strings.HasPrefix(got.Reason, "the upstream is not running: the upstream sent a line without an end") {
		t.Errorf("status %+v", got)
	}
}

// FF31: a result does not wait for its process to end.
func TestResultDoesNotWaitForAStubbornProcess(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "stubborn")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got := r.Call(t.Context(), "tool", nil, nil)
	if took := time.Since(began); got.Kind != invocation.Answered || took > slack {
		t.Errorf("event %+v after %v", got, took)
	}
	r.Close()
	if took := time.Since(began); took > bound.StopGrace.Duration()+slack {
		t.Errorf("closed after %v", took)
	}
}

// A52: what an upstream asks gets an answer, but never what it wants.
func TestUpstreamGetsNothingButThePing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onPipes(t, scripts["asks"])
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Call(t.Context(), "tool", nil, nil)
		var got []string
		for _, line := range r.received() {
			if strings.Contains(line, `"id":"s`) {
				got = append(got, line)
			}
		}
		refused := `,"error":{"code":-32601,"message":"not offered by this client"}}` + "\n"
		want := []string{
			`{"jsonrpc":"2.0","id":"s0","result":{}}` + "\n",
			`{"jsonrpc":"2.0","id":"s1"` + refused,
			`{"jsonrpc":"2.0","id":"s2"` + refused,
			`{"jsonrpc":"2.0","id":"s3"` + refused,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		r.Close()
	})
}

// An upstream that asks faster than it reads answers cannot block the reader.
func TestUpstreamThatOnlyAsksHoldsNobody(t *testing.T) {
	t.Parallel()
	r := onProcess(t, "asks without end")
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := r.Call(t.Context(), "tool", nil, nil); got.Kind != invocation.Answered {
		t.Errorf("event %+v", got)
	}
}

func TestWhatIsNoAnswerIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			script        string
			noise, strays int64
		}{{"good", 0, 0}, {"chatty", 7, 0}, {"answers twice", 0, 3}} {
			r := onPipes(t, scripts[c.script])
			if err := r.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Call(t.Context(), "tool", nil, nil)
			synctest.Wait()
			if got := r.Status(); got.Noise != c.noise || got.Strays != c.strays {
				t.Errorf("%s: %d lines of noise, %d strays", c.script, got.Noise, got.Strays)
			}
			r.Close()
		}
	})
}
