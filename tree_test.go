// Package steward_test holds the rules of the house as tests: which folder may
// import which, how long things may grow, what a package page is, and which
// words never stand in the tree.
//
// The rules read source text alone, so they see the files of every platform,
// need no build, and judge a package that does not compile yet. A rule is a
// function from a tree to complaints; broken_test.go feeds each rule a small
// tree that breaks it, so none of them can fall silent unnoticed.
package steward_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/stewardhost/steward"

// source is one file of the tree. file is nil unless it is Go that parses.
type source struct {
	path string // relative to the root, with slashes
	text []byte
	file *ast.File
}

// tree is every file that is or would be tracked, in order of path.
type tree struct {
	fset    *token.FileSet
	sources []*source
	broken  []string // one complaint for each Go file that does not parse
}

// folder is one package folder of the tree.
type folder struct {
	dir   string
	name  string    // of the package; of its tests where there is nothing else
	files []*source // without tests
	tests []*source
}

var theTree = sync.OnceValues(readTree)

// check runs a rule over the tree that this test stands in.
func check(t *testing.T, rule func(*tree) []string) {
	t.Helper()
	tr, err := theTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range rule(tr) {
		t.Error(complaint)
	}
}

func TestEveryGoFileParses(t *testing.T) {
	check(t, func(tr *tree) []string { return tr.broken })
}

// readTree reads what git tracks or would track; without git, every file
// outside hidden folders and build output.
func readTree() (*tree, error) {
	paths, err := trackedPaths()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, p := range paths {
		info, err := os.Lstat(p)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted in the work tree, or a link
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		files[filepath.ToSlash(p)] = string(text)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no files found")
	}
	return parseTree(files), nil
}

func trackedPaths() ([]string, error) {
	if _, err := os.Stat(".git"); err == nil {
		out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z").Output()
		if err != nil {
			return nil, fmt.Errorf("git ls-files: %w", err)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	var paths []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (p == "bin" || p == ".cache"):
			return filepath.SkipDir
		case !d.IsDir():
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

func parseTree(files map[string]string) *tree {
	tr := &tree{fset: token.NewFileSet()}
	for p, text := range files {
		s := &source{path: p, text: []byte(text)}
		if isGo(p) {
			f, err := parser.ParseFile(tr.fset, p, s.text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				tr.broken = append(tr.broken, fmt.Sprintf("does not parse: %v", err))
			} else {
				s.file = f
			}
		}
		tr.sources = append(tr.sources, s)
	}
	slices.SortFunc(tr.sources, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	slices.Sort(tr.broken)
	return tr
}

// isGo tells package source from data: the go tool ignores testdata and hidden
// folders, and so do the rules about packages.
func isGo(p string) bool {
	for _, part := range strings.Split(p, "/") {
		if part == "testdata" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "_") {
			return false
		}
	}
	return strings.HasSuffix(p, ".go")
}

// folders groups the Go files by folder, in order.
func (tr *tree) folders() []*folder {
	var out []*folder
	at := map[string]*folder{}
	for _, s := range tr.sources {
		if s.file == nil {
			continue
		}
		dir := path.Dir(s.path)
		f := at[dir]
		if f == nil {
			f = &folder{dir: dir, name: s.file.Name.Name}
			at[dir] = f
			out = append(out, f)
		}
		if s.isTest() {
			f.tests = append(f.tests, s)
			continue
		}
		f.name = s.file.Name.Name
		f.files = append(f.files, s)
	}
	return out
}

// isTest reports whether the file is seen by go test only.
func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// proving reports whether the file only ever serves tests: a test, a kit (a
// package such as storetest beside store), a suite or a measurement. Such a file
// may import upwards, because a rule is best shown with the real things above it.
func (s *source) proving() bool {
	dir := path.Dir(s.path)
	return s.isTest() || isKit(dir) || under(dir, "test") || under(dir, "bench")
}

// isKit reports whether a folder holds a test kit: named after its noun and
// ending in test.
func isKit(dir string) bool {
	base := path.Base(dir)
	return base != "test" && strings.HasSuffix(base, "test")
}

// generated reports whether a tool wrote the file.
func (s *source) generated() bool { return s.file != nil && ast.IsGenerated(s.file) }

func (s *source) lines() int {
	n := bytes.Count(s.text, []byte("\n"))
	if len(s.text) > 0 && s.text[len(s.text)-1] != '\n' {
		n++
	}
	return n
}

// imports gives import paths with their line.
func (tr *tree) imports(s *source) map[string]int {
	out := map[string]int{}
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = tr.fset.Position(spec.Pos()).Line
		}
	}
	return out
}

// names gives what an expression names in an imported package, as "time.Now"
// whatever the file calls the import, or "".
func (tr *tree) names(s *source, e ast.Node) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, spec := range s.file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == x.Name {
			return p + "." + sel.Sel.Name
		}
	}
	return ""
}

func (tr *tree) line(n ast.Node) int { return tr.fset.Position(n.Pos()).Line }

// span is the number of lines that a node stands on.
func (tr *tree) span(n ast.Node) int {
	return tr.fset.Position(n.End()).Line - tr.line(n) + 1
}

// under reports whether dir is folder or lies below it. The empty folder holds
// everything.
func under(dir, folder string) bool {
	return folder == "" || dir == folder || strings.HasPrefix(dir, folder+"/")
}

func underAny(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return under(dir, f) })
}
