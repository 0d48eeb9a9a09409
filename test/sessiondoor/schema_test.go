package sessiondoor

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
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
