package steward_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// foreign lists files whose text others wrote and that marks and paths may
// stand in; the value is the reason.
var foreign = map[string]string{
	"go.sum":                     "digests",
	"tools/go.sum":               "digests",
	"tools/vulndb/go.sum":        "digests",
	"test/npm/package-lock.json": "digests",
}

// skips lists the tests that may skip: a path, a space and the function's name;
// the value says on what ground. A row that nothing uses is a failure too.
var skips = map[string]string{}

// waits lists the functions that may sleep: the one bounded wait for a condition
// that the suites of real processes use.
var waits = map[string]string{
	"test/hosttest/hosttest.go WaitFor": "what a host of its own process does has no event to wait for",
}

// The words are put together here, so that this file does not hold them.
var (
	marks = regexp.MustCompile(`\b(` + "TO" + "DO|FIX" + "ME|XX" + `X)\b`)
	paths = regexp.MustCompile(`(?m)(^|[^A-Za-z0-9_.~/-])/(` + "wo" + "rk|ro" + "ot|ho" + `me)/`)
	hosts = regexp.MustCompile(strings.Join([]string{
		`proxy\.` + `golang\.org`, `sum\.` + `golang\.org`, `registry\.` + `(npmjs|yarnpkg)\.`, `deb\.` + `debian\.org`,
	}, "|"))
)

func TestNothingIsLeftForLater(t *testing.T) { check(t, nothingIsLeftForLater) }
func TestNoPathOfOneMachine(t *testing.T)    { check(t, noPathOfOneMachine) }
func TestNoRegistryIsNamed(t *testing.T)     { check(t, noRegistryIsNamed) }
func TestFuzzTargetsHaveSeeds(t *testing.T)  { check(t, fuzzTargetsHaveSeeds) }
func TestNoTestSkipsUnlisted(t *testing.T) {
	check(t, func(tr *tree) []string { return noTestSkips(tr, skips) })
}
func TestNoTestSleepsUnlisted(t *testing.T) {
	check(t, func(tr *tree) []string { return noTestSleeps(tr, waits) })
}
func nothingIsLeftForLater(tr *tree) []string { return search(tr, marks, foreign, "do it or drop it") }
func noPathOfOneMachine(tr *tree) []string {
	return search(tr, paths, foreign, "a path of one machine")
}
func noRegistryIsNamed(tr *tree) []string {
	return search(tr, hosts, nil, "the name of a registry's host")
}

func search(tr *tree, words *regexp.Regexp, except map[string]string, what string) (out []string) {
	for _, s := range tr.sources {
		if except[s.path] != "" || bytes.IndexByte(s.text, 0) >= 0 {
			continue
		}
		for i, line := range bytes.Split(s.text, []byte("\n")) {
			if words.Match(line) {
				out = append(out, fmt.Sprintf("%s:%d: %s: %.80q", s.path, i+1, what, bytes.TrimSpace(line)))
			}
		}
	}
	return out
}

func noTestSkips(tr *tree, allowed map[string]string) []string {
	return callsOutside(tr, allowed, "skips", func(s *source, call *ast.CallExpr) bool {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Skip" || sel.Sel.Name == "Skipf" || sel.Sel.Name == "SkipNow")
	})
}

func noTestSleeps(tr *tree, allowed map[string]string) []string {
	return callsOutside(tr, allowed, "sleeps", func(s *source, call *ast.CallExpr) bool {
		return tr.names(s, call.Fun) == "time.Sleep"
	})
}

// callsOutside finds calls in files that serve tests, outside the functions that
// are allowed to make them, and the allowances that nothing uses.
func callsOutside(tr *tree, allowed map[string]string, verb string, is func(*source, *ast.CallExpr) bool) (out []string) {
	used := map[string]bool{}
	for _, s := range tr.sources {
		if s.file == nil || !s.proving() {
			continue
		}
		for _, d := range s.file.Decls {
			key := s.path
			if fn, ok := d.(*ast.FuncDecl); ok {
				key += " " + funcName(fn)
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && is(s, call) {
					used[key] = true
					if allowed[key] == "" {
						out = append(out, fmt.Sprintf("%s:%d: %s %s", s.path, tr.line(call), strings.TrimPrefix(key, s.path+" "), verb))
					}
				}
				return true
			})
		}
	}
	for _, key := range sortedKeys(allowed) {
		if !used[key] {
			out = append(out, fmt.Sprintf("%s: allowed, but never %s", key, verb))
		}
	}
	return out
}

// fuzzTargetsHaveSeeds wants each fuzz target to add seeds, itself or through a
// function of its own folder, or to have files in its folder of testdata. That a
// glob of seeds matched something is the target's own affair.
func fuzzTargetsHaveSeeds(tr *tree) (out []string) {
	for _, f := range tr.folders() {
		adders := map[string]bool{}
		for _, s := range f.tests {
			for _, fn := range funcs(s) {
				if calls(fn, map[string]bool{"Add": true}) {
					adders[fn.Name.Name] = true
				}
			}
		}
		for _, s := range f.tests {
			for _, fn := range funcs(s) {
				name := fn.Name.Name
				if !strings.HasPrefix(name, "Fuzz") || adders[name] || calls(fn, adders) {
					continue
				}
				if !hasFileUnder(tr, path.Join(f.dir, "testdata", "fuzz", name)+"/") {
					out = append(out, fmt.Sprintf("%s:%d: %s has no seeds", s.path, tr.line(fn), name))
				}
			}
		}
	}
	return out
}

func funcs(s *source) (out []*ast.FuncDecl) {
	for _, d := range s.file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn)
		}
	}
	return out
}

// calls reports whether a function calls a function or method of these names.
func calls(fn *ast.FuncDecl, names map[string]bool) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch x := call.Fun.(type) {
			case *ast.SelectorExpr:
				found = found || names[x.Sel.Name]
			case *ast.Ident:
				found = found || names[x.Name]
			}
		}
		return !found
	})
	return found
}

func hasFileUnder(tr *tree, prefix string) bool {
	return slices.ContainsFunc(tr.sources, func(s *source) bool { return strings.HasPrefix(s.path, prefix) })
}
