package clientconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig/jsonc"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Client is a program that reads MCP servers from a file of its own.
type Client struct {
	Name  string // as steward connect takes it
	Title string
	Then  string // what its user has to do so that it reads the file again

	file     map[string]string // by operating system, from the home folder; "" is any
	homeVar  string            // a variable that names the folder of the file instead
	servers  []string          // where the servers stand; nil for the tables of Codex
	typed    bool              // entries say their type
	variable string            // how it writes a variable of the environment; empty where it takes no URL
}

// clients are those that are known, by name. Where their files are is what their
// makers say.
var clients = []Client{
	{Name: "claude", Title: "Claude Code", Then: "start it again", file: map[string]string{"": ".claude.json"},
		homeVar: "CLAUDE_CONFIG_DIR", servers: []string{"mcpServers"}, typed: true, variable: "${%s}"},
	{Name: "claude-desktop", Title: "Claude Desktop", Then: "quit it and start it again", file: map[string]string{
		"": ".config/Claude/claude_desktop_config.json", "darwin": "Library/Application Support/Claude/claude_desktop_config.json"},
		servers: []string{"mcpServers"}},
	{Name: "codex", Title: "Codex", Then: "start it again", file: map[string]string{"": ".codex/config.toml"}, homeVar: "CODEX_HOME", variable: "%s"},
	{Name: "cursor", Title: "Cursor", Then: "switch the server on in its settings", file: map[string]string{"": ".cursor/mcp.json"},
		servers: []string{"mcpServers"}, variable: "${env:%s}"},
	{Name: "gemini", Title: "Gemini CLI", Then: "start it again", file: map[string]string{"": ".gemini/settings.json"},
		servers: []string{"mcpServers"}, variable: "${%s}"},
	{Name: "vscode", Title: "VS Code", Then: "start the server from its command palette", file: map[string]string{
		"": ".config/Code/User/mcp.json", "darwin": "Library/Application Support/Code/User/mcp.json"},
		servers: []string{"servers"}, typed: true, variable: "${env:%s}"},
	{Name: "windsurf", Title: "Windsurf", Then: "refresh its list of servers", file: map[string]string{"": ".codeium/windsurf/mcp_config.json"},
		servers: []string{"mcpServers"}, variable: "${env:%s}"},
}

// Clients lists those that are known, by name. The caller owns the slice.
func Clients() []Client { return slices.Clone(clients) }

// ClientOf finds a client by its name.
func ClientOf(name string) (Client, bool) {
	i := slices.IndexFunc(clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return clients[i], true
}

// Known lists the names of the clients.
func Known() (names []string) {
	for _, c := range clients {
		names = append(names, c.Name)
	}
	return names
}

// Path is the client's own file for the user of a home folder.
func (c Client) Path(home, system string, env func(string) string) string {
	rest, ok := c.file[system]
	if !ok {
		rest = c.file[""]
	}
	if c.homeVar != "" {
		if folder := env(c.homeVar); filepath.IsAbs(folder) {
			return filepath.Join(folder, filepath.Base(rest))
		}
	}
	return filepath.Join(home, rest)
}

// TakesURL reports whether the client can be pointed at an HTTP address with a
// token that is not written into its file.
func (c Client) TakesURL() bool { return c.variable != "" }

// Entry is a server in the client's own form. Of a remote one the value of the
// variable becomes the bearer token.
func (c Client) Entry(s Server, variable string) strictjson.Value {
	v := strictjson.Value{Kind: strictjson.Object}
	add := func(name string, value strictjson.Value) {
		v.Members = append(v.Members, strictjson.Member{Name: name, Value: value})
	}
	bearer := object("Authorization", str("Bearer "+c.reference(variable)))
	switch {
	case s.URL == "":
		if c.typed {
			add("type", str("stdio"))
		}
		v.Members = append(v.Members, s.value().Members...)
	case c.servers == nil:
		add("url", str(s.URL))
		add("bearer_token_env_var", str(variable))
	case c.Name == "gemini":
		add("httpUrl", str(s.URL))
		add("headers", bearer)
	case c.Name == "windsurf":
		add("serverUrl", str(s.URL))
		add("headers", bearer)
	default:
		if c.typed {
			add("type", str("http"))
		}
		add("url", str(s.URL))
		add("headers", bearer)
	}
	return v
}

func (c Client) reference(variable string) string {
	return strings.Replace(c.variable, "%s", variable, 1)
}

// Set gives the client's file with an entry under a name in place of any that was
// there. All other bytes stay as they are; an empty file is a new one.
func (c Client) Set(raw []byte, name string, entry strictjson.Value) ([]byte, error) {
	if c.servers == nil {
		return setCodex(raw, name, entry)
	}
	out, err := jsonc.Set(raw, append(slices.Clone(c.servers), name), entry.Append(nil), limits)
	if err != nil {
		return nil, placed(err, jsonc.Plain(raw))
	}
	if len(raw) == 0 {
		out = append(out, '\n')
	}
	return out, nil
}

// Snippet is the file that has this entry and nothing else.
func (c Client) Snippet(name string, entry strictjson.Value) []byte {
	out, err := c.Set(nil, name, entry)
	if err != nil {
		panic("clientconfig: cannot write an entry of our own: " + fault.From(err).Text)
	}
	return out
}
