// Package mcpfile reads the owner's configuration of MCP servers as it lies on
// disk or stands on the command line, and makes it independent of the folder and
// the search path that it was written for: the host starts commands by their
// full path (faces page, section 1).
//
// It starts nothing and changes no file. What it cannot find is said of the one
// server that needs it, and the others go on. Values of environments may be
// secrets; no error repeats one.
package mcpfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/adapters/clientconfig/guess"
	"github.com/stewardhost/steward/internal/domain/pool/resource"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Source is where the owner's words for servers are: a file, the address of one
// remote server, or one command.
type Source struct {
	File    string   // "-" is standard input; an http or https URL is a server
	Command string   // a command line, in place of File
	Name    string   // of the server that Command starts or File is the address of
	Env     []string // NAME=VALUE, or NAME to take it from this environment
	Headers []string // "NAME: VALUE" for the address; ${NAME} in it is taken from this environment
	Except  []string // origins, each with the network beside the public ones that it may lead to
}

// Remote reports whether File is the address of a server.
func (s Source) Remote() bool {
	scheme, _, ok := strings.Cut(s.File, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// Loaded is what a source says.
type Loaded struct {
	Servers []Located
	Notes   []string // what was left out or is worth knowing, a line each
}

// Load reads a source and locates its servers. Relative paths of a file are
// taken from the file's folder, others from the current one. Ask gives the value
// of an input of the file, or false. Faults of the source's form carry a "fix";
// other errors are of reading it.
func (s Source) Load(stdin io.Reader, ask func(clientconfig.Input) (string, bool)) (Loaded, error) {
	base, err := os.Getwd()
	if err != nil {
		return Loaded{}, err
	}
	var config clientconfig.Config
	switch {
	case s.Command != "":
		config, err = s.local()
	case s.Remote():
		config, err = s.remote()
	default:
		config, err = s.config(stdin)
	}
	if err != nil {
		return Loaded{}, err
	}
	if s.File != "" && s.File != "-" && !s.Remote() {
		file, err := filepath.Abs(s.File)
		if err != nil {
			return Loaded{}, err
		}
		base = filepath.Dir(file)
	}
	out := Loaded{Notes: notes(config)}
	home, _ := os.UserHomeDir() // an entry that needs it is not found then
	config.Expand(clientconfig.Sources{Env: os.LookupEnv, Input: ask, Home: home})
	for _, one := range config.Servers {
		located := locate(one, base, os.Getenv("PATH"))
		located.Server.Exception = s.exceptionFor(one.URL)
		located.Server.Written = config.Written[one.Name]
		out.Servers = append(out.Servers, located)
	}
	for _, r := range config.Refused {
		out.Servers = append(out.Servers, Located{Server: adminwire.Server{Name: resource.Visible(r.Name)}, Fault: r.Why})
	}
	return out, nil
}

// exceptionFor is the exception that was given for an address, if any.
func (s Source) exceptionFor(address string) string {
	for _, e := range s.Except {
		origin, _, _ := strings.Cut(e, "=")
		if rest, ok := strings.CutPrefix(address, origin); ok && (rest == "" || strings.ContainsAny(rest[:1], "/?")) {
			return e
		}
	}
	return ""
}

// few is how many notes of a kind a person reads.
const few = 12

// notes tells what of a file is not used, and what is kept otherwise than there.
func notes(c clientconfig.Config) (out []string) {
	places := func(what string, list []clientconfig.Place) {
		for i, p := range list {
			if i == few {
				out = append(out, fmt.Sprintf("%s: %d more", what, len(list)-few))
				return
			}
			out = append(out, what+": "+p.String())
		}
	}
	places("not understood, and not used", c.Unknown)
	places("its client's own, and not taken over", c.NotTaken)
	for _, name := range c.Off {
		out = append(out, "switched off in the file, and left out: "+resource.Visible(name))
	}
	for _, one := range c.Servers {
		if found := one.Secrets(); len(found) > 0 {
			out = append(out, fmt.Sprintf("%s: written out as it is: %s; steward keeps it sealed, and export gives a ${NAME} in its place",
				resource.Visible(one.Name), strings.Join(found, ", ")))
		}
	}
	return out
}

func (s Source) config(stdin io.Reader) (clientconfig.Config, error) {
	in := stdin
	if s.File != "-" {
		file, err := os.Open(s.File)
		if err != nil {
			return clientconfig.Config{}, err
		}
		defer file.Close()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, bound.ClientFileBytes.Max+1))
	if err != nil {
		return clientconfig.Config{}, err
	}
	config, err := clientconfig.Parse(raw)
	if f := fault.From(err); f != nil {
		text := f.Text
		if pointer, ok := f.Details["pointer"].(string); ok && pointer != "" {
			text += ", at " + pointer
		}
		if line, ok := f.Details["line"].(int); ok {
			text += fmt.Sprintf(", on line %d", line)
		}
		return config, fault.New(f.Code, text).With("fix", "mend "+paper.Word(s.File)+", then import it again")
	}
	return config, nil
}

func (s Source) local() (clientconfig.Config, error) {
	const form = `steward import --command "PROGRAM ARGUMENTS" --name NAME --env NAME=VALUE`
	parts, err := words(s.Command)
	if err != nil {
		return clientconfig.Config{}, fault.From(err).With("fix", form)
	}
	one := clientconfig.Server{Name: s.Name, Command: parts[0], Args: parts[1:], Env: map[string]string{}}
	for n, pair := range s.Env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok && guess.Secret("", name) {
			return clientconfig.Config{}, fault.Newf(fault.InvalidRequest, "--env number %d has no =, and is no name of a variable", n+1).With("fix", form)
		}
		if !ok {
			_, ok = os.LookupEnv(name)
			value = "${env:" + name + "}" // so that it is known where the value is from
		}
		if !ok {
			return clientconfig.Config{}, fault.Newf(fault.InvalidRequest, "the variable %s has no value, here and in your environment", paper.Word(name)).With("fix", form)
		}
		one.Env[name] = value
	}
	return clientconfig.Config{Servers: []clientconfig.Server{one}}, nil
}

func (s Source) remote() (clientconfig.Config, error) {
	one := clientconfig.Server{Name: s.Name, URL: s.File, Headers: map[string]string{}}
	for n, line := range s.Headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok { // the whole line may be a secret
			return clientconfig.Config{}, fault.Newf(fault.InvalidRequest, "--header number %d has no colon", n+1).
				With("fix", "steward import "+paper.Word(told(s.File))+" --name NAME --header 'Authorization: Bearer ${TOKEN}'")
		}
		one.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return clientconfig.Config{Servers: []clientconfig.Server{one}}, nil
}

// told is an address or a command line as it may be repeated: without a word that
// looks like a secret.
func told(line string) string {
	one := clientconfig.Server{Name: "s"}
	parts, err := words(line)
	if err != nil {
		return "…"
	}
	one.Args = parts
	if len(one.Secrets()) == 0 {
		return line
	}
	for i, arg := range one.Redacted().Args {
		if arg != parts[i] {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, " ")
}

// Again is the command that imports the source. The values of variables, which
// may be secrets, and what looks like one elsewhere are left out.
func (s Source) Again() string {
	if s.File != "" {
		command := "steward import " + paper.Word(s.File)
		if s.Remote() {
			command = "steward import " + paper.Word(told(s.File))
			command += " --name " + paper.Word(s.Name)
		}
		for _, line := range s.Headers {
			name, _, _ := strings.Cut(line, ":")
			command += " --header " + paper.Word(name+": …")
		}
		for _, e := range s.Except {
			command += " --except " + paper.Word(e)
		}
		return command
	}
	command := "steward import --command " + paper.Word(told(s.Command)) + " --name " + paper.Word(s.Name)
	for _, pair := range s.Env {
		name, _, _ := strings.Cut(pair, "=")
		command += " --env " + paper.Word(name+"=…")
	}
	return command
}

// words splits a command line as a shell does, with quotes and backslashes but
// without any expansion. There is at least one word.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	inWord, quote, escaped := false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case strings.ContainsRune(" \t\n", r):
			if inWord {
				out = append(out, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fault.New(fault.InvalidRequest, "a quote or a backslash stands open in the command line")
	}
	if inWord {
		out = append(out, word.String())
	}
	if len(out) == 0 {
		return nil, fault.New(fault.InvalidRequest, "the command line is empty")
	}
	return out, nil
}
