package callback_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/sessions/callback"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/test/modelsize"
)

func tool(t interface{ Fatal(...any) }) callback.Tool {
	compile := func(raw string) *schema.Schema {
		s, err := schema.CompileFlat([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return callback.Tool{
		Name: "add", Resource: "res", Revision: "rev", Hash: strings.Repeat("a", 64), Timeout: 5 * time.Second,
		Input:  compile(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","minimum":0,"maximum":9}},"required":["a"]}`),
		Output: compile(`{"type":"object","additionalProperties":false,"properties":{"sum":{"type":"integer","minimum":0,"maximum":9}},"required":["sum"]}`),
	}
}

// model is what is written down of each call.
type model struct {
	book  *callback.Book
	now   time.Time
	tool  callback.Tool
	fresh int
	calls []*paper
}

type paper struct {
	c           *callback.Call
	turn        string
	status      callback.Status
	effects     effect.Outcome
	bound, busy bool // busy: a result is being made durable
	failure     bool // that result is a reported failure
	dispatches  int
	until       time.Time
	ended       bool // its turn is
}

func (p *paper) open() bool { return p.status == callback.Waiting || p.status == callback.Pending }

func (m *model) pick(t *rapid.T) *paper {
	if len(m.calls) == 0 {
		return nil
	}
	return m.calls[rapid.IntRange(max(0, len(m.calls)-3), len(m.calls)-1).Draw(t, "call")]
}

// ready brings the newest call as far as it goes by itself.
func (m *model) ready(t *rapid.T) {
	m.accept(t)
	if p := m.pick(t); p != nil {
		m.book.Bound(p.c)
		p.bound = true
		m.send(t, p)
	}
}

func (m *model) held() (n int) {
	for _, p := range m.calls {
		if !p.ended {
			n++
		}
	}
	return n
}

func (m *model) accept(t *rapid.T) {
	m.fresh++
	turn := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "turn")
	n := callback.Need{ID: fmt.Sprint("call", m.fresh), Session: "s", Turn: turn, ProviderCall: fmt.Sprint("p", m.fresh), Executor: "e",
		Generation: 1, Tool: m.tool, Arguments: `{"a":1}`}
	repeated := false
	if p := m.pick(t); p != nil && rapid.IntRange(0, 5).Draw(t, "repeat") == 0 {
		n.ProviderCall = p.c.ProviderCall
	}
	for _, p := range m.calls {
		repeated = repeated || !p.ended && p.turn == turn && p.c.ProviderCall == n.ProviderCall
	}
	c, err := m.book.Accept(n, m.now)
	switch {
	case m.held() == bound.Callbacks.Int():
		if !fault.Is(err, fault.LimitExceeded) {
			t.Fatal(err)
		}
	case repeated:
		if !fault.Is(err, fault.Conflict) {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		m.calls = append(m.calls, &paper{c: c, turn: turn, status: callback.Waiting, effects: effect.NotDispatched, until: m.now.Add(bound.ExecutorAbsent.Duration())})
	}
}

func (m *model) bind(t *rapid.T) {
	if p := m.pick(t); p != nil {
		m.book.Bound(p.c)
		p.bound = true
	}
}

func (m *model) dispatch(t *rapid.T) {
	if p := m.pick(t); p != nil {
		m.send(t, p)
	}
}

func (m *model) send(t *rapid.T, p *paper) {
	may := p.status == callback.Waiting && p.bound
	if got := m.book.Dispatch(p.c, m.now); got != may {
		t.Fatalf("dispatched: %v, want %v", got, may)
	}
	if may {
		p.dispatches++
		p.status, p.effects, p.until = callback.Pending, effect.Uncertain, m.now.Add(m.tool.Timeout)
	}
}

func (m *model) submit(t *rapid.T) {
	p := m.pick(t)
	if p == nil {
		return
	}
	s := callback.Submission{Session: "s", Turn: p.turn, Call: p.c.ID, Executor: "e", Resource: "res", Revision: "rev", Hash: m.tool.Hash,
		Result: callback.Result{Value: `{"sum":3}`}}
	want := fault.Code("")
	switch rapid.IntRange(0, 9).Draw(t, "spoil") {
	case 0:
		s.Session, want = "other", fault.UnknownTurn
	case 1:
		s.Turn, want = "other", fault.UnknownTurn
	case 2:
		s.Executor, want = "other", fault.UnknownTurn
	case 3:
		s.Hash, want = "other", fault.InvalidPayload
	case 4:
		s.Result.Value, want = `{"sum":10}`, fault.InvalidPayload
	case 5:
		s.Result, want = callback.Result{Code: "other"}, fault.InvalidPayload
	case 6:
		s.Result = callback.Result{Code: callback.CodeFailed, Message: "no"}
	}
	if p.status != callback.Pending || p.busy || p.ended {
		want = fault.UnknownTurn
	}
	if _, err := m.book.Submit(s); want != "" && !fault.Is(err, want) || want == "" && err != nil {
		t.Fatalf("submitted: %v, want %q", err, want)
	}
	if want == "" {
		p.busy, p.failure = true, s.Result.Value == ""
	}
}

func (m *model) settle(t *rapid.T) {
	p := m.pick(t)
	if p == nil || !p.busy {
		return
	}
	durable := rapid.Bool().Draw(t, "durable")
	m.book.Settle(p.c, durable)
	p.busy, p.status = false, callback.Succeeded
	if p.failure || !durable {
		p.status = callback.Failed
	}
	if durable {
		p.effects = effect.Reported
	}
}

func (m *model) cancel(t *rapid.T) {
	turn := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "turn")
	m.book.Cancel(turn)
	for _, p := range m.calls {
		if p.turn == turn && p.open() && !p.busy && !p.ended {
			p.status = callback.Cancelled
		}
	}
}

func (m *model) abandon(t *rapid.T) {
	if p := m.pick(t); p != nil && !p.ended {
		if got := m.book.Abandon(p.c); got != (p.open() && !p.busy) {
			t.Fatal(got)
		}
		if p.open() && !p.busy {
			p.status = callback.Cancelled
		}
	}
}

// end ends a turn whose calls are all settled.
func (m *model) end(t *rapid.T) {
	turn := rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "turn")
	for _, p := range m.calls {
		if p.turn == turn && p.open() && !p.ended {
			return
		}
	}
	m.book.End(turn)
	for _, p := range m.calls {
		p.ended = p.ended || p.turn == turn
	}
}

func (m *model) pass(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{1, 5*time.Second - 1, 5 * time.Second, time.Minute - 1, time.Minute}).Draw(t, "passes"))
	m.book.Expire(m.now)
	for _, p := range m.calls {
		if p.open() && !p.busy && !p.ended && !m.now.Before(p.until) {
			p.status = callback.Failed
		}
	}
}

func (m *model) check(t *rapid.T) {
	open := 0
	for _, p := range m.calls {
		if p.c.Status != p.status || p.c.Effects != p.effects || p.dispatches > 1 {
			t.Fatalf("%s is %s, %s after %d dispatches; want %s, %s", p.c.ID, p.c.Status, p.c.Effects, p.dispatches, p.status, p.effects)
		}
		if (p.effects == effect.NotDispatched) != (p.dispatches == 0) {
			t.Fatalf("%s: %s after %d dispatches", p.c.ID, p.effects, p.dispatches)
		}
		wait, left := p.c.Wait(m.now)
		if want := max(0, p.until.Sub(m.now)); p.open() && (left != want || wait == "") || !p.open() && (wait != "" || left != 0) {
			t.Fatalf("%s waits for %s, %v; want %v", p.c.ID, wait, left, want)
		}
		if p.open() && !p.ended {
			open++
		}
	}
	if m.book.Len() != m.held() || m.book.Len() > bound.Callbacks.Int() {
		t.Fatalf("%d calls, want %d", m.book.Len(), m.held())
	}
	told := m.book.Open("e", m.now)
	raw, err := strictjson.Encode(told)
	if err != nil || len(told) != open || len(raw) > bound.PendingCallBytes.Int() || len(raw) > m.book.Reserved("e")+2 {
		t.Fatalf("%d open calls in %d bytes of %d, want %d: %v", len(told), len(raw), m.book.Reserved("e"), open, err)
	}
}

// Calls are their model: invariants I22 to I28 and I30 after every step.
func TestCallsAreTheirModel(t *testing.T) {
	modelsize.Set(t)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{book: callback.New(), now: time.Unix(0, 0), tool: tool(t)}
		t.Repeat(map[string]func(*rapid.T){
			"accept": m.accept, "more": m.accept, "bind": m.bind, "dispatch": m.dispatch, "redispatch": m.dispatch, "ready": m.ready, "submit": m.submit, "resubmit": m.submit, "settle": m.settle,
			"cancel": m.cancel, "abandon": m.abandon, "end": m.end, "pass": m.pass, "": m.check,
		})
	})
}

// The guide's 32 calls, and the bytes of what an executor is told, which may be
// fewer calls.
func TestCallsAreBounded(t *testing.T) {
	fill := func(provider string) (n int) {
		b := callback.New()
		for ; n < 100; n++ {
			_, err := b.Accept(callback.Need{ID: fmt.Sprint(n), Session: "s", Turn: "t", ProviderCall: fmt.Sprint(n, provider), Executor: "e", Tool: tool(t)}, time.Unix(0, 0))
			if err != nil {
				if !fault.Is(err, fault.LimitExceeded) {
					t.Error(err)
				}
				break
			}
		}
		b.End("t")
		if b.Len() != 0 || b.Reserved("e") != 0 {
			t.Errorf("after the end %d calls and %d bytes are left", b.Len(), b.Reserved("e"))
		}
		return n
	}
	if n := fill(""); n != bound.Callbacks.Int() {
		t.Errorf("%d small calls", n)
	}
	if n := fill(strings.Repeat("x", 1000)); n == 0 || n >= bound.Callbacks.Int() {
		t.Errorf("%d large calls", n)
	}
}

func TestNeedsAreJudged(t *testing.T) {
	for _, c := range []struct {
		provider, arguments string
		want                fault.Code
	}{
		{"p", `{"a":1}`, ""},
		{strings.Repeat("p", 128), `{"a":1}`, ""},
		{strings.Repeat("p", 129), `{"a":1}`, fault.LimitExceeded},
		{"", `{"a":1}`, fault.InvalidPayload},
		{"p", `{"a":1,"a":1}`, fault.InvalidPayload},
		{"p", `{"a":10}`, fault.InvalidPayload},
		{"p", `{`, fault.InvalidPayload},
		{"p", `{"a":1}` + strings.Repeat(" ", bound.ArgumentBytes.Int()-7), ""},
		{"p", `{"a":1}` + strings.Repeat(" ", bound.ArgumentBytes.Int()-6), fault.LimitExceeded},
	} {
		err := callback.Need{ProviderCall: c.provider, Arguments: c.arguments, Tool: tool(t)}.Judge()
		if c.want == "" && err != nil || c.want != "" && !fault.Is(err, c.want) {
			t.Errorf("%.20q %.20q: %v", c.provider, c.arguments, err)
		}
	}
}
