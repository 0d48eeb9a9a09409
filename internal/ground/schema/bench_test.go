package schema_test

import (
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/ground/schema"
)

func BenchmarkCheck(b *testing.B) {
	const edit = `{"type":"object","additionalProperties":false,"required":["path","edits"],"properties":{
		"path":{"type":"string","maxLength":4096},"dryRun":{"type":"boolean"},
		"edits":{"type":"array","maxItems":64,"items":{"type":"object","additionalProperties":false,"required":["line","text"],
			"properties":{"line":{"type":"integer","minimum":1,"maximum":9007199254740991},"text":{"type":"string","maxLength":32768}}}}}}`
	entry := `{"line":17,"text":"` + strings.Repeat("lorem ", 40) + `"}`
	for _, c := range []struct{ name, schema, value string }{
		{"two strings", object(`"a":{"type":"string","maxLength":64},"b":{"type":"string","maxLength":64}`), `{"a":"x","b":"y"}`},
		{"64 edits", edit, `{"path":"/a/b","edits":[` + strings.TrimSuffix(strings.Repeat(entry+",", 64), ",") + `]}`},
		{"refused", edit, `{"path":"/a/b","edits":[{"line":0,"text":""}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, v := compile(b, c.schema), parse(b, c.value)
			b.SetBytes(int64(len(c.value)))
			b.ReportAllocs()
			for b.Loop() {
				_ = s.Check(v)
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	raw := []byte(nodes(128))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.CompileNested(raw); err != nil {
			b.Fatal(err)
		}
	}
}
