package steward_test

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floor is a row of the table of floors.
type floor struct {
	folder string   // every package below it stands on this floor
	depth  int      // path elements below folder that make one unit; units of a floor do not import each other
	may    []string // the folders of ours that it may import
}

// The folders, from the top floor down.
var (
	below0   = []string{"internal/ground"}
	below1   = []string{"internal/ground", "internal/domain", "contracts"}
	below2   = append([]string{"internal/means", "internal/wire", "protocol"}, below1...)
	below3   = append([]string{"internal/service", "internal/adapters"}, below2...)
	anything = []string{""}
)

// floors is the house: imports go down only.
var floors = []floor{
	{"cmd", 1, anything},
	{"internal/faces", 1, append([]string{"executor"}, below3...)}, // the verbs of sessions are an application like any other
	{"internal/service", 1, below1},
	{"internal/adapters", 1, below2},
	{"internal/means", 1, below0},
	{"internal/domain", 2, below0}, // and siblings, in the order of nouns
	{"internal/wire", 1, below0},
	{"protocol", 1, below0},
	{"internal/ground", 0, nil},
	{"contracts", 0, nil},
	{"executor", 0, []string{"protocol"}},
	{"capsule", 0, []string{"protocol"}},
	{"producer", 0, []string{"protocol"}},
	{"examples", 1, []string{"executor", "capsule", "producer", "protocol"}},
	{"bench", 0, anything},
	{"test", 0, anything},
	{"tools", 0, nil}, // a module of its own
}

// nouns is the order in which the nouns of a wing may know each other: one may
// import those left of it. Wings do not import each other.
var nouns = map[string][]string{
	"bus": {"topic", "describe", "read", "tool"},
	"pool": {
		"contract", "narrowing", "budget", "grant", "resource", "item", "consent", "confirmation",
		"invocation", "audit", "projection", "link", "authority", "view", "credential",
	},
	"sessions": {
		"conversation", "transcript",
		"operation", "control", "registry", "manifest", "executor", "callback", "evidence", "turn", "books",
	},
}

// ban is a package of the standard library, or one name of it, that a floor does
// without. A package ban covers what lies below it, but for the excepted.
type ban struct {
	folder string
	what   string
	why    string
}

const (
	whyValues = "a rule is a function of plain values; adapters and faces do this"
	whyClock  = "the time comes in the command"
	whyRandom = "fresh ids come in the command"
	whyOwner  = "rules are values without an owner; services and adapters hold locks and goroutines"
	whyPorts  = "a service acts through ports that it declares; adapters do this"
	whyPlain  = "message structs and a method table have no logic"
	whyGround = "ground is what every floor stands on; nothing here reaches outside the process"
)

var bans = slices.Concat(
	banAll("internal/domain", whyValues, "net", "os", "io", "bufio", "syscall", "database/sql", "log", "log/slog", "embed", "runtime"),
	banAll("internal/domain", whyOwner, "sync", "context"),
	banAll("internal/domain", whyRandom, "crypto/rand", "math/rand", "math/rand/v2"),
	banAll("internal/domain", whyClock, "time.Now", "time.Since", "time.Until", "time.Sleep", "time.After",
		"time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick"),
	banAll("internal/service", whyPorts, "net", "os", "syscall", "database/sql"),
	banAll("internal/wire", whyPlain, "net", "os", "sync", "context", "database/sql", "time.Now"),
	banAll("protocol", whyPlain, "net", "os", "sync", "context", "database/sql", "time.Now"),
	banAll("internal/ground", whyGround, "net", "os", "syscall", "database/sql", "time.Now", "time.Sleep"),
	banAll("internal/faces", "rows are the store's", "database/sql"),
	banAll("internal/faces", "processes are childprocess's", "os/exec"),
	banAll("internal/adapters", "processes are childprocess's", "os/exec"),
	banAll("", "nothing here is worth leaving the language's promises", "unsafe"),
	banAll("", "tokens and ids need crypto/rand; jitter takes math/rand/v2", "math/rand"),
	banAll("", "log/slog, which redacts", "log"),
	banAll("internal", "only main ends the process", "os.Exit"),
)

// notBanned lists what the ban of the package above it does not cover.
var notBanned = map[string]string{
	"net/url":      "pure values",
	"net/netip":    "pure values",
	"math/rand/v2": "has rows of its own",
	"log/slog":     "has rows of its own",
}

// excused lists files that bans do not bind, with the reason.
var excused = map[string]string{
	"internal/ground/failpoint/on.go": "built with the tag failpoints only, for the suites that kill the process",
	"internal/faces/demo/process.go":  "the demo types the commands that a person types",
	"internal/faces/demo/keeper.go":   "the demo starts the host as a person does, and leaves nothing of it",
}

// jsonV1 lists the folders that may use encoding/json, which takes the last of
// two equal names, mends bad text and matches names in any case. Default: refused.
var jsonV1 = map[string]string{
	"internal/faces/mcp": "the MCP SDK takes json.RawMessage",
	"examples":           "an app that is not ours uses what it likes",
	"executor":           "an app's own package stands on the standard library's JSON",
	"capsule":            "so does a capsule's; what goes over the wire is strict",
}

// home says which folders may use a module of others. Tests, kits, suites and
// benches may use every module that is listed.
type home struct {
	module  string
	folders []string
	why     string
}

var homes = []home{
	{"github.com/go-json-experiment/json", []string{"internal/ground"}, "strict JSON and canonical form, behind ground"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"internal/faces/mcp", "internal/faces/demo", "examples"}, "server side of MCP, the demo's client"},
	{"github.com/spf13/cobra", []string{"internal/faces/cli", "cmd"}, "the command line"},
	{"github.com/pelletier/go-toml/v2", []string{"internal/faces/cli/settings", "internal/adapters/clientconfig", "internal/adapters/capsulehost"}, "the configuration of steward, that of Codex, and manifests of capsules"},
	{"github.com/prometheus/client_golang", []string{"internal/faces/admin", "cmd"}, "metrics"},
	{"code.dny.dev/ssrf", []string{"internal/means/egress"}, "the registries of special addresses, behind egress"},
	{"golang.org/x/sys", []string{"internal/means", "internal/adapters", "internal/faces", "cmd", "executor"}, "system calls"},
	{"golang.org/x/time", []string{"internal/service", "internal/faces"}, "bursts in memory"},
	{"github.com/tetratelabs/wazero", []string{"internal/adapters/capsulehost/sandbox"}, "runs WebAssembly, behind sandbox"},
	{"github.com/nats-io/nats-server/v2", []string{"internal/adapters/natsbus"}, "the embedded server of the bus"},
	{"github.com/nats-io/nats.go", []string{"internal/adapters/natsbus"}, "its client"},
	{"github.com/nats-io/jwt/v2", []string{"internal/adapters/natsbus/callout"}, "what servers of somebody else ask and believe"},
	{"github.com/nats-io/nkeys", []string{"internal/adapters/natsbus/callout"}, "the keys under it"},
	{"modernc.org/sqlite", []string{"internal/means/sqldb"}, "the driver, behind sqldb"},
	{"github.com/hanwen/go-fuse/v2", nil, "the file system that forgets, in a module of its own"},
	{"github.com/anishathalye/porcupine", nil, "checks histories in tests"},
	{"github.com/openai/openai-go", nil, "judges our client of the model in tests"},
	{"github.com/anthropics/anthropic-sdk-go", nil, "judges our client of the model in tests"},
	{"github.com/google/go-cmp", nil, "compares in tests"},
	{"github.com/rogpeppe/go-internal", nil, "scripts in tests"},
	{"github.com/santhosh-tekuri/jsonschema/v6", nil, "the oracle of our schema subset"},
	{"go.uber.org/goleak", nil, "finds leaks in tests"},
	{"pgregory.net/rapid", nil, "properties in tests"},
}

func TestImportsGoDown(t *testing.T)            { check(t, importsGoDown) }
func TestNounsKnowTheirElders(t *testing.T)     { check(t, nounsKnowTheirElders) }
func TestFloorsDoWithoutTheBanned(t *testing.T) { check(t, floorsDoWithoutTheBanned) }
func TestJSONIsStrict(t *testing.T)             { check(t, jsonIsStrict) }
func TestModulesStayAtHome(t *testing.T)        { check(t, modulesStayAtHome) }
func TestDomainStartsNothing(t *testing.T)      { check(t, domainStartsNothing) }
func TestPackagesAreNouns(t *testing.T)         { check(t, packagesAreNouns) }
func TestNothingHappensBeforeMain(t *testing.T) { check(t, nothingHappensBeforeMain) }
func TestInterfacesAreEarned(t *testing.T)      { check(t, interfacesAreEarned(t.Logf)) }
func TestKitsServeTestsOnly(t *testing.T)       { check(t, kitsServeTestsOnly) }
func TestEveryFolderHasAFloor(t *testing.T)     { check(t, everyFolderHasAFloor) }

func banAll(dir, why string, what ...string) []ban {
	var out []ban
	for _, w := range what {
		out = append(out, ban{dir, w, why})
	}
	return out
}

func floorOf(dir string) *floor {
	for i := range floors {
		if under(dir, floors[i].folder) {
			return &floors[i]
		}
	}
	return nil
}

// unit is the part of a floor that a folder belongs to, such as one adapter.
func (f *floor) unit(dir string) string {
	rest := strings.Split(strings.TrimPrefix(strings.TrimPrefix(dir, f.folder), "/"), "/")
	return path.Join(append([]string{f.folder}, rest[:min(f.depth, len(rest))]...)...)
}

// ours gives the folder of an import of this module.
func ours(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// eachImport calls visit for every import of every Go file.
func eachImport(tr *tree, visit func(s *source, dir, importPath string, at string)) {
	for _, s := range tr.sources {
		if s.file == nil {
			continue
		}
		imports := tr.imports(s)
		for _, p := range sortedKeys(imports) {
			visit(s, path.Dir(s.path), p, fmt.Sprintf("%s:%d", s.path, imports[p]))
		}
	}
}

func everyFolderHasAFloor(tr *tree) (out []string) {
	for _, f := range tr.folders() {
		if floorOf(f.dir) == nil && (f.dir != "." || len(f.files) > 0) {
			out = append(out, fmt.Sprintf("%s: the folder is on no floor; see the table in floors_test.go", f.dir))
		}
	}
	return out
}

func importsGoDown(tr *tree) (out []string) {
	eachImport(tr, func(s *source, dir, importPath, at string) {
		to, mine := ours(importPath)
		from := floorOf(dir)
		if !mine || from == nil || s.proving() || isSibling(dir, to) {
			return
		}
		if from.unit(dir) == from.unit(to) && under(to, from.folder) || underAny(to, from.may) {
			return
		}
		out = append(out, fmt.Sprintf("%s: %s may not import %s", at, dir, to))
	})
	return out
}

// isSibling reports whether two folders are nouns of the domain, whose imports
// nounsKnowTheirElders judges.
func isSibling(from, to string) bool {
	return under(from, "internal/domain") && under(to, "internal/domain")
}

func nounsKnowTheirElders(tr *tree) (out []string) {
	for _, f := range tr.folders() {
		if under(f.dir, "internal/domain") && age(f.dir) < 0 {
			out = append(out, fmt.Sprintf("%s: the noun is not in the order of its wing; see nouns in floors_test.go", f.dir))
		}
	}
	eachImport(tr, func(s *source, dir, importPath, at string) {
		to, mine := ours(importPath)
		if !mine || s.proving() || !isSibling(dir, to) || age(dir) < 0 {
			return
		}
		from := floorOf(dir)
		if from.unit(dir) == from.unit(to) {
			return
		}
		if wing(dir) != wing(to) || age(to) < 0 || age(to) > age(dir) {
			out = append(out, fmt.Sprintf("%s: %s may not import %s, which is not left of it in nouns", at, dir, to))
		}
	})
	return out
}

func wing(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) < 4 {
		return ""
	}
	return parts[2]
}

// age is a noun's place in the order of its wing, or -1.
func age(dir string) int {
	w := wing(dir)
	if w == "" {
		return -1
	}
	return slices.Index(nouns[w], strings.Split(dir, "/")[3])
}

func floorsDoWithoutTheBanned(tr *tree) (out []string) {
	eachImport(tr, func(s *source, dir, importPath, at string) {
		for _, b := range bans {
			if bound(s) && under(dir, b.folder) && b.covers(importPath) {
				out = append(out, fmt.Sprintf("%s: %s may not import %s: %s", at, dir, importPath, b.why))
			}
		}
	})
	for _, s := range tr.sources {
		if s.file == nil || !bound(s) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			name := tr.names(s, n)
			for _, b := range bans {
				if name != "" && b.what == name && under(path.Dir(s.path), b.folder) {
					out = append(out, fmt.Sprintf("%s:%d: no %s here: %s", s.path, tr.line(n), name, b.why))
				}
			}
			return true
		})
	}
	return out
}

// bound reports whether bans bind the file.
func bound(s *source) bool { return !s.proving() && excused[s.path] == "" }

func (b ban) covers(importPath string) bool {
	if importPath == b.what {
		return true
	}
	return under(importPath, b.what) && notBanned[importPath] == ""
}

func jsonIsStrict(tr *tree) (out []string) {
	eachImport(tr, func(s *source, dir, importPath, at string) {
		if importPath == "encoding/json" && !s.proving() && !underAny(dir, sortedKeys(jsonV1)) {
			out = append(out, fmt.Sprintf("%s: encoding/json is lax; use ground/strictjson, or give the folder a reason in jsonV1", at))
		}
	})
	return out
}

func modulesStayAtHome(tr *tree) (out []string) {
	eachImport(tr, func(s *source, dir, importPath, at string) {
		first, _, _ := strings.Cut(importPath, "/")
		if _, mine := ours(importPath); mine || !strings.Contains(first, ".") || under(dir, "tools") {
			return
		}
		i := slices.IndexFunc(homes, func(h home) bool { return under(importPath, h.module) })
		switch {
		case i < 0:
			out = append(out, fmt.Sprintf("%s: the module of %s has no row in homes", at, importPath))
		case !s.proving() && !underAny(dir, homes[i].folders):
			out = append(out, fmt.Sprintf("%s: %s may not import %s (%s)", at, dir, importPath, homes[i].why))
		}
	})
	return out
}

func domainStartsNothing(tr *tree) (out []string) {
	for _, s := range tr.sources {
		if s.file == nil || s.proving() || !under(s.path, "internal/domain") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				out = append(out, fmt.Sprintf("%s:%d: no goroutine and no channel here: %s", s.path, tr.line(n), whyOwner))
			}
			return true
		})
	}
	return out
}

// notNouns are names under which anything could be put.
var notNouns = []string{
	"base", "common", "core", "helper", "helpers", "manager", "misc", "models", "provider",
	"shared", "type", "types", "util", "utils",
}

// twins are nouns that stand twice: in the rules, and as the public package of
// those who are it; the value is the public folder.
var twins = map[string]string{"executor": "executor"}

var nounForm = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

func packagesAreNouns(tr *tree) (out []string) {
	first := map[string]string{}
	for _, f := range tr.folders() {
		if len(f.files) == 0 || f.name == "main" {
			continue
		}
		switch {
		case slices.Contains(notNouns, f.name):
			out = append(out, fmt.Sprintf("%s: %q is a name for anything; name the noun", f.dir, f.name))
		case !nounForm.MatchString(f.name):
			out = append(out, fmt.Sprintf("%s: %q is not one lower-case word", f.dir, f.name))
		case f.name != path.Base(f.dir):
			out = append(out, fmt.Sprintf("%s: the package is called %q", f.dir, f.name))
		case first[f.name] != "" && twins[f.name] != f.dir && twins[f.name] != first[f.name]:
			out = append(out, fmt.Sprintf("%s: %s has the same name", f.dir, first[f.name]))
		}
		first[f.name] = f.dir
	}
	return out
}

func nothingHappensBeforeMain(tr *tree) (out []string) {
	for _, s := range tr.sources {
		if s.file == nil {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				out = append(out, fmt.Sprintf("%s:%d: no init function; construct and pass", s.path, tr.line(fn)))
			}
		}
		for _, spec := range s.file.Imports {
			if spec.Name != nil && spec.Name.Name == "." {
				out = append(out, fmt.Sprintf("%s:%d: no dot import", s.path, tr.line(spec)))
			}
		}
	}
	return out
}

func kitsServeTestsOnly(tr *tree) (out []string) {
	eachImport(tr, func(s *source, dir, importPath, at string) {
		if to, mine := ours(importPath); mine && !s.proving() && (isKit(to) || under(to, "test") || under(to, "bench")) {
			out = append(out, fmt.Sprintf("%s: %s serves tests only", at, to))
		}
	})
	return out
}

const (
	linesPerInterface = 1000
	firstInterfaces   = 3 // what a small tree may have
)

// interfacesAreEarned counts named interfaces with methods; a set of types that
// bounds a type parameter is none.
func interfacesAreEarned(log func(string, ...any)) func(*tree) []string {
	return func(tr *tree) []string {
		lines, found := 0, []string(nil)
		for _, s := range tr.sources {
			if s.file == nil || s.proving() || s.generated() {
				continue
			}
			lines += s.lines()
			ast.Inspect(s.file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok && hasMethods(spec.Type) {
					found = append(found, fmt.Sprintf("%s:%d %s", s.path, tr.line(spec), spec.Name.Name))
				}
				return true
			})
		}
		log("%d interfaces in %d lines", len(found), lines)
		if len(found) <= firstInterfaces+lines/linesPerInterface {
			return nil
		}
		return []string{fmt.Sprintf("%d interfaces in %d lines is more than about one per %d:\n%s",
			len(found), lines, linesPerInterface, strings.Join(found, "\n"))}
	}
}

func hasMethods(e ast.Expr) bool {
	i, ok := e.(*ast.InterfaceType)
	return ok && slices.ContainsFunc(i.Methods.List, func(f *ast.Field) bool {
		_, isFunc := f.Type.(*ast.FuncType)
		return isFunc
	})
}
