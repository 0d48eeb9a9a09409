package capsules

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// The module of steward, and the one module of others that package capsule stands
// on.
const (
	stewardModule = "github.com/stewardhost/steward"
	jsonModule    = "github.com/go-json-experiment/json"
)

// source is a folder of steward's source, and what a module that stands on it must
// say so that it builds as it is.
type source struct {
	folder  string // absolute
	goLine  string // go 1.x.y
	version string // of jsonModule
	sums    string // lines of go.sum about it
}

// findSource reads the named folder or, without a name, the one in which this
// program was built or in which the user stands.
func findSource(named string) (source, error) {
	if named != "" {
		folder, err := filepath.Abs(named)
		if err != nil {
			return source{}, err
		}
		if s, ok := readSource(folder); ok {
			return s, nil
		}
		return source{}, trouble.UsageOf(newHelp, "%s is not the folder of steward's source: there is no go.mod of %s in it", named, stewardModule)
	}
	for _, start := range []func() (string, error){os.Executable, os.Getwd} {
		path, err := start()
		if err != nil {
			continue
		}
		for folder := path; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
			if s, ok := readSource(folder); ok {
				return s, nil
			}
		}
	}
	return source{}, trouble.UsageOf(newHelp, "the Go package of capsules is not published yet, and neither this program nor this folder lies in steward's source; name the folder of the source with --from")
}

// readSource reads the two files of a folder that say which module it is.
func readSource(folder string) (source, bool) {
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return source{}, false
	}
	s := source{folder: folder}
	mine := false
	for line := range strings.Lines(string(mod)) {
		words := strings.Fields(line)
		switch {
		case slices.Equal(words, []string{"module", stewardModule}):
			mine = true
		case len(words) == 2 && words[0] == "go":
			s.goLine = "go " + words[1]
		case len(words) >= 2 && words[0] == jsonModule:
			s.version = words[1]
		}
	}
	sums, err := os.ReadFile(filepath.Join(folder, "go.sum"))
	if err != nil || !mine || s.goLine == "" || s.version == "" {
		return source{}, false
	}
	for line := range strings.Lines(string(sums)) {
		if strings.HasPrefix(line, jsonModule+" "+s.version) {
			s.sums += line
		}
	}
	return s, true
}

// module is the go.mod of a new capsule.
func (s source) module(name string) string {
	return strings.Join([]string{
		"module " + name,
		s.goLine,
		"require " + stewardModule + " v0.0.0",
		"require " + jsonModule + " " + s.version + " // indirect",
		"// The package capsule is not published yet; it is taken from this folder.",
		"replace " + stewardModule + " => " + quoted(s.folder),
	}, "\n\n") + "\n"
}

// quoted is a path as go.mod takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\"'`(),;\\[]{}=>") {
		return strconv.Quote(path)
	}
	return path
}
