package clientconfig

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"github.com/stewardhost/steward/internal/ground/strictjson"
)

var own = Server{Name: "steward", Command: "/opt/steward", Args: []string{"mcp", "serve", "--app", "my app"}}

// What is written for a client is what steward reads of that client's file.
func TestEveryClientsEntryIsReadAgain(t *testing.T) {
	far := Server{Name: "steward", URL: "http://127.0.0.1:7777/mcp"}
	for _, c := range Clients() {
		for _, s := range []Server{own, far} {
			if s.URL != "" && !c.TakesURL() {
				continue
			}
			got, err := Parse(c.Snippet("steward", c.Entry(s, "TOKEN")))
			if err != nil || len(got.Servers) != 1 || len(got.Unknown)+len(got.NotTaken) > 0 {
				t.Fatalf("%s: %+v, %v", c.Name, got, err)
			}
			got.Expand(Sources{Env: func(name string) (string, bool) { return "t0ken", name == "TOKEN" }})
			want := s
			if s.URL != "" {
				want.Headers = map[string]string{"Authorization": "Bearer t0ken"}
			}
			if diff := cmp.Diff([]Server{want}, got.Servers); diff != "" {
				t.Errorf("%s: %s", c.Name, diff)
			}
		}
	}
}

func TestWhereClientsKeepTheirFiles(t *testing.T) {
	none := func(string) string { return "" }
	var got []string
	for _, c := range Clients() {
		got = append(got, c.Path("/h", "linux", none), c.Path("/h", "darwin", none))
	}
	c, _ := ClientOf("codex")
	got = append(got, c.Path("/h", "linux", func(name string) string { return map[string]string{"CODEX_HOME": "/c"}[name] }))
	want := strings.Fields(strings.ReplaceAll(`/h/.claude.json /h/.claude.json
		/h/.config/Claude/claude_desktop_config.json /h/Library/Application~Support/Claude/claude_desktop_config.json
		/h/.codex/config.toml /h/.codex/config.toml /h/.cursor/mcp.json /h/.cursor/mcp.json /h/.gemini/settings.json /h/.gemini/settings.json
		/h/.config/Code/User/mcp.json /h/Library/Application~Support/Code/User/mcp.json
		/h/.codeium/windsurf/mcp_config.json /h/.codeium/windsurf/mcp_config.json /c/config.toml`, "\n", " "))
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], "~", " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOneTableOfCodexIsChanged(t *testing.T) {
	const table = "[mcp_servers.steward]\ncommand = \"/opt/steward\"\nargs = [\"mcp\", \"serve\", \"--app\", \"my app\"]\n"
	c, _ := ClientOf("codex")
	for raw, want := range map[string]string{
		"":                             table,
		"model = \"x\" # mine":         "model = \"x\" # mine\n\n" + table,
		"[mcp_servers.a]\nurl=\"b\"\n": "[mcp_servers.a]\nurl=\"b\"\n\n" + table,
		"[mcp_servers.steward] # old\ncommand = 'x'\n\n[mcp_servers.steward.env]\nA = \"[b]\"\n\n# of the next\n[z]\n": table + "\n# of the next\n[z]\n",
		"[mcp_servers.\"steward\"]\nargs = [\n'a', # b\n]":                                                             strings.TrimSuffix(table, "\n"),
		"a = 1\r\n": "a = 1\r\n\r\n" + strings.ReplaceAll(table, "\n", "\r\n"),
	} {
		got, err := c.Set([]byte(raw), "steward", c.Entry(own, ""))
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", raw, err, diff)
		}
	}
	for _, raw := range []string{"mcp_servers = {}", "mcp_servers.steward.command = 'x'", "[mcp_servers]\nsteward = {}", "[mcp_servers.steward]\n[a]\n[mcp_servers.steward.env]", "[[mcp_servers.steward]]", "a = "} {
		if got, err := c.Set([]byte(raw), "steward", c.Entry(own, "")); err == nil {
			t.Errorf("%q became %q", raw, got)
		}
	}
}

// The table is there, and everything else means what it meant.
func FuzzSetCodex(f *testing.F) {
	for _, seed := range []string{codex, "a=1", "[mcp_servers.steward]\nx=1\n[mcp_servers.steward.env]\ny='''\n[z]\n'''\n[b]", "[mcp_servers]\n", "\"a b\".c = { d = 1 }"} {
		f.Add([]byte(seed))
	}
	c, _ := ClientOf("codex")
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := map[string]any{}
		if checkBrackets(raw) != nil {
			return
		}
		bad := toml.Unmarshal(raw, &before)
		got, err := c.Set(raw, "steward", c.Entry(own, ""))
		if err != nil {
			return
		}
		if bad != nil {
			t.Fatalf("%q was changed: %v", raw, bad)
		}
		after := map[string]any{}
		if err := toml.Unmarshal(got, &after); err != nil {
			t.Fatalf("%v in %q", err, got)
		}
		set := taken(after)
		taken(before)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("%q: %s", raw, diff)
		}
		want := map[string]any{"command": "/opt/steward", "args": []any{"mcp", "serve", "--app", "my app"}}
		if diff := cmp.Diff(want, set); diff != "" {
			t.Fatal(diff)
		}
	})
}

// taken takes the server out, and its parent where nothing else is in it.
func taken(file map[string]any) any {
	servers, _ := file[codexTables].(map[string]any)
	out := servers["steward"]
	maps.DeleteFunc(servers, func(name string, _ any) bool { return name == "steward" })
	if len(servers) == 0 && servers != nil {
		delete(file, codexTables)
	}
	return out
}

func TestASettingsFileKeepsItsComments(t *testing.T) {
	const raw = "{\n\t// theme\n\t\"theme\": \"dark\",\n}\n"
	c, _ := ClientOf("vscode")
	got, err := c.Set([]byte(raw), "steward", strictjson.Value{Kind: strictjson.Object})
	if want := "{\n\t// theme\n\t\"theme\": \"dark\",\n\t\"servers\": {\n\t\t\"steward\": {}\n\t}\n}\n"; err != nil || string(got) != want {
		t.Errorf("%v: %q", err, got)
	}
}

// What is shown of a client's file is the one entry, and no secret of it.
func TestTheEntryThatIsThereIsShownWithoutItsSecrets(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"claude": {`{"mcpServers":{"other":{"env":{"T":"hunter"}},"steward":{"type":"http","url":"https://hunter@a.example/","timeout":60,"key":"hunter",
			"headers":{"Authorization":"Bearer hunter","X-A":"Bearer ${A}","X-B":"hunter"},"args":["--token","hunter","--header","X-Api-Key: hunter","-y"],"env":{"A":1234,"B":"${B}","ghp_hunter1234":"hunter"},"more":[["hunter-sk",{"a":"hunter"}]]}},"z":"hunter"}`,
			`"steward": {
	"type": "http",
	"url": "…",
	"timeout": 60,
	"key": "…",
	"headers": {
		"Authorization": "…",
		"X-A": "Bearer ${A}",
		"X-B": "…"
	},
	"args": [
		"--token",
		"…",
		"--header",
		"…",
		"-y"
	],
	"env": {
		"A": "…",
		"B": "${B}",
		"…": "…"
	},
	"more": [
		[
			"hunter-sk",
			{
				"a": "…"
			}
		]
	]
}
`},
		"codex": {"model = 'hunter'\n[mcp_servers.other]\nbearer_token = 'hunter'\n[mcp_servers.steward]\nurl = 'https://a.example/mcp?token=hunter'\nenabled = true\nstartup_timeout_sec = 20\nargs = ['--api-key=hunter']\nenv = { A = 'hunter', B = { c = 'hunter' } }\nbearer_token_env_var = 'hunter'\n",
			"[mcp_servers.steward]\nargs = [\"…\"]\nbearer_token_env_var = \"…\"\nenabled = true\nstartup_timeout_sec = 20\nurl = \"…\"\n\n[mcp_servers.steward.env]\nA = \"…\"\nB = {c = \"…\"}\n"},
	} {
		client, _ := ClientOf(name)
		got, ok := client.Current([]byte(c.raw), "steward")
		if diff := cmp.Diff(c.want, client.Shown("steward", got)); diff != "" || !ok {
			t.Error(diff)
		}
		if _, ok := client.Current([]byte(c.raw), "nobody"); ok {
			t.Error("there is an entry of nobody")
		}
		if _, ok := client.Current([]byte("[{ hunter"), "steward"); ok {
			t.Error("there is an entry in no file")
		}
		fresh := client.Entry(own, "TOKEN")
		if shown := client.Shown("steward", fresh); !strings.Contains(string(client.Snippet("steward", fresh)), strings.Split(shown, "\n")[0]) {
			t.Error(shown)
		}
	}
}
