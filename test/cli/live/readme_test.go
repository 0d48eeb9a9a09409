package live_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stewardhost/steward/internal/wire/adminwire"
	"github.com/stewardhost/steward/test/hosttest"
)

// usage gives the commands of the README's section about using it, but for the
// two that build and start the host.
func usage(t *testing.T) (commands []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(hosttest.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(raw), "\n## Use it\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("the README does not say how steward is used")
	}
	for i, block := range strings.Split(section, "```") {
		if i%2 == 1 && strings.HasPrefix(block, "\n") { // a language would follow the fence of another text
			commands = append(commands, strings.Split(strings.Trim(block, "\n"), "\n")...)
		}
	}
	if len(commands) < 2 || !strings.HasPrefix(commands[0], "make build ") || !strings.HasPrefix(commands[1], "bin/steward up ") {
		t.Fatalf("the commands are %q", commands)
	}
	return commands[2:]
}

// Whoever types the README line by line meets no error.
func TestTheREADMECanBeTyped(t *testing.T) {
	h := hosttest.Start(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(h.Program, filepath.Join(dir, "bin", "steward")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} { // of the folder of the source, in which a person stands
		raw, err := os.ReadFile(filepath.Join(hosttest.Root(t), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	config := h.Config(map[string]hosttest.Server{"others": {Command: h.Program, Args: []string{"notes-server", "--dir", t.TempDir()}}})
	if err := os.Rename(config, filepath.Join(dir, "mcp.json")); err != nil {
		t.Fatal(err)
	}
	var path, typed string
	for _, line := range usage(t) {
		if strings.HasPrefix(line, "PATH=") {
			path = line
			continue
		}
		cmd := exec.Command("sh", "-c", path+"\n"+filled(h, line))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "STEWARD_HOME="+h.Home, "HOME="+dir) // its own, for the files of clients
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%safter:\n%s", line, err, out, typed)
		}
		typed += line + "\n" + string(out)
	}
	for _, want := range []string{"stored groceries", "The trail holds.", "assistant is disconnected"} {
		if !strings.Contains(typed, want) {
			t.Errorf("nothing says %q:\n%s", want, typed)
		}
	}
}

// filled puts ids of this host in the place of those that a person reads off the
// lists.
func filled(h *hosttest.Host, line string) string {
	if strings.Contains(line, "inv_…") {
		var calls adminwire.Journal
		h.JSON(&calls, "journal", "list")
		line = strings.Replace(line, "inv_…", calls.Invocations[0].ID, 1)
	}
	if strings.Contains(line, "grn_…") {
		var rows adminwire.Grants
		h.JSON(&rows, "grants", "list")
		line = strings.Replace(line, "grn_…", rows.Grants[0].ID, 1)
	}
	return line
}
