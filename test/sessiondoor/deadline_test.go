package sessiondoor

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// answer asks and gives the code of the refusal, or the payload.
func (s *stage) answer(name, line string) string {
	s.t.Helper()
	p := s.peers[name]
	s.ask(p, s.fill(line))
	synctest.Wait()
	lines, _ := p.take()
	found := "nothing"
	for _, line := range lines {
		if strings.Contains(line, `"kind":"event"`) {
			s.brief(p, line, true)
			continue
		}
		r := decodeInto[sessionwire.Response](s.t, line)
		s.brief2(p, line)
		if found = string(r.Payload); r.Error != nil {
			found = r.Error.Code
		}
	}
	return found
}

// brief2 learns from an answer whatever it says.
func (s *stage) brief2(p *peer, line string) { _ = s.brief(p, line, false) }

func newStage(t *testing.T) *stage {
	return &stage{t: t, r: newRig(t), peers: map[string]*peer{}, names: map[string]string{}, values: map[string]string{}, lent: map[string]*peer{}, counts: map[string]int{}}
}

func (s *stage) dials(name string) {
	s.peers[name] = s.r.dial()
	s.quietly(name, `initialize {"requested_capabilities":["application_resources_v1"]}`)
}

const start = `turn.start S C O=turn {"prompt":%q,"application":{{application}}}`

// Every deadline of the daemon: a nanosecond before it nothing has happened, at the
// instant it is over, whatever else comes at that instant, and so it stays.
func TestDeadlinesAreExact(t *testing.T) {
	for _, c := range []struct {
		row   bound.Row
		name  string
		begin func(s *stage)
		over  func(s *stage) bool
	}{
		{bound.RegistryIdle, "an unclaimed registry expires, before a claim that comes then", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.dials("b")
			s.answer("a", `session.detach S C O=d {}`)
		}, func(s *stage) bool {
			s.answer("b", `session.claim S=<session.a> O=c {"mode":"claim"}`)
			return strings.Contains(s.answer("b", `session.resources.list S C {}`), `"entries":[]`)
		}},
		{bound.RegistryIdle, "a reclaim begins the idle time anew", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.answer("a", `session.detach S C O=d1 {}`)
			<-time.After(bound.RegistryIdle.Duration() - 1)
			s.answer("a", `session.claim S O=c1 {"mode":"claim"}`)
			<-time.After(time.Hour)
			s.answer("a", `session.detach S C O=d2 {}`)
		}, func(s *stage) bool {
			s.answer("a", `session.claim S O=c2 {"mode":"claim"}`)
			return strings.Contains(s.answer("a", `session.resources.list S C {}`), `"entries":[]`)
		}},
		{bound.RegistryIdle, "accepted work protects until its worker has returned", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.r.gate = make(chan struct{})
			s.answer("a", fmt.Sprintf(start, "deaf"))
			s.answer("a", `turn.cancel S C O=x {"turn_id":"<turn.1>"}`)
			s.answer("a", `session.detach S C O=d {}`)
			<-time.After(time.Hour)
			close(s.r.gate)
			s.r.gate = nil
			synctest.Wait()
		}, func(s *stage) bool {
			s.answer("a", `session.claim S O=c {"mode":"claim"}`)
			return strings.Contains(s.answer("a", `session.resources.list S C {}`), `"entries":[]`)
		}},
		{bound.ExecutorIdle, "a disconnected executor that no turn needs expires", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.dials("b")
			s.peers["a"].conn.Close()
			synctest.Wait()
		}, func(s *stage) bool {
			return s.answer("b", `executor.resume O=r {{{proof.a}}}`) == "stale_connection"
		}},
		{bound.ExecutorConfirm, "a provisional executor vanishes", func(s *stage) {
			s.ready("a")
			s.answer("a", `executor.create O=c {}`)
		}, func(s *stage) bool {
			return s.answer("a", `executor.confirm O=d {{{proof}}}`) == "stale_connection"
		}},
		{bound.RotationPending, "a candidate dies, also under a confirmation that comes then", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.answer("a", `executor.rotate O=r {{{executor}}}`)
		}, func(s *stage) bool {
			return s.answer("a", `executor.rotate_confirm O=d {{{executor}},"resume_secret":"<proof.2>"}`) == "stale_connection"
		}},
		{bound.ExecutorAbsent, "an absent executor is not waited for longer", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.dials("b")
			s.r.gate = make(chan struct{})
			s.answer("a", fmt.Sprintf(start, "deaf\ncall c1 add {\"a\":1}"))
			s.peers["a"].conn.Close()
			synctest.Wait()
			close(s.r.gate)
			s.r.gate = nil
			synctest.Wait()
		}, func(s *stage) bool {
			return strings.Contains(s.answer("b", `executor.resume O=r {{{proof.a}}}`), `"pending_calls":[]`)
		}},
		{bound.RotationPending, "a candidate dies, also under a resume that comes then, and the old proof resumes", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.dials("b")
			s.answer("a", `executor.rotate O=r {{{executor}}}`)
		}, func(s *stage) bool {
			dead := s.answer("b", `executor.resume O=d {"executor_id":"<exe.1>","resume_secret":"<proof.2>"}`) == "stale_connection"
			if again := s.answer("b", `executor.resume O=e {{{proof.a}}}`); dead != strings.Contains(again, `"executor_generation":2`) {
				s.t.Errorf("the candidate is dead: %v; the old proof gives %s", dead, again)
			}
			return dead
		}},
		{bound.ExecutorIdle, "an executor that a turn needs stays until its worker has returned", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.dials("b")
			s.r.gate = make(chan struct{})
			s.answer("a", fmt.Sprintf(start, "deaf"))
			s.peers["a"].conn.Close()
			<-time.After(time.Hour)
			close(s.r.gate)
			s.r.gate = nil
			synctest.Wait()
		}, func(s *stage) bool {
			return s.answer("b", `executor.resume O=r {{{proof.a}}}`) == "stale_connection"
		}},
		{ownTimeout, "a dispatched call times out, before a result that comes then", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.answer("a", fmt.Sprintf(start, "call c1 add {\"a\":1}"))
		}, func(s *stage) bool {
			return s.answer("a", `turn.application_tool_result S O=r {{{binding}},"outcome":{"status":"success","value":{"sum":1}}}`) == "unknown_turn"
		}},
		{ownTimeout, "a reconnect renews no call's time", func(s *stage) {
			s.ready("a")
			s.lends("a")
			s.dials("b")
			s.answer("a", fmt.Sprintf(start, "call c1 add {\"a\":1}"))
			s.later("b", ownTimeout.Duration()/2, func(p *peer) { s.ask(p, `executor.resume O=r {{{proof.a}}}`) })
		}, func(s *stage) bool {
			return strings.Contains(s.answer("b", `executor.resume O=e {{{proof.a}}}`), `"pending_calls":[]`)
		}},
		{bound.RequestTime, "a session that does not open is not waited for", func(s *stage) {
			s.ready("a")
			s.r.log.slow = make(chan struct{})
			s.answer("a", `turn.start S C O=t {"prompt":"say x"}`)
		}, func(s *stage) bool { return s.refusedWith("a", "persistence_failed") }},
		{bound.DaemonIdle, "a daemon is not idle while a turn has a worker", func(s *stage) {
			s.ready("a")
			s.r.gate = make(chan struct{})
			s.answer("a", `turn.start S C O=t {"prompt":"deaf"}`)
			s.peers["a"].conn.Close()
			<-time.After(time.Hour)
			close(s.r.gate)
			s.r.gate = nil
			synctest.Wait()
		}, idle},
		{bound.OutcomeLife, "evidence ends with the turn's outcome, whatever was read", func(s *stage) {
			s.ready("a")
			s.answer("a", fmt.Sprintf(start, "say x"))
			s.answer("a", `turn.application_evidence S C {"turn_id":"<turn.1>"}`)
		}, func(s *stage) bool {
			return s.answer("a", `turn.application_evidence S C {"turn_id":"<turn.1>"}`) == "unknown_turn"
		}},
		{bound.OutcomeLife, "an outcome becomes a tombstone", func(s *stage) {
			s.ready("a")
			s.answer("a", `session.create O=x {}`)
		}, func(s *stage) bool {
			return strings.Contains(s.answer("a", `operation.lookup {"operation_id":"x"}`), `"expired"`)
		}},
		{bound.TombstoneLife, "a tombstone goes", func(s *stage) {
			s.ready("a")
			s.answer("a", `session.create O=x {}`)
		}, func(s *stage) bool {
			return strings.Contains(s.answer("a", `operation.lookup {"operation_id":"x"}`), `"unknown"`)
		}},
		{bound.OutcomeLife, "an end leaves the snapshots", func(s *stage) {
			s.ready("a")
			s.answer("a", `turn.start S C O=t {"prompt":"say x"}`)
		}, func(s *stage) bool {
			return strings.Contains(s.answer("a", `session.claim S O=c {"mode":"takeover"}`), `"terminal":null`)
		}},
		{bound.RequestTime, "a capture's request is answered", func(s *stage) {
			s.ready("a")
			s.r.gate = make(chan struct{})
			s.answer("a", `session.resources.register S C O=x {"expected_revision":null,"resource":{"kind":"skill","name":"n","description":"","source":{"kind":"workspace_file","path":"f"}}}`)
		}, func(s *stage) bool {
			return strings.Contains(s.answer("a", `operation.lookup {"operation_id":"x"}`), `configuration_busy`)
		}},
		{bound.RequestTime, "a store that hangs is not waited for: list", func(s *stage) {
			s.ready("a")
			s.r.log.hold = make(chan struct{})
			s.answer("a", `session.list {}`)
		}, func(s *stage) bool {
			defer s.lets()
			return s.refusedWith("a", "persistence_failed")
		}},
		{bound.RequestTime, "a store that hangs is not waited for: create", func(s *stage) {
			s.ready("a")
			s.r.log.hold = make(chan struct{})
			s.answer("a", `session.create O=x {}`)
		}, func(s *stage) bool {
			defer s.lets()
			return s.refusedWith("a", "persistence_failed")
		}},
		{bound.RequestTime, "a store that hangs is not waited for: replay", func(s *stage) {
			s.ready("a")
			s.r.log.hold = make(chan struct{})
			s.answer("a", `session.replay S {}`)
		}, func(s *stage) bool {
			defer s.lets()
			return s.refusedWith("a", "persistence_failed")
		}},
		{bound.TurnStop, "a stopped turn ends without its worker", func(s *stage) {
			s.ready("a")
			s.r.gate = make(chan struct{})
			s.answer("a", `turn.start S C O=t {"prompt":"deaf"}`)
			s.answer("a", `turn.cancel S C O=x {"turn_id":"<turn.1>"}`)
		}, func(s *stage) bool {
			synctest.Wait() // its end is recorded outside the owner
			return strings.Contains(s.answer("a", `operation.lookup {"operation_id":"t"}`), `"settled"`)
		}},
		{bound.InitializeTime, "who does not initialize is gone", func(s *stage) {
			s.peers["a"] = s.r.dial()
		}, func(s *stage) bool { return s.closed("a") }},
		{bound.InitializeTime, "who sends half of it late is gone", func(s *stage) {
			s.peers["a"] = s.r.dial()
			s.later("a", bound.InitializeTime.Duration()-time.Second, noise(8<<10))
		}, func(s *stage) bool { return s.closed("a") }},
		{bound.RequestTime, "a claim waits no longer for what mends the session", func(s *stage) {
			s.dials("a")
			s.answer("a", `session.create O=n {}`)
			s.r.log.torn = make(chan struct{})
			s.answer("a", `session.claim S O=c {"mode":"claim"}`)
		}, func(s *stage) bool {
			lines, _ := s.peers["a"].take()
			return len(lines) == 1 && strings.Contains(lines[0], `"grant_id":`)
		}},
		{bound.RequestTime, "a few bytes of a record are not waited for", func(s *stage) {
			s.dials("a")
			s.peers["a"].send([]byte(`{"a"`))
			synctest.Wait()
		}, func(s *stage) bool { return s.closed("a") }},
		{bound.RequestTime, "a record that trickles is not waited for", func(s *stage) {
			s.dials("a")
			s.peers["a"].send([]byte(`{"a":"` + strings.Repeat("x", 8<<10)))
			s.later("a", 20*time.Second, noise(8<<10))
		}, func(s *stage) bool { return s.closed("a") }},
		{bound.RequestTime, "half a record is not waited for", func(s *stage) {
			s.dials("a")
			s.peers["a"].send([]byte(`{"a":"` + strings.Repeat("x", 8<<10)))
			synctest.Wait()
		}, func(s *stage) bool { return s.closed("a") }},
		{bound.WriteTime, "who does not read is gone", func(s *stage) {
			s.dials("a")
			s.dials("b")
			s.peers["a"].deaf.Store(true)
			p := s.peers["a"]
			p.send(p.request("1000", "status", nil, nil, nil, "{}"))
			synctest.Wait()
			p.send(p.request("1001", "status", nil, nil, nil, "{}"))
			synctest.Wait()
		}, func(s *stage) bool {
			return strings.Contains(s.answer("b", `status {}`), `"connections":1`)
		}},
		{bound.DaemonIdle, "a daemon without connections and work is idle", func(s *stage) {
			s.dials("a")
			<-time.After(time.Hour)
			s.peers["a"].conn.Close()
			synctest.Wait()
		}, idle},
	} {
		for _, early := range []time.Duration{1, 0, -1} {
			t.Run(fmt.Sprintf("%s/%v", c.name, early), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t)
					c.begin(s)
					<-time.After(c.row.Duration() - early)
					synctest.Wait()
					if over := c.over(s); over != (early <= 0) {
						t.Errorf("%v before its end: over is %v", early, over)
					}
					s.end()
				})
			})
		}
	}
}

// later has a client do something after a time.
func (s *stage) later(name string, after time.Duration, do func(*peer)) {
	go func() {
		<-time.After(after)
		do(s.peers[name])
	}()
}

// noise sends so many bytes of no whole record.
func noise(n int) func(*peer) {
	return func(p *peer) { p.send([]byte(strings.Repeat("x", n))) }
}

func idle(s *stage) bool {
	select {
	case <-s.r.service.Idle():
		return true
	default:
		return false
	}
}

// ownTimeout is that of the tool which clients lend.
var ownTimeout = bound.Row{Key: "timeout_ms", Max: 5000, Unit: bound.Milliseconds}

// lets has the store answer again.
func (s *stage) lets() {
	close(s.r.log.hold)
	synctest.Wait()
}

// refusedWith reports whether a refusal with the code has come, and nothing else.
func (s *stage) refusedWith(name, code string) bool {
	lines, _ := s.peers[name].take()
	return len(lines) == 1 && strings.Contains(lines[0], `"code":"`+code+`"`)
}

func (s *stage) closed(name string) bool {
	_, ended := s.peers[name].take()
	return ended
}
