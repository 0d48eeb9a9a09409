package sessiondoor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/sessionwire"
	"github.com/stewardhost/steward/test/figure"
)

// crowd is some clients that do anything in any order, and what they were told.
type crowd struct {
	*stage
	rnd      *rand.Rand
	letters  []string
	sessions []string
	open     map[string]int // requests that were not answered, by client
	calls    map[string]sessionwire.CallPayload
	called   map[string]string // call to session
	turns    []string
	at       map[string]string // turn to session
	lastSeq  map[string]int64  // by session
	ended    map[string]int    // terminals by turn
	proofs   [][2]string       // every one that was told: executor and secret
	told     *truth
	operated int
}

func (c *crowd) pick(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return list[c.rnd.IntN(len(list))]
}

// say sends one request.
func (c *crowd) say(letter, method, payload string, session, control, operation bool) {
	p := c.peers[letter]
	var s, o *string
	var k *sessionwire.Control
	if session {
		x := c.pick(c.sessions)
		if control && p.session != "" {
			x = p.session
		}
		s = &x
	}
	if control {
		k = &sessionwire.Control{GrantID: p.grant, Generation: p.generation}
		if p.grant == "" {
			k.GrantID = "none"
		}
	}
	if operation {
		c.operated++
		x := fmt.Sprint("op", c.operated)
		if c.rnd.IntN(20) == 0 {
			x = fmt.Sprint("op", 1+c.rnd.IntN(c.operated))
		}
		o = &x
	}
	p.next++
	c.open[letter]++
	p.send(p.request(fmt.Sprint(p.next), method, s, o, k, c.expand(p, payload)))
}

// step does one thing.
func (c *crowd) step() {
	letter := c.pick(c.letters)
	if c.peers[letter] == nil {
		c.peers[letter] = c.r.dial()
		c.open[letter] = 0
		c.say(letter, "initialize", `{"requested_capabilities":["application_resources_v1"]}`, false, false, false)
		return
	}
	p := c.peers[letter]
	name := c.pick([]string{"alpha", "beta", "add"})
	revision := "null"
	if len(p.tools) > 0 && c.rnd.IntN(2) == 0 {
		revision = `"` + p.tools[0].RevisionID + `"`
	}
	if len(p.tools) > 0 && p.executor != "" && c.rnd.IntN(3) == 0 {
		c.act(letter)
		return
	}
	switch c.rnd.IntN(23) {
	case 0:
		c.say(letter, "session.create", `{}`, false, false, true)
	case 1, 2:
		c.say(letter, "session.claim", `{"mode":"`+c.pick([]string{"claim", "takeover"})+`"}`, true, false, true)
	case 3:
		c.say(letter, "session.detach", `{}`, true, true, true)
	case 4, 5:
		c.say(letter, "session.resources.list", `{}`, true, true, false)
	case 6, 7:
		c.say(letter, "session.resources.register", `{"expected_revision":`+revision+`,"resource":{"kind":"tool","name":"`+name+`","description":"","source":{"kind":"inline","content":{{add}}}}}`, true, true, true)
	case 8:
		c.say(letter, "session.resources.register", `{"expected_revision":null,"resource":{"kind":"skill","name":"`+name+`","description":"","source":{"kind":"workspace_file","path":"f"}}}`, true, true, true)
	case 9:
		c.say(letter, "session.resources.clear", `{"expected_registry_revision":"`+p.registry+`"}`, true, true, true)
	case 10:
		c.say(letter, "executor.create", `{}`, false, false, true)
	case 11:
		c.say(letter, "executor.confirm", `{{{proof}}}`, false, false, true)
	case 12:
		proof := c.proof()
		c.say(letter, "executor.resume", fmt.Sprintf(`{"executor_id":%q,"resume_secret":%q}`, proof[0], proof[1]), false, false, true)
	case 13:
		if c.rnd.IntN(3) == 0 {
			c.say(letter, "executor.rotate_confirm", fmt.Sprintf(`{{{executor}},"resume_secret":%q}`, c.proof()[1]), false, false, true)
			return
		}
		c.say(letter, c.pick([]string{"executor.rotate", "executor.rotate", "executor.release"}), `{{{executor}}}`, false, false, true)
	case 14, 15, 16:
		prompt := c.pick([]string{"say x", "call c1 add {\"a\":1}", "both c1 add {\"a\":1}\npause\ncall c2 add {\"a\":2}", "hold", "pause\nsay y\ncall c1 add {\"a\":10}"})
		payload := fmt.Sprintf(`{"prompt":%q,"application":{{application}}}`, prompt)
		if c.rnd.IntN(4) == 0 {
			payload = fmt.Sprintf(`{"prompt":%q}`, prompt)
		}
		c.say(letter, "turn.start", payload, true, true, true)
	case 17:
		c.say(letter, "turn.cancel", `{"turn_id":"`+c.pick(c.turns)+`"}`, true, true, true)
	case 18, 19:
		c.result(letter)
	case 20:
		c.say(letter, c.pick([]string{"turn.application_evidence"}), `{"turn_id":"`+c.pick(c.turns)+`"}`, true, true, false)
	case 21:
		c.say(letter, "operation.lookup", fmt.Sprintf(`{"operation_id":"op%d"}`, 1+c.rnd.IntN(c.operated+1)), false, false, false)
	case 22:
		if c.rnd.IntN(3) == 0 {
			p.conn.Close()
			return
		}
		<-time.After(c.pickTime())
	}
}

// act does something of what a client does that has lent a tool.
func (c *crowd) act(letter string) {
	p := c.peers[letter]
	switch c.rnd.IntN(8) {
	case 0:
		c.say(letter, "session.claim", `{"mode":"takeover"}`, true, false, true)
	case 1, 2:
		prompt := c.pick([]string{"call c1 add {\"a\":1}\nsay x", "both c1 add {\"a\":1}\npause\ncall c2 add {\"a\":2}", "both c1 add {\"a\":3}\nhold"})
		c.say(letter, "turn.start", fmt.Sprintf(`{"prompt":%q,"application":{{application}}}`, prompt), true, true, true)
	case 3, 4, 5:
		c.result(letter)
	case 6:
		turns := slices.DeleteFunc(slices.Clone(c.turns), func(t string) bool { return c.at[t] != p.session })
		if len(turns) > 0 {
			c.say(letter, "turn.application_evidence", `{"turn_id":"`+turns[len(turns)-1]+`"}`, true, true, false)
		}
	case 7:
		proof := c.proof()
		c.say(letter, "executor.resume", fmt.Sprintf(`{"executor_id":%q,"resume_secret":%q}`, proof[0], proof[1]), false, false, true)
	}
}

// proof is one that was told, the newest more often.
func (c *crowd) proof() [2]string {
	if len(c.proofs) == 0 {
		return [2]string{"none", "none"}
	}
	return c.proofs[max(c.rnd.IntN(len(c.proofs)), c.rnd.IntN(len(c.proofs)))]
}

func (c *crowd) pickTime() time.Duration {
	return []time.Duration{1, time.Second, 5 * time.Second, time.Minute, 15 * time.Minute, 20 * time.Minute}[c.rnd.IntN(6)]
}

// result answers some call that there was, rightly or not.
func (c *crowd) result(letter string) {
	var ids []string
	for id := range c.calls {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return
	}
	if mine := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return c.told.accepted[id] || c.calls[id].ExecutorID != c.peers[letter].executor }); len(mine) > 0 && c.rnd.IntN(4) > 0 {
		ids = mine
	}
	id := c.pick(ids)
	c.call = c.calls[id]
	session, p := c.called[id], c.peers[letter]
	c.operated++
	operation := fmt.Sprint("op", c.operated)
	p.next++
	c.open[letter]++
	value := c.pick([]string{`{"sum":1}`, `{"sum":1}`, `{"sum":"x"}`})
	p.send(p.request(fmt.Sprint(p.next), "turn.application_tool_result", &session, &operation, nil, c.expand(p, `{{{binding}},"outcome":{"status":"success","value":`+value+`}}`)))
}

// begin has each client control a session of its own, with a tool and an executor.
func (c *crowd) begin() {
	for _, letter := range c.letters {
		c.peers[letter] = c.r.dial()
		c.say(letter, "initialize", `{"requested_capabilities":["application_resources_v1"]}`, false, false, false)
		c.settle()
		c.say(letter, "session.create", `{}`, false, false, true)
		c.settle()
		c.sessions = c.sessions[len(c.sessions)-1:] // so that it is the one to claim
		c.say(letter, "session.claim", `{"mode":"claim"}`, true, false, true)
		c.settle()
		c.say(letter, "session.resources.register", `{"expected_revision":null,"resource":{"kind":"tool","name":"add","description":"","source":{"kind":"inline","content":{{add}}}}}`, true, true, true)
		c.settle()
		c.say(letter, "executor.create", `{}`, false, false, true)
		c.settle()
		c.say(letter, "executor.confirm", `{{{proof}}}`, false, false, true)
		c.settle()
	}
	c.sessions = nil
	for _, p := range c.peers {
		c.sessions = append(c.sessions, p.session)
	}
	slices.Sort(c.sessions)
}

// settle lets everything happen and hears of it.
func (c *crowd) settle() {
	synctest.Wait()
	c.hear()
}

// hear takes what came, and holds it to the promises.
func (c *crowd) hear() {
	for _, letter := range c.letters {
		p := c.peers[letter]
		if p == nil {
			continue
		}
		lines, ended := p.take()
		for _, line := range lines {
			c.told.record(line)
			if strings.Contains(line, `"kind":"event"`) {
				c.event(decodeInto[sessionwire.Event](c.t, line))
				continue
			}
			c.answered(letter, p, line)
		}
		if ended {
			delete(c.peers, letter)
		}
	}
}

func (c *crowd) answered(letter string, p *peer, line string) {
	r := decodeInto[sessionwire.Response](c.t, line)
	c.open[letter]--
	if r.Error != nil {
		if row, ok := fault.Lookup(fault.Code(r.Error.Code)); !ok || row.Code == fault.InternalError || r.Error.Message != row.Meaning {
			c.t.Errorf("%s: %+v", *r.Method, r.Error)
		}
		return
	}
	if p.instance == "" {
		p.instance, p.connection = r.InstanceID, r.ConnectionID
	}
	session := p.session
	c.learn(p, r)
	if *r.Method == sessionwire.SessionCreate && p.grant != "" {
		c.sessions, p.session = append(c.sessions, p.session), session // it goes on with the one that it controls
		return
	}
	c.told.answer(c.t, r, line)
	switch *r.Method {
	case sessionwire.SessionCreate:
		c.sessions = append(c.sessions, p.session)
	case sessionwire.TurnStart:
		a := decodeInto[sessionwire.StartAnswer](c.t, string(r.Payload))
		c.turns = append(c.turns, a.TurnID)
		c.at[a.TurnID] = *r.SessionID
		c.told.manifest(a.TurnID, a.ApplicationManifest)
	case sessionwire.ResourcesRegister:
		a := decodeInto[sessionwire.RegisterAnswer](c.t, string(r.Payload))
		p.registry = a.RegistryRevision
		p.tools = slices.DeleteFunc(p.tools, func(d sessionwire.Descriptor) bool { return d.Name == a.Entry.Name })
		if a.Entry.Kind == "tool" {
			p.tools = append(p.tools, a.Entry)
		}
	case sessionwire.ResourcesClear:
		p.registry, p.tools = decodeInto[sessionwire.ClearAnswer](c.t, string(r.Payload)).RegistryRevision, nil
	case sessionwire.SessionClaim:
		p.registry, p.tools = "", nil // of another session, perhaps
		c.say(letter, "session.resources.list", `{}`, true, true, false)
	case sessionwire.ExecutorCreate:
		c.proofs = append(c.proofs, [2]string{p.executor, p.proof})
		c.told.secret(p.proof, line)
		c.told.generation[p.executor] = p.held
	case sessionwire.ExecutorRotate:
		a := decodeInto[sessionwire.ExecutorRotationAnswer](c.t, string(r.Payload))
		c.proofs = append(c.proofs, [2]string{a.ExecutorID, a.ResumeSecret})
		c.told.secret(a.ResumeSecret, line)
	case sessionwire.ExecutorConfirm, sessionwire.ExecutorResume:
		c.told.attached(p.executor, p.connection, p.held, *r.Method == sessionwire.ExecutorResume)
	case sessionwire.ToolResult:
		c.told.accepted[decodeInto[sessionwire.ResultAnswer](c.t, string(r.Payload)).CallID] = true
	case sessionwire.Evidence:
		a := decodeInto[sessionwire.EvidenceAnswer](c.t, string(r.Payload))
		c.told.evidence(r.Payload, a)
		for _, call := range a.Calls {
			if _, sent := c.calls[call.CallID]; sent && call.ExternalEffects == "not_dispatched" {
				c.t.Errorf("a call that was sent is %s", call.ExternalEffects)
			}
		}
	}
}

func (c *crowd) event(e sessionwire.Event) {
	if e.LiveSequence != nil {
		if last := c.lastSeq[*e.SessionID+*orEmpty(e)]; *e.LiveSequence <= last {
			c.t.Errorf("event %d after %d", *e.LiveSequence, last)
		}
		c.lastSeq[*e.SessionID+*orEmpty(e)] = *e.LiveSequence
	}
	switch e.Event {
	case sessionwire.ToolCall:
		call := decodeInto[sessionwire.CallPayload](c.t, string(e.Payload))
		c.told.dispatched(e.ConnectionID, call)
		if _, again := c.calls[call.CallID]; again {
			c.t.Errorf("%s was dispatched twice", call.CallID)
		}
		c.calls[call.CallID], c.called[call.CallID] = call, *e.SessionID
	case sessionwire.TurnTerminal:
		end := decodeInto[sessionwire.TerminalPayload](c.t, string(e.Payload))
		c.told.terminal(end)
		if c.ended[end.TurnID]++; c.ended[end.TurnID] > 1 {
			c.t.Errorf("%s ended twice", end.TurnID)
		}
	}
}

// orEmpty is the connection that an event came to: each sees numbers that grow.
func orEmpty(e sessionwire.Event) *string { return &e.ConnectionID }

// Whatever a crowd does in whatever order, every request is answered once and with a
// code of the table, no call is dispatched twice, no turn ends twice, numbers grow,
// nothing that is told contradicts what was told before or a promise, and in the end
// nothing is left.
func TestRandomSequencesKeepThePromises(t *testing.T) {
	seed := figure.Seed(t)
	sequences := figure.Of(t, 60, 1000, 20000)
	if testing.Short() {
		sequences = 15
	}
	for n := range sequences {
		synctest.Test(t, func(t *testing.T) {
			c := &crowd{
				stage: newStage(t), rnd: rand.New(rand.NewPCG(seed, uint64(n))), letters: []string{"a", "b", "c"}, open: map[string]int{},
				calls: map[string]sessionwire.CallPayload{}, called: map[string]string{}, lastSeq: map[string]int64{}, ended: map[string]int{}, told: newTruth(t.Errorf),
			}
			c.at, c.r.files["f"] = map[string]string{}, "words"
			c.begin()
			for range 200 {
				c.step()
				c.settle()
			}
			<-time.After(5 * time.Minute)
			synctest.Wait()
			c.hear()
			for letter := range c.peers {
				if c.open[letter] != 0 {
					t.Errorf("sequence %d: %d requests of %s were not answered", n, c.open[letter], letter)
				}
			}
			for _, p := range c.peers {
				p.conn.Close()
			}
			<-time.After(time.Hour)
			synctest.Wait()
			clear(c.peers)
			c.dials("z")
			if got := c.answer("z", `session.active {}`); strings.Contains(got, `"controlled":true`) {
				t.Errorf("sequence %d: in the end %s", n, got)
			}
			c.end()
		})
	}
}
