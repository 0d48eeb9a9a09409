package steward_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// proven maps a promise to the tests that fail without it. A test is named by its
// folder and function. What is owed and not yet proven has none and is printed as
// open.
type proven struct {
	row   string
	says  string
	tests []string
	open  string // what of the row is not covered, and why
}

func TestEveryProofExists(t *testing.T) {
	tests := map[string]bool{}
	for _, s := range sources(t) {
		if !strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		dir := s.path[:max(0, strings.LastIndexByte(s.path, '/'))]
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[dir+" "+f.Name.Name] = true
			}
		}
	}
	seen := map[string]bool{}
	for _, p := range allProofs() {
		if seen[p.row] {
			t.Errorf("%s stands twice", p.row)
		}
		seen[p.row] = true
		if len(p.tests) == 0 && p.open == "" {
			t.Errorf("%s has neither a test nor a reason", p.row)
		}
		for _, name := range p.tests {
			if !tests[name] {
				t.Errorf("%s names %q, and there is no such test", p.row, name)
			}
		}
	}
}

func proofPage() string {
	var b strings.Builder
	b.WriteString("# Which promise has which test\n\nInvariants (I), fault points (FP), attacks (A) and faults seen in the field (FF), as far as what they are about is built.\n\n" +
		"| row | promise | tests | open |\n| --- | --- | --- | --- |\n")
	open := 0
	for _, p := range allProofs() {
		tests := slices.Clone(p.tests)
		for i, name := range tests {
			tests[i] = "`" + name + "`"
		}
		if len(tests) == 0 {
			open++
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.row, p.says, strings.Join(tests, "<br>"), p.open)
	}
	fmt.Fprintf(&b, "\n%d rows, %d without a test.\n", len(allProofs()), open)
	return b.String()
}

func sources(t *testing.T) []*source {
	t.Helper()
	tr, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	return tr.sources
}

// allProofs is the whole table.
func allProofs() []proven { return slices.Concat(proofs, busProofs, sessionProofs) }
