package clientconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
)

var references = regexp.MustCompile(`\$\{[^{}]*\}`)

// Sources is where the values of references come from.
type Sources struct {
	Env   func(name string) (string, bool)
	Input func(in Input) (string, bool) // is asked once for each input that is used
	Home  string                        // the user's home folder
}

// Expand puts values in the place of ${NAME}, ${NAME:-usual}, ${env:NAME},
// ${input:ID} and ${userHome} in everything that a server is made of but its name. A server with a
// reference that has no value, or that means something to an editor alone, is
// refused by itself and names it. Values are not looked through again. What was
// written in their places is kept in Written.
func (c *Config) Expand(from Sources) {
	given := map[string]*string{}
	var kept []Server
	for _, s := range c.Servers {
		x := expansion{from: from, inputs: c.Inputs, given: given, name: resource.Visible(s.Name)}
		x.server(&s)
		if x.bad != nil {
			c.Refused = append(c.Refused, Refused{s.Name, x.bad})
			continue
		}
		kept = append(kept, s)
		if len(x.written) > 0 {
			if c.Written == nil {
				c.Written = map[string]map[string]string{}
			}
			c.Written[s.Name] = x.written
		}
	}
	c.Servers = kept
}

// expansion expands one server and keeps its first fault.
type expansion struct {
	from   Sources
	inputs []Input
	given  map[string]*string // what was answered for an input; nil for nothing
	name   string
	bad    *fault.Fault

	written map[string]string // by place
}

func (x *expansion) server(s *Server) {
	s.each(func(place, text string) string {
		value := x.text(text)
		if value != text {
			if x.written == nil {
				x.written = map[string]string{}
			}
			x.written[place] = references.ReplaceAllStringFunc(text, func(reference string) string {
				if name, ok := strings.CutPrefix(strings.TrimSuffix(reference, "}"), "${env:"); ok && isVariable(name) && !isEditors(name) {
					return "${" + name + "}" // as most clients have it
				}
				if name, ok := strings.CutPrefix(reference, "${input:"); ok { // there is nobody to ask in another file
					return "${" + variable(s.Name, strings.TrimSuffix(name, "}")) + "}"
				}
				return reference
			})
		}
		return value
	})
}

// each puts what do gives for it in the place of every text that a server is made
// of but its name. The maps and the list become the server's own.
func (s *Server) each(do func(place, text string) string) {
	s.Args, s.Env, s.Headers = slices.Clone(s.Args), maps.Clone(s.Env), maps.Clone(s.Headers)
	s.Command, s.Cwd, s.URL = do("command", s.Command), do("cwd", s.Cwd), do("url", s.URL)
	for i, a := range s.Args {
		s.Args[i] = do(fmt.Sprintf("argument %d", i+1), a)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[name] = do("env "+name, s.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[name] = do("header "+name, s.Headers[name])
	}
}

// WithReferences is the server with what was written in the places that Expand has
// put values into, so that a value that came from elsewhere is not told, whatever
// its name. An input is the variable of its name there.
func (s Server) WithReferences(written map[string]string) Server {
	s.each(func(place, text string) string {
		if was, ok := written[place]; ok {
			return was
		}
		return text
	})
	return s
}

func (x *expansion) text(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		reference, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			if found {
				out.WriteString("${" + rest)
			}
			return x.bounded(out.String())
		}
		out.WriteString(x.value(reference))
		text = after
	}
}

// bounded keeps a value that stands in many places from growing without an end.
func (x *expansion) bounded(text string) string {
	if err := bound.RequestBytes.Check(len(text)); err != nil {
		x.fail(fault.From(err))
		return ""
	}
	return text
}

func (x *expansion) fail(f *fault.Fault) {
	if x.bad == nil {
		x.bad = f
	}
}

func (x *expansion) value(reference string) string {
	kind, name, ofKind := strings.Cut(reference, ":")
	switch {
	case ofKind && kind == "input":
		return x.input(name)
	case ofKind && kind == "env":
		return x.env(name)
	case reference == "userHome":
		return x.from.Home
	case reference == "pathSeparator" || reference == "/":
		return "/"
	case ofKind && strings.HasPrefix(name, "-") && isVariable(kind):
		if value, ok := x.from.Env(kind); ok && value != "" {
			return value
		}
		return name[1:]
	case isVariable(reference) && !isEditors(reference):
		return x.env(reference)
	}
	x.fail(fault.Newf(fault.InvalidRequest, "the entry %s uses ${%s}, which only its editor knows", x.name, resource.Visible(reference)).
		With("fix", "write what it stands for into the file"))
	return ""
}

func (x *expansion) env(name string) string {
	value, ok := x.from.Env(name)
	if !ok {
		x.fail(fault.Newf(fault.InvalidRequest, "the entry %s needs the variable %s, which is not set", x.name, resource.Visible(name)).
			With("fix", "export "+name+"=…, then import again"))
	}
	return value
}

func (x *expansion) input(name string) string {
	value, asked := x.given[name]
	if i := slices.IndexFunc(x.inputs, func(in Input) bool { return in.ID == name }); !asked && i >= 0 {
		if text, ok := x.from.Input(x.inputs[i]); ok {
			value = &text
		} else if x.inputs[i].Given {
			value = &x.inputs[i].Default
		}
		x.given[name] = value
	}
	if value == nil {
		x.fail(fault.Newf(fault.InvalidRequest, "the entry %s needs the input %s, which its editor asks for", x.name, resource.Visible(name)).
			With("fix", "import it in a terminal, which asks for it"))
		return ""
	}
	return *value
}

// isEditors reports whether a plain reference is one that editors fill in.
func isEditors(name string) bool {
	return strings.HasPrefix(name, "workspaceFolder") || strings.HasPrefix(name, "workspaceRoot") ||
		slices.Contains([]string{"file", "cwd", "execPath", "selectedText"}, name)
}

func isVariable(name string) bool {
	return name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == "" && (name[0] < '0' || name[0] > '9')
}
