package steward_test

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// walked are the folders whose packages have their place on the page that walks
// the floors; what is below the others is told by the page of its parent.
var walked = []string{"internal", "protocol", "contracts", "capsule", "executor", "examples"}

// plan is the page that walks the floors.
const plan = "docs/ARCHITECTURE.md"

func TestEveryPackageHasItsPlace(t *testing.T) { check(t, everyPackageHasItsPlace) }
func TestNoPageSaysALineTwice(t *testing.T)    { check(t, noPageSaysALineTwice) }

var wordsOfPicture = regexp.MustCompile(`[a-z/]+`)

// everyPackageHasItsPlace holds the page to the tree: the picture has every floor
// once and all of its units, the text every package.
func everyPackageHasItsPlace(tr *tree) (out []string) {
	page := ""
	for _, s := range tr.sources {
		if s.path == plan {
			page = string(s.text)
		}
	}
	_, rest, _ := strings.Cut(page, "```")
	picture, _, _ := strings.Cut(rest, "```")
	drawn := wordsOfPicture.FindAllString(picture, -1)
	for _, f := range tr.folders() {
		if !underAny(f.dir, walked) || len(f.files) == 0 {
			continue
		}
		if !strings.Contains(page, "`"+path.Base(f.dir)+"`") && !strings.Contains(page, "/"+path.Base(f.dir)+"`") {
			out = append(out, fmt.Sprintf("%s: %s has no place on it", plan, f.dir))
		}
		parts := strings.Split(f.dir, "/")
		if parts[0] != "internal" || len(parts) < 3 {
			continue
		}
		floor := path.Join(parts[0], parts[1])
		if !slices.Contains(drawn, parts[2]) {
			out = append(out, fmt.Sprintf("%s: its picture does not have %s", plan, parts[2]))
		}
		if n := len(slices.DeleteFunc(slices.Clone(drawn), func(w string) bool { return w != floor })); n != 1 {
			out = append(out, fmt.Sprintf("%s: its picture has %s %d times", plan, floor, n))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lineHead is how much two lines of prose may have in common at their beginning.
const lineHead = 40

// noPageSaysALineTwice finds what a merge has left behind: two lines of a page
// that begin alike.
func noPageSaysALineTwice(tr *tree) (out []string) {
	for _, s := range tr.sources {
		if !strings.HasSuffix(s.path, ".md") || strings.HasPrefix(s.path, "docs/reference/") || strings.HasPrefix(s.path, "test/") {
			continue
		}
		seen, code := map[string]int{}, false
		for i, line := range strings.Split(string(s.text), "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if code || len(line) < lineHead || strings.HasPrefix(line, "|") {
				continue
			}
			if before := seen[line[:lineHead]]; before > 0 {
				out = append(out, fmt.Sprintf("%s:%d: begins as line %d does", s.path, i+1, before))
			}
			seen[line[:lineHead]] = i + 1
		}
	}
	return out
}

var brokenProse = []broken{
	{"a package that the page leaves out, a floor that it draws twice", everyPackageHasItsPlace, map[string]string{
		plan:                           "```\n 3 internal/faces cli\n 3 internal/faces mcp\n```\n- `cli`: x\n",
		"internal/faces/cli/a.go":      "package cli\n",
		"internal/faces/mcp/a.go":      "package mcp\n",
		"internal/faces/rpc/a_test.go": "package rpc\n",
	}, []string{plan + ": internal/faces/mcp has no place on it", plan + ": its picture has internal/faces 2 times"}},
	{"a page with a line twice", noPageSaysALineTwice, one("docs/a.md",
		"- `store`: one verb, one transaction, and a row of the trail.\n```\na\n```\n- `store`: one verb, one transaction, and another word.\n"),
		[]string{"docs/a.md:5: begins as line 1 does"}},
}
