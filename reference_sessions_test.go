package steward_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

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
	b.WriteString("\n## Codes\n\nThe message of an error is the text beside its code.\n\n| code | message |\n| --- | --- |\n")
	conflict, _ := fault.Lookup(fault.Conflict)
	for _, r := range append(fault.SessionRows(), conflict) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.Code, r.Meaning)
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
	defs := map[string]any{}
	note := func(v any) { schemaOf(reflect.TypeOf(v), defs) }
	for _, record := range []any{sessionwire.Request{}, sessionwire.Response{}, sessionwire.Event{}, sessionwire.Manifest{}, sessionwire.Terminal{}, sessionwire.ExecutorAcknowledged{}} {
		note(record)
	}
	payloads, answers, events := map[string]any{}, map[string]any{}, map[string]any{}
	null := map[string]any{"type": "null"}
	records := []any{rowOf("Response", "method", map[string]any{"type": []string{"string", "null"}}, null)} // a refusal, of whatever was asked
	for _, m := range sessionwire.Methods() {
		payload, answer := schemaOf(reflect.TypeOf(m.Payload), defs), schemaOf(reflect.TypeOf(m.Answer), defs)
		payloads[m.Name], answers[m.Name] = payload, answer
		named := map[string]any{"const": m.Name}
		records = append(records, rowOf("Request", "method", named, payload), rowOf("Response", "method", named, answer))
	}
	for _, e := range sessionwire.Events() {
		events[e.Name] = schemaOf(reflect.TypeOf(e.Payload), defs)
		records = append(records, rowOf("Event", "event", map[string]any{"const": e.Name}, events[e.Name]))
	}
	raw, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "Made from the structs in code by make generate.",
		"anyOf": records,
		"$defs": defs, "payloads": payloads, "answers": answers, "events": events,
	}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(raw) + "\n"
}

// rowOf is the schema of a whole record of one row of a table.
func rowOf(record, key string, named, payload any) any {
	return map[string]any{"allOf": []any{ref(record), map[string]any{"properties": map[string]any{key: named, "payload": payload}}}}
}

func ref(name string) any { return map[string]any{"$ref": "#/$defs/" + name} }

func schemaOf(t reflect.Type, defs map[string]any) any {
	switch {
	case t == reflect.TypeFor[sessionwire.Raw]():
		return true
	case t.Kind() == reflect.Pointer:
		return map[string]any{"anyOf": []any{schemaOf(t.Elem(), defs), map[string]any{"type": "null"}}}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), defs)}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), defs)}
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.String:
		return map[string]any{"type": "string"}
	case t.Kind() != reflect.Struct:
		return map[string]any{"type": "integer"}
	}
	if defs[t.Name()] == nil {
		properties, required := map[string]any{}, []string{}
		defs[t.Name()] = map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
		for i := range t.NumField() {
			name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			properties[name] = schemaOf(t.Field(i).Type, defs)
			if options == "" {
				required = append(required, name)
			}
		}
		slices.Sort(required)
		defs[t.Name()].(map[string]any)["required"] = required
	}
	return ref(t.Name())
}
