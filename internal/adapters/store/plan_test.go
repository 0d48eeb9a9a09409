package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scans lists the statements that walk a whole table or index, with the reason.
// All others find each row by a key; a row that is not needed is a failure too.
var scans = map[string]string{
	"holdings.allEntries":  "once at start",
	"journal.allChains":    "Verify walks everything",
	"journal.countEntries": "Verify walks everything",
	"journal.leftBehind":   "once at start, an index that holds unresolved rows only",
	"ledger.lastTimes":     "once at start, an index that holds unresolved rows only",
	"ledger.newestChain":   "once at start, the last row of the key",
	"ledger.endEpochs":     "once at start, a row for each process that ever was",
}

// Every statement of the store's packages is planned on the finished schema, so
// that a look-up costs the same in a journal of any length.
func TestNoStatementScans(t *testing.T) {
	texts := statements(t, "ledger", "record", "journal", "holdings")
	if len(texts) < 60 {
		t.Fatalf("only %d statements were found", len(texts))
	}
	db := newPool(t).raw(t)
	for name, text := range texts {
		params := 0
		text = parameter.ReplaceAllStringFunc(text, func(p string) string {
			n, _ := strconv.Atoi(p[1:])
			params = max(params, n)
			return "?" + p[1:]
		})
		rows, err := db.Query("EXPLAIN QUERY PLAN "+text, make([]any, params)...)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		var plan []string
		for rows.Next() {
			var a, b, c int
			var line string
			must(t, rows.Scan(&a, &b, &c, &line))
			plan = append(plan, line)
		}
		must(t, rows.Err())
		must(t, rows.Close())
		walks := slices.ContainsFunc(plan, func(line string) bool { return strings.HasPrefix(line, "SCAN") && line != "SCAN CONSTANT ROW" })
		if _, listed := scans[name]; walks != listed {
			t.Errorf("%s: scans %v, listed %v\n%s", name, walks, listed, strings.Join(plan, "\n"))
		}
	}
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

var verb = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE) `)

// statements collects the texts of statements from the sources of packages, by
// package and name.
func statements(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	known := map[string]ast.Expr{}
	for _, name := range packages {
		parsed, err := parser.ParseDir(token.NewFileSet(), name, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0)
		must(t, err)
		for _, file := range parsed[name].Files {
			for _, d := range file.Decls {
				decl, ok := d.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, s := range decl.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
						for i, n := range v.Names {
							known[name+"."+n.Name] = v.Values[i]
						}
					}
				}
			}
		}
	}
	texts := map[string]string{}
	for name, e := range known {
		pkg, _, _ := strings.Cut(name, ".")
		if text, ok := evaluate(known, pkg, e); ok && verb.MatchString(text) {
			texts[name] = text
		}
	}
	maps.DeleteFunc(texts, func(name, text string) bool {
		for other, longer := range texts {
			if other != name && len(longer) > len(text) && strings.HasPrefix(longer, text) {
				return true // a part of statements
			}
		}
		return false
	})
	return texts
}

// evaluate joins the parts of a text; the one call is strings.Replace.
func evaluate(known map[string]ast.Expr, pkg string, e ast.Expr) (string, bool) {
	switch x := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(x.Value)
		return text, x.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, ok := evaluate(known, pkg, x.X)
		right, ok2 := evaluate(known, pkg, x.Y)
		return left + right, ok && ok2
	case *ast.Ident:
		next, ok := known[pkg+"."+x.Name]
		if !ok {
			return "", false
		}
		return evaluate(known, pkg, next)
	case *ast.SelectorExpr:
		from, ok := x.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		return evaluate(known, from.Name, x.Sel)
	case *ast.CallExpr:
		var args []string
		for _, a := range x.Args[:min(3, len(x.Args))] {
			text, ok := evaluate(known, pkg, a)
			if !ok {
				return "", false
			}
			args = append(args, text)
		}
		if len(args) < 3 {
			return "", false
		}
		return strings.Replace(args[0], args[1], args[2], 1), true
	}
	return "", false
}
