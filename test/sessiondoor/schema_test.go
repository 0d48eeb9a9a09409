package sessiondoor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/stewardhost/steward/protocol/sessionwire"
)

// published is the schema that the documents show of every record.
var published = sync.OnceValues(func() (*jsonschema.Schema, error) {
	const path = "../../docs/reference/sessions.schema.json"
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(path, doc); err != nil {
		return nil, err
	}
	return c.Compile(path)
})

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("the schema stands alone") }

// fits holds a record of the daemon to the published schema.
func (s *stage) fits(line string) {
	schema, err := published()
	if err != nil {
		s.t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		s.t.Errorf("%.2000s\n%v", line, err)
	}
}

// The transcripts, whose records are held to the schema, have every method's answer,
// what a lookup keeps of it, every event and every kind of the durable record.
func TestTranscriptsHaveEveryShape(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		all.Write(readFile(t, file))
	}
	var want []string
	for _, m := range sessionwire.Methods() {
		want = append(want, "> "+m.Name+" ")
		if m.Operation {
			want = append(want, `"method":"`+m.Name+`","session_id":[^,]*,"result":\{`)
		}
	}
	for _, e := range sessionwire.Events() {
		want = append(want, "< event "+e.Name+" ")
	}
	for _, k := range sessionwire.Kinds() {
		want = append(want, `"kind":"`+k.Name+`","data":\{`)
	}
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(all.String()) {
			t.Errorf("no transcript has %s", w)
		}
	}
}
