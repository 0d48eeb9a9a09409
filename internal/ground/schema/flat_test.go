package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/schema"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

func flat(properties, required string) string {
	return `{"type":"object","additionalProperties":false,"properties":{` + properties + `},"required":[` + required + `]}`
}

// many gives n properties with names of that length.
func many(n, length int) (properties, required string) {
	var p, r []string
	for i := range n {
		name := fmt.Sprintf("%0*d", length, i)
		p = append(p, `"`+name+`":{"type":"boolean"}`)
		r = append(r, `"`+name+`"`)
	}
	return strings.Join(p, ","), strings.Join(r, ",")
}

func TestFlatSchemasAreOneClosedObjectOfScalars(t *testing.T) {
	p32, r32 := many(32, 48)
	p33, r33 := many(33, 2)
	p49, r49 := many(1, 49)
	const s, b, i = `"s":{"type":"string","maxLength":4096}`, `"b":{"type":"boolean"}`, `"i":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`
	for raw, ok := range map[string]bool{
		flat("", ""): true,
		`{"type":"object","additionalProperties":false}`:   true,
		flat(s+","+b+","+i, `"s","b","i"`):                 true,
		flat(`"s":{"type":"string","maxLength":1}`, `"s"`): true,
		flat(p32, r32): true,

		flat(p33, r33):       false,
		flat(p49, r49):       false,
		flat(s+","+b, `"s"`): false,
		flat(s, `"s","s"`):   false,
		flat(s, `"b"`):       false,
		`{"type":"object","properties":{},"required":[]}`:                                false,
		`{"type":"object","additionalProperties":true,"properties":{},"required":[]}`:    false,
		`{"type":"array","additionalProperties":false,"properties":{},"required":[]}`:    false,
		`{"type":"object","additionalProperties":false,"properties":{},"properties":{}}`: false,
		`{"type":"object","additionalProperties":false,"title":"x"}`:                     false,
		`{"type":["object"],"additionalProperties":false}`:                               false,
		`[]`: false, `true`: false, ``: false,
		flat(`"s":{"type":"string"}`, `"s"`):                                              false,
		flat(`"s":{"type":"string","maxLength":0}`, `"s"`):                                false,
		flat(`"s":{"type":"string","maxLength":4097}`, `"s"`):                             false,
		flat(`"s":{"type":"string","maxLength":1.5}`, `"s"`):                              false,
		flat(`"s":{"type":"string","maxLength":10,"minLength":1}`, `"s"`):                 false,
		flat(`"s":{"type":"string","maxLength":10,"enum":["a"]}`, `"s"`):                  false,
		flat(`"b":{"type":"boolean","const":true}`, `"b"`):                                false,
		flat(`"i":{"type":"integer","minimum":0}`, `"i"`):                                 false,
		flat(`"i":{"type":"integer","minimum":1,"maximum":0}`, `"i"`):                     false,
		flat(`"i":{"type":"integer","minimum":0,"maximum":9007199254740992}`, `"i"`):      false,
		flat(`"i":{"type":"integer","minimum":0.5,"maximum":2}`, `"i"`):                   false,
		flat(`"i":{"type":"number","minimum":0,"maximum":2}`, `"i"`):                      false,
		flat(`"o":{"type":"object","properties":{},"additionalProperties":false}`, `"o"`): false,
		flat(`"o":{"type":"array","items":{"type":"boolean"},"maxItems":1}`, `"o"`):       false,
		flat(`"n":{"type":"null"}`, `"n"`):                                                false,
		flat(`"__proto__":{"type":"boolean"}`, `"__proto__"`):                             false,
		flat(`"":{"type":"boolean"}`, `""`):                                               false,
	} {
		compiled, err := schema.CompileFlat([]byte(raw))
		if (err == nil) != ok || (compiled != nil) != ok {
			t.Errorf("%.90s: %v", raw, err)
		}
	}
}

func TestFlatSchemasJudgeValues(t *testing.T) {
	compiled, err := schema.CompileFlat([]byte(flat(`"s":{"type":"string","maxLength":2},"i":{"type":"integer","minimum":-1,"maximum":1}`, `"s","i"`)))
	if err != nil {
		t.Fatal(err)
	}
	for raw, ok := range map[string]bool{
		`{"s":"ab","i":1}`: true, `{"i":-1,"s":""}`: true, `{"s":"😀😀","i":0}`: true, `{"s":"a","i":1e0}`: true,
		`{"s":"abc","i":1}`: false, `{"s":"a"}`: false, `{"s":"a","i":2}`: false, `{"s":"a","i":0.5}`: false, `{"s":"a","i":1,"x":0}`: false,
		`{"s":null,"i":1}`: false, `[]`: false,
	} {
		v, err := strictjson.Parse([]byte(raw), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Check(v); (err == nil) != ok {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
