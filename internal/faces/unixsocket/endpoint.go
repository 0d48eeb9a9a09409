package unixsocket

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/stewardhost/steward/internal/ground/digest"
	"github.com/stewardhost/steward/internal/means/localsocket"
)

// Endpoint is where the daemon of one workspace and state root is reached (sessions
// page, section 7).
type Endpoint struct {
	Workspace string // canonical
	StateRoot string // canonical
	Folder    string
	name      string
}

// nameDigits is how much of the digest a socket's name has: enough to be one of a
// kind, and short enough for a socket's path.
const nameDigits = 32

// errName is of a folder that no message could name.
var errName = errors.New("the folder's path is not UTF-8")

// Locate makes workspace and state root canonical, which both must exist and have
// paths in UTF-8, and names their endpoint. Runtime is $XDG_RUNTIME_DIR, or empty.
func Locate(workspace, stateRoot, runtime string) (Endpoint, error) {
	var e Endpoint
	var err error
	if e.Workspace, err = canonical(workspace); err != nil {
		return Endpoint{}, err
	}
	if e.StateRoot, err = canonical(stateRoot); err != nil {
		return Endpoint{}, err
	}
	e.Folder = filepath.Join(runtime, "steward")
	if runtime == "" {
		e.Folder = fmt.Sprintf("/tmp/steward-%d", os.Getuid())
	}
	_, digits, _ := strings.Cut(digest.Join(e.Workspace, e.StateRoot).Sum(digest.Endpoint).String(), ":")
	e.name = digits[:nameDigits]
	return e, nil
}

func canonical(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	path, err := filepath.EvalSymlinks(abs)
	if err == nil && !utf8.ValidString(path) {
		return "", errName
	}
	return path, err
}

// Socket is the path of the socket.
func (e Endpoint) Socket() string { return filepath.Join(e.Folder, e.name+localsocket.SocketEnd) }

// Listen takes the endpoint for the life of this process. The errors are those of
// localsocket.
func (e Endpoint) Listen(log *slog.Logger) (*localsocket.Listener, error) {
	return localsocket.Listen(e.Folder, e.name, log)
}
