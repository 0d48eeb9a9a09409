// Package clientconfig reads and changes the configuration files of MCP clients:
// the mcpServers object of desktop assistants and editors, the servers and inputs
// of VS Code, and the mcp_servers tables of Codex (faces page, section 1).
//
// What it reads it either takes, or names with its place: a member that it does
// not know, one that it knows and does not take over, an entry that is switched
// off or cannot be used. Comments and commas before a bracket, as editors leave
// them, are read. A file is changed in one entry; every other byte of it stays.
// Values may be secrets, which no error repeats.
//
// It starts nothing, fetches nothing, and does not promise that an entry works.
// Files are bounded by bound.ClientFileBytes. The functions keep nothing and are
// safe for concurrent use.
package clientconfig

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

// Server is one entry: a command of this machine or, where URL is set, a remote
// server.
type Server struct {
	Name    string
	Command string
	Args    []string
	Env     map[string]string
	Cwd     string
	URL     string
	Headers map[string]string
}

// Config is what a file says.
type Config struct {
	Servers  []Server
	Refused  []Refused // entries that cannot be used as they stand
	Off      []string  // entries that are switched off in the file
	Unknown  []Place   // members that were not understood
	NotTaken []Place   // members that clients know and steward does not take over
	Inputs   []Input   // what the file's client would ask its user for

	// Written is, by the name of a server and the place in it, what Expand has put
	// values into: see Server.WithReferences.
	Written map[string]map[string]string
}

// Refused is an entry that cannot be used, and why.
type Refused struct {
	Name string
	Why  *fault.Fault
}

// Place is where something stands: a JSON pointer, or a dotted key in TOML, and
// the line from 1.
type Place struct {
	Pointer string
	Line    int
}

func (p Place) String() string {
	return fmt.Sprintf("%s (line %d)", resource.Visible(p.Pointer), p.Line)
}

// Input is a value that a file refers to as ${input:ID}.
type Input struct {
	ID, Description string
	Password        bool
	Default         string
	Given           bool // whether there is a default
}

// Parse reads a file of any of the known forms. The fault says what is wrong and
// at which place.
func Parse(raw []byte) (Config, error) {
	if err := bound.ClientFileBytes.Check(len(raw)); err != nil {
		return Config{}, err
	}
	parse := parseTOML
	if looksLikeJSON(raw) {
		parse = parseJSON
	}
	out, err := parse(raw)
	if err == nil && len(out.Servers)+len(out.Refused)+len(out.Off) == 0 {
		err = fault.New(fault.InvalidRequest, "the file names no server")
	}
	if err != nil {
		return Config{}, err
	}
	slices.SortFunc(out.Inputs, func(a, b Input) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// looksLikeJSON tells by the first character that says anything: a TOML file
// begins with a name, a comment or a table.
func looksLikeJSON(raw []byte) bool {
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\ufeff")), " \t\r\n")
	if len(raw) == 0 || raw[0] == '{' || raw[0] == '/' {
		return true
	}
	return raw[0] == '[' && !bytes.Contains(raw, []byte("="))
}

// entry is a server as one of the forms has it, before it is judged.
type entry struct {
	Server
	kind string // what the file says of its transport, if anything
	off  bool
}

// put files an entry by what it says.
func (c *Config) put(e entry) {
	switch f := judge(e); {
	case e.off:
		c.Off = append(c.Off, e.Name)
	case f != nil:
		c.Refused = append(c.Refused, Refused{e.Name, f})
	default:
		c.Servers = append(c.Servers, e.Server)
	}
}

// judge holds an entry to being one thing that can be used.
func judge(e entry) *fault.Fault {
	name := resource.Visible(e.Name)
	switch kind := strings.ToLower(e.kind); {
	case e.Command != "" && e.URL != "":
		return fault.Newf(fault.InvalidRequest, "the entry %s has both a command and a url", name)
	case e.Command == "" && e.URL == "":
		return fault.Newf(fault.InvalidRequest, "the entry %s has no command and no url", name)
	case kind == "sse" || kind == "ws" || kind == "websocket":
		return fault.Newf(fault.Unsupported, "%s speaks the transport %s; steward speaks stdio and streamable HTTP", name, kind).
			With("fix", "ask for its streamable HTTP address, and write that as the url with type http")
	case !slices.Contains([]string{"", "stdio", "http", "streamable-http", "streamablehttp", "streamable_http"}, kind):
		return fault.Newf(fault.InvalidRequest, "the entry %s has the unknown type %s", name, resource.Visible(e.kind))
	case kind == "stdio" && e.URL != "", kind != "" && kind != "stdio" && e.URL == "":
		return fault.Newf(fault.InvalidRequest, "the type of the entry %s does not fit what it has", name)
	}
	return nil
}
