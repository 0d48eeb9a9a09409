package toolset_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/contract"
	"github.com/stewardhost/steward/internal/domain/pool/invocation"
	"github.com/stewardhost/steward/internal/domain/pool/projection"
	"github.com/stewardhost/steward/internal/domain/pool/view"
	"github.com/stewardhost/steward/internal/faces/mcp/frame"
	"github.com/stewardhost/steward/internal/faces/mcp/toolset"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/effect"
	"github.com/stewardhost/steward/internal/ground/id"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

const object = `{"additionalProperties":false,"properties":{"n":{"maximum":9007199254740991,"minimum":0,"type":"integer"}},"type":"object"}`

func method(name string, classes ...effect.Class) view.Callable {
	effects, err := effect.SetOf(classes...)
	if err != nil {
		panic(err)
	}
	return view.Callable{
		Target: invocation.Target{Resource: id.New[id.Resource](), Contract: contract.ImportedURL("x", "y-1"), Method: name},
		Tool:   name + "_0123456789", Resource: "Notes",
		Method: contract.Method{ID: name, Title: "T", Description: "D", Effects: effects, Input: strictjson.Raw(object)},
	}
}

func list(t *testing.T, s *toolset.Set, e frame.Era) []any {
	t.Helper()
	raw, next := s.Page("", e)
	var out []any
	if err := json.Unmarshal(raw, &out); err != nil || next != "" {
		t.Fatalf("%v, next %q in %s", err, next, raw)
	}
	return out
}

// Hints follow from the effects that the owner approved.
func TestHintsFollowFromEffects(t *testing.T) {
	for _, tc := range []struct {
		classes                          []effect.Class
		readOnly, destructive, openWorld bool
	}{
		{classes: []effect.Class{effect.Read}, readOnly: true},
		{classes: []effect.Class{effect.Compute}, readOnly: true},
		{classes: []effect.Class{effect.Compute, effect.Read}, readOnly: true},
		{classes: []effect.Class{effect.Write}, destructive: true},
		{classes: []effect.Class{effect.Read, effect.Delete}, destructive: true},
		{classes: []effect.Class{effect.Communicate}, openWorld: true},
		{classes: []effect.Class{effect.Read, effect.Spend}, openWorld: true},
		{classes: []effect.Class{effect.Write, effect.Communicate}, destructive: true, openWorld: true},
		{classes: nil}, // nothing is known, so nothing is promised
	} {
		got := list(t, toolset.New([]view.Callable{method("a", tc.classes...)}, nil), frame.Modern)
		want := []any{map[string]any{
			"name": "a_0123456789", "title": "T", "description": "D",
			"inputSchema": map[string]any{"type": "object", "additionalProperties": false,
				"properties": map[string]any{"n": map[string]any{"type": "integer", "minimum": 0.0, "maximum": 9007199254740991.0}}},
			"annotations": map[string]any{"title": "Notes: T", "readOnlyHint": tc.readOnly, "destructiveHint": tc.destructive, "openWorldHint": tc.openWorld},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: %s", tc.classes, diff)
		}
	}
}

// Schemas are the approved bytes. The older revisions know objects only, so they
// are not shown another output.
func TestSchemasAreShownAsApproved(t *testing.T) {
	withObject, withList := method("a", effect.Read), method("b", effect.Read)
	withObject.Method.Output = strictjson.Raw(object)
	const listSchema = `{"items":{"maxLength":5,"type":"string"},"maxItems":3,"type":"array"}`
	withList.Method.Output = strictjson.Raw(listSchema)
	s := toolset.New([]view.Callable{withObject, withList}, nil)
	for e, want := range map[frame.Era][2]int{frame.Legacy: {3, 0}, frame.Modern: {3, 1}} {
		raw, _ := s.Page("", e)
		if got := [2]int{strings.Count(string(raw), object), strings.Count(string(raw), listSchema)}; got != want {
			t.Errorf("era %d shows %v approved schemas, want %v", e, got, want)
		}
	}
}

// A name is one that model interfaces take, whatever the method is called, and
// two methods never share one (field faults, FF1, FF6, FF7).
func TestNamesAreSafeAndDistinct(t *testing.T) {
	form := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	owner := id.New[id.Owner]()
	var all []view.Callable
	for _, name := range []string{"search", "search", "admin_tools_list", strings.Repeat("x", 64), "Ü.ß/", ""} {
		m := method(name, effect.Read)
		m.Tool = projection.Name(owner, m.Target.Resource, m.Target.Contract, name)
		all = append(all, m)
	}
	s := toolset.New(all, nil)
	if got := list(t, s, frame.Legacy); len(got) != len(all) {
		t.Errorf("%d of %d tools are listed", len(got), len(all))
	}
	for _, m := range all {
		tool, ok := s.Find(m.Tool)
		if !ok || !form.MatchString(tool.Name()) || tool.Reference().Resource != m.Target.Resource.String() {
			t.Errorf("%q: found %v", m.Tool, ok)
		}
	}
	twin := method("search", effect.Read)
	twin.Tool = all[0].Tool
	tool, _ := toolset.New(append(all, twin), nil).Find(twin.Tool)
	if tool.Reference().Resource != all[0].Target.Resource.String() {
		t.Error("a name changed hands")
	}
}

// A set that nothing changed in is the same value, so that a list costs a
// comparison; any change makes another.
func TestASetIsKeptWhileNothingChanges(t *testing.T) {
	a, b := method("a", effect.Read), method("b", effect.Write)
	before := toolset.New([]view.Callable{a, b}, nil)
	if toolset.New([]view.Callable{a, b}, before) != before {
		t.Error("an unchanged set was made anew")
	}
	for name, change := range map[string]func(m *view.Callable){
		"title": func(m *view.Callable) { m.Method.Title = "x" }, "description": func(m *view.Callable) { m.Method.Description = "x" },
		"effects": func(m *view.Callable) { m.Method.Effects = a.Method.Effects }, "label": func(m *view.Callable) { m.Resource = "x" },
		"input":  func(m *view.Callable) { m.Method.Input = strictjson.Raw(`{"type":"object"}`) },
		"output": func(m *view.Callable) { m.Method.Output = strictjson.Raw(object) },
		"name":   func(m *view.Callable) { m.Tool = "c_0123456789" }, "precondition": func(m *view.Callable) { m.Method.Precondition = true },
	} {
		other := b
		change(&other)
		if after := toolset.New([]view.Callable{a, other}, before); after == before || after.Same(before) {
			t.Errorf("%s: the change is not seen", name)
		}
	}
	moved := b
	moved.Target.Resource = id.New[id.Resource]()
	after := toolset.New([]view.Callable{a, moved}, before)
	if after == before || !after.Same(before) {
		t.Error("a method that looks alike and is another must be called anew and not announced")
	}
	if fewer := toolset.New([]view.Callable{a}, before); fewer.Same(before) {
		t.Error("a method that is gone is not missed")
	}
}

// Pages are bounded by count and by bytes, hold every tool once, and go on after
// a tool that is gone.
func TestPagesHoldEveryToolOnce(t *testing.T) {
	for _, tc := range []struct{ tools, size, pages int }{
		{0, 10, 1}, {1, 10, 1}, {bound.MCPListTools.Int(), 10, 1}, {bound.MCPListTools.Int() + 1, 10, 2},
		{1200, 8 << 10, 3}, // by bytes
	} {
		var all []view.Callable
		for i := range tc.tools {
			m := method(fmt.Sprintf("m%05d", i), effect.Read)
			m.Method.Description = strings.Repeat("x", tc.size)
			all = append(all, m)
		}
		s := toolset.New(all, nil)
		cursor, seen, pages := "", 0, 0
		for {
			raw, next := s.Page(cursor, frame.Modern)
			if bound.MCPListBytes.Check(len(raw)) != nil {
				t.Errorf("a page has %d bytes", len(raw))
			}
			var out []struct{ Name string }
			if err := json.Unmarshal(raw, &out); err != nil {
				t.Fatal(err)
			}
			for _, got := range out {
				if got.Name != all[seen].Tool {
					t.Fatalf("place %d has %s", seen, got.Name)
				}
				seen++
			}
			pages++
			if next == "" {
				break
			}
			if cursor = next; pages%2 == 0 {
				cursor += "-" // as if that very tool were gone
			}
		}
		if seen != tc.tools || pages != tc.pages {
			t.Errorf("%d tools of %d bytes: saw %d on %d pages, want %d pages", tc.tools, tc.size, seen, pages, tc.pages)
		}
	}
}

// The precondition is an argument only where the method does not have one of
// that name.
func TestThePreconditionHasItsPlace(t *testing.T) {
	m := method("put", effect.Write)
	m.Method.Precondition = true
	own := method("own", effect.Write)
	own.Method.Precondition = true
	own.Method.Input = strictjson.Raw(`{"additionalProperties":false,"properties":{"if":{"type":"boolean"}},"type":"object"}`)
	s := toolset.New([]view.Callable{m, own, method("read", effect.Read)}, nil)
	for _, tc := range []struct{ tool, args, rest, condition string }{
		{m.Tool, `{"n":9007199254740993,"if":{"absent":true}}`, `{"n":9007199254740993}`, `{"absent":true}`},
		{m.Tool, `{"n":1}`, `{"n":1}`, ``},
		{m.Tool, `{"if":null}`, `{}`, `null`},
		{own.Tool, `{"if":true}`, `{"if":true}`, ``},
		{"read_0123456789", `{"if":true}`, `{"if":true}`, ``},
	} {
		tool, _ := s.Find(tc.tool)
		rest, condition := tool.Split([]byte(tc.args))
		if string(rest) != tc.rest || string(condition) != tc.condition {
			t.Errorf("%s: %s gives %s and %s", tc.tool, tc.args, rest, condition)
		}
	}
	raw, _ := s.Page("", frame.Modern)
	if got := strings.Count(string(raw), `"required":["if"]`); got != 1 {
		t.Errorf("%d tools ask for a precondition in %s", got, raw)
	}
}
