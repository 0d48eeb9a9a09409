package folder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stewardhost/steward/internal/adapters/capsulehost/folder"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

const topics = `
[publish]
"resource.v1.response.describe.*" = {}
"resource.v1.response.read.*" = {}
[subscribe]
"resource.v1.request.describe" = { handler = "describe" }
"resource.v1.request.read" = { handler = "read" }
`

// lay makes a capsule's folder of a head for its manifest and some files.
func lay(t *testing.T, head string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "Capsule.toml"), "name = \"x\"\nversion = \"1\"\n"+head+topics)
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

const (
	program = "runtime = \"process\"\ncommand = [\"./run\"]\n"
	script  = "runtime = \"process\"\ncommand = [\"sh\", \"./run\", \"./data\", \"-v\"]\n"
	module  = "runtime = \"wasm\"\nmodule = \"./run\"\n"
)

// Whatever stands in the place of a file, a look at a folder ends, and reads no more
// than it may: a pipe that nobody writes to would keep the host waiting, and a device
// without an end would take all its memory.
func TestOnlyFilesAreRead(t *testing.T) {
	for _, name := range []string{"Capsule.toml", "run"} {
		for what, head := range map[string]string{"program": program, "script": script, "module": module} {
			for kind, stand := range map[string]func(path string) error{
				"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o700) },
				"device": func(path string) error { return os.Symlink("/dev/zero", path) },
				"huge": func(path string) error {
					put(t, path, "")
					return os.Truncate(path, bound.ProgramBytes.Max+1)
				},
			} {
				dir := lay(t, head, map[string]string{"run": "x"})
				path := filepath.Join(dir, name)
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				if err := stand(path); err != nil {
					t.Fatal(err)
				}
				want, wanted := fault.InvalidRequest, true
				if kind == "huge" {
					want = fault.TooLarge
				} else if name == "run" && what == "script" {
					wanted = false // the interpreter's own affair
				}
				if _, err := folder.Look(dir); fault.Is(err, want) != wanted {
					t.Errorf("%s of a %s is a %s: %v", name, what, kind, err)
				}
			}
		}
	}
}

// What runs is what was looked at: the program, or what an interpreter of the
// system is told to run (docs/capsules, "From nothing to a capsule that runs").
func TestEveryFileThatTheCommandNamesIsPinned(t *testing.T) {
	for head, changes := range map[string]map[string]bool{
		program: {"Capsule.toml": true, "run": true, "data": false},
		script:  {"Capsule.toml": true, "run": true, "data": true, "other": false},
		module:  {"Capsule.toml": true, "run": true, "data": false},
	} {
		for name, pinned := range changes {
			dir := lay(t, head, map[string]string{"run": "x"})
			before, err := folder.Look(dir)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			raw, _ := os.ReadFile(path)
			put(t, path, string(raw)+"# changed\n")
			after, err := folder.Look(dir)
			if err != nil || (after.Build != before.Build) != pinned {
				t.Errorf("%s\n%s changed: %v, %v", head, name, after.Build != before.Build, err)
			}
		}
	}
}

// A build that was installed by an older host is the same build to this one.
func TestTheDigestOfABuildStays(t *testing.T) {
	for head, want := range map[string]string{
		program: "sha256:d133e67ad40e1e35d8bc8224d9e2bf4dad055124c22ea8d40408b211c9291f2c",
		"runtime = \"process\"\ncommand = [\"cat\", \"./none\"]\n": "sha256:4a127de590b0366e96860c08183b38f79ce98c127cbe1b898a6c99ab3d7ca716",
		module: "sha256:b44df50b1aad36439650b58f80faa3408c5af93ccde64552d78a00ae18dd8b00",
	} {
		found, err := folder.Look(lay(t, head, map[string]string{"run": "x"}))
		if got := fmt.Sprint(found.Build); err != nil || got != want {
			t.Errorf("%s\n%s, %v", head, got, err)
		}
	}
}
