package connection

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/stewardhost/steward/internal/adapters/clientconfig"
	"github.com/stewardhost/steward/internal/faces/cli/desk"
	"github.com/stewardhost/steward/internal/faces/cli/paper"
	"github.com/stewardhost/steward/internal/faces/cli/trouble"
)

// known is a row of the list of clients.
type known struct {
	Client string `json:"client"`
	File   string `json:"file"`
	State  string `json:"state"` // no file, a file, connected or unreadable
}

func (d verbs) clients() error {
	var all []known
	for _, c := range clientconfig.Clients() {
		path, err := pathOf(c)
		if err != nil {
			return err
		}
		row := known{c.Name, path, "no file"}
		if raw, err := readClient(path); err != nil {
			row.State = "unreadable"
		} else if raw != nil {
			row.State = "a file"
			if isConnected(raw) {
				row.State = "connected"
			}
		}
		all = append(all, row)
	}
	return desk.Show(d.Desk, map[string][]known{"clients": all}, func(map[string][]known) {
		t := paper.NewTable("client", "state", "file")
		for _, row := range all {
			t.Row(row.Client, row.State, row.File)
		}
		t.Write(d.Out, "")
		d.Next("steward connect CLIENT --write --dry-run")
	})
}

// isConnected reports whether one of the servers in a client's file is a host of
// steward, as connect writes it or as it is written by hand.
func isConnected(raw []byte) bool {
	config, err := clientconfig.Parse(raw)
	return err == nil && slices.ContainsFunc(config.Servers, func(s clientconfig.Server) bool {
		if s.URL != "" {
			token := s.Headers["Authorization"]
			return strings.HasSuffix(s.URL, "/mcp") && (strings.Contains(token, tokenName) || strings.Contains(token, "Bearer stw_"))
		}
		at := slices.Index(s.Args, "mcp")
		self, _ := os.Executable() // a host under another name is not known then
		return at >= 0 && at+1 < len(s.Args) && s.Args[at+1] == "serve" && (filepath.Base(s.Command) == "steward" || s.Command == self)
	})
}

func pathOf(c clientconfig.Client) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", trouble.New(trouble.Unsafe, "this user has no home folder in which clients keep their files", "name the client's file with --file")
	}
	return c.Path(home, runtime.GOOS, os.Getenv), nil
}
