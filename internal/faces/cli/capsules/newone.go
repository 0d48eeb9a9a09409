package capsules

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

func (d verbs) newOne() *cobra.Command {
	var from, runtime string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "write the files of a new capsule into a new folder", Args: desk.Words(1, 1),
		Long: `Makes a folder NAME with a Capsule.toml and a Go module that serves one resource.
The module stands on steward's package capsule, which is not published yet: its
go.mod names the folder of steward's source, which is --from or, where steward was
built in that folder or you stand in it, found by itself.`,
		Example: "  steward capsule new diary\n  steward capsule new diary --from ~/src/steward",
	}
	cmd.Flags().StringVar(&runtime, "runtime", "process", "process: a program with your rights; wasm: a module that has nothing of the machine")
	cmd.Flags().StringVar(&from, "from", "", "the folder of steward's source")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		name := args[0]
		if !goodName(name) {
			return trouble.UsageOf(newHelp, "the name of a capsule is of a-z, 0-9 and -, such as notes")
		}
		way, known := ways[runtime]
		if !known {
			return trouble.UsageOf(newHelp, "the runtime of a new capsule is process or wasm")
		}
		s, err := findSource(from)
		if err != nil {
			return err
		}
		if err := write(name, way, s); err != nil {
			return err
		}
		d.Say("%s holds Capsule.toml, main.go and a go.mod that stands on %s.", paper.Line(name), paper.Line(s.folder))
		d.Next("cd " + paper.Word(name) + " && " + named(way.build, name) + " && steward capsule install .")
		return nil
	}
	return cmd
}

// way is how a new capsule runs: lines of its manifest, and the command that builds
// it.
type way struct{ manifest, build string }

var ways = map[string]way{
	"process": {"runtime = \"process\"\ncommand = [\"./NAME\"]", "go build -o NAME ."},
	"wasm":    {"runtime = \"wasm\"\nmodule = \"./NAME.wasm\"", "GOOS=wasip1 GOARCH=wasm go build -o NAME.wasm ."},
}

const newHelp = "steward capsule new --help"

func write(name string, w way, s source) error {
	if err := os.Mkdir(name, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return trouble.UsageOf(newHelp, "%s exists already", name)
		}
		return err
	}
	for file, text := range map[string]string{
		"Capsule.toml": named(strings.Replace(manifest, "RUNTIME", w.manifest, 1), name), "main.go": named(program, name), "go.mod": s.module(name), "go.sum": s.sums,
	} {
		if err := os.WriteFile(filepath.Join(name, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func named(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }

func goodName(name string) bool {
	for i, c := range name {
		if (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '-') {
			return false
		}
	}
	return name != "" && len(name) <= 32
}
