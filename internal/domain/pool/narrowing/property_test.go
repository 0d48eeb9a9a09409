package narrowing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// wild draws schemas as upstreams may write them, with about every keyword that
// changes what is accepted.
type wild struct{ *rapid.T }

func (w wild) odds(n int) bool { return rapid.IntRange(1, n).Draw(w.T, "odds") == 1 }

func (w wild) pick(from ...string) string { return rapid.SampledFrom(from).Draw(w.T, "pick") }

func (w wild) document() string {
	words := []string{`"type":"object"`, w.properties(3)}
	if w.odds(2) {
		words = append(words, `"$schema":`+w.pick(`"http://json-schema.org/draft-07/schema#"`, `"https://json-schema.org/draft/2020-12/schema"`))
	}
	place := w.pick("$defs", "definitions")
	var defs []string
	for i := range 3 {
		defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, strings.ReplaceAll(w.schema(2), "$defs", place)))
	}
	words[1] = strings.ReplaceAll(words[1], "$defs", place)
	return "{" + strings.Join(append(words, `"`+place+`":{`+strings.Join(defs, ",")+`}`), ",") + "}"
}

func (w wild) schema(depth int) string {
	if w.odds(20) {
		return w.pick("true", "false", "{}")
	}
	if w.odds(5) {
		ref := fmt.Sprintf(`"$ref":"#/$defs/d%d"`, rapid.IntRange(0, 2).Draw(w.T, "definition"))
		if w.odds(3) {
			ref += "," + w.rules(w.kind(depth), depth)
		}
		return "{" + ref + "}"
	}
	if depth > 0 && w.odds(4) {
		return w.composed(depth)
	}
	return "{" + w.typed(w.kind(depth), depth) + "}"
}

func (w wild) kind(depth int) string {
	if depth > 0 && w.odds(2) {
		return w.pick("object", "object", "array")
	}
	return w.pick("string", "number", "integer", "boolean", "null")
}

// composed draws unions and intersections, with rules beside them.
func (w wild) composed(depth int) string {
	var parts []string
	kind := w.kind(depth - 1)
	for range rapid.IntRange(1, 3).Draw(w.T, "parts") {
		switch {
		case w.odds(3):
			parts = append(parts, `{"const":`+w.scalar()+`}`)
		case w.odds(3):
			parts = append(parts, "{"+w.rules(kind, depth-1)+"}")
		default:
			parts = append(parts, w.schema(depth-1))
		}
	}
	text := `"` + w.pick("anyOf", "oneOf", "oneOf", "allOf") + `":[` + strings.Join(parts, ",") + `]`
	switch {
	case w.odds(3):
		text += `,"type":"` + kind + `"`
	case w.odds(3):
		text += "," + w.typed(kind, depth-1)
	}
	return "{" + text + "}"
}

func (w wild) typed(kind string, depth int) string {
	name := `"` + kind + `"`
	switch {
	case w.odds(8):
		return w.rules(kind, depth)
	case w.odds(8):
		name = "[" + w.pick(`"null",`, `"string",`, `"integer",`, "") + name + "]"
		name = strings.ReplaceAll(name, name, dedupe(name))
	}
	text := `"type":` + name + "," + w.rules(kind, depth)
	if w.odds(6) {
		text += `,"default":` + w.scalar()
	}
	return text
}

// dedupe drops the first of two equal entries.
func dedupe(list string) string {
	first, rest, two := strings.Cut(strings.Trim(list, "[]"), ",")
	if two && first == rest {
		return "[" + rest + "]"
	}
	return list
}

func (w wild) scalar() string {
	return w.pick(`"a"`, `"bb"`, `""`, "1", "1.0", "-2", "0.5", "3", "9007199254740993", "0.1000000000000000055", "true", "false", "null")
}

// rules draws at least one rule about values of a type.
func (w wild) rules(kind string, depth int) string {
	number := func(name string) string {
		return fmt.Sprintf(`"%s":%s`, name, w.pick("-3", "-1.5", "0", "0.1", "2", "2.0", "3.5", "4", "1e1"))
	}
	count := func(name string) string { return fmt.Sprintf(`"%s":%s`, name, w.pick("0", "1", "2", "3")) }
	var rules []string
	maybe := func(texts ...string) {
		for _, text := range texts {
			if w.odds(3) {
				rules = append(rules, text)
			}
		}
	}
	switch kind {
	case "string":
		maybe(count("minLength"), count("maxLength"), `"pattern":"^a*$"`, `"enum":["a","bb",null,3]`)
	case "number", "integer":
		maybe(number("minimum"), number("maximum"), number("exclusiveMinimum"), number("exclusiveMaximum"), `"multipleOf":0.5`, `"enum":[1,2.0,-3,0.5,"a"]`)
	case "array":
		if depth > 0 && !w.odds(10) {
			rules = append(rules, `"items":`+w.schema(depth-1))
		}
		maybe(count("minItems"), count("maxItems"), `"uniqueItems":true`)
	case "object":
		rules = append(rules, w.properties(depth))
	}
	if len(rules) == 0 {
		return `"title":"t"`
	}
	return strings.Join(rules, ",")
}

func (w wild) properties(depth int) string {
	var members, required, words []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d/e"}), 0, 3, rapid.ID[string]).Draw(w.T, "names") {
		if depth > 0 && !w.odds(8) {
			members = append(members, `"`+name+`":`+w.schema(depth-1))
		}
		if w.odds(3) {
			required = append(required, `"`+name+`"`)
		}
	}
	words = append(words, `"required":[`+strings.Join(required, ",")+`]`)
	if len(members) > 0 || w.odds(2) {
		words = append(words, `"properties":{`+strings.Join(members, ",")+`}`)
	}
	if w.odds(2) {
		words = append(words, `"additionalProperties":`+w.pick("false", "false", "true", "{}", `{"type":"string"}`))
	}
	if w.odds(6) {
		words = append(words, w.pick(`"minProperties":1`, `"propertyNames":{"maxLength":2}`, `"patternProperties":{"a":false}`, `"dependentRequired":{"a":["b"]}`))
	}
	return strings.Join(words, ",")
}

// Whatever an upstream writes, a proposal is a restriction of it, is its own
// proposal, and comes out the same each time.
func TestProposalsAreSound(t *testing.T) {
	outcomes := map[narrowing.Outcome]int{}
	kinds, checked := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		input := wild{t}.document()
		r := narrowing.Propose([]byte(input), narrowing.Profile{})
		outcomes[r.Outcome]++
		if diff := cmp.Diff(r, narrowing.Propose([]byte(input), narrowing.Profile{}), whole); diff != "" {
			t.Fatalf("%s differs from run to run\n%s", input, diff)
		}
		if r.Outcome == narrowing.Refused {
			if _, ok := find(parse(t, input), r.Reason.Pointer); !ok {
				t.Fatalf("%s: the reason's place %q is not in it", input, r.Reason.Pointer)
			}
			return
		}
		for _, d := range append(r.Decisions, r.Lost...) {
			kinds[d.Kind]++
		}
		again := narrowing.Propose(r.Schema, narrowing.Profile{})
		if diff := cmp.Diff(narrowing.Result{Outcome: narrowing.AsIs, Schema: r.Schema}, again, whole); diff != "" {
			t.Fatalf("%s is not its own proposal\n%s", r.Schema, diff)
		}
		checked += checkSound(t, input, r, rapid.Uint64().Draw(t, "seed"), 20)
	})
	t.Logf("%v %v, %d values", outcomes, kinds, checked)
}

// find follows a JSON pointer.
func find(v strictjson.Value, pointer string) (strictjson.Value, bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		var i int
		if _, err := fmt.Sscan(token, &i); err == nil && v.Kind == strictjson.Array && i < len(v.Items) {
			v = v.Items[i]
			continue
		}
		next, ok := v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if !ok {
			return v, false
		}
		v = next
	}
	return v, true
}

// guess draws values that a schema may accept.
func (w wild) guess(root, s strictjson.Value, depth int) string {
	if ref, ok := s.Get("$ref"); ok && depth > 0 {
		target, _ := find(root, ref.Text[1:])
		return w.guess(root, target, depth-1)
	}
	for _, list := range []string{"anyOf", "oneOf", "allOf"} {
		if parts, ok := s.Get(list); ok && depth > 0 && !w.odds(4) {
			return w.guess(root, parts.Items[rapid.IntRange(0, len(parts.Items)-1).Draw(w.T, "part")], depth-1)
		}
	}
	kind, _ := s.Get("type")
	switch {
	case w.odds(8) || depth == 0:
		return w.scalar()
	case kind.Text == "array":
		items, _ := s.Get("items")
		var entries []string
		for range rapid.IntRange(0, 3).Draw(w.T, "entries") {
			entries = append(entries, w.guess(root, items, depth-1))
		}
		return "[" + strings.Join(entries, ",") + "]"
	case kind.Text == "object":
		properties, _ := s.Get("properties")
		var members []string
		for _, name := range []string{"a", "b", "c", "d/e"} {
			child, known := properties.Get(name)
			if known && !w.odds(4) || !known && w.odds(8) {
				members = append(members, `"`+name+`":`+w.guess(root, child, depth-1))
			}
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	return w.scalar()
}

// Whatever an upstream may send fits the schema that is proposed for its output.
func TestOutputsAreWide(t *testing.T) {
	proposed, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		input := wild{t}.document()
		raw, ok := narrowing.ProposeOutput([]byte(input))
		if !ok {
			return
		}
		proposed++
		s, original, root := compileOutput(t, raw), compileUpstream(t, input, nil), parse(t, input)
		for range 20 {
			value := wild{t}.guess(root, root, 8)
			if original.accepts(t, value) != nil {
				continue
			}
			accepted++
			if err := s.Check(parse(t, value)); err != nil {
				t.Fatalf("%s\nfits %s\nbut not %s\n%v", value, input, raw, err)
			}
		}
	})
	t.Logf("%d proposed, %d values", proposed, accepted)
}
