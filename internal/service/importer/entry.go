package importer

import (
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// Entry is one local MCP server as a person configures it.
type Entry struct {
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitzero"`
	Env     map[string]string `json:"env,omitzero"`
	Dir     string            `json:"cwd,omitzero"`
}

// Check bounds an entry.
func (e Entry) Check() error {
	if err := resource.CheckLabel(e.Name); err != nil {
		return err
	}
	if e.Command == "" {
		return fault.Newf(fault.InvalidRequest, "the entry %s has no command", e.Name)
	}
	size := len(e.Command) + len(e.Dir)
	for _, a := range e.Args {
		size += len(a)
	}
	for name, value := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fault.Newf(fault.InvalidRequest, "the entry %s has an environment variable without a proper name", e.Name)
		}
		size += len(name) + len(value)
	}
	if strings.ContainsRune(e.Command+e.Dir+strings.Join(e.Args, ""), 0) {
		return fault.Newf(fault.InvalidRequest, "the entry %s holds a NUL", e.Name)
	}
	return bound.RequestBytes.Check(size)
}

var configLimits = strictjson.Limits{Bytes: bound.AdminBytes}

func decodeEntry(raw []byte) (Entry, error) {
	var e Entry
	err := strictjson.Decode(raw, configLimits, &e)
	return e, err
}

// Config is what was understood of a client's configuration file.
type Config struct {
	Entries []Entry
	Refused []RefusedEntry
	Unknown []string // pointers of members that were not understood
}

// RefusedEntry is a server that cannot be imported as it stands in the file.
type RefusedEntry struct {
	Name string
	Why  *fault.Fault
}

var entryMembers = []string{"command", "args", "env", "cwd", "type"}

// ParseConfig reads the mcpServers object of common clients, unedited. What it
// does not understand is reported and not used; an entry that is no local server
// is refused by itself.
func ParseConfig(raw []byte) (Config, error) {
	doc, err := strictjson.Parse(raw, configLimits)
	if err != nil {
		return Config{}, err
	}
	servers, ok := doc.Get("mcpServers")
	if !ok || servers.Kind != strictjson.Object {
		return Config{}, fault.New(fault.InvalidRequest, `the file has no "mcpServers" object`)
	}
	var out Config
	for _, m := range doc.Members {
		if m.Name != "mcpServers" {
			out.Unknown = append(out.Unknown, "/"+m.Name)
		}
	}
	for _, m := range servers.Members {
		e, unknown, err := parseEntry(m.Name, m.Value)
		if err != nil {
			out.Refused = append(out.Refused, RefusedEntry{resource.Visible(m.Name), fault.From(err)})
			continue
		}
		out.Entries = append(out.Entries, e)
		out.Unknown = append(out.Unknown, unknown...)
	}
	if len(out.Entries)+len(out.Refused) == 0 {
		return Config{}, fault.New(fault.InvalidRequest, "the file names no server")
	}
	return out, nil
}

func parseEntry(name string, v strictjson.Value) (Entry, []string, error) {
	var unknown []string
	for _, m := range v.Members {
		if !slices.Contains(entryMembers, m.Name) {
			unknown = append(unknown, "/mcpServers/"+name+"/"+m.Name)
		}
	}
	if _, remote := v.Get("url"); remote {
		return Entry{}, nil, fault.Newf(fault.Unsupported, "%s is a remote server; only local ones can be imported now", resource.Visible(name))
	}
	known := v
	known.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m strictjson.Member) bool {
		return m.Name == "type" || !slices.Contains(entryMembers, m.Name)
	})
	e, err := decodeEntry(known.Append(nil))
	if err != nil {
		return Entry{}, nil, fault.Newf(fault.InvalidRequest, "the entry %s is not understood: %s", resource.Visible(name), fault.From(err).Text)
	}
	e.Name = name
	return e, unknown, e.Check()
}
