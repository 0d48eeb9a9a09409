package sessiondoor

import (
	"fmt"
	"regexp"
	"strings"
	"testing/synctest"

	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// brief checks what every record has and gives the rest: its kind, what it answers
// or tells, and its payload or error, with IDs as placeholders.
func (s *stage) brief(p *peer, line string, quiet bool) string {
	s.fits(line)
	if len(line) > 64<<10 {
		s.t.Errorf("a record of %d bytes", len(line))
	}
	if strings.Contains(line, `"kind":"event"`) {
		e := decodeInto[sessionwire.Event](s.t, line)
		s.same(p, e.ProtocolVersion, e.InstanceID, e.ConnectionID)
		if e.Event == sessionwire.ToolCall {
			s.call = decodeInto[sessionwire.CallPayload](s.t, string(e.Payload))
			s.numbered("call", s.call.CallID)
		}
		out := "event " + e.Event
		out += optional(" S=", e.SessionID) + optional(" O=", e.OperationID)
		if e.GrantGeneration != nil {
			out += fmt.Sprintf(" G=%d L=%d", *e.GrantGeneration, *e.LiveSequence)
		}
		return s.name(out + " " + string(e.Payload))
	}
	r := decodeInto[sessionwire.Response](s.t, line)
	if p.instance == "" {
		p.instance, p.connection = r.InstanceID, r.ConnectionID
	}
	s.same(p, r.ProtocolVersion, r.InstanceID, r.ConnectionID)
	s.learn(p, r)
	if quiet {
		if r.Error != nil {
			s.t.Fatalf("%s", line)
		}
		return ""
	}
	out := "answer" + optional(" ", r.RequestID) + optional(" ", r.Method) + optional(" S=", r.SessionID) + optional(" O=", r.OperationID)
	if (r.Error == nil) == (string(r.Payload) == "null") {
		s.t.Errorf("exactly one of payload and error: %s", line)
	}
	if r.Error != nil {
		return s.name(out + " " + r.Error.Code)
	}
	return s.name(out + " " + string(r.Payload))
}

// learn keeps what later requests need, and gives names to what is new.
func (s *stage) learn(p *peer, r sessionwire.Response) {
	s.christen("instance", r.InstanceID)
	s.christen("connection."+s.letter(p), r.ConnectionID)
	if r.Method == nil || r.Error != nil {
		return
	}
	switch payload := string(r.Payload); *r.Method {
	case sessionwire.SessionCreate:
		p.session = decodeInto[sessionwire.CreateAnswer](s.t, payload).SessionID
		s.christen("session."+s.letter(p), p.session)
	case sessionwire.SessionClaim:
		a := decodeInto[sessionwire.ClaimAnswer](s.t, payload)
		p.session, p.grant, p.generation = *r.SessionID, a.Control.GrantID, a.Control.Generation
	case sessionwire.TurnStart:
		s.numbered("turn", decodeInto[sessionwire.StartAnswer](s.t, payload).TurnID)
	case sessionwire.ResourcesRegister:
		a := decodeInto[sessionwire.RegisterAnswer](s.t, payload)
		s.numbered("res", a.Entry.ResourceID)
		s.numbered("rev", a.Entry.RevisionID)
		s.numbered("reg", a.RegistryRevision)
	case sessionwire.ResourcesUnregister:
		s.numbered("reg", decodeInto[sessionwire.UnregisterAnswer](s.t, payload).RegistryRevision)
	case sessionwire.ResourcesClear:
		s.numbered("reg", decodeInto[sessionwire.ClearAnswer](s.t, payload).RegistryRevision)
	case sessionwire.ResourcesList:
		a := decodeInto[sessionwire.ResourcesListAnswer](s.t, payload)
		s.numbered("reg", a.RegistryRevision)
		p.registry, p.tools = a.RegistryRevision, nil
		for _, d := range a.Entries {
			if d.Kind == "tool" {
				p.tools = append(p.tools, d)
			}
		}
	case sessionwire.ExecutorCreate:
		a := decodeInto[sessionwire.ExecutorSecretAnswer](s.t, payload)
		p.executor, p.held, p.proof = a.ExecutorID, a.ExecutorGeneration, a.ResumeSecret
		s.numbered("exe", a.ExecutorID)
		s.numbered("proof", a.ResumeSecret)
	case sessionwire.ExecutorRotate:
		s.numbered("proof", decodeInto[sessionwire.ExecutorRotationAnswer](s.t, payload).ResumeSecret)
	case sessionwire.ExecutorResume, sessionwire.ExecutorConfirm:
		a := decodeInto[sessionwire.ExecutorResumedAnswer](s.t, payload)
		p.executor, p.held = a.ExecutorID, a.ExecutorGeneration
	}
}

func (s *stage) letter(p *peer) string {
	for name, other := range s.peers {
		if other == p {
			return name
		}
	}
	return "?"
}

// christen names a value that has no name yet.
func (s *stage) christen(name, value string) {
	if s.names[value] == "" && value != "" {
		for s.values["<"+name+">"] != "" {
			name += "x"
		}
		s.names[value], s.values["<"+name+">"] = "<"+name+">", value
	}
}

// numbered names a value after its kind, in the order in which they appear.
func (s *stage) numbered(kind, value string) {
	if s.names[value] == "" {
		s.counts[kind]++
		s.christen(fmt.Sprintf("%s.%d", kind, s.counts[kind]), value)
	}
}

func (s *stage) same(p *peer, version int, instance, connection string) {
	if version != 2 || instance != p.instance || connection != p.connection {
		s.t.Errorf("version %d, instance %s, connection %s", version, instance, connection)
	}
}

func optional(before string, text *string) string {
	if text == nil {
		return ""
	}
	return before + *text
}

// name puts placeholders in the places of IDs and secrets. Limits are left out:
// the bound table has them.
func (s *stage) name(text string) string {
	if i := strings.Index(text, `"limits":{`); i >= 0 {
		j := i + strings.Index(text[i:], "}")
		text = text[:i] + `"limits":{` + text[j:]
	}
	if i := strings.Index(text, `"bounds":{`); i >= 0 {
		j := i + strings.Index(text[i:], "}")
		text = text[:i] + `"bounds":{` + text[j:]
	}
	text = fresh.ReplaceAllStringFunc(text, func(quoted string) string {
		return `"` + s.placeholder(quoted[1:len(quoted)-1]) + `"`
	})
	for value, name := range s.names {
		text = strings.ReplaceAll(text, "S="+value, "S="+name)
	}
	return text
}

func (s *stage) placeholder(value string) string {
	kind := "id"
	if len(value) > 22 {
		kind = "grant"
	}
	s.numbered(kind, value)
	return s.names[value]
}

// expand puts longer texts into a request.
func (s *stage) expand(p *peer, payload string) string {
	return template.ReplaceAllStringFunc(payload, func(word string) string {
		var v any
		switch name := strings.Trim(word, "{}"); name {
		case "application":
			a := sessionwire.Selection{ExpectedRegistryRevision: p.registry, ToolAuthorizations: []sessionwire.Authorization{}}
			for _, d := range p.tools {
				a.ExecutorID, a.ExecutorGeneration = &p.executor, &p.held
				a.ToolAuthorizations = append(a.ToolAuthorizations, sessionwire.Authorization{ResourceID: d.ResourceID, RevisionID: d.RevisionID, RevisionSHA256: d.RevisionSHA256})
			}
			v = a
		case "binding":
			c := s.call
			return fmt.Sprintf(`"turn_id":%q,"call_id":%q,"executor_id":%q,"executor_generation":%d,"resource_id":%q,"revision_id":%q,"revision_sha256":%q`,
				c.TurnID, c.CallID, c.ExecutorID, p.held, c.ResourceID, c.RevisionID, c.RevisionSHA256)
		case "proof.a":
			a := s.lent["a"]
			return fmt.Sprintf(`"executor_id":%q,"resume_secret":%q`, a.executor, a.proof)
		case "proof":
			return fmt.Sprintf(`"executor_id":%q,"resume_secret":%q`, p.executor, p.proof)
		case "executor":
			return fmt.Sprintf(`"executor_id":%q,"executor_generation":%d`, p.executor, p.held)
		case "add":
			v = addSource
		default:
			content, ok := s.r.files[name]
			if !ok {
				s.t.Fatalf("what is %s?", word)
			}
			v = content
		}
		raw, err := strictjson.Encode(v)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(raw)
	})
}

var template = regexp.MustCompile(`\{\{[a-z.]+\}\}`)

// addSource is the contract of the tool that clients lend.
const addSource = `{"input_schema":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","minimum":0,"maximum":9}},"required":["a"]},` +
	`"output_schema":{"type":"object","additionalProperties":false,"properties":{"sum":{"type":"integer","minimum":0,"maximum":99}},"required":["sum"]},"timeout_ms":5000}`

// quietly asks without writing it down.
func (s *stage) quietly(name string, lines ...string) {
	for _, line := range lines {
		s.ask(s.peers[name], s.fill(line))
		synctest.Wait()
		s.flush(true)
	}
}

func (s *stage) ready(name string) {
	s.peers[name] = s.r.dial()
	s.lent[name] = s.peers[name]
	s.quietly(name,
		`initialize {"requested_capabilities":["application_resources_v1"]}`,
		`session.create O=create-`+name+` {}`,
		`session.claim S O=claim-`+name+` {"mode":"claim"}`,
		`session.resources.list S C {}`)
}

func (s *stage) lends(name string) {
	s.quietly(name,
		`session.resources.register S C O=lend-`+name+` {"expected_revision":null,"resource":{"kind":"tool","name":"add","description":"Adds.","source":{"kind":"inline","content":{{add}}}}}`,
		`session.resources.list S C {}`,
		`executor.create O=make-`+name+` {}`,
		`executor.confirm O=confirm-`+name+` {{{proof}}}`)
}
