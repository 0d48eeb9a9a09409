package store_test

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// scans lists the statements that walk a whole table or index, with the reason.
// All others find each row by a key; a row that is not needed is a failure too.
var scans = map[string]string{
	"holdings.allEntries":            "once at start",
	"holdings.countChanges":          "once in the life of a copy, a row for each owner",
	"holdings.offCapsules":           "once in the life of a copy",
	"holdings.restoreCapsules":       "once in the life of a copy",
	"holdings.restoreCapsuleMethods": "once in the life of a copy",
	"holdings.restoreEntries":        "once in the life of a copy",
	"holdings.restoreTools":          "once in the life of a copy",
	"holdings.restoreGrants":         "once in the life of a copy",
	"holdings.restoreMethods":        "once in the life of a copy",
	"holdings.restoreQuestions":      "once in the life of a copy",
	"holdings.restoreTokens":         "once in the life of a copy",
	"rights.allOwners":               "Verify walks everything, a row for each owner",
	"journal.doubts":                 "an index that holds doubts only, each of which a person ends",
	"witness.allChains":              "Verify walks everything",
	"witness.countEntries":           "Verify walks everything",
	"journal.leftBehind":             "once at start, an index that holds unresolved rows only",
	"retention.idleConsents":         "an index of what the owner said and still stands, once a sweep",
	"retention.idleDeferrals":        "a row for each proposal that the owner put off, once a sweep",
	"retention.everyOwner":           "a row for each owner, once a sweep",
	"ledger.lastTimes":               "once at start, an index that holds unresolved rows only",
	"ledger.newestChain":             "once at start, the last row of the key",
	"ledger.endEpochs":               "once at start, a row for each process that ever was",
}

// Every statement of the store's packages is planned on the finished schema, so
// that a look-up costs the same in a journal of any length.
func TestNoStatementScans(t *testing.T) {
	texts := statements(t, "inquiry", "installations", "wallet", "ledger", "tally", "record", "rights", "journal", "holdings", "witness", "retention")
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
		plan, err := planOf(db, text, params)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		walks := slices.ContainsFunc(plan, func(line string) bool { return strings.HasPrefix(line, "SCAN") && line != "SCAN CONSTANT ROW" })
		if _, listed := scans[name]; walks != listed {
			t.Errorf("%s: scans %v, listed %v\n%s", name, walks, listed, strings.Join(plan, "\n"))
		}
	}
}

// planOf asks the engine how it would run a statement.
func planOf(db *sql.DB, text string, params int) (plan []string, err error) {
	rows, err := db.Query("EXPLAIN QUERY PLAN "+text, make([]any, params)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var line string
		if err := rows.Scan(&a, &b, &c, &line); err != nil {
			return nil, err
		}
		plan = append(plan, line)
	}
	return plan, rows.Err()
}

var parameter = regexp.MustCompile(`\$[0-9]+`)

var verb = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE) `)

// statements collects the texts of statements from the sources of packages, by
// package and name.
func statements(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	known := map[string]ast.Expr{}
	for _, name := range packages {
		files, err := filepath.Glob(name + "/*.go")
		must(t, err)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			must(t, err)
			constants(file, func(constant string, value ast.Expr) { known[name+"."+constant] = value })
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

// constants visits what a file declares with a value of its own.
func constants(file *ast.File, visit func(name string, value ast.Expr)) {
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range decl.Specs {
			if v, ok := s.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, n := range v.Names {
					visit(n.Name, v.Values[i])
				}
			}
		}
	}
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
