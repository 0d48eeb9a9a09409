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
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/ground/bound"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/service/importer"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Source is where the owner's words for servers are: a file, or one command.
type Source struct {
	File    string // "-" is standard input
	Command string // a command line, in place of File
	Name    string // of the server that Command starts
	Env     []string
}

// Loaded is what a source says.
type Loaded struct {
	Servers []Located
	Unknown []string // pointers of members that were not understood
}

// Load reads a source and locates its servers. Relative paths of a file are
// taken from the file's folder, others from the current one. Faults of the
// source's form carry a "fix"; other errors are of reading it.
func (s Source) Load(stdin io.Reader) (Loaded, error) {
	base, err := os.Getwd()
	if err != nil {
		return Loaded{}, err
	}
	var config importer.Config
	if s.Command != "" {
		var e importer.Entry
		e, err = s.entry()
		config.Entries = []importer.Entry{e}
	} else {
		config, err = s.config(stdin)
	}
	if err != nil {
		return Loaded{}, err
	}
	if s.File != "" && s.File != "-" {
		file, err := filepath.Abs(s.File)
		if err != nil {
			return Loaded{}, err
		}
		base = filepath.Dir(file)
	}
	out := Loaded{Unknown: config.Unknown}
	for _, e := range config.Entries {
		out.Servers = append(out.Servers, locate(e, base, os.Getenv("PATH")))
	}
	for _, r := range config.Refused {
		out.Servers = append(out.Servers, Located{Server: adminwire.Server{Name: r.Name}, Fault: r.Why})
	}
	return out, nil
}

func (s Source) config(stdin io.Reader) (importer.Config, error) {
	if scheme, _, ok := strings.Cut(s.File, "://"); ok && (scheme == "http" || scheme == "https") {
		return importer.Config{}, fault.New(fault.Unsupported, "remote servers cannot be imported yet, only commands that run on this machine").
			With("fix", "steward import FILE")
	}
	in := stdin
	if s.File != "-" {
		file, err := os.Open(s.File)
		if err != nil {
			return importer.Config{}, err
		}
		defer file.Close()
		in = file
	}
	raw, err := io.ReadAll(io.LimitReader(in, bound.AdminBytes.Max+1))
	if err != nil {
		return importer.Config{}, err
	}
	config, err := importer.ParseConfig(raw)
	if f := fault.From(err); f != nil {
		if pointer, ok := f.Details["pointer"].(string); ok && pointer != "" {
			f = fault.New(f.Code, f.Text+", at "+pointer)
		}
		return config, f.With("fix", "mend "+paper.Word(s.File)+", then import it again")
	}
	return config, nil
}

func (s Source) entry() (importer.Entry, error) {
	const form = `steward import --command "PROGRAM ARGUMENTS" --name NAME --env NAME=VALUE`
	parts, err := words(s.Command)
	if err != nil {
		return importer.Entry{}, fault.From(err).With("fix", form)
	}
	e := importer.Entry{Name: s.Name, Command: parts[0], Args: parts[1:], Env: map[string]string{}}
	for _, pair := range s.Env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return importer.Entry{}, fault.Newf(fault.InvalidRequest, "the variable %s has no value", paper.Word(name)).With("fix", form)
		}
		e.Env[name] = value
	}
	if err := e.Check(); err != nil {
		return importer.Entry{}, fault.From(err).With("fix", form)
	}
	return e, nil
}

// Again is the command that imports the source. The values of variables, which
// may be secrets, are left out.
func (s Source) Again() string {
	if s.File != "" {
		return "steward import " + paper.Word(s.File)
	}
	command := "steward import --command " + paper.Word(s.Command) + " --name " + paper.Word(s.Name)
	for _, pair := range s.Env {
		name, _, _ := strings.Cut(pair, "=")
		command += " --env " + paper.Word(name+"=…")
	}
	return command
}

// Located is an entry that the host can start from anywhere, or the reason why
// it cannot.
type Located struct {
	Server adminwire.Server
	Fault  *fault.Fault
}

// locate resolves an entry's command and folder. A relative path is taken from
// base; a bare name is looked for in the entry's own PATH, else in path.
func locate(e importer.Entry, base, path string) Located {
	s := adminwire.Server{Name: e.Name, Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Dir}
	if s.Args == nil {
		s.Args = []string{}
	}
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	if s.Cwd != "" && !filepath.IsAbs(s.Cwd) {
		s.Cwd = filepath.Join(base, s.Cwd)
	}
	if own, ok := e.Env["PATH"]; ok {
		path = own
	}
	var bad *fault.Fault
	s.Command, bad = command(e.Command, base, path)
	return Located{s, bad}
}

func command(name, base, path string) (string, *fault.Fault) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(base, name)
		}
		if !executable(name) {
			return name, fault.Newf(fault.InvalidRequest, "%s is no program", name).
				With("fix", "mend the command in the file, or install what it names")
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		// An empty or relative folder of a search path means another one to
		// the host.
		if full := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(full) {
			return full, nil
		}
	}
	return name, fault.Newf(fault.InvalidRequest, "there is no program %s in any folder of PATH", name).
		With("fix", "install it, or write its full path into the file")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
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
