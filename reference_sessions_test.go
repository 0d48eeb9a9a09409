package steward_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/sessions/turn"
	bounds "github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// sessionsPage is the reference of the session daemon's protocol, from its tables.
func sessionsPage() string {
	var b strings.Builder
	b.WriteString("# The session daemon's protocol, version 2\n\nRecords are lines of strict JSON on a Unix socket; `sessions.schema.json` has the form of each. Requests are checked in this order, and the first\n" +
		"failure answers: size and UTF-8, strict JSON, envelope, version, initialized, instance and connection, request ID, method known, profile selected, which of\n" +
		"session, control and operation is set, payload, operation known, session exists, control, method state, operation capacity, effect. Only the first two close the connection.\n\n" +
		"## Methods\n\nS, C and O: session, control and a fresh operation ID are set; what is not marked is null. P: only where `" + sessionwire.Profile + "` is selected.\n\n" +
		"| method | S | C | O | P | payload | answer | |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, m := range sessionwire.Methods() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", m.Name, mark(m.Session), mark(m.Control), mark(m.Operation), mark(m.Profile),
			members(m.Payload), members(m.Answer), m.Does)
	}
	b.WriteString("\n## Events\n\n| event | P | payload | |\n| --- | --- | --- | --- |\n")
	for _, e := range sessionwire.Events() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Name, mark(e.Profile), members(e.Payload), e.Does)
	}
	b.WriteString("\n## Kinds of the durable record\n\nWhat `session.replay` gives as `data`.\n\n| kind | data | |\n| --- | --- | --- |\n")
	for _, k := range sessionwire.Kinds() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, members(k.Data), k.Does)
	}
	b.WriteString("\n## Codes\n\nThe message of an error is the text beside its code.\n\n| code | message |\n| --- | --- |\n")
	conflict, _ := fault.Lookup(fault.Conflict)
	for _, r := range append(fault.SessionRows(), conflict) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Code, r.Meaning)
	}
	b.WriteString("\n## Codes of turns\n\nWhat `turn.terminal`, a snapshot and a lookup say of a turn that did not complete, and `turn_status` of its record.\n\n| code | message |\n| --- | --- |\n")
	for _, code := range turn.Codes() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code, turn.Meaning(code))
	}
	for _, part := range []struct {
		title string
		rows  []bounds.Row
	}{{"`limits` of a capability answer", bounds.DaemonRows()}, {"`application_callbacks.bounds`", bounds.ProfileRows()}} {
		fmt.Fprintf(&b, "\n## %s\n\n| key | most | unit | from |\n| --- | --- | --- | --- |\n", part.title)
		for _, r := range part.rows {
			fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", r.Key, r.Max, r.Unit, r.Source)
		}
	}
	b.WriteString(recompute)
	return b.String()
}

const recompute = "\n## The two hashes of a resource\n\n```python\nimport hashlib, struct\n\ndef content_sha256(content: bytes) -> str:\n    return hashlib.sha256(content).hexdigest()\n\n" +
	"def revision_sha256(kind: str, name: str, description: str, content: bytes) -> str:\n    h = hashlib.sha256(b\"magi-application-resource-v1\")\n" +
	"    for part in (kind.encode(), name.encode(), description.encode(), content):\n        h.update(struct.pack(\">Q\", len(part)) + part)\n    return h.hexdigest()\n```\n"

func mark(set bool) string {
	if set {
		return "x"
	}
	return ""
}

// sessionsSchema is the JSON Schema of every record and payload.
func sessionsSchema() string {
	s := shapes{}
	for _, record := range []any{sessionwire.Request{}, sessionwire.Response{}, sessionwire.Event{}, sessionwire.Manifest{}} {
		s.of(reflect.TypeOf(record))
	}
	payloads, answers, events, lookups, kinds := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	null := map[string]any{"type": "null"}
	records := []any{rowOf("Response", "method", map[string]any{"type": []string{"string", "null"}}, "payload", null)} // a refusal, of whatever was asked
	looked := []any{pairOf("method", null, "result", null)}
	for _, m := range sessionwire.Methods() {
		payload, answer := s.of(reflect.TypeOf(m.Payload)), s.of(reflect.TypeOf(m.Answer))
		payloads[m.Name], answers[m.Name] = payload, answer
		named := map[string]any{"const": m.Name}
		records = append(records, rowOf("Request", "method", named, "payload", payload), rowOf("Response", "method", named, "payload", answer))
		if m.Operation {
			kept := []any{null}
			for _, k := range m.Kept {
				kept = append(kept, s.of(reflect.TypeOf(k)))
			}
			lookups[m.Name] = map[string]any{"anyOf": kept}
			looked = append(looked, pairOf("method", named, "result", lookups[m.Name]))
		}
	}
	for _, e := range sessionwire.Events() {
		events[e.Name] = s.of(reflect.TypeOf(e.Payload))
		records = append(records, rowOf("Event", "event", map[string]any{"const": e.Name}, "payload", events[e.Name]))
	}
	var replayed []any
	for _, k := range sessionwire.Kinds() {
		kinds[k.Name] = s.of(reflect.TypeOf(k.Data))
		replayed = append(replayed, pairOf("kind", map[string]any{"const": k.Name}, "data", kinds[k.Name]))
	}
	s["LookupAnswer"].(map[string]any)["anyOf"] = looked
	s["Recorded"].(map[string]any)["anyOf"] = replayed
	raw, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "Made from the structs in code by make generate.",
		"anyOf": records,
		"$defs": s, "payloads": payloads, "answers": answers, "events": events, "lookups": lookups, "kinds": kinds,
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(raw) + "\n"
}

// rowOf is the schema of a whole record of one row of a table.
func rowOf(record, key string, named any, member string, shape any) any {
	return map[string]any{"allOf": []any{ref(record), pairOf(key, named, member, shape)}}
}

// pairOf ties the form of one member to the value of another.
func pairOf(key string, named any, member string, shape any) any {
	return map[string]any{"properties": map[string]any{key: named, member: shape}}
}

func ref(name string) any { return map[string]any{"$ref": "#/$defs/" + name} }

func orNull(shape any) any {
	return map[string]any{"anyOf": []any{shape, map[string]any{"type": "null"}}}
}

// shapes are the schemas of structs, by name.
type shapes map[string]any

func (s shapes) of(t reflect.Type) any {
	switch {
	case t == reflect.TypeFor[sessionwire.Raw]():
		return true
	case t.Kind() == reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() != reflect.Struct:
		return map[string]any{"type": "integer"}
	}
	if s[t.Name()] == nil {
		properties, required := map[string]any{}, []string{}
		s[t.Name()] = map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			properties[name] = s.member(name, t.Field(i))
			if options == "" {
				required = append(required, name)
			}
		}
		slices.Sort(required)
		s[t.Name()].(map[string]any)["required"] = required
	}
	return ref(t.Name())
}

// member is the schema of one member of a struct: the words that it may be, or what
// its type says. What is raw has its form elsewhere.
func (s shapes) member(name string, f reflect.StructField) any {
	words := f.Tag.Get("enum")
	switch {
	case name == "application_manifest":
		return orNull(ref("Manifest"))
	case words == "":
		return s.of(f.Type)
	case f.Type.Kind() == reflect.Pointer:
		return orNull(map[string]any{"enum": strings.Fields(words)})
	}
	return map[string]any{"enum": strings.Fields(words)}
}
