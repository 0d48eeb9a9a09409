package clientconfig

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// codexFile is what is read of a configuration of Codex. What is of type any is
// known and not taken over.
type codexFile struct {
	Servers map[string]codexServer `toml:"mcp_servers"`
}

type codexServer struct {
	Command     string            `toml:"command"`
	Args        []string          `toml:"args"`
	Env         map[string]string `toml:"env"`
	EnvVars     []string          `toml:"env_vars"` // handed on from the client's own environment
	Cwd         string            `toml:"cwd"`
	URL         string            `toml:"url"`
	BearerVar   string            `toml:"bearer_token_env_var"`
	Headers     map[string]string `toml:"http_headers"`
	HeaderVars  map[string]string `toml:"env_http_headers"`
	Enabled     *bool             `toml:"enabled"`
	StartupSec  any               `toml:"startup_timeout_sec"`
	StartupMS   any               `toml:"startup_timeout_ms"`
	ToolSec     any               `toml:"tool_timeout_sec"`
	EnabledT    any               `toml:"enabled_tools"`
	DisabledT   any               `toml:"disabled_tools"`
	Required    any               `toml:"required"`
	Scopes      any               `toml:"scopes"`
	Tools       any               `toml:"tools"`
	ApprovalsBy any               `toml:"default_tools_approval_mode"`
}

func parseTOML(raw []byte) (Config, error) {
	if err := checkBrackets(raw); err != nil {
		return Config{}, err
	}
	var file codexFile
	decoder := toml.NewDecoder(strings.NewReader(string(raw))).DisallowUnknownFields()
	err := decoder.Decode(&file)
	var unknown *toml.StrictMissingError
	var broken *toml.DecodeError
	switch {
	case errors.As(err, &unknown): // each of its parts is a broken one too
	case errors.As(err, &broken):
		line, _ := broken.Position()
		return Config{}, fault.New(fault.InvalidRequest, "the file is no TOML that is understood: "+plainText(broken)).With("line", line)
	case err != nil:
		return Config{}, fault.New(fault.InvalidRequest, "the file is no TOML that is understood")
	}
	if file.Servers == nil {
		return Config{}, fault.New(fault.InvalidRequest, `the file has no "mcp_servers" tables, as Codex has them`)
	}
	var out Config
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		s := file.Servers[name]
		e := entry{Server: Server{Name: name, Command: s.Command, Args: s.Args, Env: s.Env, Cwd: s.Cwd, URL: s.URL, Headers: s.Headers}}
		e.off = s.Enabled != nil && !*s.Enabled
		for _, v := range s.EnvVars {
			e.Env = with(e.Env, v, "${env:"+v+"}")
		}
		for header, v := range s.HeaderVars {
			e.Headers = with(e.Headers, header, "${env:"+v+"}")
		}
		if s.BearerVar != "" {
			e.Headers = with(e.Headers, "Authorization", "Bearer ${env:"+s.BearerVar+"}")
		}
		out.put(e)
	}
	if unknown != nil {
		for i := range unknown.Errors {
			if key := unknown.Errors[i].Key(); len(key) > 1 && key[0] == "mcp_servers" {
				line, _ := unknown.Errors[i].Position()
				out.Unknown = append(out.Unknown, Place{strings.Join(key, "."), line})
			}
		}
	}
	return out, nil
}

// checkBrackets bounds what the reader, which calls itself for each bracket, can
// be made to stack up.
func checkBrackets(raw []byte) error {
	n := 0
	for _, c := range raw {
		if c == '[' || c == '{' {
			n++
		}
	}
	return bound.JSONNodes.Check(n)
}

// plainText is the reader's word without its copy of the line, which may hold a
// secret.
func plainText(err *toml.DecodeError) string {
	what, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "toml: "), "\n")
	return what
}

func with(m map[string]string, name, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[name] = value
	return m
}
