package sessiondoor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// provoked are the codes that no transcript can hold well, with what provokes them.
var provoked = map[fault.Code]func(s *stage) string{
	fault.RecordTooLarge: func(s *stage) string {
		s.dials("a")
		return s.raw("a", strings.Repeat("x", bound.RecordBytes.Int()+1))
	},
	fault.DuplicateRequest: func(s *stage) string {
		s.ready("a")
		s.r.log.slow = make(chan struct{})
		p := s.peers["a"]
		control := &sessionwire.Control{GrantID: p.grant, Generation: p.generation}
		operation := "x"
		p.send(p.request("r", "turn.start", &p.session, &operation, control, `{"prompt":"say x"}`))
		return s.raw("a", strings.TrimSuffix(string(p.request("r", "status", nil, nil, nil, "{}")), "\n"))
	},
	fault.LimitExceeded: func(s *stage) string {
		s.dials("a")
		return s.answer("a", `session.create O=x {"title":"`+strings.Repeat("x", bound.PayloadBytes.Int())+`"}`)
	},
	fault.InternalError: func(s *stage) string {
		s.ready("a")
		s.r.log.odd = errors.New("hunter2 broke the disk")
		return s.answer("a", `turn.start S C O=x {"prompt":"say x"}`)
	},
}

// raw sends a record and gives the code of the answer.
func (s *stage) raw(name, record string) string {
	s.t.Helper()
	p := s.peers[name]
	p.send([]byte(record + "\n"))
	synctest.Wait()
	lines, _ := p.take()
	if len(lines) == 0 {
		return "nothing"
	}
	r := decodeInto[sessionwire.Response](s.t, lines[len(lines)-1])
	if r.Error == nil {
		return string(r.Payload)
	}
	if row, _ := fault.Lookup(fault.Code(r.Error.Code)); r.Error.Message != row.Meaning {
		s.t.Errorf("the message of %s is %q", r.Error.Code, r.Error.Message)
	}
	return r.Error.Code
}

// Every code of the wing is provoked, in a transcript or here, and the table has
// every code that anything provoked.
func TestEveryCodeIsProvoked(t *testing.T) {
	seen := map[string]bool{}
	for code, provoke := range provoked {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			got := provoke(s)
			if got != string(code) {
				t.Errorf("%s: the answer is %s", code, got)
			}
			seen[got] = true
			s.end()
		})
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	refusal := regexp.MustCompile(`(?m)^[a-z]< answer.* ([a-z_]+)$`)
	for _, file := range files {
		for _, m := range refusal.FindAllStringSubmatch(string(readFile(t, file)), -1) {
			if row, ok := fault.Lookup(fault.Code(m[1])); !ok {
				t.Errorf("%s: %s is in no table", file, row.Code)
			}
			seen[m[1]] = true
		}
	}
	for _, row := range fault.SessionRows() {
		if !seen[string(row.Code)] {
			t.Errorf("nothing provokes %s", row.Code)
		}
	}
}

// Every code that a turn ends with is told of a turn in some transcript, with the
// code's own words; interrupted is what the next daemon writes of one whose own is
// dead, and is told of none.
func TestEveryEndIsProvoked(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		all.Write(readFile(t, file))
	}
	for _, code := range turn.Codes() {
		told := fmt.Sprintf(`"error":{"code":%q,"message":%q}`, code, turn.Meaning(code))
		if strings.Contains(all.String(), told) == (code == turn.CodeInterrupted) || turn.Meaning(code) == "" {
			t.Errorf("of %s", code)
		}
	}
}

// A record at its limit is read, whatever is in it; one byte more closes the
// connection.
func TestRecordsHaveALimit(t *testing.T) {
	for over, want := range []string{"invalid_envelope", "record_too_large"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.dials("a")
			record := `{"x":"` + strings.Repeat("x", bound.RecordBytes.Int()-8+over) + `"}`
			if got := s.raw("a", record); got != want || s.closed("a") != (over == 1) {
				t.Errorf("%d over: %s", over, got)
			}
			s.end()
		})
	}
}

// A connection has at most 32 requests open, the daemon 64 connections and 16 that
// are not initialized. One too many is told so and costs the others nothing.
func TestConnectionsAndRequestsHaveLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.dials("a")
		s.r.log.hold = make(chan struct{})
		for range bound.OutstandingRequests.Int() {
			if got := s.answer("a", `session.list {}`); got != "nothing" {
				t.Fatal(got)
			}
		}
		if got := s.answer("a", `session.list {}`); got != "limit_exceeded" {
			t.Errorf("one too many: %s", got)
		}
		close(s.r.log.hold)
		s.r.log.hold = nil
		synctest.Wait()
		s.peers["a"].take()
		if got := s.answer("a", `session.list {}`); !strings.Contains(got, "sessions") {
			t.Errorf("afterwards: %s", got)
		}
		for i := range bound.Uninitialized.Int() {
			s.peers[fmt.Sprintf("u%d", i)] = s.r.dial()
		}
		s.refused(t, "u")
		s.r.greet(s, "u")
		for i := range bound.Connections.Int() - 1 - bound.Uninitialized.Int() {
			s.dials(fmt.Sprintf("c%d", i))
		}
		s.refused(t, "c")
		s.peers["c0"].conn.Close()
		synctest.Wait()
		s.dials("c0")
		s.end()
	})
}

// At most 64 turns are at work, whoever has left their sessions meanwhile.
func TestTurnsAtWorkAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.dials("a")
		for i := range bound.AttachedSessions.Int() + 1 {
			s.answer("a", fmt.Sprintf(`session.create O=c%d {}`, i))
			s.answer("a", fmt.Sprintf(`session.claim S O=k%d {"mode":"claim"}`, i))
			got := s.answer("a", fmt.Sprintf(`turn.start S C O=t%d {"prompt":"hold"}`, i))
			if (got == "limit_exceeded") != (i == bound.AttachedSessions.Int()) {
				t.Fatalf("turn %d: %s", i, got)
			}
			s.answer("a", fmt.Sprintf(`session.detach S C O=d%d {}`, i))
		}
		if got := s.answer("a", `session.active {}`); strings.Count(got, `"running"`) != bound.AttachedSessions.Int() || len(got) > bound.PayloadBytes.Int() {
			t.Errorf("%d bytes: %.200s", len(got), got)
		}
		s.end()
	})
}

// refused checks that one more connection is told the limit and closed.
func (s *stage) refused(t *testing.T, name string) {
	t.Helper()
	p := s.r.dial()
	synctest.Wait()
	lines, closed := p.take()
	if len(lines) != 1 || !closed || !strings.Contains(lines[0], `"limit_exceeded"`) {
		t.Errorf("one %s too many: %v, closed %v", name, lines, closed)
	}
}

// greet initializes the connections that a name begins.
func (r *rig) greet(s *stage, prefix string) {
	for name := range s.peers {
		if strings.HasPrefix(name, prefix) {
			s.quietly(name, `initialize {}`)
		}
	}
}

// An executor that reads nothing loses its connection once its queue is full; its
// call was sent once, is never sent again, and stays uncertain.
func TestAFullQueueDisconnectsAndNeverRedispatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.ready("a")
		s.lends("a")
		s.dials("b")
		a := s.peers["a"]
		var said strings.Builder
		for range bound.OutboundRecords.Int() + 8 {
			said.WriteString("\nsay x")
		}
		a.deaf.Store(true)
		a.send(a.request("1000", "status", nil, nil, nil, "{}"))
		synctest.Wait()
		s.ask(a, s.fill(fmt.Sprintf(start, "both c1 add {\"a\":1}\npause"+said.String())))
		s.wait("1ms")
		if got := s.answer("b", `status {}`); !strings.Contains(got, `"connections":1`) {
			t.Errorf("it is still there: %s", got)
		}
		looked := decodeInto[sessionwire.LookupAnswer](t, s.answer("b", `operation.lookup {"operation_id":"turn"}`))
		s.values["<turn.1>"] = decodeInto[sessionwire.StartAnswer](t, string(looked.Result)).TurnID
		s.answer("b", `session.claim S=<session.a> O=c {"mode":"claim"}`)
		if got := s.answer("b", `turn.application_evidence S C {"turn_id":"<turn.1>"}`); !strings.Contains(got, `"status":"pending","external_effects":"uncertain"`) {
			t.Errorf("evidence: %s", got)
		}
		got := s.answer("b", `executor.resume O=r {{{proof.a}}}`)
		if !strings.Contains(got, `"status":"pending"`) || s.call.CallID != "" {
			t.Errorf("resumed: %s, dispatched again: %+v", got, s.call)
		}
		s.end()
	})
}

// A daemon has 32 calls at most, those that ended in an active turn included. One more
// fails in the model's eyes without having been dispatched, and the turn goes on.
func TestOneCallTooManyIsNotDispatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.ready("a")
		s.lends("a")
		var prompt strings.Builder
		for i := range bound.Callbacks.Int() {
			fmt.Fprintf(&prompt, "both c%d add {\"a\":1}\npause\n", i)
		}
		s.answer("a", fmt.Sprintf(start, prompt.String()+"call more add {\"a\":1}\nhold"))
		s.wait("1s")
		s.dials("b")
		got := s.answer("b", `session.claim S=<session.a> O=c {"mode":"takeover"}`)
		if !strings.Contains(got, `"state":"running","assistant_text":"failed limit_exceeded not_dispatched`) {
			t.Errorf("the turn is %s", got)
		}
		got = s.answer("b", `turn.application_evidence S C {"turn_id":"<turn.1>"}`)
		if n := strings.Count(got, `"status":"pending"`); n != bound.Callbacks.Int() || strings.Contains(got, `"more"`) || len(got) > bound.EvidenceBytes.Int() {
			t.Errorf("%d calls in %d bytes", n, len(got))
		}
		if got := s.answer("b", `executor.resume O=r {{{proof.a}}}`); strings.Count(got, `"pending"`) != bound.Callbacks.Int() || len(got) > bound.PendingCallBytes.Int() {
			t.Errorf("resumed in %d bytes: %.100s", len(got), got)
		}
		s.end()
	})
}

// A daemon that is to stop does not wait for a worker longer than it is told to.
func TestStoppingIsGivenUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.ready("a")
		s.r.gate = make(chan struct{})
		s.answer("a", `turn.start S C O=t {"prompt":"deaf"}`)
		ctx, cancel := context.WithTimeout(t.Context(), bound.TurnStop.Duration()-1)
		defer cancel()
		for range 2 { // whoever stops it again is told so, too
			if err := s.r.service.Close(ctx); !errors.Is(err, context.DeadlineExceeded) && !fault.Is(err, fault.ShuttingDown) {
				t.Errorf("closed: %v", err)
			}
		}
		close(s.r.gate)
		s.r.server.Close()
	})
}

// Why a session cannot be kept is the log's to tell: its peer hears the code.
func TestTheLogTellsWhyASessionIsNotKept(t *testing.T) {
	var log bytes.Buffer
	usual := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(usual)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.ready("a")
		for _, code := range []fault.Code{fault.PersistenceFailed, fault.SessionBusy} {
			s.r.log.odd = fault.New(code, "no").Because(errors.New("why " + string(code)))
			got := s.answer("a", `turn.start S C O=`+string(code)+` {"prompt":"say x"}`)
			if got != string(code) || strings.Count(log.String(), "why "+string(code)) != 1 {
				t.Errorf("%s: %s, logged %q", code, got, log.String())
			}
		}
		s.end()
	})
}

// A worker that returns while the end of its stopped turn is being recorded leaves
// the record open until that is done, and the session taken until it is told.
func TestAWorkerWaitsForTheEndOfItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.ready("a")
		s.r.gate, s.r.log.late = make(chan struct{}), make(chan struct{})
		s.answer("a", `turn.start S C O=t {"prompt":"deaf"}`)
		s.answer("a", `turn.cancel S C O=x {"turn_id":"<turn.1>"}`)
		<-time.After(bound.TurnStop.Duration())
		synctest.Wait()
		close(s.r.gate)
		s.r.gate = nil
		synctest.Wait()
		if got := s.answer("a", `turn.start S C O=u {"prompt":"say x"}`); got != "conflict" {
			t.Errorf("another turn: %s", got)
		}
		close(s.r.log.late)
		synctest.Wait()
		if got := s.answer("a", `operation.lookup {"operation_id":"t"}`); !strings.Contains(got, `"code":"cancelled"`) {
			t.Errorf("it ended as %s", got)
		}
		s.end()
	})
}

// A claim waits for what ends a dead daemon's turn, once: whoever has gone meanwhile
// gets no control, and nothing is asked of the store again.
func TestAClaimWaitsUntilTheSessionIsMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.dials("a")
		s.dials("b")
		s.answer("a", `session.create O=n {}`)
		s.r.log.torn = make(chan struct{})
		for _, name := range []string{"a", "b"} {
			if got := s.answer(name, `session.claim S=`+s.peers["a"].session+` O=`+name+` {"mode":"takeover"}`); got != "nothing" {
				t.Errorf("%s is told %s", name, got)
			}
		}
		s.peers["a"].conn.Close()
		synctest.Wait()
		close(s.r.log.torn)
		synctest.Wait()
		s.r.log.torn = make(chan struct{})
		if lines, _ := s.peers["b"].take(); len(lines) != 1 || !strings.Contains(lines[0], `"generation":1`) {
			t.Errorf("b is told %s", lines)
		}
		if got := s.answer("b", `operation.lookup {"operation_id":"a"}`); !strings.Contains(got, "stale_connection") {
			t.Errorf("of a's claim: %s", got)
		}
		if got := s.answer("b", `session.claim S=`+s.peers["a"].session+` O=again {"mode":"takeover"}`); !strings.Contains(got, "grant_id") {
			t.Errorf("again: %s", got)
		}
		s.end()
	})
}

// A session whose record somebody removed under the daemon is not controlled.
func TestASessionThatIsGoneIsNotClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.dials("a")
		s.answer("a", `session.create O=n {}`)
		s.r.log.gone = true
		if got := s.answer("a", `session.claim S O=c {"mode":"claim"}`); got != "unknown_session" {
			t.Errorf("it is told %s", got)
		}
		if got := s.answer("a", `session.active {}`); got != `{"sessions":[]}` {
			t.Errorf("in use: %s", got)
		}
		s.end()
	})
}
