package steward_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// broken is a small tree that breaks one rule, and the start of each complaint
// that the rule must make of it. A tree that a rule must accept wants nothing.
type broken struct {
	name  string
	rule  func(*tree) []string
	files map[string]string
	want  []string
}

// one is a tree of a single file.
func one(path, text string) map[string]string { return map[string]string{path: text} }

// importing is a tree of a single Go file in dir that imports the given paths.
func importing(file string, paths ...string) map[string]string {
	text := "package p\n"
	for _, p := range paths {
		if strings.HasPrefix(p, "~/") {
			p = module + p[1:]
		}
		text += fmt.Sprintf("import %q\n", p)
	}
	return one(file, text)
}

// body is a Go file of package p with one function of n statements.
func body(n int) string {
	return "package p\n\nfunc F() {\n" + strings.Repeat("\tF()\n", n) + "}\n"
}

func TestTheRulesCanFail(t *testing.T) {
	failing := map[string]bool{}
	for _, cases := range [][]broken{brokenFloors, brokenPackages, brokenSizes, brokenText, brokenProse} {
		for _, b := range cases {
			got := b.rule(parseTree(b.files))
			if len(b.want) > 0 {
				failing[nameOf(b.rule)] = true
			}
			for i := range got {
				if i < len(b.want) && strings.HasPrefix(got[i], b.want[i]) {
					got[i] = b.want[i]
				}
			}
			if diff := cmp.Diff(b.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", b.name, diff)
			}
		}
	}
	for _, rule := range []func(*tree) []string{
		importsGoDown, everyFolderHasAFloor, nounsKnowTheirElders, floorsDoWithoutTheBanned, jsonIsStrict,
		modulesStayAtHome, domainStartsNothing, packagesAreNouns, nothingHappensBeforeMain, kitsServeTestsOnly,
		eachPackageHasOnePage, fuzzTargetsHaveSeeds, nothingIsLeftForLater, noPathOfOneMachine, noRegistryIsNamed,
		everyPackageHasItsPlace, noPageSaysALineTwice,
	} {
		if !failing[nameOf(rule)] {
			t.Errorf("no tree here breaks %s", nameOf(rule))
		}
	}
}

func nameOf(rule func(*tree) []string) string {
	full := runtime.FuncForPC(reflect.ValueOf(rule).Pointer()).Name()
	return full[strings.LastIndex(full, ".")+1:]
}

var brokenFloors = []broken{
	{"a domain noun imports a service", importsGoDown,
		importing("internal/domain/pool/grant/g.go", "~/internal/service/access"),
		[]string{"internal/domain/pool/grant/g.go:2: internal/domain/pool/grant may not import internal/service/access"}},
	{"a service imports another", importsGoDown,
		importing("internal/service/access/a.go", "~/internal/service/dispatch"),
		[]string{"internal/service/access/a.go:2: "}},
	{"a service imports an adapter", importsGoDown,
		importing("internal/service/access/a.go", "~/internal/adapters/store"),
		[]string{"internal/service/access/a.go:2: "}},
	{"a service imports a wire", importsGoDown,
		importing("internal/service/access/a.go", "~/internal/wire/adminwire", "~/protocol/rpcwire"),
		[]string{"internal/service/access/a.go:2: ", "internal/service/access/a.go:3: "}},
	{"an adapter imports another", importsGoDown,
		importing("internal/adapters/store/s.go", "~/internal/adapters/natsbus"),
		[]string{"internal/adapters/store/s.go:2: "}},
	{"an adapter imports its parts, means, wires and what is below", importsGoDown,
		importing("internal/adapters/store/s.go", "~/internal/adapters/store/journal", "~/internal/means/sqldb",
			"~/internal/wire/mcpwire", "~/protocol/rpcwire", "~/internal/domain/pool/grant", "~/internal/ground/id"), nil},
	{"means import a domain noun", importsGoDown,
		importing("internal/means/sqldb/s.go", "~/internal/domain/pool/grant"),
		[]string{"internal/means/sqldb/s.go:2: "}},
	{"a face imports another", importsGoDown,
		importing("internal/faces/mcp/m.go", "~/internal/faces/admin"),
		[]string{"internal/faces/mcp/m.go:2: "}},
	{"a face imports what is below", importsGoDown,
		importing("internal/faces/mcp/m.go", "~/internal/service/access", "~/internal/adapters/store"), nil},
	{"ground imports a domain noun", importsGoDown,
		importing("internal/ground/id/i.go", "~/internal/domain/pool/grant"),
		[]string{"internal/ground/id/i.go:2: "}},
	{"a client imports ground", importsGoDown,
		importing("executor/e.go", "~/protocol/callbackwire", "~/internal/ground/id"),
		[]string{"executor/e.go:3: "}},
	{"an example imports the inside", importsGoDown,
		importing("examples/notes/n.go", "~/internal/ground/id"),
		[]string{"examples/notes/n.go:2: "}},
	{"a test may look up", importsGoDown,
		importing("internal/service/access/a_test.go", "~/internal/adapters/store"), nil},
	{"a new folder", everyFolderHasAFloor,
		importing("internal/things/t.go"), []string{"internal/things: the folder is on no floor"}},
	{"code at the root", everyFolderHasAFloor,
		importing("root.go"), []string{".: the folder is on no floor"}},
	{"an unknown noun", nounsKnowTheirElders,
		importing("internal/domain/pool/thing/t.go"), []string{"internal/domain/pool/thing: the noun is not"}},
	{"an unknown wing", nounsKnowTheirElders,
		importing("internal/domain/moon/grant/t.go"), []string{"internal/domain/moon/grant: the noun is not"}},
	{"a noun imports a younger one", nounsKnowTheirElders,
		importing("internal/domain/pool/contract/c.go", "~/internal/domain/pool/authority"),
		[]string{"internal/domain/pool/contract/c.go:2: "}},
	{"a noun imports an elder", nounsKnowTheirElders,
		importing("internal/domain/pool/authority/a.go", "~/internal/domain/pool/contract"), nil},
	{"a noun imports another wing", nounsKnowTheirElders,
		importing("internal/domain/pool/authority/a.go", "~/internal/domain/bus/topic"),
		[]string{"internal/domain/pool/authority/a.go:2: "}},
	{"the domain reaches out", floorsDoWithoutTheBanned,
		importing("internal/domain/pool/grant/g.go", "context", "crypto/rand", "math/rand", "net", "net/http", "net/url", "os", "sync"),
		[]string{
			"internal/domain/pool/grant/g.go:2: ", "internal/domain/pool/grant/g.go:3: ",
			"internal/domain/pool/grant/g.go:4: ", "internal/domain/pool/grant/g.go:4: ",
			"internal/domain/pool/grant/g.go:5: ", "internal/domain/pool/grant/g.go:6: ",
			"internal/domain/pool/grant/g.go:8: ", "internal/domain/pool/grant/g.go:9: ",
		}},
	{"the domain looks at a clock under another name", floorsDoWithoutTheBanned,
		one("internal/domain/pool/grant/g.go", "package grant\nimport clock \"time\"\nvar (\n\tA = clock.Now\n\tB = clock.Since\n\tC = clock.Second\n)\n"),
		[]string{"internal/domain/pool/grant/g.go:4: no time.Now here", "internal/domain/pool/grant/g.go:5: no time.Since here"}},
	{"a service dials", floorsDoWithoutTheBanned,
		importing("internal/service/access/a.go", "net/http"), []string{"internal/service/access/a.go:2: "}},
	{"a face asks the database", floorsDoWithoutTheBanned,
		importing("internal/faces/rpc/r.go", "database/sql"), []string{"internal/faces/rpc/r.go:2: "}},
	{"a library ends the process", floorsDoWithoutTheBanned,
		one("internal/faces/cli/c.go", "package cli\nimport \"os\"\nfunc F() {\n\tos.Exit(1)\n}\n"),
		[]string{"internal/faces/cli/c.go:4: no os.Exit here"}},
	{"lax JSON", jsonIsStrict,
		importing("internal/adapters/store/s.go", "encoding/json"), []string{"internal/adapters/store/s.go:2: "}},
	{"lax JSON where the SDK wants it", jsonIsStrict, importing("internal/faces/mcp/m.go", "encoding/json"), nil},
	{"a module nobody listed", modulesStayAtHome,
		importing("internal/faces/mcp/m.go", "example.org/mod/pkg"), []string{"internal/faces/mcp/m.go:2: "}},
	{"a module away from home", modulesStayAtHome,
		importing("internal/service/access/a.go", "modernc.org/sqlite"), []string{"internal/service/access/a.go:2: "}},
	{"a test module in the product", modulesStayAtHome,
		importing("internal/ground/id/i.go", "pgregory.net/rapid"), []string{"internal/ground/id/i.go:2: "}},
	{"a test module in a test", modulesStayAtHome, importing("internal/ground/id/i_test.go", "pgregory.net/rapid"), nil},
	{"the domain starts something", domainStartsNothing,
		one("internal/domain/pool/grant/g.go", "package grant\nfunc F(c chan int) {\n\tgo F(c)\n\tc <- 1\n\tselect {}\n}\n"),
		[]string{
			"internal/domain/pool/grant/g.go:2: ", "internal/domain/pool/grant/g.go:3: ",
			"internal/domain/pool/grant/g.go:4: ", "internal/domain/pool/grant/g.go:5: ",
		}},
	{"the product uses a kit", kitsServeTestsOnly,
		importing("internal/service/access/a.go", "~/internal/adapters/store/storetest"),
		[]string{"internal/service/access/a.go:2: "}},
}

var brokenPackages = []broken{
	{"a name for anything", packagesAreNouns,
		one("internal/ground/util/u.go", "package util\n"), []string{`internal/ground/util: "util" is a name for anything`}},
	{"a name of two words", packagesAreNouns,
		one("internal/ground/my_id/u.go", "package my_id\n"), []string{`internal/ground/my_id: "my_id" is not one`}},
	{"a name that is not the folder's", packagesAreNouns,
		one("internal/ground/id/u.go", "package ident\n"), []string{`internal/ground/id: the package is called "ident"`}},
	{"two packages of one name", packagesAreNouns,
		map[string]string{"internal/ground/item/i.go": "package item\n", "internal/domain/pool/item/i.go": "package item\n"},
		[]string{"internal/ground/item: internal/domain/pool/item has the same name"}},
	{"an init function", nothingHappensBeforeMain,
		one("internal/ground/id/i.go", "package id\nfunc init() {}\n"), []string{"internal/ground/id/i.go:2: no init"}},
	{"a dot import", nothingHappensBeforeMain,
		one("internal/ground/id/i.go", "package id\nimport . \"fmt\"\n"), []string{"internal/ground/id/i.go:2: no dot"}},
	{"too many interfaces", interfacesAreEarned(func(string, ...any) {}),
		one("internal/ground/id/i.go", "package id\ntype (\n"+
			"\tA interface{ M() }\n\tB interface{ M() }\n\tC interface{ M() }\n\tD interface{ M() }\n\tE interface{ int | uint }\n)\n"),
		[]string{"4 interfaces in 8 lines"}},
	{"no package page", eachPackageHasOnePage,
		one("internal/ground/id/i.go", "package id\n"), []string{"internal/ground/id: wants exactly one package page, has 0"}},
	{"two package pages", eachPackageHasOnePage,
		map[string]string{
			"internal/ground/id/a.go": "// Package id is one.\npackage id\n",
			"internal/ground/id/b.go": "// Package id is two.\npackage id\n",
		},
		[]string{"internal/ground/id: wants exactly one package page, has 2"}},
	{"a page of another name", eachPackageHasOnePage,
		one("cmd/steward/main.go", "// Package main runs.\npackage main\n"),
		[]string{`cmd/steward/main.go: the package page does not start with "Command steward "`}},
	{"a good page", eachPackageHasOnePage,
		one("cmd/steward/main.go", "// Command steward runs.\npackage main\n"), nil},
}

var brokenSizes = []broken{
	{"a long function", sizes(nil), one("internal/ground/id/i.go", body(59)),
		[]string{"internal/ground/id/i.go F: the function has 61 lines and stops at 60"}},
	{"a function at its stop", sizes(nil), one("internal/ground/id/i.go", body(58)), nil},
	{"a long test", sizes(nil), one("internal/ground/id/i_test.go", body(59)), nil},
	{"a long function of a tool", sizes(nil),
		one("internal/ground/id/i.go", "// Code generated by x. DO NOT EDIT.\n"+body(59)), nil},
	{"a table in a function", sizes(nil),
		one("internal/ground/id/i.go", "package id\nfunc F() []int {\n\treturn []int{\n"+strings.Repeat("\t\t1,\n", 80)+"\t}\n}\n"), nil},
	{"a function in a table", sizes(nil),
		one("internal/ground/id/i.go", "package id\nfunc F() []func() {\n\treturn []func(){func() {\n"+strings.Repeat("\t\tF()\n", 80)+"\t}}\n}\n"),
		[]string{"internal/ground/id/i.go F: the function has 8"}},
	{"a switch of calls", sizes(nil),
		one("internal/ground/id/i.go", "package id\nfunc F(n int) {\n\tswitch n {\n"+strings.Repeat("\tcase 1:\n\t\tF(1)\n", 40)+"\t}\n}\n"), nil},
	{"a switch that does more", sizes(nil),
		one("internal/ground/id/i.go", "package id\nfunc F(n int) {\n\tswitch n {\n"+strings.Repeat("\tcase 1:\n\t\tF(1)\n\t\tF(2)\n", 40)+"\t}\n}\n"),
		[]string{"internal/ground/id/i.go F: the function has 124 lines"}},
	{"a long file", sizes(nil), one("internal/ground/id/i.go", "package id\n"+strings.Repeat("\n", 500)),
		[]string{"internal/ground/id/i.go: the file has 501 lines and stops at 500"}},
	{"a long package", sizes(nil),
		map[string]string{
			"internal/ground/id/a.go": "package id\n" + strings.Repeat("\n", 499),
			"internal/ground/id/b.go": "package id\n" + strings.Repeat("\n", 499),
			"internal/ground/id/c.go": "package id\n" + strings.Repeat("\n", 499),
			"internal/ground/id/d.go": "package id\n",
		},
		[]string{"internal/ground/id: the package has 1501 lines and stops at 1500"}},
	{"an exemption that nothing needs", sizes(map[string]string{"internal/ground/id/i.go F": "why"}),
		one("internal/ground/id/i.go", body(58)), []string{"internal/ground/id/i.go F: exempt in oversized"}},
	{"an exemption in use", sizes(map[string]string{"internal/ground/id/i.go F": "why"}),
		one("internal/ground/id/i.go", body(59)), nil},
}

func sizes(exempt map[string]string) func(*tree) []string {
	return func(tr *tree) []string { return nothingGrowsOverItsStop(tr, exempt) }
}

const napping = "package p\nimport (\n\t\"testing\"\n\t\"time\"\n)\nfunc TestNap(t *testing.T) {\n\ttime.Sleep(1)\n\tt.Skip()\n}\n"

var brokenText = []broken{
	{"a mark", nothingIsLeftForLater, one("docs/a.md", "fine\n"+"TO"+"DO: more\n"), []string{"docs/a.md:2: do it or drop it"}},
	{"a path", noPathOfOneMachine, one("docs/a.md", "see /ho"+"me/ada/notes\nsee https://a.example/ho"+"me/x\n"),
		[]string{"docs/a.md:1: a path of one machine"}},
	{"a registry", noRegistryIsNamed, one("x.lock", "https://registry."+"npmjs.org/a\n"), []string{"x.lock:1: the name of"}},
	{"a skip", func(tr *tree) []string { return noTestSkips(tr, nil) }, one("a/a_test.go", napping),
		[]string{"a/a_test.go:8: TestNap skips"}},
	{"a listed skip", func(tr *tree) []string { return noTestSkips(tr, map[string]string{"a/a_test.go TestNap": "why"}) },
		one("a/a_test.go", napping), nil},
	{"a stale skip", func(tr *tree) []string { return noTestSkips(tr, map[string]string{"a/a_test.go TestGone": "why"}) },
		nil, []string{"a/a_test.go TestGone: allowed, but never skips"}},
	{"a sleep", func(tr *tree) []string { return noTestSleeps(tr, nil) }, one("test/kill/k.go", napping),
		[]string{"test/kill/k.go:7: TestNap sleeps"}},
	{"a listed wait", func(tr *tree) []string { return noTestSleeps(tr, map[string]string{"test/kill/k.go TestNap": "why"}) },
		one("test/kill/k.go", napping), nil},
	{"a fuzz target without seeds", fuzzTargetsHaveSeeds,
		one("a/a_test.go", "package a\nfunc FuzzA(f *testing.F) {\n\tf.Fuzz(nil)\n}\n"), []string{"a/a_test.go:2: FuzzA has no seeds"}},
	{"a fuzz target with a helper that adds", fuzzTargetsHaveSeeds,
		one("a/a_test.go", "package a\nfunc FuzzA(f *testing.F) {\n\tseed(f)\n}\nfunc seed(f *testing.F) {\n\tf.Add(1)\n}\n"), nil},
	{"a fuzz target with a folder of seeds", fuzzTargetsHaveSeeds,
		map[string]string{"a/a_test.go": "package a\nfunc FuzzA(f *testing.F) {\n\tf.Fuzz(nil)\n}\n", "a/testdata/fuzz/FuzzA/1": "x"}, nil},
	{"a file that does not parse", func(tr *tree) []string { return tr.broken },
		one("a/a.go", "package\n"), []string{"does not parse: a/a.go:1"}},
}
