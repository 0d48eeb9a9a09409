package steward_test

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The stops. Tests and generated files have none.
const (
	fileStop    = 500
	packageStop = 1500
	funcStop    = 60
)

// oversized lists what may be over its stop: a file's path, a package's folder,
// or a path, a space and the function's name; the value is the reason. A row that
// is not needed any more is a failure too.
var oversized = map[string]string{}

func TestNothingGrowsOverItsStop(t *testing.T) {
	check(t, func(tr *tree) []string { return nothingGrowsOverItsStop(tr, oversized) })
}

func nothingGrowsOverItsStop(tr *tree, exempt map[string]string) (out []string) {
	needed := map[string]bool{}
	report := func(key, what string, size, stop int) {
		if size <= stop {
			return
		}
		needed[key] = true
		if exempt[key] == "" {
			out = append(out, fmt.Sprintf("%s: the %s has %d lines and stops at %d", key, what, size, stop))
		}
	}
	for _, f := range tr.folders() {
		total := 0
		for _, s := range f.files {
			if s.generated() {
				continue
			}
			total += s.lines()
			report(s.path, "file", s.lines(), fileStop)
			for _, d := range s.file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					report(s.path+" "+funcName(fn), "function", tr.weight(fn), funcStop)
				}
			}
		}
		report(f.dir, "package", total, packageStop)
	}
	for _, key := range sortedKeys(exempt) {
		if !needed[key] {
			out = append(out, fmt.Sprintf("%s: exempt in oversized, but not over its stop", key))
		}
	}
	return out
}

func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	e := fn.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// weight is the length of a function without its tables and without a switch
// whose cases are one call each.
func (tr *tree) weight(fn *ast.FuncDecl) int { return tr.span(fn) - tr.weightless(fn.Body) }

// weightless counts the lines inside n that carry no logic of their own.
// Functions written inside a table or a case keep their weight.
func (tr *tree) weightless(n ast.Node) int {
	total := 0
	ast.Inspect(n, func(m ast.Node) bool {
		if m == nil || m == n || !isTable(m) && !isPlainSwitch(m) {
			return true
		}
		total += tr.span(m) - 1 - tr.innerFuncs(m)
		return false
	})
	return total
}

func (tr *tree) innerFuncs(n ast.Node) int {
	total := 0
	ast.Inspect(n, func(m ast.Node) bool {
		if lit, ok := m.(*ast.FuncLit); ok {
			total += tr.span(lit) - 1 - tr.weightless(lit.Body)
			return false
		}
		return true
	})
	return total
}

func isTable(n ast.Node) bool {
	_, ok := n.(*ast.CompositeLit)
	return ok
}

func isPlainSwitch(n ast.Node) bool {
	var body *ast.BlockStmt
	switch x := n.(type) {
	case *ast.SwitchStmt:
		body = x.Body
	case *ast.TypeSwitchStmt:
		body = x.Body
	default:
		return false
	}
	return !slices.ContainsFunc(body.List, func(s ast.Stmt) bool { return !isOneCall(s.(*ast.CaseClause)) })
}

// isOneCall accepts a call, the return of a call or of plain values, and the
// assignment of a call.
func isOneCall(c *ast.CaseClause) bool {
	if len(c.Body) != 1 {
		return len(c.Body) == 0
	}
	switch s := c.Body[0].(type) {
	case *ast.ExprStmt:
		_, ok := s.X.(*ast.CallExpr)
		return ok
	case *ast.AssignStmt:
		_, ok := s.Rhs[0].(*ast.CallExpr)
		return ok && len(s.Rhs) == 1
	case *ast.ReturnStmt:
		return true
	}
	return false
}

func TestEachPackageHasOnePage(t *testing.T) { check(t, eachPackageHasOnePage) }

func eachPackageHasOnePage(tr *tree) (out []string) {
	for _, f := range tr.folders() {
		var pages []string
		for _, s := range f.files {
			if s.file.Doc == nil {
				continue
			}
			pages = append(pages, s.path)
			if text, want := s.file.Doc.Text(), pageStart(f); !strings.HasPrefix(text, want) {
				out = append(out, fmt.Sprintf("%s: the package page does not start with %q", s.path, want))
			}
		}
		if len(f.files) > 0 && len(pages) != 1 {
			out = append(out, fmt.Sprintf("%s: wants exactly one package page, has %d %v", f.dir, len(pages), pages))
		}
	}
	return out
}

func pageStart(f *folder) string {
	if f.name == "main" {
		return "Command " + f.dir[strings.LastIndex(f.dir, "/")+1:] + " "
	}
	return "Package " + f.name + " "
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
