package doors_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stewardhost/steward/internal/ground/id"
)

// names puts a fixed word in place of each value that differs from run to run,
// both ways: {{tx a}} in a request is minted at its first use; an id that a reply
// brings up is {{res 1}} from then on, and can be used.
type names struct {
	values map[string]string // by name
	words  map[string]string // by value
	count  map[string]int    // by kind
}

func newNames() *names {
	return &names{map[string]string{}, map[string]string{}, map[string]int{}}
}

func (n *names) set(name, value string) {
	n.values[name], n.words[value] = value, "{{"+name+"}}"
}

var word = regexp.MustCompile(`\{\{([a-z]+(?: [a-z0-9]+)?)\}\}`)

// fill writes a request. A tx of the name "old" or "ahead" is outside the
// accepted age.
func (n *names) fill(t *testing.T, text string) string {
	t.Helper()
	return word.ReplaceAllStringFunc(text, func(w string) string {
		name := w[2 : len(w)-2]
		if n.values[name] == "" && strings.HasPrefix(name, "tx ") {
			at := time.Now()
			switch name {
			case "tx old":
				at = at.Add(-24*time.Hour - time.Second)
			case "tx ahead":
				at = at.Add(6 * time.Minute)
			}
			n.set(name, id.NewTx(at).String())
		}
		if n.values[name] == "" {
			t.Fatalf("%s has no value yet", w)
		}
		return n.values[name]
	})
}

var changing = []struct {
	kind string
	form *regexp.Regexp
}{
	{"url", regexp.MustCompile(`https://[a-z0-9-]+\.steward\.invalid/contracts/imported/[^"\\]+/v1`)},
	{"", regexp.MustCompile(`\b(?:own|cli|res|rev|adp|grn|cns|inv|cnf|nod|tx)_[0-9a-hjkmnp-tv-z]{26}\b`)},
	{"token", regexp.MustCompile(`stw_at_[A-Za-z0-9_-]{43}`)},
	{"sha", regexp.MustCompile(`sha256:[0-9a-f]{64}`)},
}

var fixed = []struct {
	form *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "{{time}}"},
	{regexp.MustCompile(`("tool": ?"[A-Za-z0-9_-]+)_[0-9a-f]{10}"`), `${1}_{{hex}}"`},
	{regexp.MustCompile(`"ms": ?\d+`), `"ms":0`},
	{regexp.MustCompile(`"rows": ?\d+`), `"rows":0`},
}

// hide writes a reply.
func (n *names) hide(text string) string {
	for _, c := range changing {
		text = c.form.ReplaceAllStringFunc(text, func(value string) string {
			if n.words[value] == "" {
				kind := c.kind
				if kind == "" {
					kind, _, _ = strings.Cut(value, "_")
				}
				n.count[kind]++
				n.set(fmt.Sprintf("%s %d", kind, n.count[kind]), value)
			}
			return n.words[value]
		})
	}
	for _, f := range fixed {
		text = f.form.ReplaceAllString(text, f.word)
	}
	return text
}
