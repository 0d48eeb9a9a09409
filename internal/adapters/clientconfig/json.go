package clientconfig

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig/jsonc"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/ground/strictjson"
)

// limits are those of a client's own file, which may hold much more than servers.
var limits = strictjson.Limits{Bytes: bound.ClientFileBytes, Nodes: bound.ClientFileNodes}

// notTaken are members that a client knows in an entry and that say nothing about
// what the server is.
var notTaken = []string{
	"autoApprove", "alwaysAllow", "alwaysLoad", "timeout", "trust", "includeTools", "excludeTools", "tools", "disabledTools", "enabledTools",
	"description", "gallery", "version", "dev", "envFile", "sandboxEnabled", "sandbox", "displayName", "icon",
}

// reader reads one JSON file.
type reader struct {
	plain []byte
	out   Config
}

func parseJSON(raw []byte) (Config, error) {
	r := reader{plain: jsonc.Plain(raw)}
	doc, err := strictjson.Parse(r.plain, limits)
	if err != nil {
		return Config{}, placed(err, r.plain)
	}
	path, ok := serversOf(doc)
	if !ok {
		return Config{}, fault.New(fault.InvalidRequest, `the file has neither an "mcpServers" object, as most clients have it, nor "servers", as VS Code has it`)
	}
	holder := doc
	for _, name := range path[:len(path)-1] {
		holder, _ = holder.Get(name)
	}
	for _, m := range holder.Members {
		switch {
		case m.Name == path[len(path)-1]:
		case m.Name == "inputs":
			r.inputs(m.Value, path[:len(path)-1])
		default:
			r.unknown(append(slices.Clone(path[:len(path)-1]), m.Name)...)
		}
	}
	servers, _ := holder.Get(path[len(path)-1])
	for _, m := range servers.Members {
		e, err := r.entry(m, append(slices.Clone(path), m.Name))
		if err != nil {
			r.out.Refused = append(r.out.Refused, Refused{m.Name, err})
			continue
		}
		r.out.put(e)
	}
	return r.out, nil
}

// placed adds the line to a fault of the strict reader, which knows the byte.
func placed(err error, plain []byte) error {
	f := fault.From(err)
	n, ok := f.Details["offset"].(int64)
	if !ok || n < 0 || n > int64(len(plain)) {
		return f
	}
	return f.With("line", 1+strings.Count(string(plain[:n]), "\n"))
}

// serversOf finds the object of servers: at the top, or in the settings of VS Code.
func serversOf(doc strictjson.Value) ([]string, bool) {
	mcp, _ := doc.Get("mcp")
	for _, c := range []struct {
		in   strictjson.Value
		path []string
	}{
		{doc, []string{"mcpServers"}}, {doc, []string{"servers"}}, {mcp, []string{"mcp", "servers"}}, {mcp, []string{"mcp", "mcpServers"}},
	} {
		if v, ok := c.in.Get(c.path[len(c.path)-1]); ok && v.Kind == strictjson.Object {
			return c.path, true
		}
	}
	return nil, false
}

func (r *reader) at(path ...string) Place {
	return Place{"/" + strings.Join(path, "/"), jsonc.Line(r.plain, path...)}
}

func (r *reader) unknown(path ...string) { r.out.Unknown = append(r.out.Unknown, r.at(path...)) }

// entry reads one member of the object of servers.
func (r *reader) entry(m strictjson.Member, path []string) (e entry, bad *fault.Fault) {
	e.Name = m.Name
	if m.Value.Kind != strictjson.Object {
		return e, wrong(m.Name, "is no object")
	}
	for _, in := range m.Value.Members {
		ok := true
		switch in.Name {
		case "command":
			ok = text(&e.Command, in.Value)
		case "args":
			e.Args, ok = texts(in.Value)
		case "env":
			e.Env, ok = textMap(in.Value)
		case "cwd":
			ok = text(&e.Cwd, in.Value)
		case "url", "httpUrl", "serverUrl":
			ok = text(&e.URL, in.Value)
		case "headers":
			e.Headers, ok = textMap(in.Value)
		case "type", "transport":
			ok = text(&e.kind, in.Value)
		case "disabled":
			ok, e.off = in.Value.Kind == strictjson.Bool, e.off || in.Value.Bool
		case "enabled":
			ok, e.off = in.Value.Kind == strictjson.Bool, e.off || !in.Value.Bool
		default:
			if place := append(slices.Clone(path), in.Name); slices.Contains(notTaken, in.Name) {
				r.out.NotTaken = append(r.out.NotTaken, r.at(place...))
			} else {
				r.unknown(place...)
			}
		}
		if !ok {
			return e, wrong(m.Name, "has a "+in.Name+" of another form than clients know")
		}
	}
	return e, nil
}

func wrong(name, what string) *fault.Fault {
	return fault.Newf(fault.InvalidRequest, "the entry %s %s", resource.Visible(name), what)
}

func text(into *string, v strictjson.Value) bool {
	*into = v.Text
	return v.Kind == strictjson.String
}

func texts(v strictjson.Value) ([]string, bool) {
	out := []string{}
	for _, item := range v.Items {
		if item.Kind != strictjson.String {
			return nil, false
		}
		out = append(out, item.Text)
	}
	return out, v.Kind == strictjson.Array
}

// textMap also takes numbers and booleans, which clients hand on as text.
func textMap(v strictjson.Value) (map[string]string, bool) {
	out := map[string]string{}
	for _, m := range v.Members {
		switch m.Value.Kind {
		case strictjson.String, strictjson.Number:
			out[m.Name] = m.Value.Text
		case strictjson.Bool:
			out[m.Name] = strconv.FormatBool(m.Value.Bool)
		case strictjson.Null:
		default:
			return nil, false
		}
	}
	return out, v.Kind == strictjson.Object
}

// inputs reads what VS Code asks its user for.
func (r *reader) inputs(v strictjson.Value, path []string) {
	for _, item := range v.Items {
		var in Input
		id, _ := item.Get("id")
		description, _ := item.Get("description")
		password, _ := item.Get("password")
		usual, given := item.Get("default")
		in.ID, in.Description, in.Password = id.Text, resource.Visible(description.Text), password.Bool
		in.Default, in.Given = usual.Text, given && usual.Kind == strictjson.String
		if in.ID == "" {
			r.unknown(append(slices.Clone(path), "inputs")...)
			continue
		}
		r.out.Inputs = append(r.out.Inputs, in)
	}
}
