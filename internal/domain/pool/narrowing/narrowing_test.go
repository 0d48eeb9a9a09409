package narrowing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/domain/pool/narrowing"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/schema"
)

// story is a result as a person reads it.
type story struct {
	Outcome   narrowing.Outcome
	Schema    string
	Decisions []string // "!" leads the exceptions
	Lost      []string
	Reason    string
}

func tell(t *testing.T, input string) story {
	t.Helper()
	r := narrowing.Propose([]byte(input), narrowing.Profile{})
	s := story{Outcome: r.Outcome, Schema: string(r.Schema)}
	for _, d := range r.Decisions {
		line := d.String()
		if d.Exception {
			line = "!" + line
		}
		s.Decisions = append(s.Decisions, line)
	}
	for _, d := range r.Lost {
		s.Lost = append(s.Lost, d.String())
	}
	if r.Reason != nil {
		s.Reason = r.Reason.Error()
		if f := fault.From(r.Reason); f.Code != fault.InvalidRequest && f.Code != fault.TooLarge {
			t.Errorf("the reason is a %s", f.Code)
		}
	} else {
		checkSound(t, input, r, 1, 50)
	}
	return s
}

// of wraps members into the schema of a closed object, so that a case is about
// the members alone.
func of(members string) string {
	return `{"type":"object","additionalProperties":false,"properties":{` + members + `}}`
}

func proposed(members string) string {
	return `{"additionalProperties":false,"properties":{` + members + `},"type":"object"}`
}

func refusal(reason string) story { return story{Outcome: narrowing.Refused, Reason: reason} }

func TestPropose(t *testing.T) {
	for _, c := range []struct {
		name, input string
		want        story
	}{
		{"a schema of the profile stays as it is",
			of(`"a":{"type":"boolean","default":true}`),
			story{Outcome: narrowing.AsIs, Schema: proposed(`"a":{"default":true,"type":"boolean"}`)}},

		{"bounds are added",
			`{"type":"object","properties":{"path":{"type":"string"},"newText":{"type":"string"},"n":{"type":"integer","minimum":1},
				"list":{"type":"array","items":{"type":"string","maxLength":9},"minItems":70}}}`,
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"list":{"items":{"maxLength":9,"type":"string"},"maxItems":70,"minItems":70,"type":"array"},` +
					`"n":{"maximum":9007199254740991,"minimum":1,"type":"integer"},` +
					`"newText":{"maxLength":32768,"type":"string"},"path":{"maxLength":4096,"type":"string"}`),
				Decisions: []string{
					"the arguments: no members but the named ones (others were not ruled out)",
					"/path: at most 4,096 characters (had no limit)",
					"/newText: at most 32,768 characters (had no limit)",
					"/n: at most 9,007,199,254,740,991 (had no limit)",
					"/list: at most 70 entries (had no limit)",
				}}},

		{"bounds that no profile holds are moved inside",
			of(`"a":{"type":"string","maxLength":9007199254740992},"b":{"type":"number","minimum":-1e300,"maximum":0.1000000000000000055}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"maxLength":4096,"type":"string"},"b":{"maximum":0.1,"minimum":-9007199254740991,"type":"number"}`),
				Decisions: []string{
					"/a: at most 4,096 characters (was 9,007,199,254,740,992)",
					"/b: at least -9,007,199,254,740,991 (was -1e300)",
					"/b: at most 0.1 (was 0.1000000000000000055)",
				}}},

		{"exclusive bounds become inclusive ones a step inside",
			of(`"a":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":9.5},"b":{"type":"number","exclusiveMinimum":0,"maximum":1},
				"c":{"type":"integer","minimum":5,"exclusiveMinimum":2,"exclusiveMaximum":-0.5e1,"maximum":4}`),
			story{Outcome: narrowing.Lossy,
				Schema: proposed(`"a":{"maximum":9,"minimum":1,"type":"integer"},"b":{"maximum":1,"minimum":5e-324,"type":"number"}`),
				Decisions: []string{
					"/a: minimum 1 in place of exclusiveMinimum 0",
					"/a: maximum 9 in place of exclusiveMaximum 9.5",
					"/b: minimum 5e-324 in place of exclusiveMinimum 0",
				},
				Lost: []string{"/c: can no longer be given: /properties/c: leaves no number between its bounds"}}},

		{"the bounds of draft-04 are not understood",
			`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":1}},"required":["a"]}`,
			refusal(`/properties/a/exclusiveMinimum: must be a number`)},

		{"rules that cannot be expressed are left to the upstream",
			of(`"a":{"type":"string","maxLength":5,"pattern":"^a","format":"uri"},
				"b":{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"integer","minimum":0,"maximum":9,"multipleOf":2}},
				"c":{"type":"object","minProperties":1,"additionalProperties":false,"properties":{"d":{"type":"null"}},"propertyNames":{"pattern":"d"}}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"maxLength":5,"type":"string"},` +
					`"b":{"items":{"maximum":9,"minimum":0,"type":"integer"},"maxItems":2,"type":"array"},"c":` + proposed(`"d":{"type":"null"}`)),
				Decisions: []string{
					`!/a: pattern "^a" is left to the upstream to enforce`,
					`!/a: format "uri" is left to the upstream to enforce`,
					`!/b: uniqueItems true is left to the upstream to enforce`,
					`!/b/*: multipleOf 2 is left to the upstream to enforce`,
					`!/c: minProperties 1 is left to the upstream to enforce`,
					`!/c: propertyNames {"pattern":"d"} is left to the upstream to enforce`,
				}}},

		{"rules that say nothing are dropped",
			of(`"a":{"type":"boolean","maxLength":5,"readOnly":true},"b":{"type":"array","maxItems":1,"uniqueItems":false,"items":{"type":"null"}},
				"c":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":false}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"type":"boolean"},"b":{"items":{"type":"null"},"maxItems":1,"type":"array"},"c":{"additionalProperties":false,"type":"object"}`),
				Decisions: []string{
					`/a: maxLength 5 is gone, as it changes nothing here`,
					`/a: the note readOnly is not carried`,
					`/b: uniqueItems false is gone, as it changes nothing here`,
					`/c: propertyNames {"type":"string"} is gone, as it changes nothing here`,
				}}},

		{"defaults are shown where they fit and never executed",
			of(`"a":{"type":"string","default":"x"},"b":{"type":["null","string"],"maxLength":1,"default":null}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"default":"x","maxLength":4096,"type":"string"},"b":{"maxLength":1,"type":"string"}`),
				Decisions: []string{
					`/a: at most 4,096 characters (had no limit)`,
					`/a: the default "x" is not filled in; when left out, the upstream decides`,
					`!/b: only string (was null or string)`,
					`/b: the default null is not shown, as it does not fit`,
				}}},

		{"of several types one remains",
			of(`"a":{"type":["object","boolean"]},"b":{"type":["null"]},"c":{"enum":["x",null,"x"]},"d":{"minLength":1,"maxLength":2},"e":{"const":1}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"type":"boolean"},"b":{"type":"null"},"c":{"enum":["x"],"type":"string"},` +
					`"d":{"maxLength":2,"minLength":1,"type":"string"},"e":{"const":1,"type":"number"}`),
				Decisions: []string{
					`!/a: only boolean (was object or boolean)`,
					`/b: the type is written as null`,
					`!/c: only string (was string or null)`,
					`!/c: 1 of 3 listed values remain`,
					`!/d: only string (the type was not given)`,
					`/e: the type is written as number`,
				}}},

		{"of several branches one remains",
			of(`"a":{"anyOf":[{"type":"null"},{"type":"object"},{"type":"boolean","title":"t"}],"title":"T"},
				"b":{"oneOf":[{"type":"null"},{"$ref":"#/properties/c"}]},"c":{"type":"boolean"}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"title":"T","type":"boolean"},"b":{"type":"boolean"},"c":{"type":"boolean"}`),
				Decisions: []string{
					`!/a: only boolean (was anyOf: null or object or boolean)`,
					`!/b: only boolean (was oneOf: null or boolean)`,
					`/b: the definition #/properties/c is written out`,
				}}},

		{"a branch of oneOf must not overlap with another",
			of(`"a":{"oneOf":[{"type":"number"},{"type":"integer"}]},
				"b":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"},"v":{"type":"null"}},"required":["k"]},
					{"type":"object","properties":{"k":{"enum":["y","z"]}},"required":["k"]}]}`),
			story{Outcome: narrowing.Lossy,
				Schema: proposed(`"b":{"additionalProperties":false,"properties":{"k":{"const":"x","type":"string"},"v":{"type":"null"}},"required":["k"],"type":"object"}`),
				Decisions: []string{
					`!/b: only object (was oneOf: object or object)`,
					`/b: no members but the named ones (others were not ruled out)`,
					`/b/k: the type is written as string`,
				},
				Lost: []string{`/a: can no longer be given: /properties/a/oneOf/0: may overlap with another branch of oneOf`}}},

		{"a constant of another type than its branch says is never accepted",
			of(`"a":{"anyOf":[{"const":"x","type":"integer"},{"const":"y","type":"string"}]}`),
			story{Outcome: narrowing.Narrowed, Schema: proposed(`"a":{"enum":["y"],"type":"string"}`),
				Decisions: []string{`/a: anyOf is written as a list of values`, `/a: the type is written as string`}}},
		{"an identifier may stand at the root, where it changes no reference",
			`{"$id":"https://example.invalid/","type":"object","additionalProperties":false,"properties":{"a":{"$id":"b","type":"null"}}}`,
			story{Outcome: narrowing.Lossy, Schema: proposed(``),
				Decisions: []string{`the arguments: the note $id is not carried`},
				Lost:      []string{`/a: can no longer be given: /properties/a/$id: is a keyword that cannot be expressed`}}},
		{"where only null can be expressed, the rest is lost",
			of(`"a":{"anyOf":[{"type":"object"},{"type":"null"}],"x-a":1},"b":{"type":["object","null"]}`),
			story{Outcome: narrowing.Lossy, Schema: proposed(`"a":{"type":"null"},"b":{"type":"null"}`),
				Decisions: []string{`!/a: the unknown note x-a is not carried`},
				Lost:      []string{`/a: only null (was anyOf: object or null)`, `/b: only null (was object or null)`}}},
		{"draft-07 ignores what stands beside a reference, so it tells no branches apart",
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"definitions":{"any":{}},"properties":{
				"a":{"oneOf":[{"type":"boolean"},{"$ref":"#/definitions/any","type":"string"}]},
				"b":{"oneOf":[{"type":"object","properties":{"k":{"const":"x"}},"required":["k"]},
					{"type":"object","properties":{"k":{"$ref":"#/definitions/any","const":"y"}},"required":["k"],"not":{"type":"null"}}]}}}`,
			story{Outcome: narrowing.Lossy,
				Schema: `{"$schema":"http://json-schema.org/draft-07/schema#",` + proposed(`"a":{"maxLength":4096,"type":"string"}`)[1:],
				Decisions: []string{
					`the arguments: definitions is gone, as what is used of it is written out`,
					`!/a: only string (was oneOf: boolean or string)`,
					`/a: the definition #/definitions/any is written out`,
					`/a: at most 4,096 characters (had no limit)`,
				},
				Lost: []string{`/b: can no longer be given: /properties/b/oneOf/0: may overlap with another branch of oneOf`}}},
		{"an object that is closed around others accepts none of their members",
			of(`"a":{"type":"object","additionalProperties":false,"allOf":[{"properties":{"b":{"type":"null"}}}]}`),
			story{Outcome: narrowing.Lossy, Schema: proposed(``),
				Lost: []string{`/a: can no longer be given: /properties/a/allOf/0/properties: cannot be combined with the schema around it`}}},

		{"unions of constants become lists",
			of(`"a":{"anyOf":[{"const":"x","title":"X"},{"const":"y"},{"enum":["z","x"]}]},
				"b":{"type":"string","oneOf":[{"const":"x"},{"const":"x"},{"const":"y"}]},"c":{"anyOf":[{"type":"boolean"}]}`),
			story{Outcome: narrowing.Narrowed,
				Schema: proposed(`"a":{"enum":["x","y","z"],"type":"string"},"b":{"enum":["y"],"type":"string"},"c":{"type":"boolean"}`),
				Decisions: []string{
					`/a: anyOf is written as a list of values`,
					`/a: the type is written as string`,
					`/b: oneOf is written as a list of values`,
					`/c: anyOf is written as one schema`,
				}}},

		{"allOf is merged where it does not contradict itself",
			of(`"a":{"allOf":[{"type":"string"},{"maxLength":2}],"minLength":1},"b":{"allOf":[{"type":"string"},{"type":"null"}]}`),
			story{Outcome: narrowing.Lossy,
				Schema:    proposed(`"a":{"maxLength":2,"minLength":1,"type":"string"}`),
				Decisions: []string{`/a: allOf is written as one schema`},
				Lost:      []string{`/b: can no longer be given: /properties/b/allOf/1/type: cannot be combined with the schema around it`}}},

		{"definitions are written out, under their old and their new name",
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/p~1q","description":"A"},"b":{"$ref":"#/$defs/r"}},
				"additionalProperties":false,"definitions":{"p/q":{"type":"boolean","description":"P"}},"$defs":{"r":{"$ref":"#/definitions/p~1q"}}}`,
			story{Outcome: narrowing.Narrowed,
				Schema: `{"$schema":"http://json-schema.org/draft-07/schema#","additionalProperties":false,"properties":` +
					`{"a":{"description":"A","type":"boolean"},"b":{"description":"P","type":"boolean"}},"type":"object"}`,
				Decisions: []string{
					`the arguments: definitions is gone, as what is used of it is written out`,
					`the arguments: $defs is gone, as what is used of it is written out`,
					`/a: the definition #/definitions/p~1q is written out`,
					`/b: the definition #/$defs/r is written out`,
					`/b: the definition #/definitions/p~1q is written out`,
				}}},

		{"members of free choice are lost",
			`{"type":"object","additionalProperties":true,"properties":{"a":{"type":"object","properties":{"b":{"type":"null"}},"additionalProperties":{"type":"string"}},
				"c":{"type":"object","additionalProperties":{"type":"string"}},"d":{"type":"object"},"e":{"type":"array","items":{}},"f":true,"g":{"description":"any"},"__proto__":{"type":"null"}}}`,
			story{Outcome: narrowing.Lossy,
				Schema:    proposed(`"a":` + proposed(`"b":{"type":"null"}`)),
				Decisions: []string{`!the arguments: no members but the named ones (others were welcome)`},
				Lost: []string{
					`/a: members of free choice can no longer be given (they were {"type":"string"})`,
					`/c: can no longer be given: /properties/c: is a map whose members have no fixed names`,
					`/d: can no longer be given: /properties/d: is a map whose members have no fixed names`,
					`/e: can no longer be given: /properties/e/items: accepts any JSON value`,
					`/f: can no longer be given: /properties/f: accepts any JSON value`,
					`/g: can no longer be given: /properties/g: accepts any JSON value`,
					`/__proto__: can no longer be given: /properties/__proto__: is a reserved name`,
				}}},

		{"a tool without parameters takes none", `{"type":"object"}`,
			story{Outcome: narrowing.Narrowed, Schema: `{"additionalProperties":false,"type":"object"}`,
				Decisions: []string{`the arguments: no members but the named ones (others were not ruled out)`}}},
		{"a tool that says nothing takes none", `{}`,
			story{Outcome: narrowing.Narrowed, Schema: `{"additionalProperties":false,"type":"object"}`,
				Decisions: []string{`!the arguments: only object (the type was not given)`,
					`the arguments: no members but the named ones (others were not ruled out)`}}},
		{"a tool with free parameters takes none", `{"type":"object","additionalProperties":{"type":"string"}}`,
			story{Outcome: narrowing.Lossy, Schema: `{"additionalProperties":false,"type":"object"}`,
				Lost: []string{`the arguments: members of free choice can no longer be given (they were {"type":"string"})`}}},

		{"an object whose members are all lost is lost", of(`"a":{"type":"object","properties":{"b":{}}}`),
			story{Outcome: narrowing.Lossy, Schema: proposed(``),
				Lost: []string{`/a: can no longer be given: /properties/a/properties: has no member that can be expressed`}}},

		{"unknown notes are dropped in sight", of(`"a":{"type":"boolean","x-order":1}`),
			story{Outcome: narrowing.Narrowed, Schema: proposed(`"a":{"type":"boolean"}`),
				Decisions: []string{`!/a: the unknown note x-order is not carried`}}},
		{"unknown keywords are not guessed at", of(`"a":{"type":"boolean","mystery":1}`),
			story{Outcome: narrowing.Lossy, Schema: proposed(``),
				Lost: []string{`/a: can no longer be given: /properties/a/mystery: is a keyword that cannot be expressed`}}},

		{"a required member that cannot be expressed refuses the tool",
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b~c":{"if":{},"type":"null"}},"required":["b~c"]}}},"required":["a"]}`,
			refusal(`/properties/a/items/properties/b~0c/if: is a keyword that cannot be expressed`)},
		{"a required member of any kind refuses the tool", `{"type":"object","properties":{},"required":["a"]}`,
			refusal(`/required: demands "a", which the properties do not describe`)},
		{"the header annotation refuses the tool, wherever it stands",
			of(`"a":{"type":"object","properties":{"b":{"type":"string","x-mcp-header":"B"}}}`),
			refusal(`/properties/a/properties/b/x-mcp-header: is a keyword of the protocol that cannot be carried`)},
		{"a reference to the network refuses the tool, wherever it stands",
			of(`"a":{"anyOf":[{"type":"null"},{"$ref":"https://example.invalid/schema"}]}`),
			refusal(`/properties/a/anyOf/1/$ref: refers outside the schema; it is never fetched`)},
		{"another dialect refuses the tool", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
			refusal(`/$schema: must name draft-07 or 2020-12`)},
		{"what is no object refuses the tool", `{"type":"string"}`, refusal(`the schema: does not describe an object`)},
		{"what is no JSON refuses the tool", `{"type":"object"`, refusal(`the schema: the JSON document ends too early`)},
		{"what is no schema refuses the tool", `true`, refusal(`the schema: accepts any JSON value`)},

		{"a required definition that contains itself refuses the tool",
			`{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"}},"required":["tree"],
				"$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`,
			refusal(`/$defs/node/properties/children/items/$ref: refers to a schema that contains itself`)},
		{"a definition that contains itself is not cut short in a union",
			of(`"a":{"anyOf":[{"$ref":"#/properties/a/anyOf/2"},{"type":"null"},{"type":"object","properties":{"n":{"type":"null"},"a":{"$ref":"#/properties/a/anyOf/2"}}}]}`),
			story{Outcome: narrowing.Lossy, Schema: proposed(`"a":{"type":"null"}`),
				Lost: []string{`/a: only null (was anyOf: object or null or object)`}}},
		{"a schema that contains itself refuses the tool", of(`"a":{"$ref":"#"}`),
			refusal(`/properties/a/$ref: refers to a schema that contains itself`)},
		{"an optional definition that contains itself is dropped as a whole",
			`{"type":"object","additionalProperties":false,"properties":{"filter":{"$ref":"#/$defs/f"},"loop":{"$ref":"#/$defs/l"}},
				"$defs":{"f":{"type":"object","properties":{"not":{"$ref":"#/$defs/f"}}},"l":{"$ref":"#/$defs/l"}}}`,
			story{Outcome: narrowing.Lossy, Schema: proposed(``),
				Decisions: []string{`the arguments: $defs is gone, as what is used of it is written out`},
				Lost: []string{
					`/filter: can no longer be given: /$defs/f/properties/not/$ref: refers to a schema that contains itself`,
					`/loop: can no longer be given: /$defs/l/$ref: refers to a schema that contains itself`,
				}}},
	} {
		if diff := cmp.Diff(c.want, tell(t, c.input)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// Each definition mentions the next one twice, so that written out the last one
// would stand there 2^n times.
func TestProposeBoundsItsWork(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"anyOf":[{"allOf":[{"$ref":"#/$defs/d%d"}]},{"allOf":[{"$ref":"#/$defs/d%d"}]}]},`, i, i+1, i+1)
	}
	b.WriteString(`"d40":{"type":"object"}}}`)
	if diff := cmp.Diff("takes too much work to write out", reason(b.String())); diff != "" {
		t.Error(diff)
	}
	notes := `{"type":"object","properties":{%s},"$defs":{"n":{"type":"boolean"%s}}}`
	many, wide := "", ""
	for i := range 100 {
		many += fmt.Sprintf(`,"p%d":{"$ref":"#/$defs/n"}`, i)
		wide += fmt.Sprintf(`,"x-%d":1`, i)
	}
	if got := reason(fmt.Sprintf(notes, many[1:], wide)); got != "" {
		t.Errorf("32 members with 100 notes each: %s", got)
	}
	if got := reason(fmt.Sprintf(notes, many[1:], strings.ReplaceAll(wide, `"x-`, `"x-a`)+strings.ReplaceAll(wide, `"x-`, `"x-b`)+wide)); got == "" {
		t.Error("32 members with 300 notes each are written out")
	}
}

func reason(input string) string {
	r := narrowing.Propose([]byte(input), narrowing.Profile{})
	if r.Reason == nil {
		return ""
	}
	return r.Reason.Text
}

// lossyAt proposes and says what is lost where, without the reasons.
func lossyAt(t *testing.T, input string) (narrowing.Result, []string) {
	t.Helper()
	r := narrowing.Propose([]byte(input), narrowing.Profile{})
	var lost []string
	for _, d := range r.Lost {
		lost = append(lost, d.Pointer)
	}
	if r.Outcome != narrowing.Refused {
		checkSound(t, input, r, 1, 10)
	}
	return r, lost
}

func TestProposeDropsWhatExceedsTheBounds(t *testing.T) {
	flags := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, `,"p%02d":{"type":"boolean"}`, i)
		}
		return b.String()[1:]
	}
	most := bound.SchemaProperties.Int()

	// The last property is required, so the last optional ones have to go.
	input := fmt.Sprintf(`{"type":"object","properties":{%s},"required":["p%02d"]}`, flags(0, most+2), most+1)
	_, lost := lossyAt(t, input)
	if diff := cmp.Diff([]string{fmt.Sprintf("/properties/p%02d", most-1), fmt.Sprintf("/properties/p%02d", most)}, lost); diff != "" {
		t.Errorf("properties (-want +got)\n%s", diff)
	}

	deep := `{"type":"boolean"}`
	for range bound.SchemaDepth.Int() { // so that the innermost object has no member left
		deep = `{"type":"object","properties":{"a":{"type":"boolean"},"d":` + deep + `}}`
	}
	_, lost = lossyAt(t, deep)
	if diff := cmp.Diff([]string{strings.Repeat("/properties/d", bound.SchemaDepth.Int()-1)}, lost[:1]); diff != "" {
		t.Errorf("depth (-want +got)\n%s", diff)
	}

	// These are 5 nodes too many. Of the optional objects the smaller one
	// suffices; required members stay.
	object := func(n, required int) string {
		var names []string
		for i := range required {
			names = append(names, fmt.Sprintf(`"p%02d"`, i))
		}
		return `{"type":"object","properties":{` + flags(0, n) + `},"required":[` + strings.Join(names, ",") + `]}`
	}
	nodes := func(optional string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"a":%s,"b":%s,"c":%s,"d":%s,"e":%s,"f":%s},"required":["a","b","c","d"%s]}`,
			object(30, 30), object(30, 30), object(30, 30), object(20, 20), object(9, 9), object(7, 7), optional)
	}
	r, lost := lossyAt(t, nodes(""))
	if diff := cmp.Diff([]string{"/properties/f"}, lost); diff != "" {
		t.Errorf("nodes (-want +got)\n%s", diff)
	}
	if slices.ContainsFunc(r.Decisions, func(d narrowing.Decision) bool { return strings.HasPrefix(d.Pointer, "/properties/f") }) {
		t.Error("decisions about a lost member remain")
	}
	if diff := cmp.Diff("schema_nodes is limited to 128", reason(nodes(`,"e","f"`))); diff != "" {
		t.Error(diff)
	}
}

func TestProposeCutsLongLists(t *testing.T) {
	var values []string
	for i := range bound.SchemaEnum.Int() + 1 {
		values = append(values, fmt.Sprintf(`"v%d"`, i))
	}
	_, lost := lossyAt(t, of(`"a":{"type":"string","enum":[`+strings.Join(values, ",")+`]}`))
	if diff := cmp.Diff([]string{"/properties/a"}, lost); diff != "" {
		t.Error(diff)
	}
	long := strings.Repeat("ä", bound.DescriptionBytes.Int())
	r, _ := lossyAt(t, of(`"a":{"type":"boolean","description":"`+long+`"}`))
	if got := r.Decisions[0].String(); got != "/a: the description is cut to 8,192 bytes" || len(r.Schema) > 8400 {
		t.Errorf("%s, %d bytes", got, len(r.Schema))
	}
}

func TestProfileKnowsLongTexts(t *testing.T) {
	for name, want := range map[string]int{
		"path": 4096, "url": 4096, "name": 4096, "dataPath": 4096, "texture": 4096, "class": 4096, "": 4096, "_": 4096,
		"text": 32768, "newText": 32768, "file_content": 32768, "contents": 32768, "SQL": 32768, "html-body": 32768, "code2": 4096, "css": 32768,
	} {
		r := narrowing.Propose([]byte(of(fmt.Sprintf(`%q:{"type":"string"}`, name))), narrowing.Profile{})
		if got := r.Decisions[0].To; got != fmt.Sprint(want) {
			t.Errorf("%q: %s, want %d", name, got, want)
		}
	}
}

func TestProposeOutput(t *testing.T) {
	open := func(members string) string { return `{"properties":{` + members + `},"type":"object"}` }
	const untyped = `{"properties":{"a":{"type":"null"}}}`
	for _, c := range []struct{ input, want string }{
		// What the profile holds stays as it is.
		{of(`"a":{"type":"null"}`), proposed(`"a":{"type":"null"}`)},
		{`{"type":"array","items":{"type":"boolean"},"maxItems":2,"minItems":1}`, `{"items":{"type":"boolean"},"maxItems":2,"minItems":1,"type":"array"}`},
		{`{"type":"object","properties":{"a":{"type":"number"}}}`, open(`"a":{"type":"number"}`)},
		{`{"type":"object"}`, `{"type":"object"}`},
		// Rules that it does not hold are left out; no limit is added.
		{of(`"a":{"type":"string","pattern":"x"},"b":{"type":"array","items":{"type":"number"},"uniqueItems":true}`),
			proposed(`"a":{"type":"string"},"b":{"items":{"type":"number"},"type":"array"}`)},
		{of(`"a":{"anyOf":[{"const":1},{"const":2}]},"b":{"type":"string","maxLength":1e400}`), proposed(`"a":{"enum":[1,2],"type":"number"},"b":{"type":"string"}`)},
		{of(`"a":{"type":"number","minimum":-1e300,"maximum":0.1000000000000000055},"b":{"type":"integer","exclusiveMinimum":0,"minimum":-5,"exclusiveMaximum":1e16}`),
			proposed(`"a":{"type":"number"},"b":{"minimum":0,"type":"integer"}`)},
		// Objects stay as open as they are.
		{of(`"a":{"type":"object","format":"x"},"b":{"type":"object","additionalProperties":{},"properties":{"c":{"type":"null"}}},"d":{"type":"object","additionalProperties":{"type":"null"}}`),
			proposed(`"a":{"type":"object"},"b":` + open(`"c":{"type":"null"}`) + `,"d":{"type":"object"}`)},
		// A member that it cannot describe is one of those that an open object may have.
		{`{"type":"object","additionalProperties":false,"properties":{"a":{"type":["string","null"]},"b":{"type":"null"}},"required":["b","a"]}`,
			`{"properties":{"b":{"type":"null"}},"required":["b"],"type":"object"}`},
		{`{"type":"object","additionalProperties":false,"properties":{"a":{},"b":{"type":"null"}},"required":["b","a"]}`,
			`{"properties":{"b":{"type":"null"}},"required":["b"],"type":"object"}`},
		{`{"type":"object","properties":{"b":{"type":"null"}},"required":["b","a"],"format":"x"}`, `{"properties":{"b":{"type":"null"}},"required":["b"],"type":"object"}`},
		{of(`"a":{"anyOf":[{"type":"string"},{"type":"null"}]}`), open(``)},
		{of(`"a":{"enum":["a",["b"]]},"b":{"enum":["x",9007199254740993]},"c":{"const":1e400},"d":{"type":"boolean"}`), open(`"d":{"type":"boolean"}`)},
		{of(`"a":{},"b":{"type":"array","items":{}},"c":{"type":"string","nullable":true},"d":{"not":{}},"__proto__":{"type":"null"}`), open(``)},
		{of(`"a":{"type":"object","additionalProperties":false,"properties":{"b":{"type":["string","null"]}}}`), proposed(`"a":` + open(``))},
		{`{"definitions":{"n":{"type":"object","properties":{"next":{"$ref":"#/definitions/n"}}}},` + of(`"a":{"$ref":"#/definitions/n"},"b":{"type":"null"}`)[1:],
			open(`"b":{"type":"null"}`)},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"type":"string"}},` +
			of(`"a":{"$ref":"#/definitions/s","maxLength":2},"b":{"$ref":"#/definitions/s"}`)[1:],
			`{"$schema":"http://json-schema.org/draft-07/schema#",` + open(`"b":{"type":"string"}`)[1:]},
		// Nothing is said where the whole cannot be described.
		{`{"type":["object","null"]}`, ""},
		{`{"type":"array","items":{}}`, ""},
		{`{"type":"object","patternProperties":{"a":{"type":"null"}},"additionalProperties":false}`, ""},
		{`{"type":"object","properties":{"a":{"$ref":"https://example.invalid/s"}}}`, ""},
		{untyped, ""},
		{`{"additionalProperties":false}`, ""},
		{`{}`, ""},
		{`true`, ""},
		{`{`, ""},
	} {
		got, ok := narrowing.ProposeOutput([]byte(c.input))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s\ngives %s, %v\nwant  %s", c.input, got, ok, c.want)
		}
	}
}

// Of 129 schemas one is too many, and so is a description of this size.
func TestProposeOutputKeepsTheBounds(t *testing.T) {
	object := func(n int) string {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"p%d":{"type":"string","pattern":"a"}`, i))
		}
		return of(strings.Join(members, ","))
	}
	var members []string
	for i := range 4 {
		members = append(members, fmt.Sprintf(`"o%d":%s`, i, object(31)))
	}
	if _, ok := narrowing.ProposeOutput([]byte(of(strings.Join(members[:3], ",")))); !ok {
		t.Error("97 schemas are too many")
	}
	if got, ok := narrowing.ProposeOutput([]byte(of(strings.Join(members, ",")))); ok {
		t.Errorf("129 schemas give %s", got)
	}
	got, _ := narrowing.ProposeOutput([]byte(object(33)))
	s, err := schema.CompileOutput(got)
	if err != nil {
		t.Fatalf("33 members give %s", got)
	}
	if err := s.Check(parse(t, `{"p0":"","p32":"","q":1}`)); err != nil {
		t.Errorf("%s: %v", got, err)
	}
}

// Every kind of decision has a sentence, so that none reads as nothing.
func TestDecisionsHaveSentences(t *testing.T) {
	seen := map[string]bool{}
	for _, it := range corpus(t) {
		r := narrowing.Propose([]byte(it.input), narrowing.Profile{})
		for _, d := range slices.Concat(r.Decisions, r.Lost) {
			if seen[d.Kind] = true; strings.HasSuffix(d.String(), ": ") || strings.Contains(d.String(), "{to}") {
				t.Errorf("%+v reads %q", d, d)
			}
		}
	}
	if len(seen) < 8 {
		t.Errorf("only %v", seen)
	}
}
