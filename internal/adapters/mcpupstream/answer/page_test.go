package answer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/mcpupstream/answer"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// What is wrong with one tool is said of that tool; the page stands.
func TestATroubledToolSpoilsNoOther(t *testing.T) {
	fat := `{"name":"fat","description":"` + strings.Repeat("d", bound.ToolBytes.Int()) + `"}`
	deep := `{"name":"deep","inputSchema":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`
	tools, cursor, err := answer.Page([]byte(`{"tools":[{"name":"good"},` + fat + `,` + deep + `,{"title":"nameless"},{"name":7}]}`))
	if err != nil || cursor != nil {
		t.Fatal(err)
	}
	type seen struct {
		Name string
		Code fault.Code
		Raw  bool
	}
	var got []seen
	for _, tool := range tools {
		s := seen{Name: strings.Trim(tool.Name, `"`), Raw: tool.Raw != nil}
		if tool.Trouble != nil {
			s.Code = tool.Trouble.Code
		}
		got = append(got, s)
	}
	want := []seen{{"good", "", true}, {"fat", fault.TooLarge, false}, {"deep", fault.InvalidRequest, false},
		{"", fault.UpstreamFailed, false}, {"", fault.UpstreamFailed, false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
