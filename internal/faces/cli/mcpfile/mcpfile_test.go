package mcpfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"npx -y some-server":       {"npx", "-y", "some-server"},
		" a\tb\n c ":               {"a", "b", "c"},
		`a "b c" 'd "e' f\ g`:      {"a", "b c", `d "e`, "f g"},
		`a "" ''`:                  {"a", "", ""},
		`x"y"'z'`:                  {"xyz"},
		`"a\"b" "c\\d" "e\f" '\g'`: {`a"b`, `c\d`, `e\f`, `\g`},
		"$HOME `id` *":             {"$HOME", "`id`", "*"},
		"":                         nil,
		" \t":                      nil,
		`a "b`:                     nil,
		`a 'b`:                     nil,
		`a\`:                       nil,
	} {
		got, err := words(line)
		if !slices.Equal(got, want) || (err != nil) != (want == nil) || err != nil && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

// A line that is put together of quoted words gives the words.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"npx\n-y\nsome server", "it's\n\"\n\\", "\n\n", "$x\n`y`\n*\n#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.Split(strings.ToValidUTF8(text, "?"), "\n")
		quoted := make([]string, len(want))
		for i, w := range want {
			quoted[i] = paper.Word(w)
		}
		got, err := words(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q are read as %q, %v", want, got, err)
		}
	})
}

func write(t *testing.T, path string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// The host starts what the owner's own shell would have started, whatever folder
// and search path the host has itself.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base")
	own := write(t, filepath.Join(dir, "own", "tool"), 0o700)
	first := write(t, filepath.Join(dir, "first", "tool"), 0o600) // not executable
	second := write(t, filepath.Join(dir, "second", "tool"), 0o755)
	local := write(t, filepath.Join(base, "bin", "tool"), 0o755)
	write(t, filepath.Join(base, "tool"), 0o755) // never taken by a bare name
	t.Chdir(base)                                // the host's current folder is another one
	path := strings.Join([]string{"", ".", filepath.Dir(first), filepath.Dir(second)}, string(filepath.ListSeparator))
	for name, c := range map[string]struct {
		entry        clientconfig.Server
		command, cwd string // empty command: it cannot be found
	}{
		"a bare name":            {clientconfig.Server{Command: "tool"}, second, ""},
		"a PATH of its own":      {clientconfig.Server{Command: "tool", Env: map[string]string{"PATH": filepath.Dir(own)}}, own, ""},
		"an empty PATH":          {clientconfig.Server{Command: "tool", Env: map[string]string{"PATH": ""}}, "", ""},
		"a relative path":        {clientconfig.Server{Command: "./bin/tool", Cwd: "data"}, local, filepath.Join(base, "data")},
		"a path above":           {clientconfig.Server{Command: "../own/tool", Cwd: ".."}, own, dir},
		"a full path":            {clientconfig.Server{Command: own, Cwd: "/srv"}, own, "/srv"},
		"a folder":               {clientconfig.Server{Command: filepath.Dir(own)}, "", ""},
		"a file without the bit": {clientconfig.Server{Command: first}, "", ""},
		"nothing":                {clientconfig.Server{Command: "no-such-tool"}, "", ""},
	} {
		got := locate(c.entry, base, path)
		if c.command == "" {
			if got.Fault == nil || got.Fault.Details["fix"] == nil {
				t.Errorf("%s: found %s", name, got.Server.Command)
			}
			continue
		}
		if got.Fault != nil || got.Server.Command != c.command || got.Server.Cwd != c.cwd || got.Server.Args == nil || got.Server.Env == nil {
			t.Errorf("%s: %+v, %v", name, got.Server, got.Fault)
		}
	}
}

func TestAgainTellsNoSecret(t *testing.T) {
	for want, s := range map[string]Source{
		"steward import 'my file.json'":                                          {File: "my file.json"},
		"steward import --command 'npx -y x' --name x --env 'KEY=…' --env 'B=…'": {Command: "npx -y x", Name: "x", Env: []string{"KEY=s3cret", "B="}},
		"steward import --command 'npx -y \"my server\"' --name x":               {Command: `npx -y "my server"`, Name: "x"},
		"steward import --command 'npx -y x --token … --header …' --name x":      {Command: "npx -y x --token s3cret --header 'X-Key: s3cret'", Name: "x"},
		"steward import '…' --name x --header 'X-Key: …'":                        {File: "https://a.example/mcp?api_key=s3cret", Name: "x", Headers: []string{"X-Key: s3cret"}},
		"steward import https://a.example/mcp --name x":                          {File: "https://a.example/mcp", Name: "x"},
	} {
		if got := s.Again(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Where a value comes from goes with it.
func TestAVariableIsTakenFromTheEnvironmentAndSaysSo(t *testing.T) {
	t.Setenv("OPAQUE", "hunter ${OPAQUE}")
	for _, s := range []Source{
		{Command: "sh", Name: "s", Env: []string{"OPAQUE", "L=literal"}},
		{File: "https://a.example/mcp", Name: "s", Headers: []string{"X-A: b ${OPAQUE}"}},
	} {
		got, err := s.Load(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		one := got.Servers[0].Server
		value, written := one.Env["OPAQUE"], one.Written["env OPAQUE"]
		if s.Remote() {
			value, written = strings.TrimPrefix(one.Headers["X-A"], "b "), strings.TrimPrefix(one.Written["header X-A"], "b ")
		}
		if value != "hunter ${OPAQUE}" || written != "${OPAQUE}" || len(one.Written) != 1 {
			t.Errorf("%q as %q", value, one.Written)
		}
	}
}

// What is wrong with a word that may be a secret is told without it.
func TestAWordThatIsWrongIsNotRepeated(t *testing.T) {
	for want, s := range map[string]Source{
		"--header number 2 has no colon":    {File: "https://a.example/mcp?key=s3cret", Headers: []string{"A: b", "Authorization Bearer s3cret"}},
		"--env number 1 has no =":           {Command: "x", Env: []string{"ghp_s3cret0123"}},
		"the variable NO_SUCH has no value": {Command: "x", Env: []string{"NO_SUCH"}},
	} {
		_, err := s.Load(nil, nil)
		if text := fmt.Sprint(err, fault.From(err).Details); !strings.Contains(text, want) || strings.Contains(text, "s3cret") {
			t.Errorf("%s", text)
		}
	}
}

func TestEachGoesOnAndKeepsPlaces(t *testing.T) {
	servers := make([]Located, 2*atOnce)
	for i := range servers {
		servers[i].Server.Name = string(rune('a' + i))
	}
	servers[1].Fault = fault.New(fault.InvalidRequest, "no program")
	asked := make([]bool, len(servers))
	failed, err := Each(servers, func(string) {}, func(n int, one adminwire.Import) error {
		asked[n] = one.Servers[0].Name == servers[n].Server.Name
		if n == 3 {
			return fault.New(fault.Unavailable, "down").With("stderr", "x")
		}
		return nil
	})
	want := make([]adminwire.FailedServer, len(servers))
	want[1] = adminwire.FailedServer{Server: "b", Error: adminwire.Error{Code: "invalid_request", Message: "no program", Retry: "never"}}
	want[3] = adminwire.FailedServer{Server: "d", Error: adminwire.Error{Code: "unavailable", Message: "down", Retry: "same_tx", Details: map[string]any{"stderr": "x"}}}
	if diff := cmp.Diff(want, failed); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if diff := cmp.Diff([]bool{true, false, true, true, true, true, true, true}, asked); diff != "" {
		t.Error(diff)
	}
	lost := errors.New("the host ended")
	if _, err := Each(servers[:1], func(string) {}, func(int, adminwire.Import) error { return lost }); !errors.Is(err, lost) {
		t.Errorf("the way to the host: %v", err)
	}
}
