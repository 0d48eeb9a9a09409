package unixsocket

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/sessions/manifest"
	"github.com/stewardhost/steward/internal/domain/sessions/registry"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
	"github.com/stewardhost/steward/protocol/sessionwire"
)

// One table: every method of it has a handler or is the connection's own, and no
// handler is outside it.
func TestEveryMethodOfTheTableIsHandled(t *testing.T) {
	own := map[string]bool{sessionwire.Initialize: true, sessionwire.Capabilities: true}
	known := handlers()
	for _, m := range sessionwire.Methods() {
		if own[m.Name] == (known[m.Name] != nil) {
			t.Errorf("%s has a handler: %v", m.Name, known[m.Name] != nil)
		}
		delete(known, m.Name)
	}
	for name := range known {
		t.Errorf("%s is outside the table", name)
	}
}

// Garbage for every method is refused with a code of the table, and never panics.
func TestGarbageIsRefusedByEveryMethod(t *testing.T) {
	for name, h := range handlers() {
		for _, raw := range []string{
			`null`, `[]`, `"x"`, `1`, `{"unknown":1}`, `{"turn_id":null}`, `{"prompt":1}`, `{"prompt":"x","application":{}}`,
			`{"expected_revision":null,"resource":null}`, `{"expected_revision":null,"resource":{"kind":"tool","name":"x","description":"","source":{}}}`,
			`{"Turn_id":"x"}`, strings.Repeat(" ", bound.PayloadBytes.Int()+1),
		} {
			c, err := h(sessionwire.Raw(raw))
			if c != nil && err != nil {
				continue // a command that is not used
			}
			if err == nil {
				t.Errorf("%s takes %.40s", name, raw)
				continue
			}
			if code := fault.From(err).Code; code != fault.InvalidPayload && code != fault.LimitExceeded {
				t.Errorf("%s says %s to %.40s", name, code, raw)
			}
		}
	}
}

// Every member that the wire does not mark as one that may be left out must be
// there, at every depth.
func TestMissingMembersAreRefused(t *testing.T) {
	whole := `{"expected_revision":null,"resource":{"kind":"skill","name":"n","description":"","source":{"kind":"inline","content":"x"}}}`
	if _, err := register1(whole); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"expected_revision":null,`, `"kind":"skill",`, `"name":"n",`, `"description":"",`, `"kind":"inline",`} {
		if _, err := register1(strings.Replace(whole, part, "", 1)); !fault.Is(err, fault.InvalidPayload) {
			t.Errorf("without %s: %v", part, err)
		}
	}
}

func register1(raw string) (sessionwire.RegisterPayload, error) {
	return decode[sessionwire.RegisterPayload](sessionwire.Raw(raw))
}

// The manifest has one form: what the domain measures and records is what the wire's
// struct says.
func TestTheManifestIsTheWires(t *testing.T) {
	for _, executor := range []*manifest.Executor{nil, {ExecutorID: "e", ExecutorGeneration: 3}} {
		a, err := manifest.Stamp(snapshot(t, executor != nil, 20, "words"), registry.Attribution{InstanceID: "i", ConnectionID: "c", OperationID: "o", GrantGeneration: 1}, executor)
		if err != nil {
			t.Fatal(err)
		}
		var wire sessionwire.Manifest
		if err := strictjson.Decode(a.Encoded, strictjson.Limits{}, &wire); err != nil {
			t.Fatal(err)
		}
		again, err := strictjson.Encode(wire)
		if err != nil || string(again) != string(a.Encoded) {
			t.Errorf("%s\nbecame\n%s (%v)", a.Encoded, again, err)
		}
	}
	for pair, types := range map[string][2]reflect.Type{
		"descriptor":  {reflect.TypeFor[registry.Descriptor](), reflect.TypeFor[sessionwire.Descriptor]()},
		"attribution": {reflect.TypeFor[registry.Attribution](), reflect.TypeFor[sessionwire.Attribution]()},
	} {
		if diff := cmp.Diff(tags(types[0]), tags(types[1])); diff != "" {
			t.Errorf("%s: %s", pair, diff)
		}
	}
}

func tags(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		out = append(out, t.Field(i).Tag.Get("json"))
	}
	return out
}

// snapshot is a registry of n resources.
func snapshot(t *testing.T, tools bool, n int, description string) *registry.Snapshot {
	t.Helper()
	b := registry.New()
	for i := range n {
		kind, content := registry.Skill, "x"
		if tools && i < bound.RegistryTools.Int() {
			kind, content = registry.Tool, `{"input_schema":{"type":"object","additionalProperties":false},"output_schema":{"type":"object","additionalProperties":false}}`
		}
		if i == bound.RegistrySkills.Int() && !tools {
			break
		}
		parsed, err := registry.Parse(kind, content)
		if err != nil {
			t.Fatal(err)
		}
		p := registry.Proposal{Kind: kind, Name: fmt.Sprint("n", i), Description: description}
		id := strings.Repeat("i", 22)
		by := registry.Attribution{InstanceID: id, ConnectionID: id, OperationID: "register", GrantGeneration: 1}
		if _, _, err := b.Apply(registry.Register{Session: "s", Proposal: p}, parsed, by, registry.Fresh{Resource: id[:18] + fmt.Sprintf("%04d", i), Revision: id, Registry: id}); err != nil {
			t.Fatal(err)
		}
	}
	return b.Current("s")
}

// A manifest that is too long is refused before the turn is accepted, and a full
// registry of plain resources is not too long.
func TestTheManifestIsBounded(t *testing.T) {
	by := registry.Attribution{OperationID: "o"}
	executor := &manifest.Executor{ExecutorID: strings.Repeat("e", 22), ExecutorGeneration: 1}
	a, err := manifest.Stamp(snapshot(t, true, 24, ""), by, executor)
	if err != nil || a.FieldBytes() > bound.ManifestBytes.Int() {
		t.Errorf("24 resources: %v", err)
	}
	if _, err := manifest.Stamp(snapshot(t, true, 28, strings.Repeat("x", 300)), by, executor); !fault.Is(err, fault.LimitExceeded) {
		t.Errorf("28 described resources: %v", err)
	}
}
