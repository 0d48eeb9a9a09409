package mcpfile

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/ground/fault"
	"github.com/stewardhost/steward/internal/wire/adminwire"
)

// Located is an entry that the host can start from anywhere, or the reason why
// it cannot.
type Located struct {
	Server adminwire.Server
	Fault  *fault.Fault
}

// locate resolves an entry's command and folder. A relative path is taken from
// base, where the command is also started if it names no folder, so that relative
// arguments mean what lies beside the file; a bare name is looked for in the entry's
// own PATH, else in path.
func locate(e clientconfig.Server, base, path string) Located {
	if e.URL != "" {
		return Located{Server: adminwire.Server{Name: e.Name, Args: []string{}, Env: map[string]string{}, URL: e.URL, Headers: e.Headers}}
	}
	s := adminwire.Server{Name: e.Name, Command: e.Command, Args: e.Args, Env: e.Env, Cwd: e.Cwd}
	if s.Args == nil {
		s.Args = []string{}
	}
	if s.Env == nil {
		s.Env = map[string]string{}
	}
	switch {
	case s.Cwd == "":
		s.Base = base
	case !filepath.IsAbs(s.Cwd):
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
