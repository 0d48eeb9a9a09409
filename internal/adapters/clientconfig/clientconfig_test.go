package clientconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stewardhost/steward/internal/ground/fault"
)

const claude = `{
  // my servers
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "files", "${HOME_OF_FILES:-/srv}"], "env": {"N": 5, "ON": true, "NO": null}, "timeout": 60,},
    "off": {"command": "x", "disabled": true, "surprise": 1},
    "far": {"type": "http", "url": "https://${env:WHERE}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    "old": {"type": "sse", "url": "https://a.example/sse"},
    "both": {"command": "x", "url": "y"},
    "number": {"command": 5},
    "word": "x",
    "kind": {"command": "x", "type": "http"},
    "needs": {"command": "${workspaceFolder}/x"},
    "unset": {"command": "x", "env": {"A": "${NOT_SET}"}},
  },
  "theme": "dark", /* not ours */
}`

const vscode = `{
	"inputs": [{"type": "promptString", "id": "key", "description": "the key", "password": true}, {"id": "region", "default": "north"}, 5],
	"servers": {
		"s": {"type": "stdio", "command": "s", "args": ["${input:region}", "$x", "${userHome}"], "env": {"K": "${input:key}", "L": "${input:key}"}, "cwd": "${env:WHERE}"},
		"t": {"command": "t", "env": {"K": "${input:nobody}"}}
	}
}`

const codex = `
model = "x"
[mcp_servers.files]
command = "npx"
args = ["-y", "a b"]
env_vars = ["TOKEN"]
startup_timeout_sec = 20
surprise = 1
[mcp_servers.files.env]
A = "${TOKEN}"
[mcp_servers.far]
url = "https://a.example/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-A" = "b" }
env_http_headers = { "X-B" = "WHERE" }
[mcp_servers.off]
command = "x"
enabled = false
`

// told is what a file said, as text.
type told struct {
	Servers           []Server
	Refused           map[string]string
	Off               []string
	Unknown, NotTaken []Place
	Asked             []string
}

func parsed(t *testing.T, raw string) told {
	t.Helper()
	c, err := Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	out := told{Off: c.Off, Unknown: c.Unknown, NotTaken: c.NotTaken, Refused: map[string]string{}}
	c.Expand(Sources{
		Env: func(name string) (string, bool) {
			v, ok := map[string]string{"TOKEN": "t0ken", "WHERE": "b.example"}[name]
			return v, ok
		},
		Input: func(in Input) (string, bool) {
			out.Asked = append(out.Asked, in.ID)
			return "a${WHERE}", in.Password
		},
		Home: "/h",
	})
	for _, r := range c.Refused {
		out.Refused[r.Name] = r.Why.Text
	}
	out.Servers = c.Servers
	return out
}

func TestFilesOfClientsAreReadUnedited(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want told
	}{
		"mcpServers": {claude, told{
			Servers: []Server{
				{Name: "files", Command: "npx", Args: []string{"-y", "files", "/srv"}, Env: map[string]string{"N": "5", "ON": "true"}},
				{Name: "far", URL: "https://b.example/mcp", Headers: map[string]string{"Authorization": "Bearer t0ken"}},
			},
			Refused: map[string]string{
				"old":    "old speaks the transport sse; steward speaks stdio and streamable HTTP",
				"both":   "the entry both has both a command and a url",
				"number": "the entry number has a command of another form than clients know",
				"word":   "the entry word is no object",
				"kind":   "the type of the entry kind does not fit what it has",
				"needs":  "the entry needs uses ${workspaceFolder}, which only its editor knows",
				"unset":  "the entry unset needs the variable NOT_SET, which is not set",
			},
			Off:      []string{"off"},
			Unknown:  []Place{{"/theme", 15}, {"/mcpServers/off/surprise", 5}},
			NotTaken: []Place{{"/mcpServers/files/timeout", 4}},
		}},
		"VS Code": {vscode, told{
			Servers: []Server{{Name: "s", Command: "s", Args: []string{"north", "$x", "/h"}, Env: map[string]string{"K": "a${WHERE}", "L": "a${WHERE}"}, Cwd: "b.example"}},
			Refused: map[string]string{"t": "the entry t needs the input nobody, which its editor asks for"},
			Unknown: []Place{{"/inputs", 2}},
			Asked:   []string{"region", "key"},
		}},
		"settings of VS Code": {`{"mcp":{"servers":{"a":{"command":"x"}}},"editor.tabSize":2}`, told{
			Servers: []Server{{Name: "a", Command: "x"}}, Refused: map[string]string{}}},
		"Codex": {codex, told{
			Servers: []Server{
				{Name: "far", URL: "https://a.example/mcp", Headers: map[string]string{"X-A": "b", "X-B": "b.example", "Authorization": "Bearer t0ken"}},
				{Name: "files", Command: "npx", Args: []string{"-y", "a b"}, Env: map[string]string{"A": "t0ken", "TOKEN": "t0ken"}},
			},
			Refused: map[string]string{}, Off: []string{"off"}, Unknown: []Place{{"mcp_servers.files.surprise", 8}},
		}},
	} {
		if diff := cmp.Diff(c.want, parsed(t, c.raw)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAFileThatIsWrongIsRefusedAtItsPlace(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                  "too early",
		"{}":                                "neither",
		`{"mcpServers":{}}`:                 "names no server",
		`{"mcpServers":[]}`:                 "neither",
		"{\n\"a\":1,\n\"a\":2}":             "twice",
		"model = 1":                         "mcp_servers",
		"[mcp_servers.a]\ncommand = s3cret": "no TOML",
		"[mcp_servers.a]\ncommand = 5":      "no TOML",
		strings.Repeat("a=[", 70000):        "json_nodes",
	} {
		_, err := Parse([]byte(raw))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.40q: %v, want %s", raw, err, want)
		}
	}
	_, err := Parse([]byte("{\n\"a\":1,\n\"a\":2}"))
	if got := fault.From(err).Details["line"]; got != 3 {
		t.Errorf("the line is %v", got)
	}
	_, err = Parse([]byte("[mcp_servers.a]\ncommand = 5"))
	if got := fault.From(err).Details["line"]; got != 2 {
		t.Errorf("the line is %v", got)
	}
}

// Twelve secrets in the places where people put them, and as many values that
// are none (field faults, FF94).
func TestSecretsAreRecognised(t *testing.T) {
	s := Server{Name: "my srv", Command: "/usr/bin/x", Cwd: "/srv/data",
		Args: []string{"--token", "canary-1", "--api-key=canary-2", "ghp_canary3aaaaaaaaaaaaaaaa", "--dir", "/srv/notes", "-y", "@scope/some-server@2026.8.31", "--url=https://a.example/mcp"},
		Env: map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "canary-4", "DB": "postgres://u:canary-5@h/db", "SLACK": "xoxb-canary-6", "AWS_SECRET_ACCESS_KEY": "canary-7",
			"BLOB": "canary8Qz7Lk2Vt9Xw4Rb6", "MY_KEY": "canary-9", "NODE_ENV": "production", "ROOT": "/srv/a/b/c/d/e/f/g/h/1", "DEBUG": "true", "LANG": "en_US.UTF-8", "TOKEN": "${TOKEN}"},
		Headers: map[string]string{"Authorization": "Bearer canary-10", "X-Api-Key": "canary-11", "Accept": "application/json"}}
	far := Server{Name: "far", URL: "https://a.example/mcp?api_key=canary-12"}
	near := Server{Name: "my srv", URL: "https://a.example/mcp", Headers: s.Headers}
	hidden := string(Export([]Server{s.Redacted(), far.Redacted(), near.Redacted()}))
	if strings.Contains(hidden, "canary") {
		t.Error(hidden)
	}
	want := []string{"env AWS_SECRET_ACCESS_KEY", "env BLOB", "env DB", "env GITHUB_PERSONAL_ACCESS_TOKEN", "env MY_KEY", "env SLACK",
		"header Authorization", "header X-Api-Key", "argument 2", "argument 3", "argument 4"}
	if diff := cmp.Diff(want, s.Secrets()); diff != "" {
		t.Error(diff)
	}
	for _, kept := range []string{"@scope/some-server@2026.8.31", "/srv/notes", "production", "en_US.UTF-8", "Bearer ${MY_SRV_AUTHORIZATION}", "--api-key=${MY_SRV_API_KEY}", "${TOKEN}"} {
		if !strings.Contains(hidden, kept) {
			t.Errorf("%s is gone from\n%s", kept, hidden)
		}
	}
	if !strings.Contains(s.Args[1]+s.Env["MY_KEY"], "canary-1canary-9") {
		t.Error("the server itself was changed")
	}
}

// A secret that stands inside an argument, a variable or an address is one too,
// in each form that clients and bridges take (field faults, FF94).
func TestASecretInsideAValueDoesNotLeave(t *testing.T) {
	const url = "https://a.example/mcp"
	for _, c := range []struct {
		args []string
		want string // as they are told, joined by blanks
	}{
		{[]string{"mcp-remote", url, "--header", "Authorization: Bearer hunter"}, "mcp-remote https://a.example/mcp --header Authorization: Bearer ${S_AUTHORIZATION}"},
		{[]string{"mcp-remote", url, "--header", "Authorization:Bearer c2VjcmV0abc="}, "mcp-remote https://a.example/mcp --header Authorization:Bearer ${S_AUTHORIZATION}"},
		{[]string{"--header", "Authorization: Bearer c2VjcmV0abc=="}, "--header Authorization: Bearer ${S_AUTHORIZATION}"},
		{[]string{"--header=X-Api-Key:hunter"}, "--header=X-Api-Key:${S_X_API_KEY}"},
		{[]string{"-H", "X-Api-Key: hunter"}, "-H X-Api-Key: ${S_X_API_KEY}"},
		{[]string{"Cookie: sid=hunter"}, "Cookie: ${S_COOKIE}"},
		{[]string{"--headers", `{"X-Api-Key": "hunter", "Accept": "text/html"}`}, "--headers ${S_ARGUMENT_2}"},
		{[]string{"https://a.example/mcp?api_key=hunter"}, "${S_ARGUMENT_1}"},
		{[]string{"--url", "https://a.example/mcp?a=b&sig=hunter"}, "--url ${S_URL}"},
		{[]string{"--url=https://ghp_hunter@host.example/x"}, "--url=${S_URL}"},
		{[]string{"https://hunter@host.example"}, "${S_ARGUMENT_1}"},
		{[]string{"https://host.example/%73k-ant-0123456789abcdef/mcp"}, "${S_ARGUMENT_1}"},
		{[]string{"https://host.example/s/Qz7Lk2Vt9Xw4Rb6Hn3Jm/mcp"}, "${S_ARGUMENT_1}"},
		{[]string{"https://api.example/bot123456:AAhunter-Qz7Lk2Vt9Xw4Rb/send"}, "${S_ARGUMENT_1}"},
		{[]string{"https://host.example/#access_token=hunter"}, "${S_ARGUMENT_1}"},
		{[]string{"https://hooks.example/services/T0hunter0/x"}, "${S_ARGUMENT_1}"},
		{[]string{"postgresql://u:hunter@h/db"}, "${S_ARGUMENT_1}"},
		{[]string{"u:hunter@tcp(localhost:3306)/db"}, "${S_ARGUMENT_1}"},
		{[]string{"host=h user=u password=hunter"}, "host=${S_HOST}"},
		{[]string{"-u", "me:hunter"}, "-u ${S_U}"},
		{[]string{"-e", "GITHUB_TOKEN=hunter"}, "-e GITHUB_TOKEN=${S_GITHUB_TOKEN}"},
		{[]string{"-c", "curl -H 'Authorization: Bearer hunter' " + url}, "-c ${S_C}"},
		{[]string{"--key", "${K:-hunter}"}, "--key ${S_KEY}"},
		{[]string{"--token", "${TOKEN}", "--header", "Authorization: Bearer ${TOKEN}", "https://${U}:${P}@h.example"}, "--token ${TOKEN} --header Authorization: Bearer ${TOKEN} https://${U}:${P}@h.example"},
		{[]string{"--author", "me", "npm:pkg@1.0.2", "postgres:16@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0", "-u", "1000:1000"},
			"--author me npm:pkg@1.0.2 postgres:16@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0 -u 1000:1000"},
		{[]string{"--header", "Accept: application/json", "http://127.0.0.1:8080/mcp?v=2", "ssh://git@github.example/a/b.git", "/srv/me/sk-learn/data", "--port=8080"},
			"--header Accept: application/json http://127.0.0.1:8080/mcp?v=2 ssh://git@github.example/a/b.git /srv/me/sk-learn/data --port=8080"},
	} {
		s := Server{Name: "s", Command: "x", Args: c.args}
		got := s.Redacted()
		if diff := cmp.Diff(c.want, strings.Join(got.Args, " ")); diff != "" {
			t.Error(diff)
		}
		if left := got.Secrets(); len(left) > 0 {
			t.Errorf("%q still tells %q", got.Args, left)
		}
		if words := s.SecretWords(); (len(words) > 0) != (strings.Join(c.args, " ") != c.want) {
			t.Errorf("of %q, %q are not to be repeated", c.args, words)
		}
		for _, arg := range c.args {
			env := Server{Name: "s", Command: "x", Env: map[string]string{"X": arg}}
			if strings.Contains(arg, "hunter@") && strings.Contains(env.Redacted().Env["X"], "hunter") {
				t.Errorf("a variable tells %q", arg)
			}
		}
	}
	for _, address := range []string{"https://hunter@a.example", "https://a.example/?key=hunter", "https://a.example/v1/hunterQz7Lk2Vt9Xw4Rb6/mcp", "https://a.example/key/hunter22"} {
		if got := (Server{Name: "s", URL: address}).Redacted().URL; got != "${S_URL}" {
			t.Error(got)
		}
	}
	env := Server{Name: "s", Command: "x", Env: map[string]string{"HEADERS": `{"Authorization": "Bearer hunter"}`, "REPO": "https://hunter@a.example/x.git", "HOOK": "https://a.example/?token=hunter", "AT": url}}
	if diff := cmp.Diff(map[string]string{"HEADERS": "${HEADERS}", "REPO": "${REPO}", "HOOK": "${HOOK}", "AT": url}, env.Redacted().Env); diff != "" {
		t.Error(diff)
	}
}

// A server repeats what it was given in its last words: a value of its environment,
// whatever it looks like, and what looks like a secret of its arguments.
func TestWhatAProcessWasGivenIsMasked(t *testing.T) {
	spec := Server{Name: "s", Command: "x", Args: []string{"--port", "8080", "--token", "hunter22"}, Env: map[string]string{"PLACE": "north"}, Cwd: "/srv"}.Process()
	slices.Sort(spec.Mask)
	if diff := cmp.Diff([]string{"hunter22", "north"}, slices.Compact(spec.Mask)); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(spec.Env, "PLACE=north") || spec.Dir != "/srv" || spec.Command != "x" || len(spec.Args) != 4 {
		t.Errorf("%+v", spec)
	}
}

// What was read, written as an mcpServers file, is read as the same servers, and
// a server without its secrets tells none.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{claude, vscode, codex, `{"mcpServers":{"a":{"command":"x"}}}`, "{\"servers\":{\"\":{\"url\":\"x\"}}}", "[mcp_servers]", "a=1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Parse(raw)
		if err != nil {
			if len(c.Servers) > 0 {
				t.Fatalf("refused with %d servers", len(c.Servers))
			}
			return
		}
		again, err := Parse(Export(c.Servers))
		if len(c.Servers) == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(normal(c.Servers), normal(again.Servers)); diff != "" {
			t.Fatal(diff)
		}
		for _, s := range c.Servers {
			if left := s.Redacted().Secrets(); len(left) > 0 {
				t.Fatalf("%q still tells %q", s.Redacted(), left)
			}
		}
	})
}

// normal has no difference between nothing and an empty list.
func normal(servers []Server) []Server {
	out := slices.Clone(servers)
	for i, s := range out {
		if out[i].Args == nil || s.URL != "" {
			out[i].Args = []string{}
		}
		if len(s.Env) == 0 || s.URL != "" {
			out[i].Env = nil
		}
		if len(s.Headers) == 0 || s.URL == "" {
			out[i].Headers = nil
		}
		if s.URL != "" {
			out[i].Cwd = ""
		}
	}
	return out
}

// A value that came from elsewhere goes back to where it came from, whatever its
// name.
func TestAValueFromElsewhereIsNotTold(t *testing.T) {
	const written = `{"inputs":[{"id":"pin","type":"promptString"}],"servers":{
		"s":{"command":"${B}/x","args":["--pin","${input:pin}","-y"],"env":{"A":"${A}","L":"lit","D":"${A:-d}"},"cwd":"${userHome}"},
		"t":{"url":"https://${env:A}/mcp","headers":{"X-B":"b ${B}"}}}}`
	c, err := Parse([]byte(written))
	if err != nil {
		t.Fatal(err)
	}
	c.Expand(Sources{Env: func(string) (string, bool) { return "hunter", true }, Input: func(Input) (string, bool) { return "hunter", true }, Home: "/h"})
	var got []Server
	for _, s := range c.Servers {
		if shown := fmt.Sprint(s); !strings.Contains(shown, "hunter") {
			t.Errorf("%s has no value", shown)
		}
		got = append(got, s.WithReferences(c.Written[s.Name]).Redacted())
	}
	want := []Server{
		{Name: "s", Command: "${B}/x", Args: []string{"--pin", "${S_PIN}", "-y"}, Env: map[string]string{"A": "${A}", "L": "lit", "D": "${A:-d}"}, Cwd: "${userHome}"},
		{Name: "t", URL: "https://${A}/mcp", Headers: map[string]string{"X-B": "b ${B}"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A text without references stays as it is, and one with them is the parts
// between them with their values.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"plain $x", "${A}", "a${env:B}c${A:-d}", "${", "${}", "${input:q}${userHome}", "${workspaceFolder}", "${${A}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Config{Servers: []Server{{Name: "s", Command: "x", Args: []string{text}}}, Inputs: []Input{{ID: "q"}}}
		asked := map[string]int{}
		c.Expand(Sources{
			Env:   func(name string) (string, bool) { return "<" + name + ">", true },
			Input: func(in Input) (string, bool) { asked[in.ID]++; return "!", true }, Home: "~"})
		for id, n := range asked {
			if n > 1 {
				t.Fatalf("%s was asked for %d times", id, n)
			}
		}
		if len(c.Servers)+len(c.Refused) != 1 {
			t.Fatal("lost")
		}
		if len(c.Servers) == 1 && !strings.Contains(text, "${") && c.Servers[0].Args[0] != text {
			t.Fatalf("%q became %q", text, c.Servers[0].Args[0])
		}
		if len(c.Refused) == 1 && c.Refused[0].Why.Text == "" {
			t.Fatal("refused without a word")
		}
	})
}

func TestParsedServersShareNothing(t *testing.T) {
	c, err := Parse([]byte(`{"mcpServers":{"a":{"command":"x","env":{"A":"${B}"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	before := maps.Clone(c.Servers[0].Env)
	kept := c.Servers[0].Env
	c.Expand(Sources{Env: func(string) (string, bool) { return "v", true }})
	if diff := cmp.Diff(before, kept); diff != "" {
		t.Error(diff)
	}
}
